/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_THREADS_H
#define SW_TEXT_THREADS_H

#include "report/text/put.h"

/* Threads of one stack, in a heading of two lines. */
void sw_text_threads(struct sw_text_writer *w, const size_t *threads, size_t n_threads);
/* The same in the beginning of one line. */
void sw_text_threads_brief(struct sw_text_writer *w, const size_t *threads, size_t n_threads);
/* Where the number of a name is: [begin, end), empty when it has none. Names that differ in it only
 * are of one kind: "worker-12", "Thread-12 (burn)". */
struct sw_name_number {
	size_t begin, end;
};
struct sw_name_number sw_name_number(const char *name);
/* "worker (12)", "thread 12" */
void sw_put_thread(struct sw_text_writer *w, pid_t tid);
/* "redis-server (999)", "process 999": another one, for which threads wait. */
void sw_put_process(struct sw_text_writer *w, pid_t pid);
/* "DEADLOCK: ab (12) → ba (13) → ab (12)", a line; what it begins with is of our own. */
void sw_put_cycle(struct sw_text_writer *w, const char *begin,
		  const struct sw_report_deadlock *deadlock);

#endif
