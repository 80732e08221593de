/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The heading of a stack in the text: how many threads, which, and what they wait for. */
#include "report/text_threads.h"
#include "cleanup.h"
#include "report/builder.h"
#include "report/text_put.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TIDS_SHOWN = 6, NAMES_SHOWN = 3, WAITS_SHOWN = 3, REQUESTS_SHOWN = 10 };

/* Threads of one kind: the same name but for the number at its end. */
struct name {
	const char *comm; /* of the first thread */
	size_t stem;      /* bytes without the number */
	size_t count;
	bool differ; /* not all have the whole name */
};

static size_t stem_of(const char *comm)
{
	size_t size = strlen(comm);
	while (size > 0 && comm[size - 1] >= '0' && comm[size - 1] <= '9')
		size--;
	return size;
}

/* Returns the number of threads whose kind did not fit. */
static size_t count_names(const struct sw_text_writer *w, const size_t *threads, size_t n_threads,
			  struct name names[NAMES_SHOWN], size_t *ret_n)
{
	size_t more = 0;
	*ret_n = 0;
	for (size_t i = 0; i < n_threads; i++) {
		const char *comm = w->report->threads[threads[i]].comm;
		size_t stem = stem_of(comm), k = 0;
		while (k < *ret_n &&
		       (names[k].stem != stem || memcmp(names[k].comm, comm, stem) != 0))
			k++;
		if (k == NAMES_SHOWN) {
			more++;
			continue;
		}
		if (k == *ret_n)
			names[(*ret_n)++] = (struct name){.comm = comm, .stem = stem};
		names[k].count++;
		names[k].differ |= strcmp(names[k].comm, comm) != 0;
	}
	return more;
}

static void put_names(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	struct name names[NAMES_SHOWN];
	size_t n;
	size_t more = count_names(w, threads, n_threads, names, &n);
	for (size_t i = 0; i < n; i++) {
		char stem[256]; /* comm has 63 bytes at most, but a report may be made by others */
		size_t size = names[i].differ ? names[i].stem : strlen(names[i].comm);
		(void) snprintf(stem, sizeof(stem), "%.*s%s", (int) size, names[i].comm,
				names[i].differ ? "*" : ""); /* cut is fine: a heading */
		sw_put(w, i > 0 ? ", " : "  ");
		sw_style_begin(w, SW_STYLE_BOLD);
		sw_put_foreign(w, stem);
		sw_style_end(w);
		if (names[i].count > 1 && (n > 1 || more > 0))
			sw_put(w, " ×%zu", names[i].count);
	}
	if (more > 0)
		sw_put(w, ", %zu others", more);
}

/* What a runtime says of a thread that its comm does not: the name, and the role. Threads have no
 * more than 15 bytes of their name in comm (TASK_COMM_LEN, prctl(2)). */
static const char *telling_name(const struct sw_report_thread *t)
{
	bool same = t->managed->name != NULL && strcmp(t->managed->name, t->comm) == 0;
	return same ? NULL : t->managed->name;
}

static bool same_label(const struct sw_report_thread *a, const struct sw_report_thread *b)
{
	return sw_same_text(telling_name(a), telling_name(b)) &&
	       sw_same_text(a->managed->role, b->managed->role);
}

static void put_label(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	const char *name = telling_name(t);
	sw_put_foreign(w, name);
	sw_put(w, name != NULL && t->managed->role != NULL ? ", " : "");
	sw_put_foreign(w, t->managed->role);
}

/* " [Order queue; finalizer; 3 others]" */
static void put_labels(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	const struct sw_report_thread *labels[NAMES_SHOWN];
	size_t n = 0, more = 0;
	for (size_t i = 0; i < n_threads; i++) {
		const struct sw_report_thread *t = &w->report->threads[threads[i]];
		size_t k = 0;
		if (t->managed == NULL || (telling_name(t) == NULL && t->managed->role == NULL))
			continue;
		while (k < n && !same_label(labels[k], t))
			k++;
		if (k == NAMES_SHOWN)
			more++;
		else if (k == n)
			labels[n++] = t;
	}
	for (size_t i = 0; i < n; i++) {
		sw_put(w, i == 0 ? " [" : "; ");
		put_label(w, labels[i]);
	}
	if (more > 0)
		sw_put(w, "; %zu others", more);
	sw_put(w, n > 0 ? "]" : "");
}

/* All that runtimes know of the threads, a line for each. */
static void put_managed(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	for (size_t i = 0; i < n_threads; i++) {
		const struct sw_report_thread *t = &w->report->threads[threads[i]];
		if (t->managed == NULL)
			continue;
		sw_put(w, "  %d: ", (int) t->tid);
		sw_put_foreign(w, t->managed->runtime);
		sw_put(w, " thread");
		if (t->managed->id >= 0)
			sw_put(w, " %lld", (long long) t->managed->id);
		const char *const parts[] = {t->managed->name, t->managed->role, t->managed->mode};
		for (size_t k = 0; k < SW_ARRAY_SIZE(parts); k++) {
			sw_put(w, parts[k] != NULL ? ", " : "");
			sw_put_foreign(w, parts[k]);
		}
		sw_put(w, "\n");
	}
}

/* "  4303 serves GET /cart?id=7, /srv/index.php", a line for each. */
static void put_requests(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	size_t n = 0;
	for (size_t i = 0; i < n_threads; i++) {
		const struct sw_report_thread *t = &w->report->threads[threads[i]];
		const struct sw_report_request *r = t->request;
		if (r == NULL ||
		    (n++ >= REQUESTS_SHOWN && !w->options->all && !w->options->verbose))
			continue;
		sw_put(w, "  %d %s", (int) t->tid, r->uri != NULL ? "serves " : "runs ");
		if (r->uri != NULL) {
			sw_put_foreign(w, r->method);
			sw_put(w, r->method != NULL ? " " : "");
			sw_put_foreign(w, r->uri);
		}
		sw_put(w, r->uri != NULL && r->script != NULL ? ", " : "");
		sw_put_foreign(w, r->script);
		sw_put(w, "\n");
	}
	if (n > REQUESTS_SHOWN && !w->options->all && !w->options->verbose)
		sw_put(w, "  … %zu more requests (--all shows them)\n", n - REQUESTS_SHOWN);
}

static bool has_crashed(const struct sw_report *r, const struct sw_report_thread *t)
{
	return r->process.crash != NULL && r->process.crash->tid == t->tid;
}

static void put_tids(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	/* one tid is shorter than "+1 more" */
	size_t shown = n_threads <= TIDS_SHOWN + 1 || w->options->verbose ? n_threads : TIDS_SHOWN;
	sw_style_begin(w, SW_STYLE_DIM);
	for (size_t i = 0; i < shown; i++)
		sw_put(w, "%s%d", i == 0 ? "  (" : " ", (int) w->report->threads[threads[i]].tid);
	if (shown < n_threads)
		sw_put(w, " +%zu more", n_threads - shown);
	sw_put(w, ")");
	sw_style_end(w);
	for (size_t i = 0; i < n_threads; i++)
		if (has_crashed(w->report, &w->report->threads[threads[i]])) {
			sw_put(w, "   ");
			if (n_threads > 1)
				sw_put(w, "%d ", (int) w->report->threads[threads[i]].tid);
			sw_put_styled(w, SW_STYLE_ALARM, "crashed here");
		}
	sw_put(w, "\n");
}

const struct sw_report_thread *sw_thread_of(const struct sw_report *r, pid_t tid)
{
	for (size_t i = 0; i < r->n_threads; i++)
		if (r->threads[i].tid == tid)
			return &r->threads[i];
	return NULL;
}

/* The name of the process with that only thread, or of that number; "": there is none. */
static const char *peer_comm(const struct sw_report *r, pid_t id)
{
	for (size_t i = 0; i < r->n_peers; i++)
		if (r->peers[i].tid == id || r->peers[i].pid == id)
			return r->peers[i].comm;
	return "";
}

void sw_put_thread(struct sw_text_writer *w, pid_t tid)
{
	const struct sw_report_thread *t = sw_thread_of(w->report, tid);
	const char *name = t != NULL ? t->comm : peer_comm(w->report, tid);
	if (name[0] == '\0' && t != NULL && t->managed != NULL && t->managed->name != NULL)
		name = t->managed->name;
	if (name[0] == '\0') {
		sw_put(w, "thread %d", (int) tid);
		return;
	}
	sw_put_foreign(w, name);
	sw_put(w, " (%d)", (int) tid);
}

void sw_put_cycle(struct sw_text_writer *w, const char *begin, const struct sw_report_deadlock *d)
{
	sw_style_begin(w, SW_STYLE_ALARM);
	sw_put(w, "%s", begin);
	for (size_t i = 0; d->n > 0 && i <= d->n; i++) {
		sw_put(w, i > 0 ? " → " : "");
		sw_put_thread(w, d->tids[i % d->n]);
	}
	sw_style_end(w);
	sw_put(w, "\n");
}

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

/* Of the others of a process that crashed, what they did then is told. */
static bool is_of_crash(const struct sw_report *r, const struct sw_report_thread *t)
{
	return r->process.crash != NULL && r->process.crash->tid != t->tid;
}

void sw_text_wait(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	/* Which state the threads of a core file were in is not written in it. */
	bool unknown = t->state == '?' && t->syscall != NULL && is_of_crash(w->report, t);
	sw_put(w, "%s", unknown ? "was" : state_name(t->state));
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

static bool same_wait(const struct sw_report_thread *a, const struct sw_report_thread *b)
{
	return a->state == b->state && sw_same_text(a->wchan, b->wchan) &&
	       sw_same_text(a->syscall, b->syscall);
}

static void put_waits(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
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
		counts[k]++;
	}
	for (size_t i = 0; i < n; i++) {
		sw_put(w, i > 0 ? ", " : "  ");
		if (n > 1 || more > 0)
			sw_put(w, "%zu ", counts[i]);
		sw_text_wait(w, waits[i]);
	}
	if (more > 0)
		sw_put(w, ", %zu otherwise", more);
}

/* What runtimes call what a thread waits for. */
static const struct {
	const char *kind, *text;
} runtime_waits[] = {
	{"java_monitor", "for the monitor"},   {"java_lock", "for the lock"},
	{"java_wait", "to be notified of"},    {"java_park", "parked for"},
	{"python_gil", "for the GIL"},         {"python_rlock", "for the RLock"},
	{"dotnet_monitor", "for the monitor"}, {"dotnet_lock", "for the lock"},
	{"dotnet_wait", "to be notified of"},  {"ruby_gvl", "for the GVL"},
	{"ruby_mutex", "for the Mutex"},
};

/* "for the monitor com.shop.Stock@0x6d3a8, which http-9 (4303) has". False: it is another kind. */
static bool put_runtime_wait(struct sw_text_writer *w, const struct sw_report_wait *wait)
{
	size_t i = 0;
	while (i < SW_ARRAY_SIZE(runtime_waits) && strcmp(runtime_waits[i].kind, wait->kind) != 0)
		i++;
	if (i == SW_ARRAY_SIZE(runtime_waits))
		return false;
	sw_put(w, " %s", runtime_waits[i].text);
	if (wait->target != NULL) {
		sw_put(w, " ");
		sw_put_foreign(w, wait->target);
		if (wait->has_address)
			sw_put(w, "@0x%" PRIx64, wait->address_avma);
	}
	if (wait->owner_tid != 0) {
		sw_put(w, ", which ");
		sw_put_thread(w, wait->owner_tid);
		sw_put(w, " has");
	}
	return true;
}

void sw_text_wait_for(struct sw_text_writer *w, const struct sw_report_thread *t)
{
	const struct sw_report_wait *wait = t->blocked_on;
	if (wait == NULL || put_runtime_wait(w, wait))
		return;
	if (wait->owner_pid != 0 && wait->owner_pid != w->report->process.pid) {
		sw_put(w, " for ");
		sw_put_thread(w, wait->owner_pid);
		sw_put(w,
		       strcmp(wait->trust, "visible") == 0
			       ? " (%s), or one that could not be looked at"
			       : " (%s)",
		       wait->kind);
	} else if (wait->owner_tid != 0) {
		sw_put(w, " for thread %d (%s)", (int) wait->owner_tid, wait->kind);
	}
	if (wait->target != NULL) {
		sw_put(w, ", ");
		sw_put_foreign(w, wait->target);
	}
}

/* Whether all threads of a stack wait for the same. */
static bool one_wait(const struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	const struct sw_report_wait *first = w->report->threads[threads[0]].blocked_on;
	for (size_t i = 0; i < n_threads; i++) {
		const struct sw_report_wait *wait = w->report->threads[threads[i]].blocked_on;
		if (first == NULL || wait == NULL || wait->owner_tid != first->owner_tid ||
		    wait->owner_pid != first->owner_pid ||
		    !sw_same_text(wait->target, first->target))
			return false;
		/* An address is told of objects, not of words. */
		if (strcmp(wait->trust, "runtime") == 0 &&
		    wait->address_avma != first->address_avma)
			return false;
	}
	return true;
}

static void put_cpu(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	int64_t sum_ns = 0;
	for (size_t i = 0; i < n_threads; i++) {
		int64_t cpu_ns = w->report->threads[threads[i]].cpu_ns;
		if (cpu_ns < 0 || __builtin_add_overflow(sum_ns, cpu_ns, &sum_ns))
			return; /* a sum that lacks some would mislead */
	}
	sw_put(w, "; %.2f s CPU", (double) sum_ns / 1e9);
}

void sw_text_threads(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	sw_put_styled(w, SW_STYLE_BOLD, "%zu thread%s", n_threads, sw_plural(n_threads));
	put_names(w, threads, n_threads);
	put_labels(w, threads, n_threads);
	put_tids(w, threads, n_threads);
	put_waits(w, threads, n_threads);
	if (one_wait(w, threads, n_threads))
		sw_text_wait_for(w, &w->report->threads[threads[0]]);
	put_cpu(w, threads, n_threads);
	sw_put(w, "\n");
	if (w->options->verbose)
		put_managed(w, threads, n_threads);
	put_requests(w, threads, n_threads);
}

void sw_text_threads_brief(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	sw_put_styled(w, SW_STYLE_BOLD, "%zu thread%s", n_threads, sw_plural(n_threads));
	put_names(w, threads, n_threads);
	if (n_threads == 1)
		sw_put(w, " (%d)", (int) w->report->threads[threads[0]].tid);
	put_waits(w, threads, n_threads);
	if (one_wait(w, threads, n_threads) && w->report->threads[threads[0]].blocked_on != NULL)
		(void) put_runtime_wait(w,
					w->report->threads[threads[0]].blocked_on); /* else: none */
}
