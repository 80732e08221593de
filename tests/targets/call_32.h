/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CALL_32_H
#define CALL_32_H

/* A system call of 32-bit code. The numbers are those of other calls in 64-bit code.
 * Source: arch/x86/entry/syscalls/syscall_32.tbl */
static inline long call_32(long number, long first, long second, long third)
{
	long result;
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(second), "d"(third)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

#endif
