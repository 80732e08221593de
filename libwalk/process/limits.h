/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_LIMITS_H
#define SW_PROCESS_LIMITS_H

#include <snapwalk/walk.h>

/*
 * The use of each resource that a limit is set for: by the process's directory in /proc, and by the
 * control groups that it is in (cgroups(7), version 1 and 2) and their ancestors, of which the
 * tightest one counts. A number that cannot be read stays 0. Some 20 files are read, all of the
 * kernel.
 */
void sw_process_limits_read(int proc_fd, struct sw_process_limits *ret);

/* The same with control groups below another directory than /sys/fs/cgroup. */
void sw_process_limits_read_at(int proc_fd, const char *cgroup_root, struct sw_process_limits *ret);

#endif
