/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions as .NET's NativeAOT compiler (10.0.12) makes them: in a section of its own, with call frame information that
 * ends with the prologue, whatever pops follow. With SYNCHRONOUS as mono's ahead-of-time compiler (6.8) does it: in
 * .debug_frame alone, with a row for the epilogue at another place.
 */
#ifdef SYNCHRONOUS
	.cfi_sections .debug_frame
	.text
#else
	.section __managedcode, "ax", @progbits
#endif

	.macro function name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm

	.macro done name
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro pushed register, total
	push	%\register
	.cfi_def_cfa_offset \total
	.cfi_offset \register, -\total
	.endm

/* size_t managed_leaf(size_t n): rbp alone. */
	function managed_leaf
	pushed	rbp, 16
	mov	%rsp, %rbp
	lea	1(%rdi), %rax
	cmp	$3, %rdi
	jb	1f
	pop	%rbp
	ret
1:	pop	%rbp
	ret
	done	managed_leaf

/* size_t managed_saved(size_t n, size_t (*f)(size_t)): saves registers, makes a frame, calls f, jumps as a switch. */
	function managed_saved
	pushed	rbp, 16
	pushed	r15, 24
	pushed	r14, 32
	pushed	rbx, 40
	push	%rax
	.cfi_def_cfa_offset 48
	lea	0x20(%rsp), %rbp
	mov	%rdi, %rbx
	mov	%rsi, %r14
	call	*%rsi
	mov	%rax, %r15
	lea	1f(%rip), %rcx
	jmp	*%rcx
	int3
1:	jmp	2f
	int3
2:	lea	(%rbx, %r15), %rax
	add	$8, %rsp
	pop	%rbx
	pop	%r14
	pop	%r15
	pop	%rbp
	ret
	done	managed_saved

/* size_t managed_tail(size_t n): one path ends in a jump to managed_leaf(). */
	function managed_tail
	pushed	rbp, 16
	pushed	rbx, 24
	lea	8(%rsp), %rbp
	mov	%rdi, %rbx
	test	$1, %dil
	je	1f
	pop	%rbx
	pop	%rbp
	jmp	managed_leaf
1:	lea	2(%rbx), %rax
	pop	%rbx
	pop	%rbp
	ret
	done	managed_tail

/* size_t managed_far(size_t n, size_t (*f)(size_t)): jumps to f, or through memory, right behind its ADD to rsp. */
	function managed_far
	sub	$24, %rsp
	.cfi_def_cfa_offset 32
	mov	%rsi, %rax
	test	$1, %dil
	je	1f
	add	$24, %rsp
	rex.W jmp *%rax
1:	add	$24, %rsp
	jmp	*place(%rip)
	done	managed_far

/* size_t managed_fp(size_t n): the frame is found by rbp, also when that has its caller's value again. */
	function managed_fp
	pushed	rbp, 16
	pushed	rbx, 24
	sub	$40, %rsp
	.cfi_def_cfa_offset 64
	lea	48(%rsp), %rbp
	.cfi_def_cfa rbp, 16
	mov	%rdi, %rbx
	sub	$32, %rsp
	lea	3(%rbx), %rax
	lea	-8(%rbp), %rsp
	pop	%rbx
	pop	%rbp
	ret
	done	managed_fp

#ifdef SYNCHRONOUS
/* size_t managed_early(size_t n): the row of the epilogue is that of one byte behind the prologue. */
	function managed_early
	sub	$24, %rsp
	.cfi_def_cfa_offset 32
	mov	%rdi, (%rsp)
	.cfi_remember_state
	.cfi_def_cfa_offset 8
	.byte	0x48			/* mov %rdi, %rax */
	.cfi_restore_state
	.byte	0x89, 0xf8
	add	$24, %rsp
	ret
	done	managed_early
#endif

	.data
	.p2align 3
place:	.quad	managed_leaf

	.section .note.GNU-stack, "", @progbits
