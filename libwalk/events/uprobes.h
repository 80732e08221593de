/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_EVENTS_UPROBES_H
#define SW_EVENTS_UPROBES_H

#include "events/memory_locks.h"
#include "process/target.h"

#include <snapwalk/event.h>

#include <sys/types.h>

enum { SW_UPROBES_MAX = 512 };

/*
 * Places of code at which the kernel runs a program: it puts a breakpoint into the code of one process, and takes it out
 * when the descriptors are closed, however their process ends. A child that fork(2) makes loses each breakpoint when it
 * comes there first (of links: keeps it until then), and the program does not run for it. Uprobes of returns are not used:
 * the kernel would change addresses on the stack, which exceptions, coroutines and Go do not survive, also after the end.
 */
struct sw_uprobes {
	int fds[SW_UPROBES_MAX];   /* owned: events; -EBADF: the link has none */
	int links[SW_UPROBES_MAX]; /* owned: programs at them */
	struct {
		dev_t device;
		ino_t inode;
		uint64_t file_off;
	} at[SW_UPROBES_MAX]; /* the instructions */
	size_t n, n_at;       /* links, and instructions */
	struct sw_memory_locks
		locks; /* owned, with n: looked at before the kernel locks the memory of others */
	int64_t patience_ns; /* that is left for taking probes out */
	int thread_fd; /* owned, with n: /proc/PID/task/TID of the thread by which the kernel knows the process */
};

/* Programs that run at places; negative: none. */
struct sw_uprobes_programs {
	int begin_fd;   /* at the place */
	int return_fd;  /* at each RET of the place's function */
	int release_fd; /* instead of begin_fd, at a place that takes something back */
	bool linked; /* as sw_uprobes_linked() said before they were loaded (struct sw_copies_options) */
	/* As of struct sw_event_options. */
	int (*probe_open)(void *arg, pid_t tid, int file_fd, uint64_t file_off,
			  uint64_t semaphore_off);
	void *probe_arg;
};

/* Whether programs are put into a process by links: sw_event_probes_linked(), and its first thread lives. */
bool sw_uprobes_linked(const struct sw_target *target);
/**
 * Needs CAP_PERFMON and CAP_BPF; CAP_SYS_ADMIN where the programs are not linked.
 *
 * @param places      With the files of their code. The number of a place is the cookie of its programs, and what its pair is
 *                    (iterate/called.h).
 * @return 0; -SW_E_LIMIT: more than SW_UPROBES_MAX; -SW_E_NOT_PERMITTED and -SW_E_UNSUPPORTED with the reason, also where a
 *         file is on a file system that may not answer, or a process that maps it has its memory locked for a second
 *         (events/memory_locks.h); -SW_E_NOMEM.
 */
int sw_uprobes_open(const struct sw_target *target, const struct sw_event_place *places, size_t n,
		    const struct sw_uprobes_programs *programs, struct sw_uprobes *ret,
		    struct sw_error *err);
/* A probe without a program, or with one that does nothing, in the calling process alone, at an instruction of a file: for measuring it. A descriptor that has it, or
 * a negative errno. Allocates nothing, as it is called in a child that may have been forked from one of several threads. */
int sw_uprobe_of_self(uint32_t type, int file_fd, uint64_t file_off);
/* Whether the thread has ended by whose memory the kernel knows the process: the programs do not run any more, though other
 * threads may go on. */
bool sw_uprobes_are_over(const struct sw_uprobes *probes);
/* Takes the last link out, which takes the kernel 10 to 100s of ms. The order is the reverse one: a call that is noted can still
 * come to its return, and what is noted as acquired to its release. Waits before that while a
 * process has its memory locked, for 3 s with all others together: then nothing else is left. Whether there are more. */
bool sw_uprobes_close_last(struct sw_uprobes *probes);
/* Twice is allowed, and one of zeroes. */
void sw_uprobes_close(struct sw_uprobes *probes);

#endif
