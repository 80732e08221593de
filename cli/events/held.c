/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/held.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <stdlib.h>
#include <string.h>

enum { NO_STACK = 0 /* index of rows */ };

/* ---- rows ------------------------------------------------------------------------------------- */

int sw_held_index(struct sw_held *h, uint32_t row, uint32_t *ret)
{
	uint32_t index = row == SW_RECORDER_NO_ROW ? NO_STACK : row + 1;
	while (h->n_rows <= index) {
		struct sw_held_row *grown =
			sw_grow(h->rows, h->n_rows, &h->rows_max, 64, sizeof(*grown));
		if (grown == NULL)
			return -SW_E_NOMEM;
		h->rows = grown;
		h->rows[h->n_rows] = (struct sw_held_row){
			.row = h->n_rows == NO_STACK ? SW_RECORDER_NO_ROW
						     : (uint32_t) h->n_rows - 1};
		h->n_rows++;
	}
	*ret = index;
	return 0;
}

int sw_held_init(struct sw_held *ret, const struct sw_held_kind *kind, struct sw_event_run *run)
{
	uint32_t index;
	*ret = (struct sw_held){.kind = kind, .run = run};
	return sw_held_index(ret, SW_RECORDER_NO_ROW, &index);
}

void sw_held_deinit(struct sw_held *h)
{
	free(h->rows);
	free(h->things);
	*h = (struct sw_held){0};
}

void sw_held_acquired(struct sw_held *h, uint32_t index, const struct sw_event *e)
{
	struct sw_held_row *row = &h->rows[index];
	if (row->acquired++ == 0)
		row->first = e->number;
	row->last = e->number;
	h->acquired++;
}

void sw_held_released(struct sw_held *h, uint32_t index)
{
	h->rows[index].released++;
	h->released++;
}

int sw_held_put(struct sw_held *h, uint32_t index, int64_t acquired_ns, uint64_t bytes)
{
	struct sw_held_thing *grown =
		sw_grow(h->things, h->n_things, &h->things_max, 256, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	h->things = grown;
	h->things[h->n_things++] =
		(struct sw_held_thing){.index = index, .acquired_ns = acquired_ns, .bytes = bytes};
	return 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

int sw_held_check(void *held, struct sw_error *err)
{
	struct sw_held *h = held;
	h->check_ns = sw_clock_ns();
	int r = h->kind->read(h, &h->not_checked);
	if (r == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	if (r < 0)
		h->check_ns = 0;
	return 0;
}

/* The list of a process that was about to end may be any part of what it had. */
static void check_judge(struct sw_held *h)
{
	if (h->run->ended && h->kind->file != NULL) {
		h->check_ns = 0;
		h->not_checked.code = 0;
	}
	if (h->check_ns == 0)
		h->n_there = 0;
}

/* By row; of one row the oldest first. */
static int compare_things(const void *a, const void *b)
{
	const struct sw_held_thing *x = a, *y = b;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->acquired_ns < y->acquired_ns ? -1 : x->acquired_ns > y->acquired_ns;
}

/* Count and ages of what is outstanding. */
static void row_finish(struct sw_held *h, const struct sw_held_thing *first, size_t n)
{
	const int64_t begin_ns = h->run->begin_ns, end_ns = h->run->end_ns;
	const int64_t half_ns = begin_ns + (end_ns - begin_ns) / 2;
	struct sw_held_row *row = &h->rows[first->index];
	row->outstanding = n;
	row->oldest_ns = end_ns - first->acquired_ns;
	row->median_ns = end_ns - first[(n - 1) / 2].acquired_ns;
	for (size_t i = 0; i < n; i++) {
		row->first_half += first[i].acquired_ns < half_ns;
		row->outstanding_bytes += first[i].bytes;
	}
	h->outstanding_bytes += row->outstanding_bytes;
	row->second_half = n - row->first_half;
}

static void rows_finish(struct sw_held *h)
{
	for (size_t i = 0; i < h->n_rows; i++)
		h->rows[i].oldest_ns = h->rows[i].median_ns = -1;
	if (h->n_things > 0)
		qsort(h->things, h->n_things, sizeof(*h->things), compare_things);
	for (size_t i = 0, n; i < h->n_things; i += n) {
		for (n = 1; i + n < h->n_things && h->things[i + n].index == h->things[i].index;)
			n++;
		row_finish(h, &h->things[i], n);
	}
	h->outstanding = h->n_things;
	h->without_stack = h->rows[NO_STACK].outstanding;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sw_held_row *x = a, *y = b;
	if (x->outstanding_bytes != y->outstanding_bytes)
		return x->outstanding_bytes < y->outstanding_bytes ? 1 : -1;
	if (x->outstanding != y->outstanding)
		return x->outstanding < y->outstanding ? 1 : -1;
	if (x->acquired != y->acquired)
		return x->acquired < y->acquired ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

int sw_held_finish(struct sw_held *h)
{
	check_judge(h);
	int r = h->kind->list(h);
	if (r < 0)
		return r;
	rows_finish(h);
	qsort(h->rows, h->n_rows, sizeof(*h->rows), compare_rows);
	return 0;
}
