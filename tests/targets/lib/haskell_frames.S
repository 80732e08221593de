/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The code of haskell.c and stepped_haskell.c: GHC's way in and out, and code as GHC compiles it:
 * without tables, with a stack at rbp, which never moves rsp but to align it for a call.
 */
	.text

	/* void StgRun(void (*code)(void *), void *stack) */
	.globl StgRun
	.type StgRun, @function
StgRun:
	.cfi_startproc
	subq $0x30, %rsp /* the table does not tell of what is done before the registers are saved */
	movq %rsp, %rax
	subq $16384, %rsp
	movq %rbx, (%rax)
	movq %rbp, 8(%rax)
	movq %r12, 16(%rax)
	movq %r13, 24(%rax)
	movq %r14, 32(%rax)
	movq %r15, 40(%rax)
	.cfi_def_cfa %rsp, 0
	.cfi_offset %rbx, 16384
	.cfi_offset %rbp, 16392
	.cfi_offset %r12, 16400
	.cfi_offset %r13, 16408
	.cfi_offset %r14, 16416
	.cfi_offset %r15, 16424
	.cfi_escape 0x16, 0x07, 0x04, 0x77, 0xb8, 0x80, 0x01 /* rsp = r7 + 16440 */
	.cfi_offset %rip, 16432
	movq %rsi, %rbp
	jmp *%rdi
	.globl StgReturn
StgReturn:
	movq %rbx, %rax
	addq $16384, %rsp
	movq (%rsp), %rbx
	movq 8(%rsp), %rbp
	movq 16(%rsp), %r12
	movq 24(%rsp), %r13
	movq 32(%rsp), %r14
	movq 40(%rsp), %r15
	addq $0x30, %rsp
	ret
	.globl stg_run_end
stg_run_end:
	.cfi_endproc
	.size StgRun, . - StgRun

	/* Is entered with rsp at StgRun()'s frame; by rbp leads to no frame. */
	.globl Main_zdwspin_info
	.type Main_zdwspin_info, @function
Main_zdwspin_info:
	movq %rbp, 8(%rbp)
	addq $1, (%rbp)
	movq (%rbp), %rbx
	jmp Main_zdwspin_info
	.size Main_zdwspin_info, . - Main_zdwspin_info

	.globl Main_returns_info
	.type Main_returns_info, @function
Main_returns_info:
	movq %rbp, %rbx
	jmp StgReturn
	.size Main_returns_info, . - Main_returns_info

	.globl Main_callsC_info
	.type Main_callsC_info, @function
Main_callsC_info:
	movq %rbp, %rbx
	subq $8, %rsp
	call of_c
	addq $8, %rsp
	jmp StgReturn
	.size Main_callsC_info, . - Main_callsC_info

	.globl stg_upd_frame_info
	.type stg_upd_frame_info, @function
stg_upd_frame_info:
	jmp *(%rbp)
	.size stg_upd_frame_info, . - stg_upd_frame_info

	.section .note.GNU-stack, "", @progbits
