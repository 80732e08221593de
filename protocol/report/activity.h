/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_ACTIVITY_H
#define SW_REPORT_ACTIVITY_H

#include <snapwalk/protocol.h>

/* The activity of a thread, for people; in the order in which the text shows it. */
enum sw_activity {
	SW_ACTIVITY_CRASHED, /* its signal ended the process */
	SW_ACTIVITY_RUNNING,
	SW_ACTIVITY_LOCK,      /* waits for a lock that a thread holds */
	SW_ACTIVITY_DISK,      /* in uninterruptible sleep */
	SW_ACTIVITY_STOPPED,   /* stopped, or held by a tracer */
	SW_ACTIVITY_IO,        /* in a read, a write, a poll */
	SW_ACTIVITY_CONDITION, /* on a condition variable, a semaphore, a barrier */
	SW_ACTIVITY_CHILD,     /* for a child or another thread to end */
	SW_ACTIVITY_TIMER,
	SW_ACTIVITY_OTHER,
	SW_ACTIVITY_IDLE, /* in a place where threads wait for work */
	SW_ACTIVITIES,
};

enum sw_activity sw_activity_of(const struct sw_report *report,
				const struct sw_report_thread *thread);

/* Whether what it waits for is a lock. */
bool sw_waits_for_lock(const struct sw_report_thread *thread);
/* Whether it is in a function that waits for something else than a lock, whose own code is short: a thread that wants to
 * run there is about to wait, or was just woken. */
bool sw_is_at_wait(const struct sw_report_stack *stack);

/* NULL: it has none. */
const struct sw_report_stack *sw_stack_of(const struct sw_report *report,
					  const struct sw_report_thread *thread);
/* NULL: the report has none of that id. */
const struct sw_report_thread *sw_thread_of(const struct sw_report *report, pid_t tid);

#endif
