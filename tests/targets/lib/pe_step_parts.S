/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions for pe_step.c in parts with chained information, and with epilogues of version 2. */
#include "pe_step_macros.h"

	.text

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
