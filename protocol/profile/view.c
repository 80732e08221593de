/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a profile's frames, of which each is an address, to names and groups of threads. */
#include "profile/view.h"
#include "cleanup.h"
#include "profile/frame_name.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- frames, stacks, rows -------------------------------------------------------------------- */

struct adding {
	struct sw_profile *to;
	const struct sw_profile *from;
	uint32_t *frames, *nodes, *threads; /* owned; what each of from's became */
	struct sw_text name;                /* reused */
	uint32_t pid_flag;
};

static int frame_of(struct adding *a, const struct sw_profile_frame *f, uint32_t *ret)
{
	struct sw_profile_frame frame = {.line = f->line, .flags = f->flags};
	const struct sw_profile_module *m = sw_profile_module_at(a->from, f->module);
	struct sw_profile_module module = {0};
	a->name.size = 0;
	sw_profile_frame_name(&a->name, a->from, f);
	if (a->name.failed ||
	    sw_profile_string_find(a->to, a->name.data, true, &frame.function) < 0 ||
	    sw_profile_string_find(a->to, sw_profile_text_of(a->from, f->file), true, &frame.file) <
		    0 ||
	    sw_profile_string_find(a->to, sw_profile_text_of(a->from, f->kind), true, &frame.kind) <
		    0 ||
	    sw_profile_string_find(a->to, sw_profile_text_of(a->from, m->path), true,
				   &module.path) < 0 ||
	    sw_profile_string_find(a->to, sw_profile_text_of(a->from, m->build_id), true,
				   &module.build_id) < 0 ||
	    sw_profile_module_find(a->to, &module, true, &frame.module) < 0)
		return -SW_E_NOMEM;
	return sw_profile_frame_find(a->to, &frame, true, ret) < 0 ? -SW_E_NOMEM : 0;
}

/* Parents come before their children. */
static int nodes_add(struct adding *a)
{
	for (size_t i = 1; i < a->from->nodes.n; i++) {
		const struct sw_profile_node *node = sw_profile_node_at(a->from, i);
		const struct sw_profile_frame *frame = sw_profile_frame_at(a->from, node->frame);
		uint32_t parent = a->nodes[node->parent];
		uint32_t *to = &a->frames[node->frame];
		a->nodes[i] = parent;
		if (frame->flags & SW_PROFILE_INTERNAL)
			continue;
		if (*to == 0 && frame_of(a, frame, to) < 0)
			return -SW_E_NOMEM;
		if (sw_profile_node_find(a->to, parent, *to, true, &a->nodes[i]) < 0)
			return -SW_E_NOMEM;
	}
	return 0;
}

static int threads_add(struct adding *a)
{
	for (size_t i = 0; i < a->from->threads.n; i++) {
		struct sw_profile_thread thread = *sw_profile_thread_at(a->from, i);
		if (sw_profile_string_find(a->to, sw_profile_text_of(a->from, thread.name), true,
					   &thread.name) < 0)
			return -SW_E_NOMEM;
		thread.key = (uint32_t) i; /* threads of one profile are different ones already */
		thread.pid |= a->pid_flag;
		if (sw_profile_thread_find(a->to, &thread, true, &a->threads[i]) < 0)
			return -SW_E_NOMEM;
	}
	return 0;
}

static int rows_add(struct adding *a)
{
	for (size_t i = 0; i < a->from->rows.n; i++) {
		const struct sw_profile_row *from = sw_profile_row_at(a->from, i);
		struct sw_profile_row row = {.thread = a->threads[from->thread],
					     .node = a->nodes[from->node],
					     .state = from->state};
		uint32_t index;
		if (sw_profile_string_find(a->to, sw_profile_text_of(a->from, from->wait), true,
					   &row.wait) < 0 ||
		    sw_profile_row_find(a->to, &row, &index) < 0)
			return -SW_E_NOMEM;
		sw_profile_again(a->to, index, from->count, from->ns);
	}
	return 0;
}

static int add(struct sw_profile *to, const struct sw_profile *from, uint32_t pid_flag)
{
	struct adding a = {
		.to = to,
		.from = from,
		.frames = calloc(from->frames.n + 1, sizeof(uint32_t)),
		.nodes = calloc(from->nodes.n + 1, sizeof(uint32_t)),
		.threads = calloc(from->threads.n + 1, sizeof(uint32_t)),
		.pid_flag = pid_flag,
	};
	int r = -SW_E_NOMEM;
	if (a.frames != NULL && a.nodes != NULL && a.threads != NULL && nodes_add(&a) == 0 &&
	    threads_add(&a) == 0)
		r = rows_add(&a);
	free(a.frames);
	free(a.nodes);
	free(a.threads);
	sw_text_deinit(&a.name);
	return r;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* A thread, by the stem of its name. */
struct stem {
	const char *name;
	size_t size; /* without the number at the end */
	uint32_t thread;
};

static size_t stem_of(const char *name)
{
	size_t size = strlen(name);
	while (size > 0 && name[size - 1] >= '0' && name[size - 1] <= '9')
		size--;
	return size;
}

/* By stem; those without a number, or all of it, are for themselves. */
static int compare_stems(const void *a, const void *b)
{
	const struct stem *x = a, *y = b;
	size_t size = x->size < y->size ? x->size : y->size;
	int r = memcmp(x->name, y->name, size);
	if (r == 0 && x->size != y->size)
		r = x->size < y->size ? -1 : 1;
	if (r == 0)
		r = strcmp(x->name, y->name);
	return r;
}

static bool same_stem(const struct stem *a, const struct stem *b)
{
	return a->size == b->size && memcmp(a->name, b->name, a->size) == 0;
}

static bool is_numbered(const struct stem *s)
{
	return s->size > 0 && s->name[s->size] != '\0';
}

/* Names it the threads first to last of one stem: a group if there are two names with a number. */
static int group_name(struct sw_profile_view *v, const struct stem *first, const struct stem *last)
{
	const struct stem *numbered = first;
	while (numbered < last && !is_numbered(numbered))
		numbered++; /* the stem itself stands before those with a number */
	bool group = is_numbered(numbered) && strcmp(numbered->name, last->name) != 0;
	sw_cleanup(sw_free_p) char *name = NULL;
	uint32_t string;
	if (group && (asprintf(&name, "%.*s*", (int) first->size, first->name) < 0 ||
		      sw_profile_string_find(v->tables, name, true, &string) < 0))
		return -SW_E_NOMEM;
	for (const struct stem *s = first; s <= last; s++)
		v->groups[s->thread] = group && is_numbered(s)
					       ? string
					       : sw_profile_thread_at(v->tables, s->thread)->name;
	return 0;
}

static int groups_find(struct sw_profile_view *v)
{
	size_t n = v->tables->threads.n;
	sw_cleanup(sw_free_p) struct stem *stems = calloc(n + 1, sizeof(*stems));
	v->groups = calloc(n + 1, sizeof(*v->groups));
	if (stems == NULL || v->groups == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *name =
			sw_profile_text_of(v->tables, sw_profile_thread_at(v->tables, i)->name);
		stems[i] =
			(struct stem){.name = name, .size = stem_of(name), .thread = (uint32_t) i};
	}
	if (n > 1)
		qsort(stems, n, sizeof(*stems), compare_stems);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && same_stem(&stems[i], &stems[end]);)
			end++;
		if (group_name(v, &stems[i], &stems[end - 1]) < 0)
			return -SW_E_NOMEM;
	}
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void totals(struct sw_profile_view *v)
{
	for (size_t i = 0; i < v->tables->rows.n; i++) {
		const struct sw_profile_row *row = sw_profile_row_at(v->tables, i);
		uint64_t *to = sw_profile_view_is_old(v, row) ? &v->old_total : &v->total;
		if (__builtin_add_overflow(*to, sw_profile_view_value(v, row), to))
			*to = INT64_MAX;
	}
}

int sw_profile_view_init(struct sw_profile_view *ret, const struct sw_profile *p,
			 const struct sw_profile *old)
{
	static const struct sw_profile_limits none = {.max_stacks = SIZE_MAX,
						      .max_threads = SIZE_MAX,
						      .max_rows = SIZE_MAX,
						      .max_bytes = SIZE_MAX};
	*ret = (struct sw_profile_view){.by_time = sw_profile_by_time(p),
					.n_rounds = p->info.n_samples};
	int r = sw_profile_create(&none, &ret->tables, NULL);
	if (r < 0)
		return r;
	/* the name alone makes a frame; address is the same in all */
	static_assert(offsetof(struct sw_profile_frame, address) == 0 &&
			      offsetof(struct sw_profile_frame, function) == sizeof(uint64_t),
		      "the name follows");
	ret->tables->frames.key_bytes = offsetof(struct sw_profile_frame, file);
	/* their index of the root is not found by a shorter key, and need not be */
	r = add(ret->tables, p, 0);
	if (r == 0 && old != NULL)
		r = add(ret->tables, old, SW_PROFILE_VIEW_OLD);
	if (r == 0)
		r = groups_find(ret);
	if (r < 0)
		sw_profile_view_deinit(ret);
	else
		totals(ret);
	return r;
}

static int mark_state(struct sw_profile *t, struct sw_profile_row *row)
{
	struct sw_profile_frame frame = {.flags = SW_PROFILE_MARK};
	struct sw_text name = {0};
	sw_text_printf(&name, "[");
	sw_profile_state_name(&name, t, row);
	sw_text_printf(&name, "]");
	int r = name.failed ? -SW_E_NOMEM
			    : sw_profile_string_find(t, name.data, true, &frame.function);
	/* only the name is looked at: it tells the state by what it was blocked in, too */
	if (r > 0)
		r = sw_profile_string_find(t, sw_profile_state_word(row->state), true, &frame.kind);
	if (r > 0)
		r = sw_profile_node_of_frame(t, row->node, &frame, true, &row->node);
	sw_text_deinit(&name);
	return r < 0 ? -SW_E_NOMEM : 0;
}

int sw_profile_view_mark_states(struct sw_profile_view *view)
{
	struct sw_profile_row *rows = view->tables->rows.items;
	for (size_t i = 0; i < view->tables->rows.n; i++)
		if (rows[i].state != SW_PROFILE_ON_CPU && mark_state(view->tables, &rows[i]) < 0)
			return -SW_E_NOMEM;
	return 0;
}

void sw_profile_view_deinit(struct sw_profile_view *view)
{
	sw_profile_destroy(view->tables);
	free(view->groups);
	*view = (struct sw_profile_view){0};
}
