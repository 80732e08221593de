/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Into the handler of an exception as LLVM's libunwind goes there: registers are loaded from where they were
 * put, without a table, and what is jumped to was never called. For stepped_jumpto.c.
 */
	.text

	/* void jumpto(uint64_t *regs): rax, rbx, rcx, rdx, rdi, rsi, rbp, rsp, r8 ... r15, rip */
	.globl jumpto
	.type jumpto, @function
jumpto:
	movq 56(%rdi), %rax
	subq $16, %rax
	movq %rax, 56(%rdi)
	movq 32(%rdi), %rbx
	movq %rbx, 0(%rax)
	movq 128(%rdi), %rbx
	movq %rbx, 8(%rax)
	movq 0(%rdi), %rax
	movq 8(%rdi), %rbx
	movq 16(%rdi), %rcx
	movq 24(%rdi), %rdx
	movq 40(%rdi), %rsi
	movq 48(%rdi), %rbp
	movq 64(%rdi), %r8
	movq 72(%rdi), %r9
	movq 80(%rdi), %r10
	movq 88(%rdi), %r11
	movq 96(%rdi), %r12
	movq 104(%rdi), %r13
	movq 112(%rdi), %r14
	movq 120(%rdi), %r15
	movq 56(%rdi), %rsp
	popq %rdi
	popq %rcx
	jmp *%rcx
	.size jumpto, . - jumpto

	/* void lands(uint64_t *regs, void (*throws)(uint64_t *regs)) */
	.globl lands
	.type lands, @function
lands:
	.cfi_startproc
	.cfi_lsda 0x1b, table
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	subq $0x28, %rsp
	.cfi_adjust_cfa_offset 0x28
	movq $0x1234, %rbp
	movq %rbx, 8(%rdi)
	movq %rbp, 48(%rdi)
	movq %rsp, 56(%rdi)
	movq %r12, 96(%rdi)
	movq %r13, 104(%rdi)
	movq %r14, 112(%rdi)
	movq %r15, 120(%rdi)
	leaq handler(%rip), %rax
	movq %rax, 128(%rdi)
	call *%rsi
	ud2
handler:
	addq $0x28, %rsp
	.cfi_adjust_cfa_offset -0x28
	popq %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size lands, . - lands

	.section .gcc_except_table, "a", @progbits
	.balign 4
table:
	.long 1

	.section .note.GNU-stack, "", @progbits
