/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SYSCALL_NAME_H
#define SW_SYSCALL_NAME_H

#include <stdint.h>

/* Name of a system call ("futex"); static. NULL when the number is unknown. */
const char *sw_syscall_name(int64_t number);

#endif
