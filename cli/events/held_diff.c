/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/held_diff.h"
#include "arena.h"
#include "cleanup.h"
#include "common/json_text.h"
#include "errors.h"
#include "events/held_bytes.h"
#include "events/stacks.h"
#include "json.h"
#include "parts.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8, OLD = 0, NEW = 1, FRAMES_SHOWN = 8, ROWS_SHOWN = 20 };

#define SCHEMA "snapwalk.leaks/1"
static const char between[] = " < ";

struct row {
	const char *label; /* the arena's */
	int64_t outstanding[SW_HELD_DIFF_SIDES], bytes[SW_HELD_DIFF_SIDES];
};

struct diff {
	struct sw_json_tree trees[SW_HELD_DIFF_SIDES];
	struct sw_arena arena;
	struct row *rows; /* owned */
	size_t n, capacity;
	bool has_bytes;
};

static void diff_deinit(struct diff *d)
{
	for (size_t i = 0; i < SW_HELD_DIFF_SIDES; i++)
		sw_json_tree_deinit(&d->trees[i]);
	sw_arena_deinit(&d->arena);
	free(d->rows);
}

bool sw_held_diff_is(const struct sw_text *json)
{
	static const char begin[] = "{\"schema\":\"" SCHEMA "\"";
	return json->size >= strlen(begin) && memcmp(json->data, begin, strlen(begin)) == 0;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static int64_t number_of(const struct sw_json *object, const char *name)
{
	const struct sw_json *value = sw_json_member_of(object, name, SW_JSON_INTEGER);
	return value != NULL && value->integer > 0 ? value->integer : 0;
}

static const char *string_of(const struct sw_json *object, const char *name)
{
	const struct sw_json *value = sw_json_member_of(object, name, SW_JSON_STRING);
	return value != NULL ? value->string : NULL;
}

static void put_plain(struct sw_text *text, const char *s)
{
	sw_utf8_append_plain(text, s, strlen(s));
}

/* As in the text of leaks: innermost first, with file and line where they are known. */
static void put_frame(struct sw_text *text, const struct sw_json *frame)
{
	const char *function = string_of(frame, "function"), *file = string_of(frame, "file");
	const char *offset = string_of(frame, "offset");
	int64_t line = number_of(frame, "line");
	put_plain(text, function != NULL ? function : offset != NULL ? offset : "?");
	if (file == NULL || line == 0)
		return;
	sw_text_append(text, " ", 1);
	put_plain(text, sw_path_name(file));
	sw_text_printf(text, ":%" PRId64, line);
}

static bool is_hidden(const struct sw_json *frame)
{
	const struct sw_json *internal = sw_json_member_of(frame, "internal", SW_JSON_BOOLEAN);
	return internal != NULL && internal->boolean;
}

static int row_add(struct diff *d, const struct sw_json *stack, size_t side)
{
	sw_cleanup(sw_text_deinit) struct sw_text label = {0};
	const struct sw_json *frames = sw_json_member_of(stack, "frames", SW_JSON_ARRAY);
	for (const struct sw_json *f = frames != NULL ? sw_json_first(frames) : NULL; f != NULL;
	     f = sw_json_next(frames, f)) {
		if (is_hidden(f))
			continue;
		sw_text_append(&label, between, label.size > 0 ? strlen(between) : 0);
		put_frame(&label, f);
	}
	if (label.size == 0)
		sw_text_printf(&label, "(without a stack)");
	struct row *grown = sw_grow(d->rows, d->n, &d->capacity, 64, sizeof(*grown));
	if (grown != NULL)
		d->rows = grown;
	const char *kept =
		label.failed ? NULL : sw_arena_strndup(&d->arena, label.data, label.size);
	if (grown == NULL || kept == NULL)
		return -SW_E_NOMEM;
	struct row *row = &d->rows[d->n++];
	*row = (struct row){.label = kept};
	row->outstanding[side] = number_of(stack, "outstanding");
	row->bytes[side] = number_of(stack, "outstanding_bytes");
	return 0;
}

static int side_read(struct diff *d, const struct sw_text *text, size_t side, struct sw_error *err)
{
	struct sw_json_tree *tree = &d->trees[side];
	int r = sw_json_parse(tree, text->size > 0 ? text->data : "", text->size, DEPTH_MAX, err);
	if (r < 0)
		return r;
	const char *name = string_of(tree->values, "schema");
	const struct sw_json *stacks = sw_json_member_of(tree->values, "stacks", SW_JSON_ARRAY);
	if (name == NULL || strcmp(name, SCHEMA) != 0 || stacks == NULL ||
	    string_of(tree->values, "of") == NULL)
		return sw_fail(err, SW_E_FORMAT, "it is no result of leaks");
	d->has_bytes |= sw_json_member(tree->values, "outstanding_bytes") != NULL;
	for (const struct sw_json *s = sw_json_first(stacks); s != NULL;
	     s = sw_json_next(stacks, s))
		if (row_add(d, s, side) < 0)
			return sw_fail_nomem(err);
	return 0;
}

/* ---- comparing -------------------------------------------------------------------------------- */

static int compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct row *) a)->label, ((const struct row *) b)->label);
}

static int64_t growth(const struct row *row, bool bytes)
{
	return bytes ? row->bytes[NEW] - row->bytes[OLD]
		     : row->outstanding[NEW] - row->outstanding[OLD];
}

/* Most growth first, in bytes where things have some: without bytes all have 0. */
static int compare_growth(const void *a, const void *b)
{
	for (int by_bytes = 1; by_bytes >= 0; by_bytes--) {
		int64_t x = growth(a, by_bytes), y = growth(b, by_bytes);
		if (x != y)
			return x < y ? 1 : -1;
	}
	return compare_labels(a, b);
}

/* Rows of one stack become one: in one result there may be several, as a dump tells more of frames. */
static void rows_merge(struct diff *d)
{
	size_t n = 0;
	if (d->n > 1)
		qsort(d->rows, d->n, sizeof(*d->rows), compare_labels);
	for (size_t i = 0; i < d->n; i++) {
		if (n == 0 || compare_labels(&d->rows[n - 1], &d->rows[i]) != 0) {
			d->rows[n++] = d->rows[i];
			continue;
		}
		for (size_t side = 0; side < SW_HELD_DIFF_SIDES; side++) {
			d->rows[n - 1].outstanding[side] += d->rows[i].outstanding[side];
			d->rows[n - 1].bytes[side] += d->rows[i].bytes[side];
		}
	}
	d->n = n;
	if (n > 1)
		qsort(d->rows, n, sizeof(*d->rows), compare_growth);
}

/* ---- writing ---------------------------------------------------------------------------------- */

static bool has_changed(const struct row *row)
{
	return growth(row, false) != 0 || growth(row, true) != 0;
}

static void put_side(const struct diff *d, size_t side, struct sw_text *text)
{
	const struct sw_json *root = d->trees[side].values;
	const char *comm = string_of(root, "comm");
	if (comm != NULL && comm[0] != '\0') {
		put_plain(text, comm);
		sw_text_printf(text, ", ");
	}
	sw_text_printf(text, "pid %" PRId64 ", %" PRId64 " s: %" PRId64, number_of(root, "pid"),
		       number_of(root, "duration_ms") / 1000, number_of(root, "outstanding"));
	if (d->has_bytes) {
		sw_text_printf(text, " (");
		sw_held_bytes_put(text, (double) number_of(root, "outstanding_bytes"), 0);
		sw_text_printf(text, ")");
	}
}

static void put_text(const struct diff *d, bool all, struct sw_text *text)
{
	size_t n = 0, left = 0;
	sw_text_printf(text, "outstanding %s of ", string_of(d->trees[NEW].values, "of"));
	put_side(d, OLD, text);
	sw_text_printf(text, ", then of ");
	put_side(d, NEW, text);
	sw_text_append(text, "\n", 1);
	for (size_t i = 0; i < d->n; i++) {
		const struct row *row = &d->rows[i];
		if (!all && !has_changed(row))
			continue;
		if (!all && n == ROWS_SHOWN) {
			left++;
			continue;
		}
		if (n++ == 0)
			sw_text_printf(text, "\n%s  growth     before      after  where\n",
				       d->has_bytes ? "     bytes  " : "");
		if (d->has_bytes) {
			int64_t bytes = growth(row, true);
			sw_text_append(text, bytes < 0 ? "-" : bytes > 0 ? "+" : " ", 1);
			sw_held_bytes_put(text, (double) (bytes < 0 ? -bytes : bytes), 9);
			sw_text_printf(text, "  ");
		}
		sw_text_printf(text, "%+8" PRId64 "  %9" PRId64 "  %9" PRId64 "  ",
			       growth(row, false), row->outstanding[OLD], row->outstanding[NEW]);
		sw_event_label(row->label, all ? 0 : FRAMES_SHOWN, text);
		sw_text_append(text, "\n", 1);
	}
	if (n == 0)
		sw_text_printf(text, "no stack has changed\n");
	if (left > 0)
		sw_text_printf(text, "%zu stacks more: --all shows them\n", left);
}

static void put_json(const struct diff *d, struct sw_text *text)
{
	sw_text_printf(text, "{\"schema\":\"snapwalk.leaks-diff/1\"");
	sw_json_text_member(text, "of", string_of(d->trees[NEW].values, "of"));
	sw_text_printf(text, ",\"stacks\":[");
	for (size_t i = 0; i < d->n; i++) {
		const struct row *row = &d->rows[i];
		sw_text_printf(text,
			       "%s{\"old\":%" PRId64 ",\"new\":%" PRId64 ",\"old_bytes\":%" PRId64
			       ",\"new_bytes\":%" PRId64,
			       i > 0 ? "," : "", row->outstanding[OLD], row->outstanding[NEW],
			       row->bytes[OLD], row->bytes[NEW]);
		sw_json_text_member(text, "where", row->label);
		sw_text_append(text, "}", 1);
	}
	sw_text_printf(text, "]}\n");
}

int sw_held_diff(const struct sw_text sides[SW_HELD_DIFF_SIDES],
		 const struct sw_held_diff_options *options, struct sw_text *ret,
		 struct sw_error *err)
{
	sw_cleanup(diff_deinit) struct diff d = {0};
	for (size_t i = 0; i < SW_HELD_DIFF_SIDES; i++) {
		int r = side_read(&d, &sides[i], i, err);
		if (r < 0)
			return r;
	}
	if (strcmp(string_of(d.trees[OLD].values, "of"), string_of(d.trees[NEW].values, "of")) != 0)
		return sw_fail(err, SW_E_FORMAT, "the two results are of different things");
	rows_merge(&d);
	if (options->json)
		put_json(&d, ret);
	else
		put_text(&d, options->all, ret);
	return ret->failed ? sw_fail_nomem(err) : 0;
}
