/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_PEERS_H
#define SW_WAITS_PEERS_H

#include "iterate/loading.h"
#include "snapshot/snapshot.h"

/*
 * The processes for which threads wait that are in system calls other than futex():
 * sw_thread.wait_for of the snapshot, and snap->peers, the processes at the other ends. They are
 * found after the copy, by what the kernel says in /proc and of sockets: the threads are not
 * touched. A thread that did not stay where it was is left out. files: of sw_peers_foresee(); NULL: nothing has begun.
 */
void sw_peers_fill(struct sw_snapshot *snap, int proc_fd, const struct sw_snapshot_options *options,
		   struct sw_iterate_loading *files);

/*
 * Before the copy: begins to load the program that sw_peers_fill() finds the other ends of pipes and sockets by, if the
 * first thread waits at one, as /proc says.
 */
void sw_peers_foresee(struct sw_snapshot *snap, int proc_fd, struct sw_iterate_loading *files);

/* A line of /proc/PID/syscall. False: it is in no call. */
struct sw_proc_syscall {
	int64_t number;
	uint64_t arguments[6], sp_avma, pc_avma;
};
bool sw_proc_syscall_parse(const char *text, struct sw_proc_syscall *ret);

#endif
