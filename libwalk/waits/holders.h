/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_HOLDERS_H
#define SW_WAITS_HOLDERS_H

#include "iterate/loading.h"
#include "waits/budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The processes that have a pipe or socket open: by an iterator of the kernel, or by /proc/PID/fd
 * of all processes. */

struct sw_holder {
	uint64_t inode;
	pid_t pid;
	int fd;                         /* of a pipe; of a socket -1 */
	bool mode_known, reads, writes; /* for what it was open */
};

struct sw_holders {
	struct sw_holder *items; /* owned; by inode, then pid */
	size_t n, capacity;
	bool complete; /* every process, and each of its files, could be looked at */
	bool cut;      /* not all were, for want of time or space: others may have it, too */
};

/* How they are found. */
struct sw_holders_way {
	bool by_iterator; /* where the kernel lets us (iterate/tasks.h); else, and where it does not, by /proc */
	struct sw_iterate_loading
		*loading; /* borrowed; of the iterator's program; NULL: not begun */
};

/*
 * Find the holders that the kernel shows us of all processes, as far as the budget goes, and
 * 100,000 files. Without memory the list is not complete.
 *
 * @param near         By /proc those whose numbers are next to it come first.
 */
void sw_holders_scan(struct sw_holders *holders, pid_t near, const struct sw_holders_way *way,
		     const struct sw_budget *budget);

/* The processes of the machine, nearest first. */
struct sw_near_process {
	pid_t pid;
	int distance;
};
struct sw_near_processes {
	struct sw_near_process *items; /* owned; NULL: not listed yet, or without memory */
	size_t n;
	bool listed; /* once for all descriptors: the list of a large machine takes longer than what it is for */
};

/* Lists them once. near: those whose numbers are next to it come first, the parent before them. */
void sw_near_processes_list(struct sw_near_processes *processes, pid_t near, pid_t parent);
void sw_near_processes_deinit(struct sw_near_processes *processes);

/* Find the nearest processes that have one pipe or socket open, as far as the budget goes: what is
 * left to look at where a scan was cut. Never complete. */
void sw_holders_scan_near(struct sw_holders *holders, const struct sw_near_processes *processes,
			  uint64_t inode, const struct sw_budget *budget);
/* Scan one process. Descriptors of it that may not be looked at make the list incomplete. */
void sw_holders_scan_process(struct sw_holders *holders, pid_t pid);
void sw_holders_deinit(struct sw_holders *holders);

/* A scan that may serve captures that follow soon: to scan a machine with 10,000 open files takes as long as all else of a
 * small process. */
struct sw_holders_kept {
	struct sw_holders holders;
	int64_t begin_ns; /* sw_clock_ns() when it began; 0: there is none */
};

/*
 * Whether a kept scan serves a thread that had been off the CPU for since_ns when it was captured, before now_ns. It has to
 * be whole, not older than a second, and younger than the thread's wait: what the scan saw was true while the thread
 * waited, as it would be of a scan of now. since_ns below 0 is not known, and such a thread needs a scan of its own.
 */
bool sw_holders_kept_serve(const struct sw_holders_kept *kept, int64_t since_ns, int64_t now_ns);

/* The processes that have it open, *ret_n of them next to each other. */
const struct sw_holder *sw_holders_find(const struct sw_holders *holders, uint64_t inode,
					size_t *ret_n);

/* Whether it has the end of a pipe that is written to, or the one that is read from; of a socket it has
 * both. False, too, when it has closed it since. Asked of the few that matter: it takes as long as it took
 * to find them. */
bool sw_holder_has_end(const struct sw_holder *holder, bool written);

/*
 * How many distinct processes have an end, up to two: of two that could be at the other end, neither is known to be the one.
 *
 * @param more  Holders from another scan, which count, too; NULL: none.
 * @param ret_owner  One of them; 0: there is none.
 */
size_t sw_holders_count_ends(const struct sw_holders *holders, const struct sw_holders *more,
			     uint64_t inode, bool written, pid_t *ret_owner);

/* Parse a link in /proc/PID/fd: "pipe:[123]", with kind "pipe". Returns false if it is something
 * else. */
bool sw_fd_link_parse(const char *link, const char *kind, uint64_t *ret_inode);

#endif
