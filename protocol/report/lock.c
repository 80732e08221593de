/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which threads of a report wait for one lock, and how that is known. */
#include "report/lock.h"
#include "cleanup.h"
#include "errors.h"
#include "report/builder.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

enum { OTHERS_SHOWN = 5 };

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

const char *sw_lock_decided(const struct sw_report_wait *wait)
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

bool sw_lock_is_awaited(const struct sw_lock_found *lock, const struct sw_report_thread *thread)
{
	return is_at(thread->blocked_on, lock->address_avma, lock->inside);
}

static bool has_tid(const struct sw_report_deadlock *d, pid_t tid)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->tids[i] == tid)
			return true;
	return false;
}

const struct sw_report_deadlock *sw_lock_deadlock(const struct sw_report *report,
						  const struct sw_lock_found *lock)
{
	for (size_t i = 0; i < report->n_deadlocks; i++) {
		const struct sw_report_deadlock *d = &report->deadlocks[i];
		if (has_tid(d, lock->first->tid) && has_tid(d, lock->first->blocked_on->owner_tid))
			return d;
	}
	return NULL;
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

int sw_lock_find(const struct sw_report *report, uint64_t address_avma, struct sw_lock_found *ret,
		 struct sw_error *err)
{
	struct sw_lock_found lock = {.address_avma = address_avma};
	for (int pass = 0; pass < 2 && lock.n == 0; pass++) {
		lock.inside = pass == 1;
		for (size_t i = 0; i < report->n_threads; i++) {
			const struct sw_report_thread *t = &report->threads[i];
			if (!sw_lock_is_awaited(&lock, t))
				continue;
			if (lock.first == NULL || (lock.first->blocked_on->owner_tid == 0 &&
						   t->blocked_on->owner_tid != 0))
				lock.first = t;
			lock.n++;
		}
	}
	if (lock.n == 0)
		return fail_none(report, address_avma, err);
	*ret = lock;
	return 0;
}
