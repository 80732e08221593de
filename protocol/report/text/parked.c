/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/text/parked.h"
#include "report/text/frames.h"
#include "report/text/width.h"

enum {
	WHOLE_LINES = 100, /* of groups, from where on they are brief */
	BRIEF_FRAMES = 3,
};

static void put_whole(struct sw_text_writer *w, const struct sw_text_parked *kind,
		      const struct sw_report_stack *s)
{
	sw_put(w, "\n");
	size_t from = w->text.size;
	kind->put_who(w, s);
	sw_put(w, "\n");
	kind->put_waits(w, s);
	sw_put(w, "\n");
	sw_wrap(w, from);
	sw_text_frames(w, s);
	if (kind->put_end != NULL)
		kind->put_end(w, s);
}

/* "  inner < middle < outer" */
static void put_brief(struct sw_text_writer *w, const struct sw_text_parked *kind,
		      const struct sw_report_stack *s)
{
	size_t from = w->text.size;
	kind->put_who(w, s);
	kind->put_waits(w, s);
	sw_put_own_names(w, s, kind->first_told != NULL ? kind->first_told(s) : 0, BRIEF_FRAMES);
	sw_cut(w, from);
	sw_put(w, "\n");
}

/* Each by itself, as threads are then. */
static void put_each(struct sw_text_writer *w, const struct sw_text_parked *kind,
		     const struct sw_report_stack *s)
{
	for (size_t i = 0; i < kind->count(s); i++) {
		const struct sw_report_stack one = kind->only(s, i);
		put_whole(w, kind, &one);
	}
}

void sw_text_parked_count(struct sw_text_writer *w, const struct sw_text_parked *kind)
{
	const struct sw_report *r = w->report;
	size_t n = 0, groups = 0;
	for (size_t i = 0; i < r->n_stacks; i++) {
		size_t of_stack = kind->count(&r->stacks[i]);
		n += of_stack;
		groups += of_stack > 0;
	}
	if (n == 0)
		return;
	sw_put(w, ", ");
	sw_put_number(w, n);
	sw_put(w, " %s%s in %zu group%s", kind->noun, sw_plural(n), groups, sw_plural(groups));
}

size_t sw_text_parked(struct sw_text_writer *w, const struct sw_text_parked *kind)
{
	const struct sw_report *r = w->report;
	bool all = w->options->all || w->options->verbose, brief = false;
	size_t lines = 0, left_out = 0;
	for (size_t i = 0; i < r->n_stacks; i++) {
		const struct sw_report_stack *s = &r->stacks[i];
		if (s->n_threads > 0 || kind->count(s) == 0)
			continue;
		if (w->options->no_group) {
			put_each(w, kind, s);
			continue;
		}
		if (!all && kind->left_out != NULL && kind->left_out(s)) {
			left_out += kind->count(s);
			continue;
		}
		size_t wanted = kind->head_lines + s->n_frames;
		bool whole = all || lines == 0 || (!brief && lines + wanted <= WHOLE_LINES);
		lines += wanted;
		if (!whole && !brief)
			sw_put(w, "\n");
		brief = !whole;
		if (whole)
			put_whole(w, kind, s);
		else
			put_brief(w, kind, s);
	}
	if (brief)
		sw_put(w, "(--all shows these whole)\n");
	return left_out;
}
