/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_MEMORY_LOCKS_H
#define SW_EVENTS_MEMORY_LOCKS_H

#include "iterate/record.h"

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The processes whose memory stays locked. For a probe in a file, and when the probe is taken out, the kernel locks the memory
 * of each process that maps the file, one after the other, for writing, and holds a lock meanwhile that each fork(2) of the
 * machine needs: dup_mmap_sem in register_for_each_vma(), kernel/events/uprobes.c, v6.1 to v6.18. No signal ends that. A
 * process whose memory stays locked, as a server does not answer that one of its threads asks with the lock held (munmap(2),
 * mlock(2) of a file of NFS or FUSE), so keeps all others from forking.
 *
 * Reading /proc/PID/maps tells nothing of it: one that has the lock for reading lets others read, and from v6.17 on maps is
 * read without that lock. A program in the kernel reads the words of all locks (iterate/bpf/locks.bpf.c).
 */
enum { SW_MEMORY_LOCKS_UNRELATED = 64 };

struct sw_memory_locks {
	int link_fd; /* owned */
	/* Address spaces that stayed locked and do not map the files that were asked for. They cannot map any more meanwhile. */
	uint64_t unrelated[SW_MEMORY_LOCKS_UNRELATED];
	size_t n_unrelated;
};

/* Needs CAP_PERFMON and CAP_BPF. As sw_iterate_locks_link(). */
int sw_memory_locks_open(struct sw_memory_locks *ret, struct sw_error *err);
/* Twice is allowed. */
void sw_memory_locks_close(struct sw_memory_locks *locks);

/**
 * Wait until no process that maps a file has its memory locked all the time.
 *
 * @param file_fd  -EBADF: any file; needs no privilege then.
 * @return 0; 1: *ret_holder is one that has it locked since patience_ns; -SW_E_*.
 */
int sw_memory_locks_wait(struct sw_memory_locks *locks, int file_fd, int64_t patience_ns,
			 struct sw_iterate_lock *ret_holder, struct sw_error *err);

/* The same for a second: -SW_E_UNSUPPORTED with the reason when there is one. */
int sw_memory_locks_check(struct sw_memory_locks *locks, int file_fd, struct sw_error *err);

/* ---- for tests -------------------------------------------------------------------------------- */

/* Keeps those of n threads that were seen whose lock has not been let go of since, as far as another pass tells: nobody else
 * took it, or the thread has waited all the time. How many. */
size_t sw_memory_locks_still(struct sw_iterate_lock *seen, size_t n,
			     const struct sw_iterate_lock *now, size_t n_now);
/* Whether a line of /proc/PID/maps is of the file with that inode, or with that name: layers of overlayfs and subvolumes of
 * Btrfs have other numbers there than for stat(2). */
bool sw_memory_locks_maps_line(const char *line, size_t length, uint64_t inode, const char *name);

#endif
