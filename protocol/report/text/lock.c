/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is known of one lock: what it is, its owner, the threads that wait for it. */
#include "cleanup.h"
#include "duration.h"
#include "errors.h"
#include "report/activity.h"
#include "report/builder.h"
#include "report/text/threads.h"
#include "report/text/waits.h"
#include "report/text/frames.h"

#include <inttypes.h>
#include <string.h>

enum { WAITERS_SHOWN = 40, OTHERS_SHOWN = 5, FRAMES_SHOWN = 6 };

/* A thread waits at a word of the lock, which is known by its first byte. Sizes of glibc for
 * x86-64, sysdeps/x86/nptl/bits/pthreadtypes-arch.h and semaphore.h, 2.31 to 2.42; musl's are not
 * larger. */
static const struct {
	const char *kind;
	uint64_t bytes;
} sizes[] = {{"mutex", 40}, {"condition", 48}, {"rwlock", 56}, {"semaphore", 32}, {"barrier", 32}};

static bool is_at(const struct sw_report_wait *wait, uint64_t address_avma, bool inside)
{
	if (wait == NULL || !wait->has_address || wait->address_avma < address_avma)
		return false;
	uint64_t off = wait->address_avma - address_avma;
	for (size_t i = 0; inside && i < SW_ARRAY_SIZE(sizes); i++)
		if (strcmp(sizes[i].kind, wait->kind) == 0)
			return off < sizes[i].bytes;
	return off == 0;
}

static const char *how_decided(const struct sw_report_wait *wait)
{
	bool owned = wait->owner_tid != 0 || wait->owner_pid != 0;
	if (sw_same_text(wait->trust, "runtime"))
		return owned ? "by the structures of the runtime, which say who holds it"
			     : "by the structures of the runtime, which name no owner";
	if (sw_same_text(wait->trust, "with"))
		return "by the structures of the runtime: a thread is in the body of the lock's "
		       "with statement, and holds it unless it gave it back there";
	if (sw_same_text(wait->trust, "memory"))
		return "by the function that its threads wait in; who holds it stands in its "
		       "memory";
	if (strcmp(wait->kind, "futex") == 0)
		return "a word that threads wait at with futex(2), in no function that is known: "
		       "what it belongs to, and who holds it, cannot be told";
	return "by the function that its threads wait in; who holds it is not in its memory";
}

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
		sw_put(w, ", which is ");
		sw_text_wait(w, t);
		sw_text_wait_for(w, t);
		put_stack(w, t);
	}
	sw_put(w, "\n");
}

/* It has given the monitor back, and waits for another thread to say that something has changed. */
static bool is_notified(const struct sw_report_wait *wait)
{
	return strcmp(wait->kind, "java_wait") == 0 || strcmp(wait->kind, "dotnet_wait") == 0;
}

static void put_waiters(struct sw_text_writer *w, uint64_t address_avma, bool inside, size_t n)
{
	size_t shown = 0;
	sw_put(w, "waiting   %zu thread%s\n", n, sw_plural(n));
	for (size_t i = 0; i < w->report->n_threads && shown < WAITERS_SHOWN; i++) {
		const struct sw_report_thread *t = &w->report->threads[i];
		if (!is_at(t->blocked_on, address_avma, inside))
			continue;
		sw_put(w, "    ");
		sw_put_thread(w, t->tid);
		if (t->since_ms >= 0) {
			char since[SW_DURATION_BYTES];
			sw_duration_format(since, t->since_ms);
			sw_put(w, ", for %s", since);
		}
		if (t->blocked_on->address_avma != address_avma)
			sw_put(w, ", at byte %" PRIu64 " of it",
			       t->blocked_on->address_avma - address_avma);
		if (is_notified(t->blocked_on))
			sw_put(w, ", to be notified");
		put_stack(w, t);
		sw_put(w, "\n");
		shown++;
	}
	if (shown < n)
		sw_put(w, "    ... %zu more\n", n - shown);
}

static bool has_tid(const struct sw_report_deadlock *d, pid_t tid)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->tids[i] == tid)
			return true;
	return false;
}

/* A cycle that goes through the lock: both its owner and a thread that waits for it are in it. */
static void put_deadlocks(struct sw_text_writer *w, const struct sw_report_thread *waiter)
{
	const struct sw_report *r = w->report;
	for (size_t i = 0; i < r->n_deadlocks; i++) {
		const struct sw_report_deadlock *d = &r->deadlocks[i];
		if (has_tid(d, waiter->tid) && has_tid(d, waiter->blocked_on->owner_tid)) {
			sw_put_cycle(w, "DEADLOCK  ", d);
			return;
		}
	}
}

/* In the message what is waited for instead: the address may be that of something around it. */
static int fail_none(const struct sw_report *r, uint64_t address_avma, struct sw_error *err)
{
	struct sw_text text = {0};
	uint64_t seen[OTHERS_SHOWN];
	size_t n = 0;
	bool more = false;
	for (size_t i = 0; i < r->n_threads && !more; i++) {
		const struct sw_report_wait *wait = r->threads[i].blocked_on;
		bool known = wait == NULL || !wait->has_address;
		for (size_t k = 0; k < n && !known; k++)
			known = seen[k] == wait->address_avma;
		if (known)
			continue;
		more = n == OTHERS_SHOWN;
		if (more)
			break;
		sw_text_printf(&text, "%s%s %#" PRIx64, n > 0 ? ", " : "; threads wait for ",
			       wait->kind, wait->address_avma);
		seen[n++] = wait->address_avma;
	}
	int rc = sw_fail(err, SW_E_NOT_FOUND, "no thread waits for %#" PRIx64 "%s%s", address_avma,
			 text.failed || n == 0 ? "" : text.data, more ? ", …" : "");
	sw_text_deinit(&text);
	return rc;
}

int sw_report_lock(const struct sw_report *report, uint64_t address_avma,
		   const struct sw_text_options *options, char **ret_text, size_t *ret_size,
		   struct sw_error *err)
{
	struct sw_text_writer w = {.report = report, .options = options};
	const struct sw_report_thread *first = NULL;
	size_t n = 0;
	bool inside = false;
	for (int pass = 0; pass < 2 && n == 0; pass++) {
		inside = pass == 1;
		for (size_t i = 0; i < report->n_threads; i++) {
			const struct sw_report_wait *wait = report->threads[i].blocked_on;
			if (!is_at(wait, address_avma, inside))
				continue;
			/* The thread that says most: one that tells the owner. */
			if (first == NULL ||
			    (first->blocked_on->owner_tid == 0 && wait->owner_tid != 0))
				first = &report->threads[i];
			n++;
		}
	}
	if (n == 0)
		return fail_none(report, address_avma, err);
	const struct sw_report_wait *wait = first->blocked_on;
	sw_put(&w, "lock      %#" PRIx64 ", %s", address_avma, wait->kind);
	if (sw_waits_for_object(wait) && wait->target != NULL) {
		sw_put(&w, " ");
		sw_put_foreign(&w, wait->target);
	}
	sw_put(&w, "\ndecided   %s\n", how_decided(wait));
	if (sw_waits_for_object(wait))
		sw_put(&w, "          (the address is of this dump: the runtime may move the "
			   "object)\n");
	put_deadlocks(&w, first);
	put_owner(&w, first->blocked_on);
	put_waiters(&w, address_avma, inside, n);
	if (w.text.failed) {
		sw_text_deinit(&w.text);
		return sw_fail_nomem(err);
	}
	*ret_size = w.text.size;
	*ret_text = w.text.data;
	return 0;
}
