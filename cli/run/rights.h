/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_RIGHTS_H
#define SW_CLI_RIGHTS_H

#include "text.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Adds to text what a process may do and where: user, group and capabilities (proc(5), /proc/PID/status), its namespaces
 * and control groups. Two processes with the same text may read each other's memory, as far as the kernel's users and
 * capabilities decide it. False, with any text: this cannot be read, or the process has put itself into a sandbox (a
 * seccomp filter, or no_new_privs, which Landlock wants), so that it may do less than others like it.
 */
bool sw_rights_read(pid_t pid, struct sw_text *text);

#endif
