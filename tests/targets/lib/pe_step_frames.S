/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions for pe_step.c that compilers make seldom or never: every unwind code of a prologue,
 * frame registers, machine frames. Also what runs them all.
 */
#include "pe_step_macros.h"

	.text

/* ---- the runner: sets what must be preserved to values unlike others, and the trap flag ---------- */
	.globl	step_run, step_over
step_run:
	push	rbx
	push	rbp
	push	rsi
	push	rdi
	push	r12
	push	r13
	push	r14
	push	r15
	sub	rsp, 0x28
	mov	rax, rcx
	movabs	rbx, 0x1b1b000011112221
	movabs	rbp, 0x1b1b000011112222
	movabs	rsi, 0x1b1b000011112223
	movabs	rdi, 0x1b1b000011112224
	movabs	r12, 0x1b1b000011112225
	movabs	r13, 0x1b1b000011112226
	movabs	r14, 0x1b1b000011112227
	movabs	r15, 0x1b1b000011112228
	pushfq
	or	dword ptr [rsp], 0x100
	popfq
	nop
	call	rax
step_over:
	add	rsp, 0x28
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rdi
	pop	rsi
	pop	rbp
	pop	rbx
	ret

/* ---- leaves ------------------------------------------------------------------------------------ */
	.balign	16, 0xcc
	.globl	leaf_bare
leaf_bare:			/* no entry at all */
	lea	rax, [rcx + 1]
	mov	rdx, rax
	ret
	int3

FUNCTION leaf_entry
	.seh_endprologue
	lea	rax, [rcx + 1]
	.byte	0xf3, 0xc3	/* rep ret */
END

/* ---- pushes, allocations, saves ----------------------------------------------------------------- */
FUNCTION push_all
	push	rbx
	.seh_pushreg rbx
	push	rbp
	.seh_pushreg rbp
	push	rsi
	.seh_pushreg rsi
	push	rdi
	.seh_pushreg rdi
	push	r12
	.seh_pushreg r12
	push	r13
	.seh_pushreg r13
	push	r14
	.seh_pushreg r14
	push	r15
	.seh_pushreg r15
	sub	rsp, 0x28
	.seh_stackalloc 0x28
	.seh_endprologue
	xor	ebx, ebx
	xor	ebp, ebp
	xor	esi, esi
	xor	edi, edi
	xor	r12d, r12d
	mov	r13, rsp
	mov	r14, rsp
	lea	r15, [rsp + 8]
	call	leaf_bare
	call	leaf_entry
	add	rsp, 0x28
	pop	r15
	pop	r14
	pop	r13
	pop	r12
	pop	rdi
	pop	rsi
	pop	rbp
	pop	rbx
	ret
END

FUNCTION alloc_small
	sub	rsp, 0x28
	.seh_stackalloc 0x28
	.seh_endprologue
	call	push_all
	add	rsp, 0x28
	ret
END

FUNCTION alloc_popped		/* 8 bytes are freed by a pop, as clang does */
	push	rax
	.seh_stackalloc 8
	.seh_endprologue
	nop
	pop	rcx
	ret
END

FUNCTION alloc_large
	push	rsi
	.seh_pushreg rsi
	sub	rsp, 0x1230
	.seh_stackalloc 0x1230
	.seh_endprologue
	mov	esi, 1
	call	leaf_bare
	add	rsp, 0x1230
	pop	rsi
	ret
END

/* More than 512 KB, saves by their far forms, beyond 1 MB. */
FUNCTION alloc_far
	mov	eax, 0x140008
	call	___chkstk_ms
	sub	rsp, rax
	.seh_stackalloc 0x140008
	mov	[rsp + 0x13fff0], rdi
	.seh_savereg rdi, 0x13fff0
	mov	[rsp + 0x13ffe8], r15
	.seh_savereg r15, 0x13ffe8
	movaps	[rsp + 0x13ffd0], xmm6
	.seh_savexmm xmm6, 0x13ffd0
	mov	[rsp + 0x100], rbx
	.seh_savereg rbx, 0x100
	.seh_endprologue
	xor	edi, edi
	xor	ebx, ebx
	mov	r15, rsp
	call	leaf_bare
	mov	rdi, [rsp + 0x13fff0]
	mov	r15, [rsp + 0x13ffe8]
	movaps	xmm6, [rsp + 0x13ffd0]
	mov	rbx, [rsp + 0x100]
	add	rsp, 0x140008
	ret
END

/* Registers go to the caller's home space before the frame is made: the codes have the offset of
 * the end of the prologue. */
	BARE saves_home
	mov	[rsp + 8], rbx
	mov	[rsp + 16], rsi
	push	rdi
	sub	rsp, 0x20
.Lsaves_home_body:
	mov	ebx, 1
	mov	esi, 2
	mov	edi, 3
	call	leaf_entry
	mov	rbx, [rsp + 0x30]
	mov	rsi, [rsp + 0x38]
	add	rsp, 0x20
	pop	rdi
	ret
	BARE_END saves_home
INFO saves_home_info
	.byte	1, .Lsaves_home_body - saves_home, 6, 0
	CODE(15, SAVE_NONVOL, RSI)
	.short	0x38 / 8
	CODE(15, SAVE_NONVOL, RBX)
	.short	0x30 / 8
	CODE(15, ALLOC_SMALL, 3)
	CODE(11, PUSH_NONVOL, RDI)
ENTRY saves_home, .Lsaves_home_end, saves_home_info

FUNCTION saves_sse
	sub	rsp, 0x48
	.seh_stackalloc 0x48
	movaps	[rsp + 0x20], xmm6
	.seh_savexmm xmm6, 0x20
	movaps	[rsp + 0x30], xmm15
	.seh_savexmm xmm15, 0x30
	.seh_endprologue
	xorps	xmm6, xmm6
	xorps	xmm15, xmm15
	call	leaf_bare
	movaps	xmm6, [rsp + 0x20]
	movaps	xmm15, [rsp + 0x30]
	add	rsp, 0x48
	ret
END


/* ---- frame registers ---------------------------------------------------------------------------- */
FUNCTION frame_rbp
	push	rbp
	.seh_pushreg rbp
	push	rsi
	.seh_pushreg rsi
	sub	rsp, 0x68
	.seh_stackalloc 0x68
	lea	rbp, [rsp + 0x40]
	.seh_setframe rbp, 0x40
	mov	[rbp + 0x10], rdi
	.seh_savereg rdi, 0x50
	movaps	[rbp], xmm7
	.seh_savexmm xmm7, 0x40
	.seh_endprologue
	xor	esi, esi
	xor	edi, edi
	sub	rsp, 0x50
	push	rax
	push	rax
	call	leaf_bare
	add	rsp, 0x10
	movaps	xmm7, [rbp]
	mov	rdi, [rbp + 0x10]
	lea	rsp, [rbp + 0x28]
	pop	rsi
	pop	rbp
	ret
END

FUNCTION frame_r13		/* r13 as base always has a displacement */
	push	r13
	.seh_pushreg r13
	sub	rsp, 0x30
	.seh_stackalloc 0x30
	lea	r13, [rsp + 0x20]
	.seh_setframe r13, 0x20
	.seh_endprologue
	sub	rsp, 0x1000
	nop
	lea	rsp, [r13 + 0x10]
	pop	r13
	ret
END

FUNCTION frame_r12		/* r12 as base needs a SIB byte */
	push	r12
	.seh_pushreg r12
	sub	rsp, 0x100
	.seh_stackalloc 0x100
	lea	r12, [rsp + 0xf0]
	.seh_setframe r12, 0xf0
	.seh_endprologue
	sub	rsp, 0x20
	call	leaf_bare
	lea	rsp, [r12 + 0x10]
	pop	r12
	ret
END

FUNCTION frame_at_rsp
	push	rbp
	.seh_pushreg rbp
	mov	rbp, rsp
	.seh_setframe rbp, 0
	sub	rsp, 0x40
	.seh_stackalloc 0x40
	.seh_endprologue
	sub	rsp, 0x40
	call	frame_rbp
	mov	rsp, rbp
	pop	rbp
	ret
END

/* The body clobbers rsp for good: what follows is known by rbp alone. */
FUNCTION frame_realigned
	push	rbp
	.seh_pushreg rbp
	push	rbx
	.seh_pushreg rbx
	sub	rsp, 0x28
	.seh_stackalloc 0x28
	lea	rbp, [rsp + 0x20]
	.seh_setframe rbp, 0x20
	.seh_endprologue
	and	rsp, -256
	mov	rbx, rsp
	call	leaf_entry
	lea	rsp, [rbp + 8]
	pop	rbx
	pop	rbp
	ret
END

FUNCTION frame_after_save	/* saves by rsp before the frame register is set, by it afterwards */
	push	rbp
	.seh_pushreg rbp
	sub	rsp, 0x60
	.seh_stackalloc 0x60
	mov	[rsp + 0x58], rsi
	.seh_savereg rsi, 0x58
	xor	esi, esi
	lea	rbp, [rsp + 0x30]
	.seh_setframe rbp, 0x30
	.seh_endprologue
	sub	rsp, 0x40
	call	leaf_bare
	mov	rsi, [rbp + 0x28]
	lea	rsp, [rbp + 0x30]
	pop	rbp
	ret
END

/* ---- machine frames: what interrupts is at its end while its frame register holds -------------------- */
.macro INTERRUPT error
	mov	rdx, rsp
	lea	r8, [rip + 1f]
	mov	eax, ss
	push	rax
	push	rdx
	pushfq
	mov	eax, cs
	push	rax
	push	r8
.endm
FUNCTION interrupted
	push	rbp
	.seh_pushreg rbp
	push	rbx
	.seh_pushreg rbx
	sub	rsp, 0x48
	.seh_stackalloc 0x48
	lea	rbx, [rsp + 0x20]
	.seh_setframe rbx, 0x20
	.seh_endprologue
	xor	ebp, ebp
	INTERRUPT
	jmp	step_machine_entry
1:	nop
	INTERRUPT
	push	0x77
	jmp	step_machine_error_entry
1:	nop
	lea	rsp, [rbx + 0x28]
	pop	rbx
	pop	rbp
	ret
END
	.globl	step_machine_entry, step_machine_error_entry
FUNCTION step_machine_entry
	.seh_pushframe
	push	rbp
	.seh_pushreg rbp
	mov	rbp, rsp
	.seh_setframe rbp, 0
	sub	rsp, 0x20
	.seh_stackalloc 0x20
	.seh_endprologue
	call	leaf_bare
	lea	rsp, [rbp + 8]
	iretq
END
FUNCTION step_machine_error_entry
	.seh_pushframe code
	push	rbp
	.seh_pushreg rbp
	mov	rbp, rsp
	.seh_setframe rbp, 0
	sub	rsp, 0x28
	.seh_stackalloc 0x28
	.seh_endprologue
	call	leaf_entry
	lea	rsp, [rbp + 16]
	iretq
END

/* ---- calls all of them, twice where there are two ways ---------------------------------------------- */
FUNCTION step_assembly
	push	rbx
	.seh_pushreg rbx
	sub	rsp, 0x20
	.seh_stackalloc 0x20
	.seh_endprologue
	xor	ecx, ecx
	.irp	f, leaf_bare, leaf_entry, push_all, alloc_small, alloc_popped, alloc_large, alloc_far, \
		saves_home, saves_sse, frame_rbp, frame_r13, frame_r12, frame_at_rsp, frame_after_save, \
		frame_realigned, exits_early, jump_near, jump_short, jump_bnd, jump_memory, \
		jump_register, jump_r11, jump_rax_memory, return_bnd, jump_inside, split_hot, \
		chained, chained_frame, v2_end, v2_two, v2_frame, v2_alloc, v2_flags, v2_chained, interrupted
	xor	ecx, ecx
	call	\f
	.endr
	.irp	f, exits_early, chained, v2_two, jump_self
	mov	ecx, 1
	call	\f
	.endr
	add	rsp, 0x20
	pop	rbx
	ret
END

	.section .rdata, "dr"
	.balign	8
	.globl	step_functions
step_functions:
	.quad	step_assembly, step_code_gcc, step_code_gcc_O0, step_code_gcc_Os, step_code_clang, 0
