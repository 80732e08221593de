/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The report as JSON: one line, written element by element (report/json/elements.c), so that it
 * takes the memory of its text and of one element. Only the brackets and commas between elements
 * are put here.
 */
#include "cleanup.h"
#include "errors.h"
#include "arena.h"
#include "map.h"
#include "report/json/elements.h"

#include <stdlib.h>
#include <string.h>

/* A frame that was written before: the same frame is in many stacks. */
struct written {
	const struct sw_report_frame *frame;
	size_t offset, size; /* in frames_text */
	uint64_t next;       /* index of the next with the same hash, or NOTHING */
};

struct writer {
	struct sw_text text;        /* the result */
	struct sw_text frames_text; /* each distinct frame once */
	struct sw_map64 by_hash;
	struct written *written; /* owned */
	size_t n_written, capacity;
};

static const uint64_t NOTHING = UINT64_MAX;

static void put(struct writer *w, const char *s)
{
	sw_text_append(&w->text, s, strlen(s));
}

/* Takes the bracket back that closes the object just written: arrays follow in it. */
static void reopen_object(struct writer *w)
{
	if (!w->text.failed)
		w->text.size--;
}

static unsigned flags_of(const struct sw_report_frame *f)
{
	return f->has_offset | f->inlined << 1 | f->signal << 2 | f->live_read << 3 |
	       f->may_miss << 4 | f->internal << 5 | f->after_guess << 6 |
	       (unsigned) (f->exact_pc + 1) << 7;
}

/* Strings are compared by address: equal ones of one report mostly have the same, and a miss only
 * costs that the frame is written anew. */
static bool same_frame(const struct sw_report_frame *a, const struct sw_report_frame *b)
{
	return a->pc_avma == b->pc_avma && a->module == b->module && a->offset == b->offset &&
	       a->function == b->function && a->function_offset == b->function_offset &&
	       a->file == b->file && a->line == b->line && a->line_offset == b->line_offset &&
	       a->kind == b->kind && a->by == b->by && a->trust == b->trust &&
	       flags_of(a) == flags_of(b);
}

static const struct written *frame_find(const struct writer *w, const struct sw_report_frame *f,
					uint64_t hash, uint64_t *ret_first)
{
	*ret_first = NOTHING;
	(void) sw_map64_get(&w->by_hash, hash, ret_first); /* stays NOTHING */
	for (uint64_t i = *ret_first; i != NOTHING; i = w->written[i].next)
		if (same_frame(w->written[i].frame, f))
			return &w->written[i];
	return NULL;
}

static bool frame_remember(struct writer *w, const struct written *written, uint64_t hash)
{
	struct written *grown =
		sw_grow(w->written, w->n_written, &w->capacity, 256, sizeof(*grown));
	if (grown == NULL)
		return false;
	w->written = grown;
	w->written[w->n_written++] = *written;
	return sw_map64_put(&w->by_hash, hash, w->n_written - 1) == 0;
}

/* A thousand deep stacks are twelve megabytes of JSON, but some hundred frames. */
static void put_frame_once(struct writer *w, const struct sw_report_frame *f)
{
	uint64_t first;
	uint64_t hash = sw_mix64(f->pc_avma ^ sw_mix64((uintptr_t) f->function ^ f->line));
	const struct written *before = frame_find(w, f, hash, &first);
	if (before == NULL) {
		struct written written = {.frame = f, .offset = w->frames_text.size, .next = first};
		sw_report_json_frame(&w->frames_text, f);
		written.size = w->frames_text.size - written.offset;
		if (w->frames_text.failed || !frame_remember(w, &written, hash)) {
			w->text.failed = true;
			return;
		}
		before = &w->written[w->n_written - 1];
	}
	sw_text_append(&w->text, w->frames_text.data + before->offset, before->size);
}

static void put_stack(struct writer *w, const struct sw_report *r, const struct sw_report_stack *s)
{
	sw_report_json_stack(&w->text, r, s);
	reopen_object(w);
	put(w, ",\"frames\":[");
	for (size_t i = 0; i < s->n_kernel_frames; i++) {
		put(w, i > 0 ? "," : "");
		put_frame_once(w, &s->kernel_frames[i]);
	}
	for (size_t i = 0; i < s->n_frames; i++) {
		put(w, i + s->n_kernel_frames > 0 ? "," : "");
		put_frame_once(w, &s->frames[i]);
	}
	put(w, "]}");
}

/* Only when somebody is known to wait for somebody; behind the bracket that the caller closes. */
static void put_graph(struct writer *w, const struct sw_report *r)
{
	if (r->n_deadlocks + r->n_root_holders == 0)
		return;
	put(w, "],\"deadlocks\":[");
	for (size_t i = 0; i < r->n_deadlocks; i++) {
		put(w, i > 0 ? "," : "");
		sw_report_json_deadlock(&w->text, &r->deadlocks[i]);
	}
	put(w, "],\"root_holders\":[");
	for (size_t i = 0; i < r->n_root_holders; i++) {
		put(w, i > 0 ? "," : "");
		sw_report_json_holder(&w->text, &r->root_holders[i]);
	}
}

/* Put the waits of tasks, only if there are some. */
static void put_task_waits(struct writer *w, const struct sw_report *r)
{
	if (r->n_task_waits == 0)
		return;
	put(w, "],\"task_waits\":[");
	for (size_t i = 0; i < r->n_task_waits; i++) {
		put(w, i > 0 ? "," : "");
		sw_report_json_task_wait(&w->text, &r->task_waits[i]);
	}
	if (r->n_task_deadlocks == 0)
		return;
	put(w, "],\"task_deadlocks\":[");
	for (size_t i = 0; i < r->n_task_deadlocks; i++) {
		put(w, i > 0 ? "," : "");
		sw_report_json_task_deadlock(&w->text, r, &r->task_deadlocks[i]);
	}
}

/* Put the peers, only if there are some. */
static void put_peers(struct writer *w, const struct sw_report *r)
{
	if (r->n_peers == 0)
		return;
	put(w, "],\"peers\":[");
	for (size_t i = 0; i < r->n_peers; i++) {
		put(w, i > 0 ? "," : "");
		sw_report_json_peer(&w->text, &r->peers[i]);
	}
}

/* Hints are put only if there are some. */
static void put_hints(struct writer *w, const struct sw_report *r)
{
	if (r->n_hints == 0)
		return;
	put(w, "],\"hints\":[");
	for (size_t i = 0; i < r->n_hints; i++) {
		put(w, i > 0 ? "," : "");
		sw_report_json_hint(&w->text, &r->hints[i]);
	}
}

static void put_report(struct writer *w, const struct sw_report *r)
{
	sw_report_json_head(&w->text, r);
	reopen_object(w);
	put(w, ",\"threads\":[");
	for (size_t i = 0; i < r->n_threads; i++) {
		put(w, i > 0 ? "," : "");
		sw_report_json_thread(&w->text, &r->threads[i]);
	}
	put(w, "],\"stacks\":[");
	for (size_t i = 0; i < r->n_stacks; i++) {
		put(w, i > 0 ? "," : "");
		put_stack(w, r, &r->stacks[i]);
	}
	put(w, "],\"modules\":[");
	for (size_t i = 0; i < r->n_modules; i++) {
		put(w, i > 0 ? "," : "");
		sw_report_json_module(&w->text, &r->modules[i]);
	}
	put(w, "],\"warnings\":[");
	for (size_t i = 0; i < r->n_warnings; i++) {
		put(w, i > 0 ? "," : "");
		sw_report_json_warning(&w->text, &r->warnings[i]);
	}
	put_graph(w, r);
	put_task_waits(w, r);
	put_peers(w, r);
	put_hints(w, r);
	put(w, "]}\n");
}

static int writer_finish(struct writer *w, char **ret_text, size_t *ret_size, struct sw_error *err)
{
	sw_text_deinit(&w->frames_text);
	sw_map64_deinit(&w->by_hash);
	free(w->written);
	if (w->text.failed) {
		sw_text_deinit(&w->text);
		return sw_fail_nomem(err);
	}
	*ret_text = w->text.data;
	*ret_size = w->text.size;
	return 0;
}

int sw_report_json(const struct sw_report *report, char **ret_text, size_t *ret_size,
		   struct sw_error *err)
{
	struct writer w = {0};
	put_report(&w, report);
	return writer_finish(&w, ret_text, ret_size, err);
}

int sw_report_stack_json(const struct sw_report *report, const struct sw_report_stack *stack,
			 char **ret_text, size_t *ret_size, struct sw_error *err)
{
	struct writer w = {0};
	put_stack(&w, report, stack);
	return writer_finish(&w, ret_text, ret_size, err);
}
