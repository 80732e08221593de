/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SYSCALL_NAME_H
#define SW_SYSCALL_NAME_H

#include <stdint.h>

/* Name of a system call ("futex"), by its number as in sw_thread.syscall; static. NULL when it is unknown. */
const char *sw_syscall_name(int64_t number);

/* The name of a system call of i386 that has another number than on x86-64, by its own number. */
const char *sw_syscall_name_i386(int64_t number);

#endif
