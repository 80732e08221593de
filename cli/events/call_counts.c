/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/call_counts.h"
#include "cleanup.h"
#include "common/json_text.h"
#include "errors.h"
#include "events/cost.h"
#include "utf8.h"

#include <snapwalk/event_text.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	FRAMES_SHOWN = 8,
	STACKS_SHOWN = 20,
	DETAILS_SHOWN = 3,
	NS_PER_MS = 1000000,
};

void sw_call_counts_deinit(struct sw_call_counts *c)
{
	sw_tally_deinit(&c->details);
	free(c->rows);
	*c = (struct sw_call_counts){0};
}

/* ---- one event -------------------------------------------------------------------------------- */

static int row_count(struct sw_call_counts *c, const struct sw_event *e, uint32_t row)
{
	if (row == SW_RECORDER_NO_ROW) {
		c->n_unknown++;
		return 0;
	}
	while (c->n_rows <= row) {
		struct sw_call_row *grown =
			sw_grow(c->rows, c->n_rows, &c->capacity, 64, sizeof(*grown));
		if (grown == NULL)
			return -SW_E_NOMEM;
		c->rows = grown;
		c->rows[c->n_rows] = (struct sw_call_row){.row = (uint32_t) c->n_rows};
		c->n_rows++;
	}
	struct sw_call_row *r = &c->rows[row];
	if (r->n++ == 0)
		r->first = e->number;
	r->last = e->number;
	return 0;
}

static void result_count(struct sw_call_counts *c, const struct sw_event *e)
{
	int64_t result = sw_event_is_error(sw_event_result(e)) ? sw_event_result(e) : 0;
	if (!e->returned || e->kind != SW_EVENT_CALLED)
		return;
	for (size_t i = 0; i < c->n_results; i++)
		if (c->results[i].result == result) {
			c->results[i].n++;
			return;
		}
	if (c->n_results == SW_ARRAY_SIZE(c->results)) {
		c->n_other_results++;
		return;
	}
	c->results[c->n_results].result = result;
	c->results[c->n_results++].n = 1;
}

static void put_result(struct sw_text *text, int64_t result)
{
	const char *name = sw_event_is_error(result) ? sw_errno_name((int) -result) : NULL;
	if (name != NULL)
		sw_text_printf(text, "%s", name);
	else
		sw_text_printf(text, "%" PRId64, result);
}

/* Hours, minutes and seconds of UTC, with milliseconds. */
static void put_clock(struct sw_text *text, int64_t real_ns)
{
	time_t s = (time_t) (real_ns / (1000 * (int64_t) NS_PER_MS));
	struct tm tm;
	char clock[16];
	(void) gmtime_r(&s, &tm); /* fails only for years that do not fit */
	(void) strftime(clock, sizeof(clock), "%H:%M:%S", &tm); /* fits */
	sw_text_printf(text, "%s.%03d", clock, (int) (real_ns / NS_PER_MS % 1000));
}

static bool is_function(const struct sw_event *e)
{
	return e->kind == SW_EVENT_ENTERED || e->kind == SW_EVENT_LEFT;
}

static void put_arguments(struct sw_text *text, const struct sw_event *e)
{
	for (size_t i = 0; i < e->n_arguments; i++)
		if (e->arguments_unknown >> i & 1)
			sw_text_printf(text, "%s?", i > 0 ? ", " : "");
		else
			sw_text_printf(text, "%s0x%" PRIx64, i > 0 ? ", " : "", e->arguments[i]);
}

static void put_left(struct sw_text *text, const struct sw_event *e)
{
	sw_text_printf(text, " = 0x%" PRIx64 " after %.3f ms", (uint64_t) e->result,
		       (double) e->lasted_ns / NS_PER_MS);
}

static void each_text(const struct sw_call_counts *c, const struct sw_event *e, uint32_t row,
		      struct sw_text *text)
{
	const struct sw_options *o = c->run->options;
	char detail[SW_EVENT_DETAIL_BYTES];
	put_clock(text, sw_event_real_ns(e));
	sw_text_printf(text, " %d %s(", (int) e->tid, o->event_name);
	if (sw_event_detail(e, detail))
		sw_utf8_append_plain(text, detail, strlen(detail));
	if (o->event_args && is_function(e))
		put_arguments(text, e);
	sw_text_append(text, ")", 1);
	if (e->kind == SW_EVENT_LEFT)
		put_left(text, e);
	else if (e->kind == SW_EVENT_FAULTED)
		sw_text_printf(text, " %s 0x%" PRIx64, sw_event_access_name(e->access),
			       e->address_avma);
	else if (e->kind == SW_EVENT_WAITED)
		sw_text_printf(text, " for %.3f ms", (double) e->lasted_ns / NS_PER_MS);
	else if (e->returned) {
		sw_text_append(text, " = ", 3);
		put_result(text, sw_event_result(e));
	}
	sw_text_append(text, "  ", 2);
	if (row < c->run->stacks.n)
		sw_event_label(c->run->stacks.stacks[row].label, o->all ? 0 : FRAMES_SHOWN, text);
	else
		sw_text_printf(text, "(no stack)");
	sw_text_append(text, "\n", 1);
}

static const char *what_member(const struct sw_event_run *run)
{
	return run->wanted.what == SW_EVENT_CALL ? "call" : "event";
}

/* Each place has a name where there are several. */
static const char *function_name(const struct sw_call_counts *c, const struct sw_event *e)
{
	const struct sw_function *f = &c->run->function;
	return e->place < f->n ? f->names[e->place] : c->run->options->event_name;
}

static void each_json(const struct sw_call_counts *c, const struct sw_event *e, uint32_t row,
		      struct sw_text *text)
{
	const struct sw_event_naming naming = {
		.pid = c->run->subject.pid,
		.member = is_function(e) ? "function" : what_member(c->run),
		.name = is_function(e) ? function_name(c, e) : c->run->options->event_name};
	sw_cleanup(sw_free_p) char *json = NULL;
	size_t size = 0;
	if (sw_event_json(e, &naming, &json, &size, NULL) < 0) {
		text->failed = true;
		return;
	}
	sw_text_printf(text, "{\"schema\":\"snapwalk.event/1\",");
	sw_text_append(text, json, size);
	sw_text_printf(text, ",\"stack\":");
	if (row < c->run->stacks.n)
		sw_text_append(text, c->run->stacks.stacks[row].json,
			       c->run->stacks.stacks[row].json_size);
	else
		sw_text_printf(text, "null");
	sw_text_append(text, "}\n", 2);
}

int sw_call_counts_event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct sw_call_counts *c = arg;
	const struct sw_options *o = c->run->options;
	char detail[SW_EVENT_DETAIL_BYTES];
	uint32_t detail_row = SW_TALLY_NO_ROW;
	c->n++;
	result_count(c, e);
	if (e->lasted_ns > c->longest_ns)
		c->longest_ns = e->lasted_ns;
	if (row_count(c, e, row) < 0)
		return sw_fail_nomem(err);
	if (sw_event_detail(e, detail)) {
		if (sw_tally_row(&c->details, detail, strlen(detail), &detail_row) < 0)
			return sw_fail_nomem(err);
		sw_tally_again(&c->details, detail_row, 1);
	}
	c->run->enough = o->count > 0 && c->n >= o->count;
	if (!o->each)
		return 0;
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	if (o->format == SW_FORMAT_JSON)
		each_json(c, e, row, &text);
	else
		each_text(c, e, row, &text);
	if (text.failed)
		return sw_fail_nomem(err);
	int r = sw_output_write(c->output, text.data, text.size, err);
	c->run->enough |= c->output->reader_gone;
	return r;
}

/* ---- all of them ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
	const struct sw_call_row *x = a, *y = b;
	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return x->row < y->row ? -1 : 1;
}

static void put_results(const struct sw_call_counts *c, struct sw_text *text)
{
	if (c->n_results == 1 && c->results[0].result != 0) {
		sw_text_append(text, " = ", 3);
		put_result(text, c->results[0].result);
		return;
	}
	if (c->n_results == 1)
		return;
	for (size_t i = 0; i < c->n_results; i++) {
		sw_text_printf(text, "%s%" PRIu64 " ", i == 0 ? ": " : ", ", c->results[i].n);
		if (c->results[i].result == 0)
			sw_text_printf(text, "succeeded");
		else
			put_result(text, c->results[i].result);
	}
	if (c->n_other_results > 0)
		sw_text_printf(text, ", %" PRIu64 " other errors", c->n_other_results);
}

static void put_details(const struct sw_call_counts *c, struct sw_text *text)
{
	const struct sw_tally *d = &c->details;
	for (size_t i = 0; i < d->n_entries && i < DETAILS_SHOWN; i++) {
		sw_text_printf(text, i == 0 ? " (" : ", ");
		sw_utf8_append_plain(text, d->entries[i].name, strlen(d->entries[i].name));
		if (d->n_entries > 1)
			sw_text_printf(text, " %" PRIu64 " time%s", d->entries[i].count,
				       sw_plural(d->entries[i].count));
	}
	if (d->n_entries > DETAILS_SHOWN)
		sw_text_printf(text, ", %zu others", d->n_entries - DETAILS_SHOWN);
	if (d->n_entries > 0)
		sw_text_append(text, ")", 1);
}

static void sort(struct sw_call_counts *c)
{
	if (c->n_rows > 0)
		qsort(c->rows, c->n_rows, sizeof(*c->rows), compare);
	sw_tally_sort(&c->details);
}

/* ": 12 times openat()", ": 3 threads", ": 2 waits of 100 ms or more, the longest 1200.000 ms" */
static void put_what(const struct sw_call_counts *c, struct sw_text *text)
{
	const struct sw_options *o = c->run->options;
	const char *s = sw_plural(c->n);
	sw_text_printf(text, ": %" PRIu64 " ", c->n);
	switch (o->event.what) {
	case SW_EVENT_NEW_THREADS: sw_text_printf(text, "thread%s", s); break;
	case SW_EVENT_NEW_PROCESSES:
		sw_text_printf(text, "process%s", c->n == 1 ? "" : "es");
		break;
	case SW_EVENT_BLOCKED: sw_text_printf(text, "wait%s", s); break;
	case SW_EVENT_FAULTS:
		sw_text_printf(text, "page fault%s", s);
		if (o->event.every > 1)
			sw_text_printf(text, ", each %" PRIu32 "th of all", o->event.every);
		break;
	default:
		sw_text_printf(text, "time%s %s%s", s, o->event_name,
			       strchr(o->event_name, '(') == NULL ? "()" : "");
	}
	if (o->slower_ns > 0)
		sw_text_printf(text, " of %.6g ms or more", (double) o->slower_ns / NS_PER_MS);
	if (c->longest_ns > 0)
		sw_text_printf(text, ", the longest %.3f ms", (double) c->longest_ns / NS_PER_MS);
}

int sw_call_counts_text(struct sw_call_counts *c, struct sw_text *text)
{
	const struct sw_options *o = c->run->options;
	sort(c);
	sw_event_run_title(c->run, text);
	put_what(c, text);
	put_results(c, text);
	put_details(c, text);
	sw_text_append(text, "\n", 1);
	size_t n = 0;
	uint64_t left = 0;
	for (size_t i = 0; i < c->n_rows; i++) {
		if (c->rows[i].n == 0)
			continue;
		if (!o->all && n == STACKS_SHOWN) {
			left += c->rows[i].n;
			continue;
		}
		n++;
		sw_text_printf(text, "%6" PRIu64 "  ", c->rows[i].n);
		sw_event_label(c->run->stacks.stacks[c->rows[i].row].label,
			       o->all ? 0 : FRAMES_SHOWN, text);
		sw_text_append(text, "\n", 1);
	}
	if (left > 0)
		sw_text_printf(text, "%6" PRIu64 "  with other stacks: --all shows them\n", left);
	if (c->n_unknown > 0)
		sw_text_printf(text, "%6" PRIu64 "  without a stack\n", c->n_unknown);
	if (c->run->cost.n_left_out > 0)
		sw_text_printf(text,
			       "%6" PRIu64
			       "  left out: they ended without a return of the function\n",
			       c->run->cost.n_left_out);
	if (c->run->n_lost > 0)
		sw_text_printf(text, "%6" PRIu64 "  lost: they came faster than they were read\n",
			       c->run->n_lost);
	sw_event_cost_text(c->run, text);
	sw_event_dumps_text(&c->run->dumps, text);
	return text->failed ? -SW_E_NOMEM : 0;
}

int sw_call_counts_json(struct sw_call_counts *c, struct sw_text *text)
{
	const struct sw_event_run *run = c->run;
	bool first = true;
	sort(c);
	sw_text_printf(text, "{\"schema\":\"snapwalk.events/1\",\"pid\":%d",
		       (int) run->subject.pid);
	sw_json_text_member(text, "comm", run->subject.comm);
	if (run->wanted.what == SW_EVENT_FUNCTION)
		sw_function_json(&run->function, text);
	if (run->wanted.at_return || run->wanted.what == SW_EVENT_BLOCKED)
		sw_text_printf(text, ",\"longest_ns\":%" PRId64, c->longest_ns);
	if (run->wanted.what == SW_EVENT_FAULTS)
		sw_text_printf(text, ",\"every\":%" PRIu32, run->wanted.every);
	if (run->wanted.what == SW_EVENT_FUNCTION && run->wanted.at_return)
		sw_text_printf(text, ",\"left_out\":%" PRIu64, run->cost.n_left_out);
	if (run->wanted.what != SW_EVENT_FUNCTION)
		sw_json_text_member(text, what_member(run), run->options->event_name);
	sw_text_printf(text,
		       ",\"begin_ns\":%" PRId64 ",\"duration_ms\":%" PRId64 ",\"events\":%" PRIu64
		       ",\"lost\":%" PRIu64 ",\"without_stack\":%" PRIu64 ",\"results\":{",
		       run->begin_real_ns, (run->end_ns - run->begin_ns) / NS_PER_MS, c->n,
		       run->n_lost, c->n_unknown);
	for (size_t i = 0; i < c->n_results; i++) {
		sw_text_printf(text, "%s\"", i > 0 ? "," : "");
		if (c->results[i].result == 0)
			sw_text_printf(text, "succeeded");
		else
			put_result(text, c->results[i].result);
		sw_text_printf(text, "\":%" PRIu64, c->results[i].n);
	}
	sw_text_printf(text, "},\"other_errors\":%" PRIu64 ",\"stacks\":[", c->n_other_results);
	for (size_t i = 0; i < c->n_rows; i++) {
		const struct sw_call_row *r = &c->rows[i];
		const struct sw_event_stack *s = &run->stacks.stacks[r->row];
		if (r->n == 0)
			continue;
		sw_text_printf(text,
			       "%s{\"count\":%" PRIu64 ",\"first_seq\":%" PRIu64
			       ",\"last_seq\":%" PRIu64 ",",
			       first ? "" : ",", r->n, r->first, r->last);
		sw_text_append(text, s->json + 1, s->json_size - 1); /* its members */
		first = false;
	}
	sw_text_append(text, "]", 1);
	sw_event_cost_json(run, text);
	sw_event_dumps_json(&run->dumps, text);
	sw_text_append(text, "}\n", 2);
	return text->failed ? -SW_E_NOMEM : 0;
}

int sw_call_counts_profile(const struct sw_call_counts *c, enum sw_profile_format format,
			   struct sw_text *ret)
{
	const struct sw_event_run *run = c->run;
	struct sw_profile *profile = run->profiled.profile;
	struct sw_profile_values values = {.types = {{"events", "count"}}, .n_types = 1};
	values.n_rows = sw_profile_totals(profile).n_rows;
	sw_cleanup(sw_free_p) uint64_t(*rows)[SW_PROFILE_VALUES_MAX] =
		calloc(values.n_rows + 1, sizeof(*rows));
	sw_cleanup(sw_free_p) char *data = NULL;
	size_t size = 0;
	if (rows == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < c->n_rows; i++) {
		uint32_t to = sw_event_profiled_row(&run->profiled, c->rows[i].row);
		sw_profile_again(profile, to, c->rows[i].n, 0);
		if (to != SW_PROFILE_NO_ROW)
			rows[to][0] += c->rows[i].n;
	}
	sw_profile_again(profile, SW_PROFILE_NO_ROW, c->n_unknown, 0);
	values.rows = rows;
	sw_profile_set_info(profile,
			    &(struct sw_profile_info){.begin_ns = run->begin_real_ns,
						      .duration_ns = run->end_ns - run->begin_ns,
						      .n_samples = c->n,
						      .n_lost = run->n_lost,
						      .unit = "event"});
	int r = sw_profile_write(profile, format,
				 &(struct sw_profile_write_options){.values = &values}, &data,
				 &size, NULL);
	if (r == 0)
		sw_text_append(ret, data, size);
	return r == 0 && ret->failed ? -SW_E_NOMEM : r;
}
