/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_PROBER_H
#define SW_DAEMON_WORKER_PROBER_H

#include "config/settings.h"

#include <sys/types.h>

/*
 * Kernels before 6.10 ask for CAP_SYS_ADMIN where a probe is put into code (sw_event_probes_linked()). No worker has that: a
 * process of its own does, which parses nothing, can open such events and hand them out, and can do nothing else. It is
 * there where FunctionEvents= permits probes to somebody, and the daemon has that capability or such a kernel.
 */

/* Forks it, with the privileges of the start, of which it keeps CAP_SYS_ADMIN and CAP_PERFMON. It ends when nobody has
 * *ret_ask_fd any more. -EBADF: there is none. */
void sw_prober_start(const struct sw_config *config, int *ret_ask_fd);

/* Asks it for the event of a probe; for struct sw_event_options.probe_open: arg is an int, of sw_prober_start(). A
 * descriptor, or a negative errno. */
int sw_prober_ask(void *arg, pid_t tid, int file_fd, uint64_t file_off, uint64_t semaphore_off);

#endif
