/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions in assembler, with tables, which call the function in rdi. They keep the record in rsi
 * (record.h) as others do: r_asm_NAME enters itself, and leaves. */
	.text

	.macro ENTER name
	movq 8(%rsi), %rax
	leaq \name(%rip), %rcx
	movq %rcx, 16(%rsi,%rax,8)
	incq 8(%rsi)
	.endm

	.macro BEGIN name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
#ifdef __CET__
	endbr64
#endif
	.endm

	.macro END name
	.cfi_endproc
	.size \name, . - \name
	.endm

/* Pushes and pops around the call, and two ways out of which the second follows the first. No
 * .cfi_adjust_cfa_offset there: clang 14 adds to what was before .cfi_restore_state. */
	BEGIN r_asm_pushes
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	movq %rsi, %rbx
	subq $0x50, %rsp
	.cfi_adjust_cfa_offset 0x50
	ENTER r_asm_pushes
	testl $1, 8(%rsi)
	jz 1f
	call *%rdi
	decq 8(%rbx)
	.cfi_remember_state
	addq $0x50, %rsp
	.cfi_adjust_cfa_offset -0x50
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
1:	.cfi_restore_state
	pushq $1
	.cfi_def_cfa_offset 0x68
	pushq $2
	.cfi_def_cfa_offset 0x70
	call *%rdi
	addq $16, %rsp
	.cfi_def_cfa_offset 0x60
	decq 8(%rbx)
	addq $0x50, %rsp
	.cfi_def_cfa_offset 0x10
	popq %rbx
	.cfi_def_cfa_offset 8
	.cfi_restore %rbx
	ret
	END r_asm_pushes

/* A stack of its own size, found again by a word in it: CFA = *(rsp + 16) + 16, while the frame
 * pointer has another use. */
	BEGIN r_asm_expression
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	movq %rsi, %rbx
	movq %rsp, %rbp
	.cfi_def_cfa %rbp, 24
	andq $-64, %rsp
	subq $64, %rsp
	movq %rbp, 16(%rsp)
	/* DW_CFA_def_cfa_expression, 6 bytes: DW_OP_breg7 (rsp) 16, DW_OP_deref, DW_OP_plus_uconst 24,
	 * DW_OP_nop */
	.cfi_escape 0x0f, 0x06, 0x77, 0x10, 0x06, 0x23, 0x18, 0x96
	/* DW_CFA_expression rbp, rbx: the address is CFA - 16, CFA - 24 */
	.cfi_escape 0x10, 0x06, 0x03, 0x11, 0x70, 0x22
	.cfi_escape 0x10, 0x03, 0x03, 0x11, 0x68, 0x22
	movq $-1, %rbp
	ENTER r_asm_expression
	call *%rdi
	decq 8(%rbx)
	movq 16(%rsp), %rsp
	.cfi_def_cfa %rsp, 24
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	popq %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	ret
	END r_asm_expression

/* The return address is kept in a register, and the word on the stack is something else. */
	BEGIN r_asm_register
	popq %rdx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdx
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq %r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	movq %rdx, %r12
	.cfi_register %rip, %r12
	movq %rsi, %rbx
	subq $16, %rsp
	.cfi_adjust_cfa_offset 16
	ENTER r_asm_register
	call *%rdi
	decq 8(%rbx)
	addq $16, %rsp
	.cfi_adjust_cfa_offset -16
	movq %r12, %rdx
	.cfi_register %rip, %rdx
	popq %r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	pushq %rdx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rip, 0
	ret
	END r_asm_register

	.section .note.GNU-stack, "", @progbits
