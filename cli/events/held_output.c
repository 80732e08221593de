/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/held_output.h"
#include "cleanup.h"
#include "common/json_text.h"
#include "common/pair_word.h"
#include "errors.h"
#include "events/cost.h"
#include "events/held_bytes.h"
#include "events/pairs.h"
#include "utf8.h"

#include <inttypes.h>
#include <string.h>

enum {
	FRAMES_SHOWN = 8,
	ROWS_SHOWN = 20,
	NS_PER_MS = 1000000,
	NS_PER_S = 1000000000,
	PER_CENT = 100,
	NEARLY_ALL = 95, /* per cent of what a stack got it has given up: it is hardly a leak */
	FEW = 20,        /* of fewer that says nothing */
};

static bool is_nearly_released(const struct sw_held_row *row)
{
	return row->acquired >= FEW && row->outstanding > 0 &&
	       (row->acquired - row->outstanding) * PER_CENT >= row->acquired * NEARLY_ALL;
}

/* "58 s", "120 ms" */
static void put_age(struct sw_text *text, int64_t ns)
{
	char age[24];
	if (ns < 0)
		(void) snprintf(age, sizeof(age), "-");
	else if (ns < NS_PER_S)
		(void) snprintf(age, sizeof(age), "%" PRId64 " ms", ns / NS_PER_MS);
	else
		(void) snprintf(age, sizeof(age), "%" PRId64 " s", ns / NS_PER_S);
	sw_text_printf(text, "  %8s", age);
}

/* How much is outstanding: bytes where a thing has some, else things. */
static uint64_t amount(const struct sw_held *h, const struct sw_held_row *row)
{
	return h->kind->has_bytes ? row->outstanding_bytes : row->outstanding;
}

static void put_verdict(const struct sw_held *h, struct sw_text *text)
{
	const struct sw_event_run *run = h->run;
	double minutes = (double) (run->end_ns - run->begin_ns) / NS_PER_S / 60;
	const struct sw_held_row *top = NULL;
	uint64_t n = 0;
	for (size_t i = 0; i < h->n_rows; i++) {
		if (is_nearly_released(&h->rows[i]))
			continue;
		n += amount(h, &h->rows[i]);
		if (top == NULL && h->rows[i].outstanding > 0)
			top = &h->rows[i];
	}
	sw_event_run_title(run, text);
	sw_text_printf(text, ": %" PRIu64 " %s%s", h->acquired, h->kind->noun,
		       sw_plural(h->acquired));
	if (run->wanted.what == SW_EVENT_PAIRS && !sw_pairs_are_all(run))
		sw_text_printf(text, " of %u of %u pairs", sw_pairs_followed(run),
			       run->options->pairs->n_pairs);
	sw_text_printf(text, " acquired, %" PRIu64 " released; ", h->released);
	if (n == 0 || minutes <= 0) {
		sw_text_printf(text, "does not grow\n");
		return;
	}
	sw_text_printf(text, "grows by ");
	if (h->kind->has_bytes)
		sw_held_bytes_put(text, (double) n / minutes, 0);
	else
		sw_text_printf(text, "%.0f", (double) n / minutes);
	sw_text_printf(text, " a minute");
	if (top->row != SW_RECORDER_NO_ROW && run->stacks.stacks[top->row].own[0] != '\0')
		sw_text_printf(text, ", %.0f %% of it from %s",
			       (double) amount(h, top) * PER_CENT / (double) n,
			       run->stacks.stacks[top->row].own);
	sw_text_append(text, "\n", 1);
}

static bool is_of_threads(const struct sw_held *h)
{
	return h->run->options->of == SW_LEAKS_THREADS;
}

/* Threads that have ended: how many were not joined. */
static void put_joins(const struct sw_held *h, struct sw_text *text)
{
	if (h->not_joined > 0)
		sw_text_printf(text,
			       " · ended and not joined %" PRIu64 ", whose stacks stay mapped",
			       h->not_joined);
	if (h->joins_unknown > 0)
		sw_text_printf(text, " · ended, joined or not is not known %" PRIu64,
			       h->joins_unknown);
}

static bool is_of_pairs(const struct sw_held *h)
{
	return h->run->wanted.what == SW_EVENT_PAIRS;
}

/* Things that were there before, as far as they were listed. */
static void put_before(const struct sw_held *h, struct sw_text *text)
{
	sw_text_printf(text, "with a stack %" PRIu64, h->outstanding - h->without_stack);
	if (is_of_pairs(h))
		return;
	sw_text_printf(text, " · %s before %" PRIu64 " · origin unknown %" PRIu64, h->kind->got,
		       h->before, h->unknown_origin);
	if (h->unknown_bytes > 0) {
		sw_text_printf(text, " (");
		sw_held_bytes_put(text, (double) h->unknown_bytes, 0);
		sw_text_printf(text, ")");
	}
}

static void put_check(const struct sw_held *h, struct sw_text *text)
{
	if (h->not_checked.code != 0)
		sw_text_printf(text, " · not checked: %s\n", h->not_checked.message);
	else if (h->check_ns == 0)
		sw_text_printf(text, " · not checked: it has ended\n");
	else if (h->kind->file == NULL)
		sw_text_printf(text, " · checked against the kernel's table: %zu %s\n", h->n_there,
			       h->kind->there);
	else
		sw_text_printf(text, " · checked against /proc/%d/%s%s: %zu %s, %s\n",
			       (int) h->run->subject.pid, h->kind->file,
			       h->kind->more_files != NULL ? h->kind->more_files : "", h->n_there,
			       h->kind->there,
			       h->unknown_origin == 0 ? "all accounted for"
						      : "not all accounted for");
}

static void put_row(const struct sw_held *h, const struct sw_held_row *row, struct sw_text *text)
{
	const struct sw_event_run *run = h->run;
	char growth[48];
	(void) snprintf(growth, sizeof(growth), "%" PRIu64 "→%" PRIu64, row->first_half,
			row->second_half);
	if (h->kind->has_bytes) {
		sw_held_bytes_put(text, (double) row->outstanding_bytes, 8);
		sw_text_printf(text, "  ");
	}
	sw_text_printf(text, "%11" PRIu64 "  %8" PRIu64 "  %8" PRIu64, row->outstanding,
		       row->acquired, row->released);
	put_age(text, row->oldest_ns);
	sw_text_printf(text, "  %9s", growth);
	for (size_t columns = sw_utf8_columns(growth, strlen(growth)), bytes = strlen(growth);
	     columns < bytes && bytes <= 9; bytes--)
		sw_text_append(text, " ", 1); /* printf() counts bytes */
	sw_text_append(text, "  ", 2);
	if (row->row == SW_RECORDER_NO_ROW)
		sw_text_printf(text, "(without a stack)");
	else
		sw_event_label(run->stacks.stacks[row->row].label,
			       run->options->all ? 0 : FRAMES_SHOWN, text);
	if (is_nearly_released(row))
		sw_text_printf(text, "  (nearly all released)");
	if (row->unseen > 0)
		sw_text_printf(text, "  (%" PRIu64 " %s)", row->unseen, h->kind->unseen);
	if (row->not_joined > 0)
		sw_text_printf(text, "  (%" PRIu64 " ended, not joined)", row->not_joined);
	sw_text_append(text, "\n", 1);
}

int sw_held_text(const struct sw_held *h, struct sw_text *text)
{
	const struct sw_event_run *run = h->run;
	size_t n = 0, n_left = 0;
	put_verdict(h, text);
	for (size_t i = 0; i < h->n_rows; i++) {
		if (h->rows[i].acquired == 0 || (h->rows[i].outstanding == 0 && !run->options->all))
			continue;
		if (n == ROWS_SHOWN && !run->options->all) {
			n_left++;
			continue;
		}
		if (n++ == 0)
			sw_text_printf(
				text,
				"\n%soutstanding  acquired  released    oldest     growth  where\n",
				h->kind->has_bytes ? "   bytes  " : "");
		put_row(h, &h->rows[i], text);
	}
	if (n_left > 0)
		sw_text_printf(text, "%zu stacks more: --all shows them\n", n_left);
	put_before(h, text);
	if (h->without_stack > 0)
		sw_text_printf(text, " · without a stack %" PRIu64, h->without_stack);
	if (h->closed_unseen > 0)
		sw_text_printf(text, " · %s %" PRIu64, h->kind->unseen, h->closed_unseen);
	put_joins(h, text);
	if (is_of_pairs(h))
		sw_pairs_figures(h, text);
	if (run->n_lost > 0)
		sw_text_printf(text, " · events lost %" PRIu64, run->n_lost);
	put_check(h, text);
	sw_event_cost_text(run, text);
	return text->failed ? -SW_E_NOMEM : 0;
}

static void put_ms(struct sw_text *text, const char *name, int64_t ns)
{
	if (ns < 0)
		sw_text_printf(text, ",\"%s\":null", name);
	else
		sw_text_printf(text, ",\"%s\":%" PRId64, name, ns / NS_PER_MS);
}

static void put_count(struct sw_text *text, const char *name, uint64_t n, bool known)
{
	if (known)
		sw_text_printf(text, ",\"%s\":%" PRIu64, name, n);
	else
		sw_text_printf(text, ",\"%s\":null", name);
}

int sw_held_json(const struct sw_held *h, struct sw_text *text)
{
	const struct sw_event_run *run = h->run;
	bool first = true;
	sw_text_printf(text, "{\"schema\":\"snapwalk.leaks/1\"");
	sw_json_text_member(text, "of", h->kind->name);
	sw_text_printf(text, ",\"pid\":%d", (int) run->subject.pid);
	sw_json_text_member(text, "comm", run->subject.comm);
	if (is_of_pairs(h))
		sw_pairs_json(run, text);
	sw_text_printf(text,
		       ",\"begin_ns\":%" PRId64 ",\"duration_ms\":%" PRId64 ",\"acquired\":%" PRIu64
		       ",\"released\":%" PRIu64 ",\"outstanding\":%" PRIu64
		       ",\"opened_before_released\":%" PRIu64 ",\"unknown_origin\":%" PRIu64
		       ",\"closed_unseen\":%" PRIu64 ",\"lost\":%" PRIu64
		       ",\"without_stack\":%" PRIu64 ",\"checked\":%s,\"open\":%zu",
		       run->begin_real_ns, (run->end_ns - run->begin_ns) / NS_PER_MS, h->acquired,
		       h->released, h->outstanding,
		       is_of_pairs(h) ? run->cost.n_unknown : h->before_released, h->unknown_origin,
		       h->closed_unseen, run->n_lost, h->without_stack,
		       h->check_ns != 0 ? "true" : "false", h->n_there);
	put_count(text, "opened_before", h->before, !is_of_pairs(h));
	if (is_of_pairs(h))
		sw_pairs_figures_json(h, text);
	sw_text_printf(text, ",\"stacks\":[");
	for (size_t i = 0; i < h->n_rows; i++) {
		const struct sw_held_row *row = &h->rows[i];
		if (row->acquired == 0)
			continue;
		sw_text_printf(text, "%s{\"outstanding\":%" PRIu64, first ? "" : ",",
			       row->outstanding);
		put_count(text, "outstanding_bytes", row->outstanding_bytes, h->kind->has_bytes);
		sw_text_printf(text,
			       ",\"acquired\":%" PRIu64 ",\"released\":%" PRIu64
			       ",\"closed_unseen\":%" PRIu64 ",\"nearly_all_released\":%s",
			       row->acquired, row->released, row->unseen,
			       is_nearly_released(row) ? "true" : "false");
		if (is_of_threads(h))
			put_count(text, "not_joined", row->not_joined, h->joins_unknown == 0);
		if (h->kind->has_bytes)
			put_count(text, "acquired_bytes", row->acquired_bytes, true);
		put_ms(text, "oldest_ms", row->oldest_ns);
		put_ms(text, "median_age_ms", row->median_ns);
		sw_text_printf(text,
			       ",\"first_half\":%" PRIu64 ",\"second_half\":%" PRIu64
			       ",\"first_seq\":%" PRIu64 ",\"last_seq\":%" PRIu64 ",",
			       row->first_half, row->second_half, row->first, row->last);
		if (row->row == SW_RECORDER_NO_ROW)
			sw_text_printf(text, "\"id\":null,\"frames\":[]}");
		else {
			const struct sw_event_stack *s = &run->stacks.stacks[row->row];
			sw_text_append(text, s->json + 1, s->json_size - 1); /* its members */
		}
		first = false;
	}
	sw_text_append(text, "]", 1);
	if (is_of_threads(h)) {
		put_count(text, "not_joined", h->not_joined, h->joins_unknown == 0);
		put_count(text, "joins_unknown", h->joins_unknown, true);
	}
	if (h->kind->has_bytes) {
		put_count(text, "acquired_bytes", h->acquired_bytes, true);
		put_count(text, "outstanding_bytes", h->outstanding_bytes, true);
		put_count(text, "before_bytes", h->before_bytes, true);
		put_count(text, "unknown_bytes", h->unknown_bytes, true);
		put_count(text, "unseen_bytes", h->unseen_bytes, true);
	}
	sw_event_cost_json(run, text);
	sw_text_append(text, "}\n", 2);
	return text->failed ? -SW_E_NOMEM : 0;
}
