/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions for pe_step.c with several ends: early exits, jumps that leave and that do not. */
#include "pe_step_macros.h"

	.text

/* ---- early exits: an epilogue in the range of the prologue ---------------------------------------- */
	BARE exits_early
	push	rbx
.Learly1:
	test	rcx, rcx
	jnz	1f
	pop	rbx
	ret
1:
	push	r15
.Learly2:
	sub	rsp, 0x28
.Learly3:
	xor	ebx, ebx
	mov	r15, rsp
	call	leaf_bare
	add	rsp, 0x28
	pop	r15
	pop	rbx
	ret
	BARE_END exits_early
INFO exits_early_info
	.byte	1, .Learly3 - exits_early, 3, 0
	.byte	.Learly3 - exits_early, 4 << 4 | ALLOC_SMALL
	.byte	.Learly2 - exits_early, R15 << 4 | PUSH_NONVOL
	.byte	.Learly1 - exits_early, RBX << 4 | PUSH_NONVOL
	.short	0
ENTRY exits_early, .Lexits_early_end, exits_early_info

/* ---- jumps that leave, and those that do not ------------------------------------------------------ */
.macro FRAMED name
	FUNCTION \name
	push	rbx
	.seh_pushreg rbx
	push	r12
	.seh_pushreg r12
	sub	rsp, 0x28
	.seh_stackalloc 0x28
	.seh_endprologue
	xor	ebx, ebx
	xor	r12d, r12d
	call	leaf_bare
.endm
.macro UNFRAME
	add	rsp, 0x28
	pop	r12
	pop	rbx
.endm

FRAMED jump_near
	UNFRAME
	jmp	push_all
END
FRAMED jump_short
	UNFRAME
	jmp	1f
END
1:	ret	/* no entry */
	int3
FRAMED jump_bnd
	UNFRAME
	.byte	0xf2
	jmp	push_all
END
FRAMED jump_memory
	UNFRAME
	jmp	qword ptr [rip + push_all_pointer]
END
FRAMED jump_register
	lea	rax, [rip + push_all]
	UNFRAME
	rex.w jmp rax
END
FRAMED jump_r11
	lea	r11, [rip + leaf_bare]
	UNFRAME
	.byte	0x49, 0xff, 0xe3	/* REX.WB jmp r11 */
END
FRAMED jump_rax_memory
	lea	rax, [rip + push_all_pointer]
	UNFRAME
	rex.w jmp [rax]
END
FRAMED return_bnd
	UNFRAME
	.byte	0xf2
	ret
END

/* A call of itself, as the last thing it does. */
FUNCTION jump_self
	push	rbx
	.seh_pushreg rbx
	.seh_endprologue
	mov	ebx, ecx
	dec	ecx
	js	1f
	pop	rbx
	jmp	jump_self
1:	pop	rbx
	ret
END

/* Loops and switches: nothing was popped. */
FRAMED jump_inside
	mov	ecx, 3
	jmp	2f
1:	nop
	dec	ecx
	jz	3f
2:	jmp	1b
3:	lea	rax, [rip + 4f]
	jmp	rax
	int3
4:	.byte	0xe9		/* the long form */
	.long	5f - (. + 4)
	int3
5:	UNFRAME
	ret
END

/* Split in two, each with codes of its own, as gcc's .cold: jumps with the frame in place. */
FRAMED split_hot
	jmp	split_cold
split_hot_again:
	UNFRAME
	ret
END
FUNCTION split_cold
	.seh_pushreg rbx
	.seh_pushreg r12
	.seh_stackalloc 0x28
	.seh_endprologue
	call	leaf_entry
	jmp	split_hot_again
END

	.section .rdata, "dr"
	.balign	8
push_all_pointer:
	.quad	push_all
