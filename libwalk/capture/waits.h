/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_WAITS_H
#define SW_CAPTURE_WAITS_H

#include "capture/take.h"
#include "iterate/record.h"

/*
 * What threads wait in (sw_thread.wchan). Reading /proc/PID/task/TID/wchan of each thread costs more
 * than the whole capture; those that wait at the same place of the kernel (sw_iterate_record.wait_key)
 * share what is read of one of them.
 */

enum { SW_WAITS_MAX = 64 }; /* places; threads at others are read one by one */

struct sw_waits {
	struct sw_wait {
		uint64_t key;
		size_t thread;       /* whose file was read: the one that waits for longest */
		uint64_t arrived_ns; /* its */
		uint64_t n_switches; /* its, at the first pass */
		char wchan[64];
	} places[SW_WAITS_MAX];
	size_t n;
	uint64_t *keys; /* by thread; the snapshot's arena's */
};

/* What one thread waits in, by its file. */
void sw_wait_read(struct sw_take *take, struct sw_thread *t);

/* After the first pass: records are in the order of the snapshot's threads. Without memory all threads
 * are read one by one. */
void sw_waits_read(struct sw_take *take, const struct sw_iterate_record *records, size_t n);

/* After the windows: where the thread that was read has moved, what was read may be of another place.
 * Those that share it are read one by one. */
void sw_waits_check(struct sw_take *take);

/*
 * After the windows: a call that goes on after a stop or a signal is restart_syscall() by its number, and
 * has the arguments that it had. Of those that are told apart by what they wait in, sw_thread.syscall is
 * the call itself: futex() and poll(). Sleeping goes on for what was left, which stands nowhere: it keeps
 * the number.
 */
void sw_waits_restarted(struct sw_thread *threads, size_t n);

#endif
