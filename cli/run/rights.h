/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_RIGHTS_H
#define SW_CLI_RIGHTS_H

#include "text.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Adds to text what a process may do and where: user, group and capabilities (proc(5), /proc/PID/status), its namespaces
 * and control groups. Two processes with the same text may read each other's memory.
 *
 * False, with any text, where that is not certain: this cannot be read; the process has put itself into a sandbox (a
 * seccomp filter, or no_new_privs, which Landlock wants of who lacks CAP_SYS_ADMIN); it is in another user namespace
 * than we are; a security module has given it a label. Without CAP_SYS_PTRACE, also: it protects itself
 * (PR_SET_DUMPABLE), its ids are several, it runs as root and so may protect itself unseen, or Yama permits less than
 * that its user traces it.
 */
bool sw_rights_read(pid_t pid, struct sw_text *text);

#endif
