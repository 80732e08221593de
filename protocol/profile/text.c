/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A profile for people: what runs, as a tree; what waits, by group and what for; what is idle, in one
 * line; the functions that most of it was in.
 */
#include "cleanup.h"
#include "profile/frame_name.h"
#include "profile/margin.h"
#include "profile/text_tree.h"
#include "profile/view.h"
#include "profile/writers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WAITS_SHOWN = 25, FUNCTIONS_SHOWN = 20, IDLE_SHOWN = 6 };

struct writer {
	struct sw_text *to;
	const struct sw_profile *profile;
	const struct sw_profile_write_options *options;
	struct sw_profile_view view;
	uint64_t by_state[SW_PROFILE_STATES];
	bool margins; /* of shares of samples on a CPU, or of those that want one */
};

/* How many threads were in it on average: who is counted once a round. false: that is not known. */
static bool threads_of(const struct writer *w, uint64_t value, double *ret)
{
	const struct sw_profile_info *info = &w->profile->info;
	uint64_t whole = w->view.by_time ? (uint64_t) info->duration_ns : info->n_samples;
	if (whole == 0 || (info->mode != NULL && strcmp(info->mode, "cpu") == 0))
		return false;
	*ret = (double) value / (double) whole;
	return true;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : 100.0 * (double) part / (double) whole;
}

static void put_title(struct writer *w, const char *title)
{
	sw_text_printf(w->to, "\n%s%s%s\n", w->options->color ? "\033[1m" : "", title,
		       w->options->color ? "\033[0m" : "");
}

/* ---- the head -------------------------------------------------------------------------------- */

static void put_averages(struct writer *w)
{
	static const char *const names[SW_PROFILE_STATES] = {
		[SW_PROFILE_ON_CPU] = "on CPU",
		[SW_PROFILE_RUNNABLE] = "runnable",
		[SW_PROFILE_BLOCKED] = "blocked",
		[SW_PROFILE_IDLE] = "idle",
	};
	const char *separator = "";
	bool average = true;
	for (unsigned i = SW_PROFILE_ON_CPU; i < SW_PROFILE_STATES; i++) {
		double threads;
		if (w->by_state[i] == 0 && i != SW_PROFILE_ON_CPU)
			continue;
		average = threads_of(w, w->by_state[i], &threads);
		sw_text_printf(w->to, average ? "%s%s %.1f" : "%s%s %.1f %%", separator, names[i],
			       average ? threads : percent(w->by_state[i], w->view.total));
		separator = " · ";
	}
	sw_text_printf(w->to, "%s\n", average ? " threads on average" : " of the samples");
	if (w->margins)
		sw_text_printf(w->to,
			       "±: by about how many percentage points a share may be off\n");
}

static void put_head(struct writer *w)
{
	const struct sw_profile_info *info = &w->profile->info;
	sw_profile_process_name(w->to, w->profile);
	sw_text_printf(w->to, ": %" PRIu64 " sample%s", info->n_samples,
		       sw_plural(info->n_samples));
	if (info->n_wanted > info->n_samples)
		sw_text_printf(w->to, " of %" PRIu64, info->n_wanted);
	sw_text_printf(w->to, " in %.1f s, %zu thread%s", (double) info->duration_ns / 1e9,
		       w->profile->threads.n, sw_plural(w->profile->threads.n));
	if (info->n_late > 0)
		sw_text_printf(w->to, ", %" PRIu64 " late", info->n_late);
	if (info->n_lost > 0)
		sw_text_printf(w->to, ", %" PRIu64 " lost", info->n_lost);
	sw_text_printf(w->to, "\n");
	if (w->profile->ended_early != 0)
		sw_text_printf(w->to, "ended early: %s\n",
			       sw_profile_text_of(w->profile, w->profile->ended_early));
	if (w->view.tables->rows.n > 0)
		put_averages(w);
	if (w->profile->left_count > 0)
		sw_text_printf(w->to,
			       "%" PRIu64 " stacks of threads found no space and are not counted\n",
			       w->profile->left_count);
}

/* ---- what waits ------------------------------------------------------------------------------ */

/* Threads of a group that are blocked in, or idle in, one thing. */
struct waiting {
	uint32_t group, wait;
	uint64_t value;
	uint32_t node; /* where most of them are */
	uint64_t node_value;
};

static int compare_keys(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->wait != y->wait)
		return x->wait < y->wait ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int compare_values(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return compare_keys(a, b);
}

/* Merge rows sorted by key: one remains for each (group, wait), with the node that has most. */
static size_t waitings_merge(struct waiting *all, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0, end; i < n; i = end) {
		struct waiting merged = {.group = all[i].group, .wait = all[i].wait};
		for (end = i;
		     end < n && all[end].group == merged.group && all[end].wait == merged.wait;) {
			uint64_t value = 0;
			uint32_t node = all[end].node;
			for (; end < n && all[end].group == merged.group &&
			       all[end].wait == merged.wait && all[end].node == node;
			     end++)
				value += all[end].value;
			merged.value += value;
			if (value > merged.node_value) {
				merged.node = node;
				merged.node_value = value;
			}
		}
		all[kept++] = merged;
	}
	if (kept > 1)
		qsort(all, kept, sizeof(*all), compare_values);
	return kept;
}

static int waitings_make(const struct writer *w, enum sw_profile_state state, bool by_group,
			 struct waiting **ret, size_t *ret_n)
{
	const struct sw_profile *t = w->view.tables;
	struct waiting *all = calloc(t->rows.n + 1, sizeof(*all));
	size_t n = 0;
	if (all == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(t, i);
		if (row->state == state && !sw_profile_view_is_old(&w->view, row))
			all[n++] = (struct waiting){.group = by_group ? w->view.groups[row->thread]
								      : 0,
						    .wait = row->wait,
						    .node = row->node,
						    .value = sw_profile_view_value(&w->view, row)};
	}
	if (n > 1)
		qsort(all, n, sizeof(*all), compare_keys);
	*ret_n = waitings_merge(all, n);
	*ret = all;
	return 0;
}

/* The innermost frame that is the program's own: those of the C library say how it waits, not why. */
static uint32_t own_frame(const struct sw_profile *t, uint32_t node)
{
	uint32_t innermost = node;
	for (; node != 0; node = sw_profile_node_at(t, node)->parent) {
		uint32_t index = sw_profile_node_at(t, node)->frame;
		const struct sw_profile_frame *f = sw_profile_frame_at(t, index);
		const struct sw_profile_module *m = sw_profile_module_at(t, f->module);
		const char *base = strrchr(sw_profile_text_of(t, m->path), '/');
		base = base != NULL ? base + 1 : "";
		if (!(f->flags & SW_PROFILE_MARK) && strncmp(base, "libc", 4) != 0 &&
		    strncmp(base, "libpthread", 10) != 0 && strncmp(base, "ld-", 3) != 0 &&
		    strcmp(sw_profile_text_of(t, m->path), "[vdso]") != 0)
			return index;
	}
	return innermost != 0 ? sw_profile_node_at(t, innermost)->frame : 0;
}

static void put_number(struct writer *w, uint64_t value, uint64_t whole)
{
	double threads;
	if (threads_of(w, value, &threads))
		sw_text_printf(w->to, "%7.1f ", threads);
	else
		sw_text_printf(w->to, "%5.1f %% ", percent(value, whole));
}

/* Whether put_number() would show 0.0. */
static bool is_nothing(const struct writer *w, uint64_t value)
{
	static const double LEAST = 0.05;
	double threads;
	return !w->options->all &&
	       (threads_of(w, value, &threads) ? threads < LEAST
					       : percent(value, w->view.total) < LEAST);
}

/* The number of waits that show something: they are sorted. */
static size_t waitings_shown(const struct writer *w, const struct waiting *all, size_t n,
			     size_t most)
{
	size_t shown = w->options->all || n < most ? n : most;
	while (shown > 0 && is_nothing(w, all[shown - 1].value))
		shown--;
	return shown;
}

static int put_blocked(struct writer *w)
{
	const struct sw_profile *t = w->view.tables;
	struct waiting *all;
	size_t n;
	if (waitings_make(w, SW_PROFILE_BLOCKED, true, &all, &n) < 0)
		return -SW_E_NOMEM;
	size_t shown = waitings_shown(w, all, n, WAITS_SHOWN);
	if (shown > 0)
		put_title(w, "blocked, threads on average");
	for (size_t i = 0; i < shown; i++) {
		uint32_t frame = own_frame(t, all[i].node);
		const char *wait = sw_profile_text_of(t, all[i].wait);
		put_number(w, all[i].value, w->view.total);
		sw_text_printf(w->to, " %-16s %s", sw_profile_text_of(t, all[i].group),
			       wait[0] != '\0' ? wait : "unknown");
		if (frame != 0)
			sw_text_printf(w->to, "  in %s",
				       sw_profile_text_of(t,
							  sw_profile_frame_at(t, frame)->function));
		sw_text_printf(w->to, "\n");
	}
	if (shown > 0 && shown < n)
		sw_text_printf(w->to, "         and %zu more\n", n - shown);
	free(all);
	return 0;
}

static int put_idle(struct writer *w)
{
	struct waiting *all;
	size_t n;
	if (waitings_make(w, SW_PROFILE_IDLE, false, &all, &n) < 0)
		return -SW_E_NOMEM;
	size_t shown = waitings_shown(w, all, n, IDLE_SHOWN);
	if (shown > 0) {
		put_title(w, "idle, threads on average");
		for (size_t i = 0; i < shown; i++) {
			put_number(w, all[i].value, w->view.total);
			sw_text_printf(w->to, " %s\n",
				       sw_profile_text_of(w->view.tables, all[i].wait));
		}
	}
	free(all);
	return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

enum order { BY_SELF, BY_TOTAL, BY_CHANGE };

struct function {
	uint32_t frame;
	uint64_t self, total, old_total;
	size_t seen_in; /* the last row that it was counted for, plus one */
};

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static int compare_totals(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return compare_functions(a, b);
}

/* Against another profile: what changed most first. */
static int compare_changes(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	/* totals are shares here: see functions_scale() */
	uint64_t dx = x->total > x->old_total ? x->total - x->old_total : x->old_total - x->total;
	uint64_t dy = y->total > y->old_total ? y->total - y->old_total : y->old_total - y->total;
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return compare_functions(a, b);
}

/* Counts a row for all functions of its stack: each once, however deep the recursion is. */
static void count_row(const struct writer *w, struct function *functions, size_t number)
{
	const struct sw_profile *t = w->view.tables;
	const struct sw_profile_row *row = sw_profile_row_at(t, number);
	uint64_t value = sw_profile_view_value(&w->view, row);
	bool old = sw_profile_view_is_old(&w->view, row), innermost = true;
	for (uint32_t node = row->node; node != 0; node = sw_profile_node_at(t, node)->parent) {
		struct function *f = &functions[sw_profile_node_at(t, node)->frame];
		if (innermost && !old)
			f->self += value;
		innermost = false;
		if (f->seen_in == number + 1)
			continue;
		f->seen_in = number + 1;
		*(old ? &f->old_total : &f->total) += value;
	}
}

/* Only what is on a CPU, unless nothing is. */
static void functions_count(const struct writer *w, struct function *functions, bool cpu,
			    uint64_t *ret_whole, uint64_t *ret_old_whole)
{
	const struct sw_profile *t = w->view.tables;
	for (size_t i = 0; i < t->frames.n; i++)
		functions[i].frame = (uint32_t) i;
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(t, i);
		if (cpu && row->state != SW_PROFILE_ON_CPU)
			continue;
		count_row(w, functions, i);
		*(sw_profile_view_is_old(&w->view, row) ? ret_old_whole : ret_whole) +=
			sw_profile_view_value(&w->view, row);
	}
}

/* To thousandths of a percent, so that two profiles of other lengths compare. */
static void functions_scale(const struct writer *w, struct function *functions, uint64_t whole,
			    uint64_t old_whole)
{
	for (size_t i = 0; i < w->view.tables->frames.n; i++) {
		struct function *f = &functions[i];
		f->self = (uint64_t) (1000 * percent(f->self, whole) + 0.5);
		f->total = (uint64_t) (1000 * percent(f->total, whole) + 0.5);
		f->old_total = (uint64_t) (1000 * percent(f->old_total, old_whole) + 0.5);
	}
}

/* Prints the margin of the share that the table is sorted by. */
static void put_margin(struct writer *w, const struct function *f, enum order order, uint64_t whole)
{
	enum { THOUSANDTHS = 100000 }; /* see functions_scale() */
	uint64_t share = order == BY_SELF ? f->self : f->total;
	uint64_t part = (uint64_t) ((double) share * (double) whole / THOUSANDTHS + 0.5);
	if (w->margins && whole > 0)
		sw_text_printf(w->to, " ±%-2.0f", sw_profile_margin(part, whole, w->view.n_rounds));
}

static void put_function(struct writer *w, const struct function *f, enum order order,
			 uint64_t whole)
{
	const struct sw_profile *t = w->view.tables;
	sw_text_printf(w->to, "%6.1f%% %6.1f%%", (double) f->self / 1000, (double) f->total / 1000);
	put_margin(w, f, order, whole);
	if (w->options->old != NULL)
		sw_text_printf(w->to, " %+7.1f ",
			       ((double) f->total - (double) f->old_total) / 1000);
	sw_text_printf(w->to, "  %s\n",
		       sw_profile_text_of(t, sw_profile_frame_at(t, f->frame)->function));
}

/* Whether all that would be shown of a function is 0.0 %. */
static bool is_small(const struct writer *w, const struct function *f, enum order order)
{
	enum { LEAST = 50 }; /* thousandths of a percent */
	uint64_t value = order == BY_SELF          ? f->self
			 : order == BY_TOTAL       ? f->total
			 : f->total > f->old_total ? f->total
						   : f->old_total;
	return w->options->all ? value == 0 : value < LEAST;
}

static void put_table(struct writer *w, struct function *functions, enum order order,
		      uint64_t whole, const char *title)
{
	static int (*const compare[])(const void *, const void *) = {
		[BY_SELF] = compare_functions,
		[BY_TOTAL] = compare_totals,
		[BY_CHANGE] = compare_changes,
	};
	size_t n = w->view.tables->frames.n, shown = 0;
	qsort(functions, n, sizeof(*functions), compare[order]);
	put_title(w, title);
	sw_text_printf(w->to, "%7s %7s%s%s  function\n", "self", "total", w->margins ? " ±  " : "",
		       order == BY_CHANGE ? "  change " : "");
	for (size_t i = 0; i < n && (shown < FUNCTIONS_SHOWN || w->options->all); i++) {
		if (is_small(w, &functions[i], order))
			continue;
		put_function(w, &functions[i], order, whole);
		shown++;
	}
}

static int put_functions(struct writer *w)
{
	const struct sw_profile *t = w->view.tables;
	sw_cleanup(sw_free_p) struct function *functions =
		calloc(t->frames.n + 1, sizeof(*functions));
	bool cpu = w->by_state[SW_PROFILE_ON_CPU] > 0, old = w->options->old != NULL;
	uint64_t whole = 0, old_whole = 0;
	w->margins &= cpu; /* who is blocked is no matter of chance */
	if (functions == NULL)
		return -SW_E_NOMEM;
	functions_count(w, functions, cpu, &whole, &old_whole);
	functions_scale(w, functions, whole, old_whole);
	put_table(w, functions, old ? BY_CHANGE : BY_SELF, whole,
		  cpu ? "functions, of the time on a CPU" : "functions");
	if (!old)
		put_table(w, functions, BY_TOTAL, whole, "the same, by what they call as well");
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int put_tree(struct writer *w, enum sw_profile_state state, const char *title)
{
	if (w->by_state[state] == 0)
		return 0;
	put_title(w, title);
	return sw_profile_text_tree(w->to, &w->view, state, w->options);
}

static int put_all(struct writer *w)
{
	const struct sw_profile *t = w->view.tables;
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(t, i);
		if (!sw_profile_view_is_old(&w->view, row))
			w->by_state[row->state] += sw_profile_view_value(&w->view, row);
	}
	w->margins = !w->view.by_time &&
		     w->by_state[SW_PROFILE_ON_CPU] + w->by_state[SW_PROFILE_RUNNABLE] > 0;
	put_head(w);
	if (t->rows.n == 0)
		return 0;
	if (put_tree(w, SW_PROFILE_ON_CPU, "on CPU") < 0 ||
	    put_tree(w, SW_PROFILE_RUNNABLE, "runnable, waiting for a CPU") < 0 ||
	    put_blocked(w) < 0 || put_idle(w) < 0)
		return -SW_E_NOMEM;
	return put_functions(w);
}

int sw_profile_text(struct sw_text *text, const struct sw_profile *p,
		    const struct sw_profile_write_options *options)
{
	struct writer w = {.to = text, .profile = p, .options = options};
	if (sw_profile_view_init(&w.view, p, options->old) < 0)
		return -SW_E_NOMEM;
	int r = put_all(&w);
	sw_profile_view_deinit(&w.view);
	return r;
}
