/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A merge as folded stacks for flame graphs: a line for each place where threads are, with their number. */
#include "cleanup.h"
#include "errors.h"
#include "merge/tree.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

static void put(struct sw_text *text, const char *s)
{
	size_t from = text->size;
	sw_utf8_append_plain(text, s, strlen(s));
	for (size_t i = from; !text->failed && i < text->size; i++)
		if (text->data[i] == ';')
			text->data[i] = ':';
}

static void put_frame(struct sw_text *text, const struct sw_merge *m, uint32_t place)
{
	const struct sw_merge_frame *f = sw_merge_frame_of(m, place);
	put(text, sw_merge_string(m, f->function));
	if (f->line > 0) {
		put(text, " ");
		put(text, sw_merge_string(m, f->file));
		sw_text_printf(text, ":%u", f->line);
	}
}

static uint64_t threads_here(const struct sw_merge *m, uint32_t place)
{
	uint64_t n = 0;
	for (uint32_t h = m->places[place].first_here; h != SW_MERGE_NONE; h = m->heres[h].next)
		n += m->heres[h].n_threads;
	return n;
}

/* Lines begin as the one before them: prefix is cut to where a place's parent ends. */
static void put_role(struct sw_text *text, struct sw_text *prefix, const struct sw_merge *m,
		     uint32_t role, size_t *ends)
{
	uint32_t root = m->roles[role].root;
	size_t depth = 0;
	prefix->size = 0;
	sw_merge_put_role(prefix, m, role);
	for (size_t i = 0; !prefix->failed && i < prefix->size; i++)
		if (prefix->data[i] == ';')
			prefix->data[i] = ':';
	ends[0] = prefix->size;
	for (uint32_t p = root; p != SW_MERGE_NONE && !prefix->failed;
	     p = sw_merge_next(m, root, p)) {
		depth = 0;
		for (uint32_t up = p; up != root; up = m->places[up].parent)
			depth++;
		if (depth > 0) {
			prefix->size = ends[depth - 1];
			sw_text_append(prefix, ";", 1);
			put_frame(prefix, m, p);
			ends[depth] = prefix->size;
		}
		uint64_t n = threads_here(m, p);
		if (n == 0)
			continue;
		sw_text_append(text, prefix->data, prefix->size);
		sw_text_printf(text, " %" PRIu64 "\n", n);
	}
}

int sw_merge_folded(const struct sw_merge *merge, char **ret_text, size_t *ret_size,
		    struct sw_error *err)
{
	struct sw_text text = {0};
	sw_cleanup(sw_text_deinit) struct sw_text prefix = {0};
	/* The calls of a stack, and notes at both of its ends. */
	sw_cleanup(sw_free_p) size_t *ends = calloc(SW_MERGE_CALLS_MAX + 4, sizeof(*ends));
	for (uint32_t i = 0; ends != NULL && i < merge->n_roles; i++)
		put_role(&text, &prefix, merge, i, ends);
	sw_text_append(&text, "", 0); /* text.data exists, also for nothing */
	if (ends == NULL || text.failed || prefix.failed) {
		sw_text_deinit(&text);
		return sw_fail_nomem(err);
	}
	*ret_text = text.data;
	*ret_size = text.size;
	return 0;
}
