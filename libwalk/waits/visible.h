/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_VISIBLE_H
#define SW_WAITS_VISIBLE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether /proc lists every process of the machine: one that it does not list may have a pipe or a
 * socket open, too, and nobody would know. Each process that it lists must still let us look.
 */
bool sw_all_processes_listed(void);

/* Whether a process whose files may not be looked at may have an end of what others wait for. */
bool sw_process_may_hide_end(pid_t pid);

#endif
