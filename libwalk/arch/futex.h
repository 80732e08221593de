/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_FUTEX_H
#define SW_ARCH_FUTEX_H

#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

/*
 * futex(2) without errno, which processes that share our memory share, too. timeout is relative, NULL
 * for none. 0, or -errno.
 */
static inline long sw_futex(const volatile void *word, int operation, uint32_t value,
			    const struct timespec *timeout)
{
	long result = SYS_futex;
	register const struct timespec *r10 __asm__("r10") = timeout;
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(word), "S"((long) operation), "d"((long) value), "r"(r10)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
