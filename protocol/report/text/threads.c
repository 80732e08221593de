/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The heading of a stack in the text: how many threads, which, and what they wait for. */
#include "report/text/threads.h"
#include "report/text/traces.h"
#include "cleanup.h"
#include "report/activity.h"
#include "report/builder.h"
#include "report/text/put.h"
#include "report/text/waits.h"
#include "report/text/width.h"

#include <stdio.h>
#include <string.h>

enum { TIDS_SHOWN = 6, NAMES_SHOWN = 3, REQUESTS_SHOWN = 10 };

/* Threads of one kind: the same name but for the number in it. */
struct name {
	const char *first; /* of the first thread */
	struct sw_name_number number;
	size_t count;
	bool differ; /* not all have the whole name */
};

struct sw_name_number sw_name_number(const char *name)
{
	size_t size = strlen(name), end = size;
	/* Python 3.10 and newer: "Thread-12 (burn)" */
	const char *function = strstr(name, " (");
	if (size > 0 && name[size - 1] == ')' && function != NULL && function > name &&
	    function[-1] >= '0' && function[-1] <= '9')
		end = (size_t) (function - name);
	size_t begin = end;
	while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9')
		begin--;
	return (struct sw_name_number){.begin = begin, .end = end};
}

static bool same_kind(const struct name *kind, const char *name, struct sw_name_number number)
{
	return kind->number.begin == number.begin && memcmp(kind->first, name, number.begin) == 0 &&
	       strcmp(kind->first + kind->number.end, name + number.end) == 0;
}

/* Returns the number of threads whose kind did not fit. */
static size_t count_names(const struct sw_text_writer *w, const size_t *threads, size_t n_threads,
			  struct name names[NAMES_SHOWN], size_t *ret_n)
{
	size_t more = 0;
	*ret_n = 0;
	for (size_t i = 0; i < n_threads; i++) {
		const char *name = sw_report_thread_name(&w->report->threads[threads[i]]);
		struct sw_name_number number = sw_name_number(name);
		size_t k = 0;
		while (k < *ret_n && !same_kind(&names[k], name, number))
			k++;
		if (k == NAMES_SHOWN) {
			more++;
			continue;
		}
		if (k == *ret_n)
			names[(*ret_n)++] = (struct name){.first = name, .number = number};
		names[k].count++;
		names[k].differ |= strcmp(names[k].first, name) != 0;
	}
	return more;
}

static void put_name(struct sw_text_writer *w, const struct name *name)
{
	char text[512]; /* names have 255 bytes at most, but a report may be made by others */
	if (name->differ)
		(void) snprintf(text, sizeof(text), "%.*s*%s", (int) name->number.begin,
				name->first,
				name->first + name->number.end); /* cut is fine: a heading */
	sw_style_begin(w, SW_STYLE_BOLD);
	if (name->first[0] == '\0')
		sw_put(w, "(no name)");
	else
		sw_put_foreign(w, name->differ ? text : name->first);
	sw_style_end(w);
}

static void put_names(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	struct name names[NAMES_SHOWN];
	size_t n;
	size_t more = count_names(w, threads, n_threads, names, &n);
	if (n == 1 && names[0].first[0] == '\0')
		return; /* a core file has no names of threads */
	for (size_t i = 0; i < n; i++) {
		sw_put(w, i > 0 ? ", " : "  ");
		put_name(w, &names[i]);
		if (names[i].count > 1 && (n > 1 || more > 0))
			sw_put(w, " ×%zu", names[i].count);
	}
	if (more > 0)
		sw_put(w, ", %zu others", more);
}

/* The roles that runtimes have the threads for: " [finalizer; daemon; 3 others]" */
static void put_roles(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	const char *roles[NAMES_SHOWN];
	size_t n = 0, more = 0;
	for (size_t i = 0; i < n_threads; i++) {
		const struct sw_report_thread *t = &w->report->threads[threads[i]];
		size_t k = 0;
		if (t->managed == NULL || t->managed->role == NULL)
			continue;
		while (k < n && strcmp(roles[k], t->managed->role) != 0)
			k++;
		if (k == NAMES_SHOWN)
			more++;
		else if (k == n)
			roles[n++] = t->managed->role;
	}
	for (size_t i = 0; i < n; i++) {
		sw_put(w, i == 0 ? " [" : "; ");
		sw_put_foreign(w, roles[i]);
	}
	if (more > 0)
		sw_put(w, "; %zu other%s", more, sw_plural(more));
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
		if (strcmp(sw_report_thread_name(t), t->comm) != 0) {
			sw_put(w, ", comm ");
			sw_put_foreign(w, t->comm);
		}
		sw_put(w, "\n");
	}
}

/* Whether the i-th of what threads work on is told. */
static bool is_shown(const struct sw_text_writer *w, size_t i)
{
	return i < REQUESTS_SHOWN || w->options->all || w->options->verbose;
}

static void put_more(struct sw_text_writer *w, size_t n, const char *what)
{
	if (n > REQUESTS_SHOWN && !is_shown(w, n))
		sw_put(w, "  … %zu more %s (--all shows them)\n", n - REQUESTS_SHOWN, what);
}

/* "  4303 serves GET /cart?id=7, /srv/index.php", a line for each. */
static void put_requests(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	size_t n = 0;
	for (size_t i = 0; i < n_threads; i++) {
		const struct sw_report_thread *t = &w->report->threads[threads[i]];
		const struct sw_report_request *r = t->request;
		if (r == NULL || !is_shown(w, n++))
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
	put_more(w, n, "requests");
}

/* "  4303 works on GET /order, trace 4bf92f3577b34da6a3ce929d0e0e4736, for 31 s", a line for each. */
static void put_traces(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	size_t n = 0;
	for (size_t i = 0; i < n_threads; i++) {
		const struct sw_report_thread *t = &w->report->threads[threads[i]];
		if (t->trace == NULL || !is_shown(w, n++))
			continue;
		sw_put(w, "  %d works on ", (int) t->tid);
		sw_put_trace(w, t);
		sw_put(w, "\n");
	}
	put_more(w, n, "traces");
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
			sw_put_styled(w, SW_STYLE_ALARM,
				      sw_signal_was_sent(w->report) ? "took the signal"
								    : "crashed here");
		}
	sw_put(w, "\n");
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
	const char *name = t != NULL ? sw_report_thread_name(t) : peer_comm(w->report, tid);
	if (name[0] == '\0') {
		sw_put(w, "thread %d", (int) tid);
		return;
	}
	sw_put_foreign(w, name);
	sw_put(w, " (%d)", (int) tid);
}

void sw_put_process(struct sw_text_writer *w, pid_t pid)
{
	for (size_t i = 0; i < w->report->n_peers; i++) {
		const struct sw_report_peer *peer = &w->report->peers[i];
		if (peer->pid != pid || peer->comm == NULL || peer->comm[0] == '\0')
			continue;
		sw_put_foreign(w, peer->comm);
		sw_put(w, " (%d)", (int) pid);
		return;
	}
	sw_put(w, "process %d", (int) pid);
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
	size_t from = w->text.size;
	sw_put_styled(w, SW_STYLE_BOLD, "%zu thread%s", n_threads, sw_plural(n_threads));
	put_names(w, threads, n_threads);
	put_roles(w, threads, n_threads);
	put_tids(w, threads, n_threads);
	sw_text_waits(w, threads, n_threads);
	put_cpu(w, threads, n_threads);
	sw_put(w, "\n");
	if (w->options->verbose)
		put_managed(w, threads, n_threads);
	put_requests(w, threads, n_threads);
	put_traces(w, threads, n_threads);
	sw_wrap(w, from);
}

void sw_text_threads_brief(struct sw_text_writer *w, const size_t *threads, size_t n_threads)
{
	sw_put_styled(w, SW_STYLE_BOLD, "%zu thread%s", n_threads, sw_plural(n_threads));
	put_names(w, threads, n_threads);
	if (n_threads == 1)
		sw_put(w, " (%d)", (int) w->report->threads[threads[0]].tid);
	sw_text_waits(w, threads, n_threads);
}
