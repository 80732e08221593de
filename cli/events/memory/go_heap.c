/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/memory/go_heap.h"
#include "arena.h"
#include "cleanup.h"
#include "common/json_text.h"
#include "errors.h"
#include "events/held_bytes.h"

#include <snapwalk/capture.h>
#include <snapwalk/clock.h>
#include <snapwalk/symbolize.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_SHOWN = 20, FRAMES_SHOWN = 8, NAMING_S = 30, NS_PER_S = 1000000000 };

/* Twice the standard deviation: 95 of 100 are within it. */
static const double CERTAIN = 1.96;

void sw_go_heap_deinit(struct sw_go_heap *h)
{
	sw_event_stacks_deinit(&h->stacks);
	free(h->rows);
	sw_snapshot_destroy(h->snap);
	sw_target_close(h->target);
	*h = (struct sw_go_heap){0};
}

/* The square root, and e to the power of -x, x >= 0, to ten digits: the command links no libm. */
static double root(double x)
{
	enum { TURNS = 200 }; /* it halves first: enough for any double */
	double y = x > 1 ? x : 1;
	if (x <= 0)
		return 0;
	for (int i = 0; i < TURNS; i++)
		y = (y + x / y) / 2;
	return y;
}

static double decay(double x)
{
	static const double SMALL = 0.001, NOTHING = 50;
	int halved = 0;
	if (x > NOTHING)
		return 0;
	for (; x > SMALL; x /= 2)
		halved++;
	double y = 1 - x + x * x / 2 - x * x * x / 6 + x * x * x * x / 24;
	for (; halved > 0; halved--)
		y *= y;
	return y;
}

/* The chance that an allocation of so many bytes is sampled: the next one is a random number of bytes away, rate on average.
 * As scaleHeapSample() in src/runtime/pprof/protomem.go. */
static double chance(double bytes, uint64_t rate_bytes)
{
	return rate_bytes <= 1 ? 1 : 1 - decay(bytes / (double) rate_bytes);
}

static int row_take(struct sw_go_heap *h, uint32_t row, struct sw_go_heap_row **ret)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->rows[i].row == row) {
			*ret = &h->rows[i];
			return 0;
		}
	struct sw_go_heap_row *grown = sw_grow(h->rows, h->n, &h->capacity, 64, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	h->rows = grown;
	h->rows[h->n] = (struct sw_go_heap_row){.row = row};
	*ret = &h->rows[h->n++];
	return 0;
}

static int bucket_add(struct sw_go_heap *h, uint32_t row, const struct sw_allocations_bucket *b)
{
	struct sw_go_heap_row *to;
	if (b->allocs == 0)
		return 0;
	int r = row_take(h, row, &to);
	if (r < 0)
		return r;
	double size = (double) b->alloc_bytes / (double) b->allocs, p = chance(size, h->rate_bytes);
	double inuse = b->allocs > b->frees ? (double) (b->allocs - b->frees) : 0;
	to->n_samples += b->allocs;
	to->alloc_objects += (double) b->allocs / p;
	to->alloc_bytes += (double) b->alloc_bytes / p;
	to->inuse_objects += inuse / p;
	to->inuse_bytes += inuse * size / p;
	to->variance += inuse * size * size * (1 - p) / (p * p);
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sw_go_heap_row *x = a, *y = b;
	if (x->inuse_bytes != y->inuse_bytes)
		return x->inuse_bytes < y->inuse_bytes ? 1 : -1;
	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Each bucket as the walk of a thread of its own, which is how stacks are named. */
struct buckets {
	struct sw_snapshot *snap; /* borrowed; has threads meanwhile, one for each bucket */
	struct sw_allocations *a;
	struct sw_frame *frames;
	struct sw_walk *walks;
	struct sw_thread *threads;
	struct sw_symbols *symbols;
	struct sw_report *report;
};

static void buckets_deinit(struct buckets *b)
{
	sw_report_destroy(b->report);
	sw_symbols_destroy(b->symbols);
	free(b->threads);
	free(b->walks);
	free(b->frames);
	sw_allocations_destroy(b->a);
	if (b->snap != NULL) {
		b->snap->threads = NULL;
		b->snap->n_threads = 0;
	}
}

static int walks_make(struct buckets *b, struct sw_error *err)
{
	const struct sw_allocations *a = b->a;
	b->frames = calloc(a->n_pcs + 1, sizeof(*b->frames));
	b->walks = calloc(a->n + 1, sizeof(*b->walks));
	b->threads = calloc(a->n + 1, sizeof(*b->threads));
	if (b->frames == NULL || b->walks == NULL || b->threads == NULL)
		return sw_fail_nomem(err);
	b->snap->threads = b->threads;
	b->snap->n_threads = a->n;
	for (size_t i = 0; i < a->n_pcs; i++)
		b->frames[i] = (struct sw_frame){
			.pc_avma = a->pcs[i],
			.place = sw_snapshot_place(b->snap, a->pcs[i]),
			.by = "runtime",
			.kind = "native",
		};
	for (size_t i = 0; i < a->n; i++) {
		b->threads[i] = (struct sw_thread){.tid = (pid_t) i + 1};
		b->walks[i] = (struct sw_walk){.thread = &b->threads[i],
					       .frames = b->frames + a->buckets[i].first_pc,
					       .n_frames = a->buckets[i].n_pcs,
					       .end = SW_END_COMPLETE};
	}
	return 0;
}

static int report_make(const struct sw_event_run *run, struct buckets *b, struct sw_error *err)
{
	const struct sw_walks walks = {.snap = b->snap, .walks = b->walks, .n_walks = b->a->n};
	struct sw_symbolize_options how = run->options->symbolize;
	struct sw_symbolizer *symbolizer;
	how.deadline_ns = sw_clock_ns() + (int64_t) NAMING_S * NS_PER_S;
	int r = sw_session_symbolizer(run->session, &symbolizer, err);
	if (r == 0 && how.level != SW_SYMBOLS_NONE)
		r = sw_symbolize(symbolizer, &walks, &how, &b->symbols, err);
	return r < 0 ? r
		     : sw_report_build(&walks, b->symbols, &(struct sw_report_options){0},
				       &b->report, err);
}

static int buckets_read(const struct sw_event_run *run, struct buckets *b, struct sw_error *err)
{
	int r = sw_go_allocations_read(b->snap, &b->a, err);
	if (r == 0)
		r = walks_make(b, err);
	return r == 0 ? report_make(run, b, err) : r;
}

int sw_go_heap_open(const struct sw_event_run *run, struct sw_go_heap *ret, struct sw_error *err)
{
	struct sw_error ended = {0};
	*ret = (struct sw_go_heap){0};
	int r = sw_target_open(run->subject.pid, &ret->target, &ended);
	if (r == 0)
		r = sw_snapshot_maps(sw_session_context(run->session), ret->target, &ret->snap,
				     &ended);
	return r == -SW_E_NOMEM ? sw_fail_nomem(err) : 0;
}

int sw_go_heap_read(const struct sw_event_run *run, struct sw_go_heap *ret, struct sw_error *err)
{
	sw_cleanup(buckets_deinit) struct buckets b = {.snap = ret->snap};
	struct sw_error why = {0};
	if (ret->snap == NULL)
		return 0;
	ret->stacks.with_json = run->stacks.with_json;
	int r = buckets_read(run, &b, &why);
	ret->is_go = r != -SW_E_NOT_FOUND && (r == 0 || r == -SW_E_UNSUPPORTED);
	if (r == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	if (r < 0) {
		(void) snprintf(ret->why, sizeof(ret->why), "%s", why.message);
		return 0;
	}
	ret->rate_bytes = b.a->rate_bytes;
	ret->cut = b.a->cut;
	for (size_t i = 0; r == 0 && i < b.report->n_threads; i++) {
		uint32_t row;
		r = sw_event_stacks_add(&ret->stacks, b.report, i, NULL, &row, err);
		size_t bucket = (size_t) b.report->threads[i].tid - 1;
		if (r == 0 && row != SW_RECORDER_NO_ROW && bucket < b.a->n &&
		    bucket_add(ret, row, &b.a->buckets[bucket]) < 0)
			r = sw_fail_nomem(err);
	}
	if (ret->n > 0)
		qsort(ret->rows, ret->n, sizeof(*ret->rows), compare_rows);
	return r;
}

static struct sw_go_heap_row sum_of(const struct sw_go_heap *h)
{
	struct sw_go_heap_row sum = {0};
	for (size_t i = 0; i < h->n; i++) {
		sum.n_samples += h->rows[i].n_samples;
		sum.inuse_objects += h->rows[i].inuse_objects;
		sum.inuse_bytes += h->rows[i].inuse_bytes;
		sum.alloc_objects += h->rows[i].alloc_objects;
		sum.alloc_bytes += h->rows[i].alloc_bytes;
		sum.variance += h->rows[i].variance;
	}
	return sum;
}

static double error_of(const struct sw_go_heap_row *row)
{
	return CERTAIN * root(row->variance);
}

static void row_text(const struct sw_go_heap *h, const struct sw_go_heap_row *row, bool all,
		     struct sw_text *text)
{
	sw_held_bytes_put(text, row->inuse_bytes, 8);
	sw_text_printf(text, "  ");
	sw_held_bytes_put(text, error_of(row), 8);
	sw_text_printf(text, "  %9.0f  ", row->inuse_objects);
	sw_held_bytes_put(text, row->alloc_bytes, 9);
	sw_text_printf(text, "  %7" PRIu64 "  ", row->n_samples);
	sw_event_label(h->stacks.stacks[row->row].label, all ? 0 : FRAMES_SHOWN, text);
	sw_text_append(text, "\n", 1);
}

void sw_go_heap_text(const struct sw_go_heap *h, bool all, struct sw_text *text)
{
	const struct sw_go_heap_row sum = sum_of(h);
	size_t n = 0, n_left = 0;
	if (!h->is_go)
		return;
	sw_text_printf(text, "\nthe heap of Go, by the runtime's own profile: ");
	if (h->why[0] != '\0') {
		sw_text_printf(text, "%s\n", h->why);
		return;
	}
	sw_held_bytes_put(text, sum.inuse_bytes, 0);
	sw_text_printf(text, " ± ");
	sw_held_bytes_put(text, error_of(&sum), 0);
	sw_text_printf(text, " in use, ");
	sw_held_bytes_put(text, sum.alloc_bytes, 0);
	sw_text_printf(text, " allocated, of %" PRIu64 " samples, one each ", sum.n_samples);
	sw_held_bytes_put(text, (double) h->rate_bytes, 0);
	sw_text_printf(text, "%s\n", h->cut ? "; not all are read" : "");
	for (size_t i = 0; i < h->n; i++) {
		if (h->rows[i].inuse_bytes == 0 && !all)
			continue;
		if (n == ROWS_SHOWN && !all) {
			n_left++;
			continue;
		}
		if (n++ == 0)
			sw_text_printf(
				text,
				"\n  in use         ±    objects  allocated  samples  where\n");
		row_text(h, &h->rows[i], all, text);
	}
	if (n_left > 0)
		sw_text_printf(text, "%zu stacks more: --all shows them\n", n_left);
}

void sw_go_heap_json(const struct sw_go_heap *h, struct sw_text *text)
{
	sw_text_printf(text, ",\"go\":");
	if (!h->is_go) {
		sw_text_printf(text, "null");
		return;
	}
	if (h->why[0] != '\0') {
		sw_text_printf(text, "{\"stacks\":[]");
		sw_json_text_member(text, "why", h->why);
		sw_text_append(text, "}", 1);
		return;
	}
	sw_text_printf(text, "{\"rate_bytes\":%" PRIu64 ",\"cut\":%s,\"stacks\":[", h->rate_bytes,
		       h->cut ? "true" : "false");
	for (size_t i = 0; i < h->n; i++) {
		const struct sw_go_heap_row *row = &h->rows[i];
		const struct sw_event_stack *s = &h->stacks.stacks[row->row];
		sw_text_printf(text,
			       "%s{\"inuse_objects\":%.0f,\"inuse_bytes\":%.0f"
			       ",\"inuse_error_bytes\":%.0f,\"alloc_objects\":%.0f"
			       ",\"alloc_bytes\":%.0f,\"samples\":%" PRIu64 ",",
			       i > 0 ? "," : "", row->inuse_objects, row->inuse_bytes,
			       error_of(row), row->alloc_objects, row->alloc_bytes, row->n_samples);
		sw_text_append(text, s->json + 1, s->json_size - 1); /* its members */
	}
	sw_text_printf(text, "]}");
}
