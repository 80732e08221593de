/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ARCH_SYSCALL_H
#define SW_ARCH_SYSCALL_H

#include <stdbool.h>

/* The register that has argument 0 to 5 of a system call: syscall(2). */
unsigned sw_arch_syscall_register(bool is_32bit, unsigned argument);

#endif
