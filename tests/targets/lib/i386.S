/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A 32-bit program. Says "ready" and waits. No C library: the
 * 64-bit compiler alone can make it. System calls by number of arch/x86/entry/syscalls/syscall_32.tbl */
	.globl _start
_start:
	movl $4, %eax /* write */
	movl $1, %ebx
	movl $message, %ecx
	movl $6, %edx
	int $0x80
wait:
	movl $29, %eax /* pause */
	int $0x80
	jmp wait

	.data
message:
	.ascii "ready\n"

	.section .note.GNU-stack, "", @progbits
