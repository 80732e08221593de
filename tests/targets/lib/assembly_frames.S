/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Frames for assembly.c; each calls the function in rdi. */
	.text

	.globl asm_cfi
	.type asm_cfi, @function
asm_cfi:
	.cfi_startproc
	pushq %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	subq $0x50, %rsp
	.cfi_adjust_cfa_offset 0x50
	movq $0x1234, %rbx
	call *%rdi
	addq $0x50, %rsp
	.cfi_adjust_cfa_offset -0x50
	popq %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size asm_cfi, . - asm_cfi

	.globl asm_frame_pointer
	.type asm_frame_pointer, @function
asm_frame_pointer:
	pushq %rbp
	movq %rsp, %rbp
	subq $0x40, %rsp
	call *%rdi
	leave
	ret
	.size asm_frame_pointer, . - asm_frame_pointer

	/* rbp is set to a number that is no address: there is no chain to follow. The scan must
	   pass over the words below the return address, which are no return addresses. */
	.globl asm_bare
	.type asm_bare, @function
asm_bare:
	pushq %rbp
	movq $7, %rbp
	subq $0x20, %rsp
	movq $0, (%rsp)
	movq $-1, 8(%rsp)
	movq %rsp, 16(%rsp)
	leaq asm_bare(%rip), %rax
	movq %rax, 24(%rsp)
	call *%rdi
	addq $0x20, %rsp
	popq %rbp
	ret
	.size asm_bare, . - asm_bare

	.section .note.GNU-stack, "", @progbits
