/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FAKE_SYSCALL_H
#define FAKE_SYSCALL_H

#include <stddef.h>

/*
 * The answers of a kernel that is not the one that runs: the tests of confine/ are linked so that syscall(3) comes here.
 *	fake_syscalls[0] = (struct fake_syscall){SYS_capset, refuse};
 * Calls in no entry go to the system. An answer is -1 with errno, as that of syscall(3).
 */
struct fake_syscall {
	long number;
	long (*answer)(const long arguments[6]); /* NULL: the entry is empty */
};

enum { FAKE_SYSCALLS_MAX = 4 };

extern struct fake_syscall fake_syscalls[FAKE_SYSCALLS_MAX];

#endif
