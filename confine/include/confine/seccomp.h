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
	/* After sw_seccomp_trap(): what would kill it is said first. */
	SW_SECCOMP_TRAPS = 32,
	/* Read an iterator of the kernel anew whose link is open: whose memory is locked is looked at before a probe is
	 * taken out of code. */
	SW_SECCOMP_ITERATES = 64,
};

/* The calling thread, which must be the only one of its process, parses hostile bytes from now on:
 * what it might be made to do kills it, what it need not do fails with EPERM. */
int sw_seccomp_parser(unsigned more, struct sw_error *err);

/*
 * Before the filter is entered: a call that would kill the process is not made, but sends it a SIGSYS, whose handler calls
 * say() with the number of the call and the context that sigaction(2) describes, and then ends the process by SIGSYS, with
 * a line of the kernel's log that has this number and 0x40000000. say() must be async-signal-safe; all signals are blocked meanwhile.
 *
 * The filter does not permit a change of this handler, and the kernel calls it once: a process that was taken over and
 * comes back from it is killed by its next such call at the latest. With SW_SECCOMP_CAPTURE that holds for each process
 * which it has started, too. In those of libwalk SIGSYS is blocked, and then the call kills without a word, but for the one
 * that reads the data of runtimes, for which say() calls sw_reader_is_refused(). The handler can be asked for.
 */
void sw_seccomp_trap(void (*say)(int call, const void *context));

/* The same for a process that executes programs which are not ours, and for those: a command of OnDump=, debuginfod-find. What
 * they need not do fails with EPERM; calls newer than Linux 6.1 fail with ENOSYS. */
int sw_seccomp_program(struct sw_error *err);

#endif
