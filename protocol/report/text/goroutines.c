/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Goroutines in the text: those with the same stack are one group, as threads are.
 */
#include "cleanup.h"
#include "parts.h"
#include "report/text/goroutines.h"
#include "duration.h"
#include "report/builder.h"
#include "report/text/parked.h"

#include <inttypes.h>

enum {
	IDS_SHOWN = 6,
	WAITS_SHOWN = 3,
	PLACES_SHOWN = 3,
	MS_PER_S = 1000,
};

typedef bool alike(const struct sw_report_goroutine *a, const struct sw_report_goroutine *b);

/* The goroutines that are alike in one thing, and the first of them. */
struct kind {
	const struct sw_report_goroutine *first;
	size_t n;
	int64_t least_ms, most_ms; /* they have waited; -1: nobody has said */
};

static bool same_wait(const struct sw_report_goroutine *a, const struct sw_report_goroutine *b)
{
	return strcmp(a->state, b->state) == 0 && sw_same_text(a->wait_reason, b->wait_reason);
}

static bool same_place(const struct sw_report_goroutine *a, const struct sw_report_goroutine *b)
{
	return sw_same_text(a->created_by, b->created_by) &&
	       sw_same_text(a->created_file, b->created_file) && a->created_line == b->created_line;
}

/* The first max kinds; *ret_more: how many are of none of them. */
static size_t kinds_of(const struct sw_report_stack *s, alike *same, struct kind *ret, size_t max,
		       size_t *ret_more)
{
	size_t n = 0;
	*ret_more = 0;
	for (size_t i = 0; i < s->n_goroutines; i++) {
		const struct sw_report_goroutine *g = &s->goroutines[i];
		size_t k = 0;
		while (k < n && !same(ret[k].first, g))
			k++;
		if (k == max) {
			++*ret_more;
			continue;
		}
		if (k == n)
			ret[n++] = (struct kind){.first = g, .least_ms = -1, .most_ms = -1};
		ret[k].n++;
		if (g->since_ms >= 0 && (ret[k].least_ms < 0 || g->since_ms < ret[k].least_ms))
			ret[k].least_ms = g->since_ms;
		if (g->since_ms > ret[k].most_ms)
			ret[k].most_ms = g->since_ms;
	}
	return n;
}

/*
 * The object of Go's package sync for which a goroutine waits, which all are semaphores to the
 * runtime: the outermost one of its functions that call each other tells. NULL: something else.
 * Source: src/sync of Go 1.18 to 1.26.
 */
static const char *sync_of(const struct sw_report_stack *s, const char *reason)
{
	static const struct {
		const char *begin, *text;
	} functions[] = {
		{"sync.(*Mutex).", "for a sync.Mutex"},
		{"sync.(*RWMutex).RLock", "for a sync.RWMutex to read"},
		{"sync.(*RWMutex).Lock", "for a sync.RWMutex to write"},
		{"sync.(*WaitGroup).", "for a sync.WaitGroup"},
		{"sync.(*Once).", "for the function of a sync.Once"},
	};
	const char *found = NULL;
	bool inside = false;
	if (reason == NULL ||
	    !(sw_begins_with(reason, "semacquire") || sw_begins_with(reason, "sync.")))
		return NULL;
	for (size_t i = 0; i < s->n_frames; i++) {
		const char *name = s->frames[i].function;
		bool of_sync = name != NULL && (sw_begins_with(name, "sync.") ||
						sw_begins_with(name, "internal/sync."));
		if (inside && !of_sync)
			break;
		inside |= of_sync;
		for (size_t k = 0; of_sync && k < SW_ARRAY_SIZE(functions); k++)
			if (sw_begins_with(name, functions[k].begin))
				found = functions[k].text;
	}
	return found;
}

/* "waiting: chan receive, for 3 h or longer", "waiting for a sync.Mutex (semacquire)" */
static void put_wait(struct sw_text_writer *w, const struct sw_report_stack *s,
		     const struct kind *kind)
{
	const char *reason = kind->first->wait_reason, *what = sync_of(s, reason);
	sw_put_foreign(w, kind->first->state);
	if (what != NULL)
		sw_put(w, " %s", what);
	if (reason != NULL) {
		sw_put(w, what != NULL ? " (" : ": ");
		sw_put_foreign(w, reason);
		sw_put(w, what != NULL ? ")" : "");
	}
	if (kind->least_ms < MS_PER_S)
		return;
	char since[SW_DURATION_BYTES];
	sw_duration_format(since, kind->least_ms);
	sw_put(w, ", for %s or longer", since);
}

static void put_waits(struct sw_text_writer *w, const struct sw_report_stack *s)
{
	struct kind kinds[WAITS_SHOWN];
	size_t more, n = kinds_of(s, same_wait, kinds, WAITS_SHOWN, &more);
	for (size_t i = 0; i < n; i++) {
		sw_put(w, i > 0 ? "; " : "  ");
		if (n > 1 || more > 0)
			sw_put(w, "%zu ", kinds[i].n);
		put_wait(w, s, &kinds[i]);
	}
	if (more > 0)
		sw_put(w, "; %zu otherwise", more);
}

static void put_place(struct sw_text_writer *w, const struct sw_report_goroutine *g)
{
	if (g->created_by == NULL) {
		sw_put(w, "an unknown statement");
		return;
	}
	sw_put_foreign(w, g->created_by);
	if (g->created_file == NULL)
		return;
	const char *name = strrchr(g->created_file, '/');
	sw_put(w, ", ");
	sw_put_foreign(w, w->options->verbose || name == NULL ? g->created_file : name + 1);
	sw_put(w, ":%u", g->created_line);
}

static void put_created(struct sw_text_writer *w, const struct sw_report_stack *s)
{
	struct kind kinds[PLACES_SHOWN];
	size_t more, n = kinds_of(s, same_place, kinds, PLACES_SHOWN, &more);
	if (n == 1 && kinds[0].first->created_by == NULL)
		return;
	sw_put(w, "  created by ");
	for (size_t i = 0; i < n; i++) {
		sw_put(w, i > 0 ? "; " : "");
		put_place(w, kinds[i].first);
		if (n > 1 || more > 0)
			sw_put(w, " (%zu)", kinds[i].n);
	}
	if (more > 0)
		sw_put(w, "; %zu by others", more);
	sw_put(w, "\n");
}

static void put_who(struct sw_text_writer *w, const struct sw_report_stack *s)
{
	size_t n = s->n_goroutines, shown = n;
	sw_style_begin(w, SW_STYLE_BOLD);
	sw_put_number(w, n);
	sw_put(w, " goroutine%s", sw_plural(n));
	sw_style_end(w);
	if (n > IDS_SHOWN + 1 && !w->options->verbose)
		shown = IDS_SHOWN;
	sw_style_begin(w, SW_STYLE_DIM);
	for (size_t i = 0; i < shown; i++)
		sw_put(w, "%s%" PRIu64, i == 0 ? "  (" : " ", s->goroutines[i].id);
	if (shown < n)
		sw_put(w, " +%zu more", n - shown);
	sw_put(w, ")");
	sw_style_end(w);
}

static bool is_of_runtime(const struct sw_report_frame *f)
{
	return f->function != NULL && strncmp(f->function, "runtime.", 8) == 0;
}

/* The collector's, say: there are some in every program, and they say nothing of it. */
static bool is_runtimes_own(const struct sw_report_stack *s)
{
	for (size_t i = 0; i < s->n_frames; i++)
		if (!is_of_runtime(&s->frames[i]))
			return false;
	return true;
}

static size_t count(const struct sw_report_stack *s)
{
	return s->n_goroutines;
}

static struct sw_report_stack only(const struct sw_report_stack *s, size_t i)
{
	struct sw_report_stack ret = *s;
	ret.goroutines = &s->goroutines[i];
	ret.n_goroutines = 1;
	return ret;
}

/* How the runtime waits is the same for all. */
static size_t first_told(const struct sw_report_stack *s)
{
	size_t at = 0;
	while (at < s->n_frames && is_of_runtime(&s->frames[at]) && !is_runtimes_own(s))
		at++;
	return at;
}

static const struct sw_text_parked parked = {
	.noun = "goroutine",
	.head_lines = 4, /* an empty one, who, what, by whom */
	.count = count,
	.only = only,
	.first_told = first_told,
	.left_out = is_runtimes_own,
	.put_who = put_who,
	.put_waits = put_waits,
	.put_end = put_created,
};

void sw_text_goroutines_count(struct sw_text_writer *w)
{
	sw_text_parked_count(w, &parked);
}

void sw_text_goroutines_run(struct sw_text_writer *w, const struct sw_report_stack *stack)
{
	for (size_t i = 0; i < stack->n_goroutines && (i < IDS_SHOWN || w->options->verbose); i++) {
		const struct sw_report_goroutine *g = &stack->goroutines[i];
		sw_put(w, "  goroutine %" PRIu64 ", ", g->id);
		sw_put_foreign(w, g->state);
		if (g->created_by != NULL) {
			sw_put(w, ", created by ");
			put_place(w, g);
		}
		sw_put(w, "\n");
	}
	if (stack->n_goroutines > IDS_SHOWN && !w->options->verbose)
		sw_put(w, "  +%zu more goroutines\n", stack->n_goroutines - IDS_SHOWN);
}

void sw_text_goroutines(struct sw_text_writer *w)
{
	size_t own = sw_text_parked(w, &parked);
	if (own > 0)
		sw_put(w, "\n%zu goroutine%s of the runtime itself (--all shows %s)\n", own,
		       sw_plural(own), own == 1 ? "it" : "them");
}
