/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Folded stacks: "group;outermost;...;innermost COUNT", the largest first. ';' ends a frame and is
 * replaced in names. In a profile by time COUNT is in microseconds.
 */
#include "cleanup.h"
#include "profile/view.h"
#include "profile/writers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct line {
	uint32_t group, node;
	uint64_t value;
};

static int compare_places(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int compare_values(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return compare_places(a, b);
}

/* Threads, states and waits of one group and stack become one line. */
static size_t lines_make(const struct sw_profile_view *v, struct line *lines)
{
	size_t n = 0, kept = 0;
	for (size_t i = 0; i < v->tables->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(v->tables, i);
		lines[n++] = (struct line){.group = v->groups[row->thread],
					   .node = row->node,
					   .value = sw_profile_view_value(v, row)};
	}
	if (n > 1)
		qsort(lines, n, sizeof(*lines), compare_places);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && compare_places(&lines[kept - 1], &lines[i]) == 0)
			lines[kept - 1].value += lines[i].value;
		else
			lines[kept++] = lines[i];
	}
	if (kept > 1)
		qsort(lines, kept, sizeof(*lines), compare_values);
	return kept;
}

static void put_name(struct sw_text *text, const struct sw_profile_view *v, uint32_t string)
{
	size_t from = text->size;
	const char *s = sw_profile_text_of(v->tables, string);
	sw_text_append(text, s, strlen(s));
	for (size_t i = from; !text->failed && i < text->size; i++)
		if (text->data[i] == ';')
			text->data[i] = ':';
}

int sw_profile_folded(struct sw_text *text, const struct sw_profile *p,
		      const struct sw_profile_write_options *options)
{
	(void) options;
	struct sw_profile_view v;
	if (sw_profile_view_init(&v, p, NULL) < 0)
		return -SW_E_NOMEM;
	sw_cleanup(sw_free_p) struct line *lines = calloc(v.tables->rows.n + 1, sizeof(*lines));
	sw_cleanup(sw_free_p) uint32_t *path = calloc(v.tables->nodes.n + 1, sizeof(*path));
	size_t n = lines != NULL && path != NULL ? lines_make(&v, lines) : 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t value = v.by_time ? lines[i].value / 1000 : lines[i].value;
		size_t depth = 0;
		for (uint32_t at = lines[i].node; at != 0;
		     at = sw_profile_node_at(v.tables, at)->parent)
			path[depth++] = sw_profile_node_at(v.tables, at)->frame;
		if (value == 0)
			continue;
		put_name(text, &v, lines[i].group);
		while (depth > 0) {
			sw_text_append(text, ";", 1);
			put_name(text, &v, sw_profile_frame_at(v.tables, path[--depth])->function);
		}
		sw_text_printf(text, " %" PRIu64 "\n", value);
	}
	sw_profile_view_deinit(&v);
	return lines == NULL || path == NULL ? -SW_E_NOMEM : 0;
}
