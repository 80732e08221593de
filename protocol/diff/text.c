/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What changed, for people: what is stuck, then counts, then groups and threads. */
#include "cleanup.h"
#include "errors.h"
#include "report/builder.h"
#include "report/text/frames.h"
#include "report/text/threads.h"
#include "utc.h"

#include <snapwalk/diff.h>
#include <inttypes.h>
#include <string.h>

enum { LINES_SHOWN = 12, TIDS_SHOWN = 8, FRAMES_SHOWN = 4 };

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
		if (!sw_same_text(a->host_name, b->host_name)) {
			sw_put(&w->out, " of host ");
			sw_put_foreign(&w->out, a->host_name);
		} else if (a->process.pid == b->process.pid)
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

static void put_stack(struct writer *w, const struct sw_report *r, const struct sw_report_stack *s)
{
	put_of(w, r);
	if (sw_put_names(&w->out, s, FRAMES_SHOWN) == 0)
		sw_put(&w->out, "no frames");
}

static void put_groups(struct writer *w)
{
	const struct sw_diff *d = w->diff;
	if (d->n_groups == 0)
		return;
	sw_put(&w->out, "\nstacks that more or fewer threads have\n");
	for (size_t i = 0; i < d->n_groups && i < w->most; i++) {
		const struct sw_diff_group *g = &d->groups[i];
		size_t before = g->before != NULL ? g->before->n_threads : 0;
		size_t after = g->after != NULL ? g->after->n_threads : 0;
		sw_put(&w->out, "  %s%zu", after > before ? "+" : "-",
		       after > before ? after - before : before - after);
		sw_put(&w->out, "  (%zu → %zu)  ", before, after);
		put_stack(w, g->after != NULL ? d->after : d->before,
			  g->after != NULL ? g->after : g->before);
		sw_put(&w->out, "\n");
	}
	put_more(w, d->n_groups, "stacks");
}

/* ---- threads --------------------------------------------------------------------------------- */

static void put_thread(struct writer *w, const struct sw_diff_thread *t)
{
	const struct sw_diff *d = w->diff;
	const struct sw_report_thread *old = t->before, *new = t->after;
	put_of(w, new != NULL ? d->after : d->before);
	sw_put(&w->out, "  ");
	sw_put_thread(&w->out, (new != NULL ? new : old)->tid);
	sw_put(&w->out, "  ");
	bool ran = t->change == SW_DIFF_RAN;
	if (ran && new->cpu_ns > old->cpu_ns)
		sw_put(&w->out, "%" PRId64 " ms CPU in ", (new->cpu_ns - old->cpu_ns) / 1000000);
	if (old != NULL && old->stack >= 0 && !ran)
		put_stack(w, d->before, &d->before->stacks[old->stack]);
	if (t->change == SW_DIFF_MOVED)
		sw_put(&w->out, "  →  ");
	if (new != NULL &&new->stack >= 0)
		put_stack(w, d->after, &d->after->stacks[new->stack]);
	sw_put(&w->out, "\n");
}

static void put_threads(struct writer *w, enum sw_diff_change change, const char *title)
{
	const struct sw_diff *d = w->diff;
	size_t n = 0;
	if (d->n_changes[change] == 0)
		return;
	sw_put(&w->out, "\n%s\n", title);
	for (size_t i = 0; i < d->n_threads && n < w->most; i++)
		if (d->threads[i].change == change) {
			put_thread(w, &d->threads[i]);
			n++;
		}
	put_more(w, d->n_changes[change], "threads");
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
