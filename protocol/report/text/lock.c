/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A lock for people: what it is, its owner, the threads that wait for it. */
#include "cleanup.h"
#include "duration.h"
#include "errors.h"
#include "report/activity.h"
#include "report/builder.h"
#include "report/lock.h"
#include "report/text/threads.h"
#include "report/text/waits.h"
#include "report/text/frames.h"

#include <inttypes.h>
#include <string.h>

enum { WAITERS_SHOWN = 40, FRAMES_SHOWN = 6 };

static void put_stack(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	const struct sw_report_stack *s = sw_stack_of(w->report, t);
	if (s == NULL)
		return;
	sw_put(w, "\n      ");
	(void) sw_put_names(w, s, 0, FRAMES_SHOWN); /* one that has none shows none */
}

static void put_owner(struct sw_text_writer *w, const struct sw_report_wait *wait)
{
	bool other = wait->owner_pid != 0 && wait->owner_pid != w->report->process.pid;
	if (!sw_put_owner(w, "held by   ", wait)) {
		sw_put(w, "held by   no thread, or it is not known\n");
		return;
	}
	const struct sw_report_thread *t = other ? NULL : sw_thread_of(w->report, wait->owner_tid);
	if (other)
		sw_put(w, ", another process");
	else if (t == NULL)
		sw_put(w, ", which is not there any more");
	else {
		sw_put(w, ", ");
		sw_text_state(w, t);
		put_stack(w, t);
	}
	sw_put(w, "\n");
}

/* The thread has given the monitor back, and waits for another thread to say that something has
 * changed. */
static bool is_notified(const struct sw_report_wait *wait)
{
	return strcmp(wait->kind, "java_wait") == 0 || strcmp(wait->kind, "dotnet_wait") == 0;
}

static void put_waiters(struct sw_text_writer *w, const struct sw_lock_found *lock)
{
	size_t shown = 0;
	sw_put(w, "waiting   %zu thread%s\n", lock->n, sw_plural(lock->n));
	for (size_t i = 0; i < w->report->n_threads && shown < WAITERS_SHOWN; i++) {
		const struct sw_report_thread *t = &w->report->threads[i];
		if (!sw_lock_is_awaited(lock, t))
			continue;
		sw_put(w, "    ");
		sw_put_thread(w, t->tid);
		if (t->since_ms >= 0) {
			char since[SW_DURATION_BYTES];
			sw_duration_format(since, t->since_ms);
			sw_put(w, ", for %s", since);
		}
		if (t->blocked_on->address_avma != lock->address_avma)
			sw_put(w, ", at byte %" PRIu64 " of it",
			       t->blocked_on->address_avma - lock->address_avma);
		if (is_notified(t->blocked_on))
			sw_put(w, ", to be notified");
		put_stack(w, t);
		sw_put(w, "\n");
		shown++;
	}
	if (shown < lock->n)
		sw_put(w, "    ... %zu more\n", lock->n - shown);
}

int sw_report_lock(const struct sw_report *report, uint64_t address_avma,
		   const struct sw_text_options *options, char **ret_text, size_t *ret_size,
		   struct sw_error *err)
{
	struct sw_text_writer w = {.report = report, .options = options};
	struct sw_lock_found lock;
	int r = sw_lock_find(report, address_avma, &lock, err);
	if (r < 0)
		return r;
	const struct sw_report_wait *wait = lock.first->blocked_on;
	sw_put(&w, "lock      %#" PRIx64 ", %s", address_avma, wait->kind);
	if (sw_waits_for_object(wait) && wait->target != NULL) {
		sw_put(&w, " ");
		sw_put_foreign(&w, wait->target);
	}
	sw_put(&w, "\ndecided   %s\n", sw_lock_decided(wait));
	if (sw_waits_for_object(wait))
		sw_put(&w, "          (the address is of this dump: the runtime may move the "
			   "object)\n");
	const struct sw_report_deadlock *deadlock = sw_lock_deadlock(report, &lock);
	if (deadlock != NULL)
		sw_put_cycle(&w, "DEADLOCK  ", deadlock);
	put_owner(&w, wait);
	put_waiters(&w, &lock);
	if (w.text.failed) {
		sw_text_deinit(&w.text);
		return sw_fail_nomem(err);
	}
	*ret_size = w.text.size;
	*ret_text = w.text.data;
	return 0;
}
