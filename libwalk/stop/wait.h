/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_STOP_WAIT_H
#define SW_STOP_WAIT_H

#include "stop/stop.h"

/* Parts of the stop's session, in the helper: what waiting for the threads to stop is. */

static inline void sw_tracee_lose(struct sw_tracee *t, int reason)
{
	t->phase = SW_TRACEE_LOST;
	t->reason = reason;
}

/* Look once; without WNOHANG it lasts until the thread stops or the alarm rings. Returns false if
 * it has not stopped yet. */
bool sw_stop_look(struct sw_tracee *t, int flags);

/* The helper's signal handlers and timers are not the caller's: it shares memory only. */
void sw_alarm_prepare(void);

/* From ns on, SIGALRM ends system calls of the helper with EINTR; again and again, as the first
 * one may come just before a call blocks. 0: no more. */
void sw_alarm_set(int64_t ns);

/* Waits for the tracees from that one on, all at first, then shortly for those in state D. */
void sw_stop_wait(struct sw_stop *s, size_t from);

/* Whether any is held. */
bool sw_stop_holds_any(const struct sw_stop *s);

#endif
