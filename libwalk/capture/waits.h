/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_WAITS_H
#define SW_CAPTURE_WAITS_H

#include "arch/user_regs.h"
#include "capture/take.h"
#include "iterate/record.h"

/*
 * The kernel functions in which threads wait (sw_thread.wchan). Reading /proc/PID/task/TID/wchan of
 * each thread costs more than the whole capture; threads that wait at the same place of the kernel
 * (sw_iterate_record.wait_key) share what is read of one of them.
 */

enum { SW_WAITS_MAX = 64 }; /* places; threads at others are read one by one */

struct sw_waits {
	struct sw_wait {
		uint64_t key;
		size_t thread;       /* whose file was read: the one that waits for longest */
		uint64_t arrived_ns; /* its */
		char wchan[64];
	} places[SW_WAITS_MAX];
	size_t n;
	/* By thread, of the first pass; the snapshot's arena's. */
	uint64_t *keys, *switches;
	bool *again; /* read once more after the windows */
};

/* Read the kernel function in which one thread waits, by its file. */
void sw_wait_read(struct sw_take *take, struct sw_thread *t);

/* After the first pass: records are in the order of the snapshot's threads. Without memory all threads
 * are read one by one. */
void sw_waits_read(struct sw_take *take, const struct sw_iterate_record *records, size_t n);

/* After the windows. The state of a thread that moved between the first pass and the copy of its
 * registers is that of the copy. Its wait place is read again, and that of the threads that share
 * it; it stays unknown for threads that have moved since the copy. */
void sw_waits_check(struct sw_take *take);

/* The state of a thread that was stopped, by its registers then: the one that it has is from before the stop. */
void sw_wait_stopped(struct sw_thread *t, const struct sw_arch_call *call);

/*
 * After the windows: a call that goes on after a stop or a signal is restart_syscall() by its
 * number, and has the arguments that it had. For calls that are told apart by their wait places,
 * sw_thread.syscall is the call itself: futex() and poll(). Sleeping goes on for what was left,
 * which stands nowhere: it keeps the number.
 */
void sw_waits_restarted(struct sw_thread *threads, size_t n);

#endif
