/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_SECCOMP_H
#define SW_CONFINE_SECCOMP_H

#include <snapwalk/error.h>

/* Permissions of a process that parses hostile bytes, beside reading files, memory and time, and
 * writing to open files. */
enum {
	SW_SECCOMP_TERMINAL = 1, /* ask whether a descriptor is a terminal */
	SW_SECCOMP_FILES = 2,    /* make, rename and remove files and directories */
	SW_SECCOMP_SCREEN = 4,   /* set a terminal up, and suspend oneself at its user's wish */
	/* Capture again: hold threads, and read their memory and files. The only change by
	 * ptrace(2) is the one that lets an interrupted system call begin anew. */
	SW_SECCOMP_CAPTURE = 8,
	/* Begin to look at processes that were not there before. No other process can be signalled, nor its descriptors
	 * taken. */
	SW_SECCOMP_PROCESSES = 16,
};

/* The calling thread, which must be the only one of its process, parses hostile bytes from now on:
 * what it might be made to do kills it, what it need not do fails with EPERM. */
int sw_seccomp_parser(unsigned more, struct sw_error *err);

/* The same for a process that executes programs which are not ours, and for those: a command of OnDump=, debuginfod-find. What
 * they need not do fails with EPERM; calls newer than Linux 6.1 fail with ENOSYS. */
int sw_seccomp_program(struct sw_error *err);

#endif
