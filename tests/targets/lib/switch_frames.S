/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Switches of stacks without tables, for stepped_switch.c. void *switch_NAME(void *to, void *value, void
 * (*fn)(void)) saves a context on its stack, goes to one that was saved there, and gives that the address
 * of its own.
 */
	.text

	/* As Boost.Context: registers are moved, and it is left by a jump. */
	.globl switch_begin
switch_begin:
	.globl switch_moves
	.type switch_moves, @function
switch_moves:
	leaq -0x38(%rsp), %rsp
	stmxcsr (%rsp)
	fnstcw 0x4(%rsp)
	movq %r12, 0x8(%rsp)
	movq %r13, 0x10(%rsp)
	movq %r14, 0x18(%rsp)
	movq %r15, 0x20(%rsp)
	movq %rbx, 0x28(%rsp)
	movq %rbp, 0x30(%rsp)
	movq %rsp, %rax
	movq %rdi, %rsp
	movq 0x38(%rsp), %r8
	ldmxcsr (%rsp)
	fldcw 0x4(%rsp)
	movq 0x8(%rsp), %r12
	movq 0x10(%rsp), %r13
	movq 0x18(%rsp), %r14
	movq 0x20(%rsp), %r15
	movq 0x28(%rsp), %rbx
	movq 0x30(%rsp), %rbp
	leaq 0x40(%rsp), %rsp
	movq %rsi, %rdx
	movq %rax, %rdi
	jmp *%r8
	.size switch_moves, . - switch_moves

	/* The same, and fn is called on the other stack, in the place of the switch there. */
	.globl switch_ontop
	.type switch_ontop, @function
switch_ontop:
	movq %rdx, %r8
	leaq -0x38(%rsp), %rsp
	stmxcsr (%rsp)
	fnstcw 0x4(%rsp)
	movq %r12, 0x8(%rsp)
	movq %r13, 0x10(%rsp)
	movq %r14, 0x18(%rsp)
	movq %r15, 0x20(%rsp)
	movq %rbx, 0x28(%rsp)
	movq %rbp, 0x30(%rsp)
	movq %rsp, %rax
	movq %rdi, %rsp
	ldmxcsr (%rsp)
	fldcw 0x4(%rsp)
	movq 0x8(%rsp), %r12
	movq 0x10(%rsp), %r13
	movq 0x18(%rsp), %r14
	movq 0x20(%rsp), %r15
	movq 0x28(%rsp), %rbx
	movq 0x30(%rsp), %rbp
	leaq 0x38(%rsp), %rsp
	movq %rsi, %rdx
	movq %rax, %rdi
	jmp *%r8
	.size switch_ontop, . - switch_ontop

	/* A first context below top for fn; its first code pushes where fn returns to. */
	.globl switch_make
	.type switch_make, @function
switch_make:
	movq %rdi, %rax
	andq $-16, %rax
	leaq -0x40(%rax), %rax
	movq %rsi, 0x28(%rax)
	stmxcsr (%rax)
	fnstcw 0x4(%rax)
	leaq switch_first(%rip), %rcx
	movq %rcx, 0x38(%rax)
	leaq switch_root(%rip), %rcx
	movq %rcx, 0x30(%rax)
	ret
	.globl switch_first
switch_first:
	pushq %rbp
	jmp *%rbx
	.globl switch_root
switch_root:
	xorq %rdi, %rdi
	call _exit@PLT
	hlt
	.size switch_make, . - switch_make

	/* By push, pop and ret; the context is where rdi and rsi point at. */
	.globl switch_pushes
	.type switch_pushes, @function
switch_pushes:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rsi)
	movq (%rdi), %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size switch_pushes, . - switch_pushes
	.globl switch_end
switch_end:
	hlt

	.section .note.GNU-stack, "", @progbits
