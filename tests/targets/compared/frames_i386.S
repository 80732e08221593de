/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of frames.S for i386: they call the function that is their first argument, and keep the
 * record that is the second. */
	.text

/* The record is in edx; eax and ecx are used. */
	.macro ENTER name
	movl 8(%edx), %eax
	call next_pc
9:	leal \name - 9b(%ecx), %ecx
	movl %ecx, 16(%edx,%eax,8)
	movl $0, 20(%edx,%eax,8)
	incl 8(%edx)
	.endm

	.macro BEGIN name
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
#ifdef __CET__
	endbr32
#endif
	.endm

	.macro END name
	.cfi_endproc
	.size \name, . - \name
	.endm

	.type next_pc, @function
next_pc:
	.cfi_startproc
	movl (%esp), %ecx
	ret
	END next_pc

/* Pushes and pops around the call, and two ways out of which the second follows the first. No
 * .cfi_adjust_cfa_offset there: clang 14 adds to what was before .cfi_restore_state. */
	BEGIN r_asm_pushes
	pushl %ebx
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %ebx, 0
	pushl %esi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %esi, 0
	movl 12(%esp), %esi
	movl 16(%esp), %ebx
	subl $0x44, %esp
	.cfi_adjust_cfa_offset 0x44
	movl %ebx, %edx
	ENTER r_asm_pushes
	testl $1, 8(%ebx)
	jz 1f
	call *%esi
	decl 8(%ebx)
	.cfi_remember_state
	addl $0x44, %esp
	.cfi_adjust_cfa_offset -0x44
	popl %esi
	.cfi_adjust_cfa_offset -4
	.cfi_restore %esi
	popl %ebx
	.cfi_adjust_cfa_offset -4
	.cfi_restore %ebx
	ret
1:	.cfi_restore_state
	pushl $1
	.cfi_def_cfa_offset 0x54
	pushl $2
	.cfi_def_cfa_offset 0x58
	pushl $3
	.cfi_def_cfa_offset 0x5c
	pushl $4
	.cfi_def_cfa_offset 0x60
	call *%esi
	addl $16, %esp
	.cfi_def_cfa_offset 0x50
	decl 8(%ebx)
	addl $0x44, %esp
	.cfi_def_cfa_offset 0xc
	popl %esi
	.cfi_def_cfa_offset 8
	.cfi_restore %esi
	popl %ebx
	.cfi_def_cfa_offset 4
	.cfi_restore %ebx
	ret
	END r_asm_pushes

/* A stack of its own size, found again by a word in it: CFA = *(esp + 8) + 16, while the frame pointer
 * has another use. */
	BEGIN r_asm_expression
	pushl %ebp
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %ebp, 0
	pushl %ebx
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %ebx, 0
	pushl %esi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %esi, 0
	movl 16(%esp), %esi
	movl 20(%esp), %ebx
	movl %esp, %ebp
	.cfi_def_cfa %ebp, 16
	andl $-64, %esp
	subl $64, %esp
	movl %ebp, 8(%esp)
	/* DW_CFA_def_cfa_expression, 6 bytes: DW_OP_breg4 (esp) 8, DW_OP_deref, DW_OP_plus_uconst 16,
	 * DW_OP_nop */
	.cfi_escape 0x0f, 0x06, 0x74, 0x08, 0x06, 0x23, 0x10, 0x96
	/* DW_CFA_expression ebp, ebx, esi: the address is CFA - 8, CFA - 12, CFA - 16 */
	.cfi_escape 0x10, 0x05, 0x03, 0x11, 0x78, 0x22
	.cfi_escape 0x10, 0x03, 0x03, 0x11, 0x74, 0x22
	.cfi_escape 0x10, 0x06, 0x03, 0x11, 0x70, 0x22
	movl $-1, %ebp
	movl %ebx, %edx
	ENTER r_asm_expression
	call *%esi
	decl 8(%ebx)
	movl 8(%esp), %esp
	.cfi_def_cfa %esp, 16
	popl %esi
	.cfi_adjust_cfa_offset -4
	.cfi_restore %esi
	popl %ebx
	.cfi_adjust_cfa_offset -4
	.cfi_restore %ebx
	popl %ebp
	.cfi_adjust_cfa_offset -4
	.cfi_restore %ebp
	ret
	END r_asm_expression

/* The return address is kept in a register, and the word on the stack is something else. */
	BEGIN r_asm_register
	popl %ecx
	.cfi_adjust_cfa_offset -4
	.cfi_register %eip, %ecx
	pushl %ebx
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %ebx, 0
	pushl %edi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %edi, 0
	movl %ecx, %edi
	.cfi_register %eip, %edi
	pushl %esi
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %esi, 0
	movl 12(%esp), %esi
	movl 16(%esp), %ebx
	subl $4, %esp
	.cfi_adjust_cfa_offset 4
	movl %ebx, %edx
	ENTER r_asm_register
	call *%esi
	decl 8(%ebx)
	addl $4, %esp
	.cfi_adjust_cfa_offset -4
	movl %edi, %ecx
	.cfi_register %eip, %ecx
	popl %esi
	.cfi_adjust_cfa_offset -4
	.cfi_restore %esi
	popl %edi
	.cfi_adjust_cfa_offset -4
	.cfi_restore %edi
	popl %ebx
	.cfi_adjust_cfa_offset -4
	.cfi_restore %ebx
	pushl %ecx
	.cfi_adjust_cfa_offset 4
	.cfi_rel_offset %eip, 0
	ret
	END r_asm_register

	.section .note.GNU-stack, "", @progbits
