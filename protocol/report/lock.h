/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_LOCK_H
#define SW_REPORT_LOCK_H

#include <snapwalk/protocol.h>

/* The threads of a report that wait for one lock. */
struct sw_lock_found {
	uint64_t address_avma;
	bool inside; /* they wait at words that lie in it */
	size_t n;    /* how many wait */
	const struct sw_report_thread
		*first; /* the report's; of these, one that tells the owner if any does */
};

/* 0; -SW_E_NOT_FOUND: no thread waits for it, the message says what is waited for instead. */
int sw_lock_find(const struct sw_report *report, uint64_t address_avma, struct sw_lock_found *ret,
		 struct sw_error *err);
bool sw_lock_is_awaited(const struct sw_lock_found *lock, const struct sw_report_thread *thread);
/* How its kind and owner were decided. Static. */
const char *sw_lock_decided(const struct sw_report_wait *wait);
/* A cycle of waits that the lock is part of: both its owner and a thread that waits for it. NULL: none. */
const struct sw_report_deadlock *sw_lock_deadlock(const struct sw_report *report,
						  const struct sw_lock_found *lock);

#endif
