/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions for pe_step.c that compilers make seldom or never: every unwind code, epilogues of both
 * versions, jumps of all kinds. What the assembler has no directive for is written as bytes.
 */
	.intel_syntax noprefix
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

/* ---- helpers: each function is followed by 0xcc, so that no two touch -------------------------- */
.macro FUNCTION name
	.balign	16, 0xcc
	.seh_proc \name
\name:
.endm
.macro END
	.seh_endproc
	int3
.endm
/* A function whose entry and unwind information are written by hand. */
.macro BARE name
	.balign	16, 0xcc
\name:
.endm
.macro BARE_END name
.L\name\()_end:
	int3
.endm
/* begin, end, information */
.macro ENTRY begin, end, info
	.section .pdata
	.balign	4
	.rva	\begin, \end, \info
	.text
.endm
.macro INFO name
	.section .xdata
	.balign	4
\name:
.endm
#define CODE(offset, op, info)	.byte offset, (info) << 4 | (op)
#define PUSH_NONVOL	0
#define ALLOC_LARGE	1
#define ALLOC_SMALL	2
#define SET_FPREG	3
#define SAVE_NONVOL	4
#define SAVE_NONVOL_FAR	5
#define EPILOG		6
#define SAVE_XMM128	8
#define RBX	3
#define RBP	5
#define RSI	6
#define RDI	7
#define R12	12
#define R14	14
#define R15	15

/* ---- leaves ------------------------------------------------------------------------------------ */
	.balign	16, 0xcc
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

/* ---- chained information -------------------------------------------------------------------------- */
/* A part before its parent: offsets from the parent's begin wrap. */
	BARE chained_before
	xor	esi, esi
	call	leaf_bare
	jmp	.Lchained_back
	BARE_END chained_before
INFO chained_before_info
	.byte	1 | 4 << 3, 0, 0, 0
	.rva	chained, .Lchained_end, chained_info
ENTRY chained_before, .Lchained_before_end, chained_before_info

	BARE chained
	push	rbx
.Lchained1:
	push	rsi
.Lchained2:
	sub	rsp, 0x38
.Lchained3:
	xor	ebx, ebx
	jmp	chained_before
.Lchained_back:
	jmp	chained_part
.Lchained_done:
	add	rsp, 0x38
	pop	rsi
	pop	rbx
	ret
	BARE_END chained
INFO chained_info
	.byte	1, .Lchained3 - chained, 3, 0
	.byte	.Lchained3 - chained, 6 << 4 | ALLOC_SMALL
	.byte	.Lchained2 - chained, RSI << 4 | PUSH_NONVOL
	.byte	.Lchained1 - chained, RBX << 4 | PUSH_NONVOL
	.short	0
ENTRY chained, .Lchained_end, chained_info

/* A part that saves more: a register by a move, one by a push, each with an epilogue of its own. */
	BARE chained_part
	mov	[rsp + 0x30], rdi
.Lpart1:
	xor	edi, edi
	jmp	chained_deeper
.Lpart_back:
	mov	rdi, [rsp + 0x30]
	jmp	.Lchained_done
	BARE_END chained_part
INFO chained_part_info
	.byte	1 | 4 << 3, .Lpart1 - chained_part, 2, 0
	.byte	.Lpart1 - chained_part, RDI << 4 | SAVE_NONVOL
	.short	0x30 / 8
	.rva	chained, .Lchained_end, chained_info
ENTRY chained_part, .Lchained_part_end, chained_part_info

/* Two links away from the function, by an indirect entry, and with a return of its own. */
	BARE chained_deeper
	mov	[rsp + 0x28], r14
.Ldeeper1:
	xor	r14d, r14d
	call	leaf_entry
	test	rcx, rcx
	jz	1f
	mov	r14, [rsp + 0x28]
	jmp	.Lpart_back
1:	mov	r14, [rsp + 0x28]
	mov	rdi, [rsp + 0x30]
	add	rsp, 0x38
	pop	rsi
	pop	rbx
	ret
	BARE_END chained_deeper
INFO chained_deeper_info
	.byte	1 | 4 << 3, .Ldeeper1 - chained_deeper, 2, 0
	.byte	.Ldeeper1 - chained_deeper, R14 << 4 | SAVE_NONVOL
	.short	0x28 / 8
	.rva	chained_part, .Lchained_part_end, chained_part_info
INFO chained_deeper_entry
	.rva	chained_deeper, .Lchained_deeper_end, chained_deeper_info
ENTRY chained_deeper, .Lchained_deeper_end, chained_deeper_entry + 1

/* Chained to a function with a frame register, which the part relies on. */
	BARE chained_frame
	push	rbp
.Lframe1:
	sub	rsp, 0x50
.Lframe2:
	lea	rbp, [rsp + 0x20]
.Lframe3:
	sub	rsp, 0x40
	jmp	chained_frame_part
.Lframe_back:
	lea	rsp, [rbp + 0x30]
	pop	rbp
	ret
	BARE_END chained_frame
INFO chained_frame_info
	.byte	1, .Lframe3 - chained_frame, 3, RBP | 2 << 4
	.byte	.Lframe3 - chained_frame, SET_FPREG
	.byte	.Lframe2 - chained_frame, 9 << 4 | ALLOC_SMALL
	.byte	.Lframe1 - chained_frame, RBP << 4 | PUSH_NONVOL
	.short	0
ENTRY chained_frame, .Lchained_frame_end, chained_frame_info

	BARE chained_frame_part
	mov	[rbp + 0x18], r15
.Lframe4:
	sub	rsp, 0x60
	xor	r15d, r15d
	call	leaf_bare
	mov	r15, [rbp + 0x18]
	jmp	.Lframe_back
	BARE_END chained_frame_part
INFO chained_frame_part_info
	.byte	1 | 4 << 3, .Lframe4 - chained_frame_part, 2, RBP | 2 << 4
	.byte	.Lframe4 - chained_frame_part, R15 << 4 | SAVE_NONVOL
	.short	0x38 / 8
	.rva	chained_frame, .Lchained_frame_end, chained_frame_info
ENTRY chained_frame_part, .Lchained_frame_part_end, chained_frame_part_info

/* ---- version 2: epilogues are listed -------------------------------------------------------------- */
	BARE v2_end		/* one, at the end */
	push	rbx
.Lv2a1:
	push	r12
.Lv2a2:
	sub	rsp, 0x28
.Lv2a3:
	xor	ebx, ebx
	xor	r12d, r12d
	call	leaf_bare
	add	rsp, 0x28
.Lv2a_epilog:
	pop	r12
	pop	rbx
	ret
	BARE_END v2_end
INFO v2_end_info
	.byte	2, .Lv2a3 - v2_end, 5, 0
	.byte	.Lv2_end_end - .Lv2a_epilog, 1 << 4 | EPILOG
	.byte	0, EPILOG
	.byte	.Lv2a3 - v2_end, 4 << 4 | ALLOC_SMALL
	.byte	.Lv2a2 - v2_end, R12 << 4 | PUSH_NONVOL
	.byte	.Lv2a1 - v2_end, RBX << 4 | PUSH_NONVOL
	.short	0
ENTRY v2_end, .Lv2_end_end, v2_end_info

	BARE v2_two		/* two, none at the end; one leaves by a jump */
	push	rbx
.Lv2b1:
	push	rdi
.Lv2b2:
	push	r15
.Lv2b3:
	sub	rsp, 0x20
.Lv2b4:
	xor	ebx, ebx
	xor	r15d, r15d
	mov	edi, ecx
	call	leaf_entry
	test	edi, edi
	jz	1f
	add	rsp, 0x20
.Lv2b_epilog1:
	pop	r15
	pop	rdi
	pop	rbx
	ret
.Lv2b_epilog1_end:
1:	xor	edi, edi
	add	rsp, 0x20
.Lv2b_epilog2:
	pop	r15
	pop	rdi
	pop	rbx
	jmp	leaf_bare
	ud2
	BARE_END v2_two
INFO v2_two_info
	.byte	2, .Lv2b4 - v2_two, 8, 0
	.byte	.Lv2b_epilog1_end - .Lv2b_epilog1, EPILOG
	.byte	.Lv2_two_end - .Lv2b_epilog2, EPILOG
	.byte	.Lv2_two_end - .Lv2b_epilog1, EPILOG
	.byte	0, EPILOG
	.byte	.Lv2b4 - v2_two, 3 << 4 | ALLOC_SMALL
	.byte	.Lv2b3 - v2_two, R15 << 4 | PUSH_NONVOL
	.byte	.Lv2b2 - v2_two, RDI << 4 | PUSH_NONVOL
	.byte	.Lv2b1 - v2_two, RBX << 4 | PUSH_NONVOL
ENTRY v2_two, .Lv2_two_end, v2_two_info

	BARE v2_frame		/* with a frame register, and no pushes but its */
	push	rbp
.Lv2c1:
	sub	rsp, 0x60
.Lv2c2:
	lea	rbp, [rsp + 0x20]
.Lv2c3:
	mov	[rbp + 0x20], rsi
.Lv2c4:
	sub	rsp, 0x30
	xor	esi, esi
	mov	rsi, [rbp + 0x20]
	lea	rsp, [rbp + 0x40]
.Lv2c_epilog:
	pop	rbp
	ret
	BARE_END v2_frame
INFO v2_frame_info
	.byte	2, .Lv2c4 - v2_frame, 7, RBP | 2 << 4
	.byte	.Lv2_frame_end - .Lv2c_epilog, 1 << 4 | EPILOG
	.byte	0, EPILOG
	.byte	.Lv2c4 - v2_frame, RSI << 4 | SAVE_NONVOL
	.short	0x40 / 8
	.byte	.Lv2c3 - v2_frame, SET_FPREG
	.byte	.Lv2c2 - v2_frame, 11 << 4 | ALLOC_SMALL
	.byte	.Lv2c1 - v2_frame, RBP << 4 | PUSH_NONVOL
	.short	0
ENTRY v2_frame, .Lv2_frame_end, v2_frame_info

	BARE v2_alloc		/* nothing to pop */
	sub	rsp, 0x28
.Lv2d1:
	call	leaf_bare
	add	rsp, 0x28
.Lv2d_epilog:
	ret
	BARE_END v2_alloc
INFO v2_alloc_info
	.byte	2, .Lv2d1 - v2_alloc, 3, 0
	.byte	.Lv2_alloc_end - .Lv2d_epilog, 1 << 4 | EPILOG
	.byte	0, EPILOG
	.byte	.Lv2d1 - v2_alloc, 4 << 4 | ALLOC_SMALL
	.short	0
ENTRY v2_alloc, .Lv2_alloc_end, v2_alloc_info

	BARE v2_flags		/* pushfq counts as an allocation, and is popped */
	pushfq
.Lv2e1:
	push	rbx
.Lv2e2:
	push	r14
.Lv2e3:
	xor	ebx, ebx
	xor	r14d, r14d
	nop
.Lv2e_epilog:
	pop	r14
	pop	rbx
	popfq
	ret
	BARE_END v2_flags
INFO v2_flags_info
	.byte	2, .Lv2e3 - v2_flags, 5, 0
	.byte	.Lv2_flags_end - .Lv2e_epilog, 1 << 4 | EPILOG
	.byte	0, EPILOG
	.byte	.Lv2e3 - v2_flags, R14 << 4 | PUSH_NONVOL
	.byte	.Lv2e2 - v2_flags, RBX << 4 | PUSH_NONVOL
	.byte	.Lv2e1 - v2_flags, ALLOC_SMALL
	.short	0
ENTRY v2_flags, .Lv2_flags_end, v2_flags_info

/* A part of a version 2 function, with the epilogue for both. */
	BARE v2_chained
	push	rsi
.Lv2f1:
	sub	rsp, 0x40
.Lv2f2:
	xor	esi, esi
	jmp	v2_chained_part
	BARE_END v2_chained
INFO v2_chained_info
	.byte	2, .Lv2f2 - v2_chained, 2, 0
	.byte	.Lv2f2 - v2_chained, 7 << 4 | ALLOC_SMALL
	.byte	.Lv2f1 - v2_chained, RSI << 4 | PUSH_NONVOL
ENTRY v2_chained, .Lv2_chained_end, v2_chained_info
	BARE v2_chained_part
	mov	[rsp + 0x38], rbx
.Lv2g1:
	xor	ebx, ebx
	call	leaf_entry
	mov	rbx, [rsp + 0x38]
	add	rsp, 0x40
.Lv2g_epilog:
	pop	rsi
	ret
	BARE_END v2_chained_part
INFO v2_chained_part_info
	.byte	2 | 4 << 3, .Lv2g1 - v2_chained_part, 4, 0
	.byte	.Lv2_chained_part_end - .Lv2g_epilog, 1 << 4 | EPILOG
	.byte	0, EPILOG
	.byte	.Lv2g1 - v2_chained_part, RBX << 4 | SAVE_NONVOL
	.short	0x38 / 8
	.rva	v2_chained, .Lv2_chained_end, v2_chained_info
ENTRY v2_chained_part, .Lv2_chained_part_end, v2_chained_part_info

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
		saves_home, saves_sse, frame_rbp, frame_r13, frame_r12, frame_at_rsp, \
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
push_all_pointer:
	.quad	push_all
	.globl	step_functions
step_functions:
	.quad	step_assembly, step_code_gcc, step_code_gcc_O0, step_code_gcc_Os, step_code_clang, 0
