/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake_syscall.h"

#include <stdarg.h>

struct fake_syscall fake_syscalls[FAKE_SYSCALLS_MAX];

/* The linker's names: ld(1), --wrap. */
long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

/* The wrapper reads six arguments, as syscall(3) does: the kernel does not look at those that were
 * not given. */
__attribute__((no_sanitize_address)) long __wrap_syscall(long number, ...)
{
	long a[6];
	va_list list;
	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	for (size_t i = 0; i < FAKE_SYSCALLS_MAX; i++)
		if (fake_syscalls[i].answer != NULL && fake_syscalls[i].number == number)
			return fake_syscalls[i].answer(a);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
