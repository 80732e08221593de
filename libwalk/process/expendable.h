/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_EXPENDABLE_H
#define SW_PROCESS_EXPENDABLE_H

#include <snapwalk/walk.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A process that shares our memory, and does what may never come to an end: no signal ends a wait
 * for a page whose file system does not answer. The caller goes on at the deadline whatever the
 * process does; then that is left behind, and ends when its wait does.
 *
 * It has its own table of descriptors, with none but those that it is given: the others would stay
 * open for as long as it is there. It dies with the thread that started it, within a second where that
 * one has become another user. As it shares the memory
 * with errno in it, whoever asks does nothing but wait meanwhile.
 */
struct sw_expendable;

enum { SW_EXPENDABLE_FDS_MAX = 8 };

/* fds: open files that it needs, under the same numbers; negative ones are left out. 0, -SW_E_*. */
int sw_expendable_start(const int *fds, size_t n_fds, struct sw_expendable **ret,
			struct sw_error *err);

/*
 * Have it call job(arg), which may allocate nothing and take no lock. False: the deadline
 * (CLOCK_MONOTONIC) came first, or it is lost from an earlier time. The memory for job() must then
 * stay as it is until sw_expendable_end() has said that nobody writes to it. Neither allocates nor
 * opens: also for the stop.
 */
bool sw_expendable_run(struct sw_expendable *e, void (*job)(void *arg), void *arg,
		       int64_t deadline_ns);

/* The same for pread() of one of its descriptors into its own buffer, from where bytes are taken when
 * they came in time; at most SW_EXPENDABLE_READ_BYTES. Sets errno as pread(). -1 with EIO when lost. */
enum { SW_EXPENDABLE_READ_BYTES = 64 << 10 };
ssize_t sw_expendable_pread(struct sw_expendable *e, int fd, void *buffer, size_t bytes,
			    uint64_t off, int64_t deadline_ns);

/* A regular file that a job left open: opened for reading once more, by us. The process then closes its own. -1 with
 * errno. */
int sw_expendable_take_fd(struct sw_expendable *e, int fd);

/* Give the process real-time priority from now on, so that its waiter does not wait for its
 * turn. */
void sw_expendable_raise(const struct sw_expendable *e);
/* Gives the process a priority above that one. False: it is refused. */
bool sw_expendable_raise_above(const struct sw_expendable *e);

bool sw_expendable_is_lost(const struct sw_expendable *e);
/* Lost as somebody killed it. */
bool sw_expendable_has_died(const struct sw_expendable *e);

/* From now on it can do nothing but sw_expendable_pread(): without capabilities, and without other
 * system calls. For callers that give up theirs. False: it cannot be confined, and has to be ended. */
bool sw_expendable_confine(struct sw_expendable *e);

/* Ended by SIGKILL, and not waited for, which is left to sw_expendable_end(): on a busy machine that takes
 * a while. It does nothing more, whatever is written into its memory. Not for one that is lost, nor for a caller that
 * may not send the signal any more. */
void sw_expendable_quit(struct sw_expendable *e);

/* Ends it. False: it cannot be ended yet, and a call of it may still write to where it was told to. */
bool sw_expendable_end(struct sw_expendable *e);

#endif
