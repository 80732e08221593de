/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MINIDUMP_LINUX_H
#define SW_MINIDUMP_LINUX_H

#include "saved/minidump_filler.h"

/* The module that is the program: that of the entry point, or the first one that the minidump names; NULL. */
struct sw_minidump_module *sw_minidump_linux_program(const struct sw_minidump *md);

/* Set pid, ppid, uid, gid and comm as /proc/PID/status has them. A field without a line there stays as it is. */
void sw_minidump_linux_status(struct sw_bytes status, struct sw_process *process);

/* Fills maps, places and the crash by ELF files and the signal; threads and ranges are there. 0; -SW_E_NOMEM. */
int sw_minidump_linux_fill(struct sw_minidump_filler *f);

#endif
