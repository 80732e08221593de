/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The changes for people: what is stuck, then counts, then groups and threads. */
#include "cleanup.h"
#include "diff/place.h"
#include "errors.h"
#include "report/activity.h"
#include "report/builder.h"
#include "report/frame_kind.h"
#include "report/text/frames.h"
#include "report/text/threads.h"
#include "utc.h"

#include <snapwalk/diff.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_SHOWN = 12, TIDS_SHOWN = 8 };

/* How much of a stack is shown: as little as tells it from the others. */
static const struct {
	size_t frames;
	bool whole;  /* also what is above the program's own: how it waits */
	bool places; /* also all else that is compared: lines, modules */
} levels[] = {
	{4, false, false},        {8, false, false},       {16, false, false},
	{SIZE_MAX, false, false}, {SIZE_MAX, true, false}, {4, false, true},
	{SIZE_MAX, false, true},  {SIZE_MAX, true, true},
};
enum { LEVELS = SW_ARRAY_SIZE(levels) };

struct writer {
	struct sw_text_writer out;
	const struct sw_diff *diff;
	size_t most; /* lines of a list */
};

static void put_of(struct writer *w, const struct sw_report *report)
{
	w->out.report = report;
}

static void put_more(struct writer *w, size_t n, const char *what)
{
	if (n > w->most)
		sw_put(&w->out, "  … %zu more %s (--all)\n", n - w->most, what);
}

static void put_time(struct writer *w, int64_t time_ns)
{
	char stamp[32];
	sw_utc_format(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", time_ns);
	sw_put(&w->out, "%s UTC", stamp);
}

static void put_process(struct writer *w, const struct sw_report *r)
{
	sw_put_foreign(&w->out, r->process.comm);
	sw_put(&w->out, ", pid %d", (int) r->process.pid);
}

static void put_head(struct writer *w)
{
	const struct sw_report *a = w->diff->before, *b = w->diff->after;
	bool earlier = b->time_ns < a->time_ns;
	int64_t apart_ms = (earlier ? a->time_ns - b->time_ns : b->time_ns - a->time_ns) / 1000000;
	sw_style_begin(&w->out, SW_STYLE_BOLD);
	put_process(w, b);
	sw_style_end(&w->out);
	if (w->diff->same_process)
		sw_put(&w->out, ": the same process");
	else {
		sw_put(&w->out, ": not the process of the first dump, which is ");
		put_process(w, a);
		if (a->host_name != NULL && !sw_same_text(a->host_name, b->host_name)) {
			sw_put(&w->out, " of host ");
			sw_put_foreign(&w->out, a->host_name);
		} else if (a->process.pid == b->process.pid && a->host_name != NULL)
			sw_put(&w->out, ", started at another time");
	}
	if (w->diff->same_process && !sw_same_text(a->process.exe, b->process.exe))
		sw_put(&w->out, ", with another program");
	sw_put(&w->out, "\n");
	put_time(w, a->time_ns);
	sw_put(&w->out, " → ");
	put_time(w, b->time_ns);
	sw_put(&w->out, ", ");
	sw_put_seconds(&w->out, apart_ms);
	sw_put(&w->out, " %s\n", earlier ? "EARLIER" : "later");
	sw_put(&w->out, "%zu → %zu threads, %zu → %zu distinct stacks\n", a->n_threads,
	       b->n_threads, a->n_stacks, b->n_stacks);
	if (!a->complete || !b->complete)
		sw_put(&w->out, "%s dump is not complete: what it lacks may look like a change\n",
		       a->complete   ? "the second"
		       : b->complete ? "the first"
				     : "neither");
	if (!w->diff->same_process)
		sw_put(&w->out,
		       "only stacks are compared: threads of another process are others\n");
}

/* ---- locks ----------------------------------------------------------------------------------- */

static bool same_cycle(const struct sw_report_deadlock *a, const struct sw_report_deadlock *b)
{
	for (size_t turn = 0; a->n == b->n && turn < a->n; turn++) {
		size_t i = 0;
		while (i < a->n && a->tids[i] == b->tids[(i + turn) % a->n])
			i++;
		if (i == a->n)
			return true;
	}
	return false;
}

static void put_deadlocks(struct writer *w)
{
	const struct sw_report *a = w->diff->before, *b = w->diff->after;
	size_t shown = b->n_deadlocks < w->most ? b->n_deadlocks : w->most;
	put_of(w, b);
	for (size_t i = 0; i < shown; i++) {
		const struct sw_report_deadlock *d = &b->deadlocks[i];
		bool old = false;
		for (size_t k = 0; k < a->n_deadlocks && k < w->most && !old; k++)
			old = same_cycle(&a->deadlocks[k], d);
		sw_put_cycle(&w->out, old ? "DEADLOCK as before: " : "DEADLOCK: ", d);
	}
	put_more(w, b->n_deadlocks, "deadlocks");
}

static void put_owner(struct writer *w, const struct sw_report *r,
		      const struct sw_report_wait *wait)
{
	put_of(w, r);
	if (wait->owner_pid != 0 && wait->owner_pid != r->process.pid)
		sw_put_thread(&w->out, wait->owner_pid);
	else if (wait->owner_tid != 0)
		sw_put_thread(&w->out, wait->owner_tid);
	else
		sw_put(&w->out, "an unknown thread");
}

static void put_lock(struct writer *w, const struct sw_diff_lock *lock)
{
	const struct sw_report_wait *wait = lock->after != NULL ? lock->after : lock->before;
	sw_put(&w->out, "  %s", wait->kind);
	if (wait->has_address)
		sw_put(&w->out, " %#" PRIx64, wait->address_avma);
	sw_put(&w->out, " of ");
	put_owner(w, lock->after != NULL ? w->diff->after : w->diff->before, wait);
	if (lock->held)
		sw_put(&w->out, " as before");
	else if (lock->before != NULL && lock->after != NULL &&
		 (lock->before->owner_tid != lock->after->owner_tid ||
		  lock->before->owner_pid != lock->after->owner_pid)) {
		sw_put(&w->out, ", before of ");
		put_owner(w, w->diff->before, lock->before);
	}
	sw_put(&w->out, ": %zu → %zu waiting", lock->n_before, lock->n_after);
	size_t shown = lock->n_still < TIDS_SHOWN + 1 ? lock->n_still : TIDS_SHOWN;
	if (lock->n_still > 0) {
		sw_put_styled(&w->out, SW_STYLE_BOLD, ", %zu did not move", lock->n_still);
		sw_put(&w->out, " (");
		for (size_t i = 0; i < shown; i++)
			sw_put(&w->out, "%s%d", i > 0 ? " " : "", (int) lock->still[i]);
		if (shown < lock->n_still)
			sw_put(&w->out, " +%zu more", lock->n_still - shown);
		sw_put(&w->out, ")");
	}
	sw_put(&w->out, "\n");
}

static void put_locks(struct writer *w)
{
	const struct sw_diff *d = w->diff;
	if (d->n_locks == 0)
		return;
	sw_put(&w->out, "\nwaited for\n");
	for (size_t i = 0; i < d->n_locks && i < w->most; i++)
		put_lock(w, &d->locks[i]);
	put_more(w, d->n_locks, "that are waited for");
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* A stack in a line, which reads different from any other line of its list. */
struct line {
	const struct sw_report *report;      /* borrowed */
	const struct sw_report_stack *stack; /* borrowed */
	struct sw_text text;                 /* owned */
};

static size_t put_places(struct sw_text *text, const struct line *l, size_t at, size_t most,
			 bool same_process)
{
	size_t n = 0;
	for (size_t i = at; i < l->stack->n_frames && n < most; i++) {
		const struct sw_report_frame *f = &l->stack->frames[i];
		if (sw_frame_is_hidden(f))
			continue;
		sw_text_printf(text, "%s%s", n++ > 0 ? " < " : "",
			       sw_guess_name(f->trust) != NULL ? "?" : "");
		sw_diff_put_frame(text, l->report, f, same_process);
	}
	return n;
}

static void line_make(const struct writer *w, struct line *l, size_t level)
{
	struct sw_text_writer out = {.report = l->report, .options = w->out.options};
	size_t own = levels[level].whole ? 0 : sw_own_frame(l->report, l->stack, 0);
	sw_text_deinit(&l->text);
	if (own == l->stack->n_frames)
		own = 0;
	size_t most = levels[level].frames;
	size_t n = levels[level].places ? put_places(&out.text, l, own, most, w->diff->same_process)
					: sw_put_names(&out, l->stack, own, most);
	if (n == 0)
		sw_put(&out, "no frames");
	l->text = out.text;
}

static int by_text(const void *a, const void *b)
{
	const struct line *const *x = a, *const *y = b;
	return strcmp((*x)->text.data, (*y)->text.data);
}

/* Moves lines that read as another one does to the head, and returns their number. */
static size_t lines_alike(struct line **lines, size_t n)
{
	size_t kept = 0;
	bool before = false;
	qsort(lines, n, sizeof(struct line *), by_text);
	for (size_t i = 0; i < n; i++) {
		bool behind = i + 1 < n && by_text(&lines[i], &lines[i + 1]) == 0;
		if (before || behind)
			lines[kept++] = lines[i];
		before = behind;
	}
	return kept;
}

static void lines_make(struct writer *w, struct line *lines, size_t n)
{
	sw_cleanup(sw_free_p) struct line **left = calloc(n + 1, sizeof(struct line *));
	size_t n_left = n;
	w->out.text.failed |= left == NULL;
	for (size_t i = 0; i < n && left != NULL; i++)
		left[i] = &lines[i];
	for (size_t level = 0; level < LEVELS && n_left > 0 && !w->out.text.failed; level++) {
		for (size_t i = 0; i < n_left; i++) {
			line_make(w, left[i], level);
			w->out.text.failed |= left[i]->text.failed;
		}
		if (!w->out.text.failed)
			n_left = lines_alike(left, n_left);
	}
}

static void put_line(struct writer *w, const struct line *l)
{
	if (l->text.size > 0)
		sw_text_append(&w->out.text, l->text.data, l->text.size);
}

static void put_group(struct writer *w, const struct sw_diff_group *g, const struct line *l)
{
	bool more = g->n_after > g->n_before;
	sw_put(&w->out, "  %s%zu", more ? "+" : "-",
	       more ? g->n_after - g->n_before : g->n_before - g->n_after);
	sw_put(&w->out, "  (%zu → %zu)  ", g->n_before, g->n_after);
	put_line(w, l);
	sw_put(&w->out, "\n");
}

static void put_groups(struct writer *w)
{
	const struct sw_diff *d = w->diff;
	size_t n = d->n_groups < w->most ? d->n_groups : w->most;
	sw_cleanup(sw_free_p) struct line *lines = calloc(n + 1, sizeof(*lines));
	w->out.text.failed |= lines == NULL;
	if (n == 0 || lines == NULL)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct sw_diff_group *g = &d->groups[i];
		lines[i].report = g->after != NULL ? d->after : d->before;
		lines[i].stack = g->after != NULL ? g->after : g->before;
	}
	lines_make(w, lines, n);
	sw_put(&w->out, "\nstacks that more or fewer threads have\n");
	for (size_t i = 0; i < n; i++) {
		put_group(w, &d->groups[i], &lines[i]);
		sw_text_deinit(&lines[i].text);
	}
	put_more(w, d->n_groups, "stacks");
}

/* ---- threads --------------------------------------------------------------------------------- */

static int64_t cpu_ns(const struct sw_diff_thread *t)
{
	return t->change == SW_DIFF_RAN ? t->after->cpu_ns - t->before->cpu_ns : 0;
}

static void put_cpu(struct writer *w, int64_t ns)
{
	enum { NS_PER_MS = 1000000 };
	if (ns >= NS_PER_MS)
		sw_put(&w->out, "%" PRId64 " ms CPU in ", ns / NS_PER_MS);
	else if (ns > 0)
		sw_put(&w->out, "less than 1 ms CPU in ");
}

static void put_thread(struct writer *w, const struct sw_diff_thread *t)
{
	const struct sw_diff *d = w->diff;
	const struct sw_report_thread *old = t->before, *new = t->after;
	struct line lines[2] = {{0}};
	size_t n = 0;
	put_of(w, new != NULL ? d->after : d->before);
	sw_put(&w->out, "  ");
	sw_put_thread(&w->out, (new != NULL ? new : old)->tid);
	sw_put(&w->out, "  ");
	put_cpu(w, cpu_ns(t));
	if (old != NULL && old->stack >= 0 && (new == NULL || t->change == SW_DIFF_MOVED))
		lines[n++] = (struct line){d->before, sw_stack_of(d->before, old), {0}};
	if (new != NULL &&new->stack >= 0)
		lines[n++] = (struct line){d->after, sw_stack_of(d->after, new), {0}};
	lines_make(w, lines, n);
	for (size_t i = 0; i < n; i++) {
		sw_put(&w->out, i > 0 ? "  →  " : "");
		put_line(w, &lines[i]);
		sw_text_deinit(&lines[i].text);
	}
	sw_put(&w->out, "\n");
}

/* The thread that used most CPU time comes first; else the order is that of the dump. */
static int by_cpu(const void *a, const void *b)
{
	const struct sw_diff_thread *const *x = a, *const *y = b;
	int64_t p = cpu_ns(*x), q = cpu_ns(*y);
	return p != q ? (p < q) - (p > q) : (*x > *y) - (*x < *y);
}

static void put_threads(struct writer *w, enum sw_diff_change change, const char *title)
{
	const struct sw_diff *d = w->diff;
	size_t n = d->n_changes[change], at = 0;
	sw_cleanup(sw_free_p) const struct sw_diff_thread **threads =
		calloc(n + 1, sizeof(*threads));
	w->out.text.failed |= threads == NULL;
	if (n == 0 || threads == NULL)
		return;
	for (size_t i = 0; i < d->n_threads && at < n; i++)
		if (d->threads[i].change == change)
			threads[at++] = &d->threads[i];
	qsort(threads, at, sizeof(*threads), by_cpu);
	sw_put(&w->out, "\n%s\n", title);
	for (size_t i = 0; i < at && i < w->most; i++)
		put_thread(w, threads[i]);
	put_more(w, n, "threads");
}

static void put_counts(struct writer *w)
{
	static const struct {
		enum sw_diff_change change;
		const char *text;
	} rows[] = {
		{SW_DIFF_MOVED, "moved"},        {SW_DIFF_RAN, "ran, with the same stack"},
		{SW_DIFF_STILL, "did not move"}, {SW_DIFF_CAME, "came"},
		{SW_DIFF_WENT, "went"},          {SW_DIFF_UNKNOWN, "without a stack"},
	};
	bool any = false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++) {
		size_t n = w->diff->n_changes[rows[i].change];
		if (n == 0)
			continue;
		sw_put(&w->out, "%s%s %zu", any ? " · " : "\n", rows[i].text, n);
		any = true;
	}
	sw_put(&w->out, any ? "\n" : "");
}

int sw_diff_text(const struct sw_diff *diff, const struct sw_text_options *options, char **ret_text,
		 size_t *ret_size, struct sw_error *err)
{
	struct writer w = {.out = {.report = diff->after, .options = options},
			   .diff = diff,
			   .most = options->all ? SIZE_MAX : LINES_SHOWN};
	put_head(&w);
	if (diff->same_process) {
		put_deadlocks(&w);
		put_counts(&w);
		put_locks(&w);
	}
	put_groups(&w);
	put_threads(&w, SW_DIFF_CAME, "came");
	put_threads(&w, SW_DIFF_WENT, "went");
	put_threads(&w, SW_DIFF_MOVED, "moved");
	put_threads(&w, SW_DIFF_RAN, "ran, with the same stack");
	if (options->all)
		put_threads(&w, SW_DIFF_STILL, "did not move");
	if (w.out.text.failed) {
		sw_text_deinit(&w.out.text);
		return sw_fail_nomem(err);
	}
	*ret_size = w.out.text.size;
	*ret_text = w.out.text.data;
	return 0;
}
