/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_CALLS_H
#define SW_CONFINE_CALLS_H

#include "confine/filter.h"

/* Sets of system calls that several filters have in common. */

/* Allows what each of our processes does: memory, files that are open, time, its own end. fcntl(2) with other commands
 * than the needed ones kills. */
void sw_calls_add_own(struct sw_filter *filter);
/* Allows memory that is not executed, and opening files for reading. */
void sw_calls_add_reading(struct sw_filter *filter);
/* Allows captures: to hold threads, and to read their memory and files. The only change by
 * ptrace(2) is the one that lets an interrupted system call begin anew. Comes before the others. */
void sw_calls_add_capture(struct sw_filter *filter);
/* Allows bpf(2) as captures do: with other commands than the needed ones it fails with EPERM. */
void sw_calls_add_capture_bpf(struct sw_filter *filter);
/* Allows SIGKILL by a descriptor of a process, and no group of processes (linux v6.9, PIDFD_SIGNAL_PROCESS_GROUP). */
void sw_calls_add_end(struct sw_filter *filter);
/* Allows the calling process to send itself these signals. In its children the call fails: their numbers are not known
 * yet. */
void sw_calls_add_raise(struct sw_filter *filter, const int *signals, size_t n);
/* Allows abort(3) so. Its children end by SIGSEGV in abort(), which is its last resort. */
void sw_calls_add_abort(struct sw_filter *filter);
/* Allows setsockopt(2) with these options of a level. Others attach programs to sockets, or bind them elsewhere. */
void sw_calls_add_socket_options(struct sw_filter *filter, uint32_t level, const int *options,
				 size_t n);
/* Kills the process at a call that none of ours makes after its start: starting a program, becoming another user, changing
 * another process or taking its descriptors, loading code into the kernel. */
void sw_calls_add_harmful(struct sw_filter *filter);

/* The action for calls that change the machine, look around in it, or leave it. */
void sw_calls_add_machine(struct sw_filter *filter, uint32_t action);
/* Lets clone3(2) fail: its flags are in memory, where no filter can see them. Libraries use clone(2) then. */
void sw_calls_refuse_clone3(struct sw_filter *filter);

#endif
