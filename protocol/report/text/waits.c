/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The waits of threads as text: what they wait for, for whom, and since when. */
#include "report/text/waits.h"
#include "cleanup.h"
#include "duration.h"
#include "report/activity.h"
#include "report/builder.h"
#include "report/text/threads.h"

#include <inttypes.h>
#include <string.h>

enum { WAITS_SHOWN = 3, SINCE_MIN_MS = 1000 };

static const char *state_name(char state)
{
	switch (state) {
	case 'R': return "running";
	case 'S': return "sleeping";
	case 'D': return "in uninterruptible sleep";
	case 'T': return "stopped";
	case 't': return "held by a tracer";
	case 'Z': return "zombie";
	case 'X': return "dead";
	case 'I': return "idle";
	default: return "in an unknown state";
	}
}

static bool has_crashed(const struct sw_report *r, const struct sw_report_thread *t)
{
	return r->process.crash != NULL && r->process.crash->tid == t->tid;
}

/* The other threads of a process that crashed are told by what they did then. */
static bool is_of_crash(const struct sw_report *r, const struct sw_report_thread *t)
{
	return r->process.crash != NULL && r->process.crash->tid != t->tid;
}

bool sw_signal_was_sent(const struct sw_report *r)
{
	const struct sw_report_crash *crash = r->process.crash;
	return crash != NULL && crash->sender_pid != 0 && crash->sender_pid != r->process.pid;
}

void sw_text_wait(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	/* Which state the threads of a core file were in is not written in it. */
	if (has_crashed(w->report, t))
		sw_put(w, sw_signal_was_sent(w->report) ? "was" : "crashed");
	else if (t->state == '?' && is_of_crash(w->report, t))
		sw_put(w, t->syscall != NULL ? "was" : "was there");
	else
		sw_put(w, "%s", state_name(t->state));
	if (t->syscall != NULL) {
		sw_put(w, " in ");
		sw_put_foreign(w, t->syscall);
	}
	if (t->wchan != NULL) {
		sw_put(w, " (");
		sw_put_foreign(w, t->wchan);
		sw_put(w, ")");
	}
	if (is_of_crash(w->report, t))
		sw_put(w, " at the crash");
}

/* The function of the kernel is not known of each thread: the ones without are in the same state as those with one. */
static bool same_wait(const struct sw_report_thread *a, const struct sw_report_thread *b)
{
	return a->state == b->state && sw_same_text(a->syscall, b->syscall) &&
	       ((a->syscall != NULL && (a->wchan == NULL || b->wchan == NULL)) ||
		sw_same_text(a->wchan, b->wchan));
}

static void put_calls(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	const struct sw_report_thread *waits[WAITS_SHOWN];
	size_t counts[WAITS_SHOWN] = {0}, n = 0, more = 0;
	for (size_t i = 0; i < n_threads; i++) {
		const struct sw_report_thread *t = &w->report->threads[threads[i]];
		size_t k = 0;
		while (k < n && !same_wait(waits[k], t))
			k++;
		if (k == WAITS_SHOWN) {
			more++;
			continue;
		}
		if (k == n)
			waits[n++] = t;
		if (waits[k]->wchan == NULL)
			waits[k] = t; /* says more, or as little */
		counts[k]++;
	}
	for (size_t i = 0; i < n; i++) {
		sw_put(w, i > 0 ? ", " : "");
		if (n > 1 || more > 0)
			sw_put(w, "%zu ", counts[i]);
		sw_text_wait(w, waits[i]);
	}
	if (more > 0)
		sw_put(w, ", %zu otherwise", more);
}

/* NAMED: the target is the object, rather than what there is to say of it. RUNS: the owner executes what others wait for,
 * whose address is of no interest. */
enum {
	NAMED = 1 << 0,
	RUNS = 1 << 1,
};

/* The text for a wait, by sw_report_wait.kind. */
static const struct what {
	const char *kind, *text;
	unsigned how;
} whats[] = {
	{"java_monitor", "for the monitor", NAMED},
	{"java_lock", "for the lock", NAMED},
	{"java_wait", "to be notified of", NAMED},
	{"java_park", "in park() for", NAMED},
	{"java_class", "for the initialisation of class", NAMED | RUNS},
	{"java_task", "for the result of", NAMED | RUNS},
	{"python_gil", "for the GIL", NAMED},
	{"python_rlock", "for the RLock", NAMED},
	{"python_lock", "for the Lock", NAMED},
	{"python_import", "for the import of", NAMED | RUNS},
	{"dotnet_monitor", "for the monitor", NAMED},
	{"dotnet_lock", "for the lock", NAMED},
	{"dotnet_wait", "to be notified of", NAMED},
	{"dotnet_class", "for the initialisation of class", NAMED | RUNS},
	{"dotnet_rwlock", "for the read-write lock", NAMED},
	{"dotnet_mutex", "for a Mutex", 0},
	{"ruby_gvl", "for the GVL", NAMED},
	{"ruby_mutex", "for the Mutex", NAMED},
	{"mutex", "for a mutex", 0},
	{"rwlock", "for a read-write lock", 0},
	{"file_lock", "for a file lock", 0},
	{"stdio", "for a stream of stdio", 0},
	{"static_init", "for the initialisation of a static variable", RUNS},
	{"once", "for the function of a pthread_once()", RUNS},
	{"rust_once", "for the function of a Rust Once", RUNS},
	{"message_queue", "for a message queue", 0},
	{"semaphore_set", "for a set of semaphores", 0},
	{"condition", "for a condition variable", 0},
	{"semaphore", "for a semaphore", 0},
	{"barrier", "for a barrier", 0},
	{"std_semaphore", "for a std::counting_semaphore", 0},
	{"std_latch", "for a std::latch", 0},
	{"std_barrier", "for a std::barrier", 0},
	{"std_atomic", "for a std::atomic to change", 0},
	{"std_future", "for a std::future", 0},
	{"event", "for an event", 0},
	{"latch", "for a latch to be opened", 0},
	{"queue_get", "for an element of a queue", 0},
	{"queue_put", "for space in a queue", 0},
	{"queue_join", "for the end of all work in a queue", 0},
};

const char *sw_text_wait_kind(size_t index)
{
	return index < SW_ARRAY_SIZE(whats) ? whats[index].kind : NULL;
}

static const struct what *what_of(const struct sw_report_wait *wait)
{
	for (size_t i = 0; wait != NULL && i < SW_ARRAY_SIZE(whats); i++)
		if (strcmp(whats[i].kind, wait->kind) == 0)
			return &whats[i];
	return NULL;
}

static bool is_of_other(const struct sw_text_writer *w, const struct sw_report_wait *wait)
{
	return wait->owner_pid != 0 && wait->owner_pid != w->report->process.pid;
}

bool sw_waits_for_object(const struct sw_report_wait *wait)
{
	return sw_same_text(wait->trust, "runtime") || sw_same_text(wait->trust, "with");
}

bool sw_put_owner(struct sw_text_writer *w, const char *before, const struct sw_report_wait *wait)
{
	bool other = is_of_other(w, wait);
	if (!other && wait->owner_tid == 0 && wait->owner_name == NULL)
		return false;
	sw_put(w, "%s", before);
	if (other) {
		sw_put_process(w, wait->owner_pid);
	} else if (wait->owner_tid != 0) {
		sw_put_thread(w, wait->owner_tid);
	} else {
		sw_put(w, "the virtual thread ");
		sw_put_foreign(w, wait->owner_name);
	}
	return true;
}

static void put_what(struct sw_text_writer *w, const struct sw_report_thread *t,
		     const struct what *what)
{
	const struct sw_report_wait *wait = t->blocked_on;
	sw_put(w, " %s", what->text);
	if ((what->how & NAMED) && wait->target != NULL) {
		sw_put(w, " ");
		sw_put_foreign(w, wait->target);
		if (wait->has_address && !(what->how & RUNS))
			sw_put(w, "@0x%" PRIx64, wait->address_avma);
	}
	if (sw_put_owner(w, ", which ", wait))
		sw_put(w, (what->how & RUNS)                 ? " runs"
			  : strcmp(wait->trust, "with") == 0 ? " has (a with statement)"
							     : " has");
	else if (sw_waits_for_lock(t) &&
		 (strcmp(wait->kind, "mutex") != 0 || wait->target == NULL)) /* which says it */
		sw_put(w, ", no owner is known");
}

/* The thread or process that is waited for, where that is no lock. */
static bool put_who(struct sw_text_writer *w, const struct sw_report_wait *wait)
{
	if (!sw_put_owner(w, " for ", wait))
		return false;
	if (is_of_other(w, wait)) {
		sw_put(w,
		       strcmp(wait->trust, "visible") == 0
			       ? " (%s), or one that could not be looked at"
			       : " (%s)",
		       wait->kind);
		return true;
	}
	sw_put(w, strcmp(wait->kind, "thread") == 0 ? " to end" : " (%s)", wait->kind);
	return true;
}

static bool is_known(const struct sw_text_writer *w, const struct sw_report_thread *t)
{
	return t->blocked_on != NULL &&
	       (what_of(t->blocked_on) != NULL || is_of_other(w, t->blocked_on) ||
		t->blocked_on->owner_tid != 0);
}

void sw_text_wait_for(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	const struct sw_report_wait *wait = t->blocked_on;
	if (wait == NULL)
		return;
	const struct what *what = what_of(wait);
	if (what != NULL)
		put_what(w, t, what);
	else
		(void) put_who(w, wait); /* without one who is known nothing is told */
	if (wait->target != NULL && (what == NULL || !(what->how & NAMED))) {
		sw_put(w, ", ");
		sw_put_foreign(w, wait->target);
	}
}

/* A state of a process that crashed is told in the past. */
static void put_state_then(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	bool was = !has_crashed(w->report, t) && t->state != '?';
	sw_put(w, was ? "which was " : "which ");
	sw_text_wait(w, t);
	sw_text_wait_for(w, t);
}

void sw_text_state(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	const struct sw_report_wait *wait = t->blocked_on;
	bool timer = wait != NULL && strcmp(wait->kind, "timer") == 0, sleeps = t->state == 'S';
	char since[SW_DURATION_BYTES] = "";
	if (w->report->process.crash != NULL) {
		put_state_then(w, t);
		return;
	}
	if (t->since_ms >= SINCE_MIN_MS)
		sw_duration_format(since, t->since_ms);
	if (sleeps && is_known(w, t)) {
		sw_put(w, "waiting%s%s", since[0] != '\0' ? " " : "", since);
		sw_text_wait_for(w, t);
		return;
	}
	sw_put(w, "%s", sleeps && timer ? "asleep" : state_name(t->state));
	if (t->syscall != NULL && !(sleeps && timer)) {
		sw_put(w, " in ");
		sw_put_foreign(w, t->syscall);
	} else if (t->syscall == NULL && t->wchan != NULL) {
		sw_put(w, " in ");
		sw_put_foreign(w, t->wchan);
	}
	sw_put(w, "%s%s", since[0] != '\0' ? " for " : "", since);
	if (wait == NULL || wait->target == NULL)
		return;
	static const char ends[] = "ends in ";
	bool wakes = sleeps && timer && strncmp(wait->target, ends, strlen(ends)) == 0;
	sw_put(w, wakes ? " (wakes in " : " (");
	sw_put_foreign(w, wait->target + (wakes ? strlen(ends) : 0));
	sw_put(w, ")");
}

/* Whether the same can be said of both. */
static bool same_known(const struct sw_text_writer *w, const struct sw_report_thread *a,
		       const struct sw_report_thread *b)
{
	const struct sw_report_wait *x = a->blocked_on, *y = b->blocked_on;
	if (x == y)
		return true;
	if (x == NULL || y == NULL || strcmp(x->kind, y->kind) != 0 ||
	    !sw_same_text(x->owner_name, y->owner_name) || x->owner_tid != y->owner_tid ||
	    x->owner_pid != y->owner_pid || is_known(w, a) != is_known(w, b) ||
	    !sw_same_text(x->target, y->target))
		return false;
	/* An address is told of objects, not of words. */
	return !sw_waits_for_object(x) || x->address_avma == y->address_avma;
}

/* Distinct waits; the first ones. */
struct distinct {
	const struct sw_report_thread *first[WAITS_SHOWN];
	size_t counts[WAITS_SHOWN], n, more;
};

static struct distinct distinct_of(const struct sw_text_writer *w, const size_t *threads,
				   size_t n_threads)
{
	struct distinct d = {0};
	for (size_t i = 0; i < n_threads; i++) {
		const struct sw_report_thread *t = &w->report->threads[threads[i]];
		size_t k = 0;
		while (k < d.n && !same_known(w, d.first[k], t))
			k++;
		if (k == WAITS_SHOWN ||
		    (k == d.n && !is_known(w, t) && n_threads > 1 && t->blocked_on == NULL)) {
			d.more++;
			continue;
		}
		if (k == d.n)
			d.first[d.n++] = t;
		d.counts[k]++;
	}
	return d;
}

/* Times of the group; false: all are short, or one is not known. */
static bool since_of(const struct sw_text_writer *w, const size_t *threads, size_t n_threads,
		     char ret[static SW_DURATION_RANGE_BYTES])
{
	int64_t least = INT64_MAX, most = -1;
	for (size_t i = 0; i < n_threads; i++) {
		int64_t ms = w->report->threads[threads[i]].since_ms;
		if (ms < 0)
			return false;
		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	if (most < SINCE_MIN_MS)
		return false;
	sw_duration_format_range(ret, least, most);
	return true;
}

static bool any_known(const struct sw_text_writer *w, const struct distinct *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (is_known(w, d->first[i]))
			return true;
	return false;
}

/* Owners that differ are told apart: they are what one looks at next. */
static void put_distinct(struct sw_text_writer *w, const struct distinct *d)
{
	size_t shown = 0, more = d->more;
	for (size_t i = 0; i < d->n; i++) {
		if (!is_known(w, d->first[i])) {
			more += d->counts[i];
			continue;
		}
		if (d->n > 1 || d->more > 0)
			sw_put(w, shown > 0 ? "; %zu" : ": %zu", d->counts[i]);
		sw_text_wait_for(w, d->first[i]);
		shown++;
	}
	if (more > 0)
		sw_put(w, "; %zu other%s", more, sw_plural(more));
}

void sw_text_waits(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	struct distinct d = distinct_of(w, threads, n_threads);
	char since[SW_DURATION_RANGE_BYTES];
	bool has_since = since_of(w, threads, n_threads, since);
	sw_put(w, "  ");
	if (any_known(w, &d)) {
		sw_put(w, n_threads == 1 ? "waits" : "wait");
		if (has_since)
			sw_put(w, " %s", since);
		put_distinct(w, &d);
		sw_put(w, "; ");
		put_calls(w, threads, n_threads);
		return;
	}
	put_calls(w, threads, n_threads);
	if (has_since)
		sw_put(w, " for %s", since);
	if (d.n == 1 && d.more == 0)
		sw_text_wait_for(w, d.first[0]);
}
