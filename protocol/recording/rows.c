/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rows of stacks. Their names are looked for once: names take longer than all else. */
#include "recording/rows.h"
#include "cleanup.h"
#include "errors.h"
#include "recording/counting.h"

#include <snapwalk/clock.h>
#include <stdlib.h>

/* Walks whose names are known; then they are forgotten, and found again. */
enum { KNOWN_MAX = 1 << 16 };

SW_DEFINE_CLEANUP(struct sw_symbols *, sw_symbols_destroy);

/* A thread in a place, in a system call, with what it waits for in memory. The key of a walk whose
 * frames are native code of modules alone: with the same maps the walk has the same names. 0: the
 * walk has other frames. Of a copy of an event (kept) code that nobody knows has none. */
static uint64_t walk_key(const struct sw_walk *walk, bool kept)
{
	const struct sw_thread *t = walk->thread;
	uint64_t key = sw_mix64((uint64_t) t->tid << 32 | (unsigned) walk->end << 8 |
				(unsigned char) t->state);
	key = sw_mix64(key ^ (uint64_t) t->syscall ^ (uint64_t) (t->since_ns == 0) << 32);
	key = sw_mix_text(key, t->comm);
	for (size_t i = 0; i < t->wait_bytes; i++)
		key = sw_mix64(key ^ t->wait[i]);
	for (size_t i = 0; i < walk->n_frames; i++) {
		const struct sw_frame *f = &walk->frames[i];
		if (kept && f->owner != 0)
			key = sw_mix64(key ^ f->cookie ^ (uint64_t) f->owner << 56);
		else if (f->owner != 0 || (f->place == NULL && !kept))
			return 0;
		key = sw_mix64(key ^ f->pc_avma);
		key = sw_mix64(key ^ (f->flags | (uint64_t) f->trust << 32));
	}
	return key != 0 ? key : 1;
}

static uint64_t known_key(const struct sw_sample *sample, const struct sw_walk *walk)
{
	return sample->light ? walk_key(walk, sample->kept) : 0;
}

/* The rows of those walks of which they are known. How many are not. */
static size_t rows_find(const struct sw_recorder_known *all, const struct sw_walks *walks,
			const struct sw_sample *sample, uint32_t *rows)
{
	size_t n = 0;
	for (size_t i = 0; i < walks->n_walks; i++) {
		uint64_t key = known_key(sample, &walks->walks[i]), row = SW_RECORDER_NO_ROW;
		bool known = key != 0 && sw_map64_get(&all->rows, key, &row);
		rows[i] = (uint32_t) row;
		n += !known;
	}
	return n;
}

/* How a sample is walked and named that begins now. */
static struct sw_pipeline_options how_now(const struct sw_recorder *r)
{
	struct sw_pipeline_options how = r->options.how;
	int64_t now_ns = sw_clock_ns();
	how.report.begin_ns = now_ns;
	how.walk.deadline_ns = how.symbolize.deadline_ns =
		how.limit_ns > 0 ? now_ns + how.limit_ns : 0;
	return how;
}

static int report_make(struct sw_recorder *r, const struct sw_walks *walks, struct sw_report **ret,
		       struct sw_error *err)
{
	struct sw_pipeline_options how = how_now(r);
	struct sw_symbolizer *symbolizer = NULL;
	sw_cleanup(sw_symbols_destroy_p) struct sw_symbols *symbols = NULL;
	int code = 0;
	if (how.symbolize.level != SW_SYMBOLS_NONE) {
		code = sw_session_symbolizer(r->session, &symbolizer, err);
		if (code == 0)
			code = sw_symbolize(symbolizer, walks, &how.symbolize, &symbols, err);
	}
	return code < 0 ? code : sw_report_build(walks, symbols, &how.report, ret, err);
}

/* The activity of each thread of a report. */
static int activities_find(const struct sw_sample *sample, const struct sw_report *report,
			   enum sw_activity *ret)
{
	struct sw_map64 by_tid = {0};
	int code = 0;
	for (size_t i = 0; code == 0 && i < sample->n_changes; i++)
		if (sample->changes[i].kind != SW_CHANGE_ENDED)
			code = sw_map64_put(&by_tid, (uint64_t) sample->changes[i].tid,
					    sample->changes[i].activity);
	for (size_t i = 0; code == 0 && i < report->n_threads; i++) {
		uint64_t activity = SW_ACTIVITY_OTHER;
		(void) sw_map64_get(&by_tid, (uint64_t) report->threads[i].tid,
				    &activity); /* else it stays OTHER */
		ret[i] = (enum sw_activity) activity;
	}
	sw_map64_deinit(&by_tid);
	return code;
}

/* The stack of a thread that was on a CPU when a sample began comes from the events. */
static bool is_of_source(struct sw_recorder *r, const struct sw_recorder_known *all, pid_t tid,
			 enum sw_activity activity)
{
	if (!sw_recorder_by_both(r) || all == &r->known[SW_BY_EVENTS])
		return true;
	const struct sw_recorder_slot *s = sw_recorder_slot_of_tid(r, tid);
	return activity != SW_ACTIVITY_ON_CPU &&
	       (s == NULL || sw_shares_allow(&s->shares, activity));
}

void sw_recorder_found_deinit(struct sw_recorder_found *f)
{
	sw_walks_destroy(f->walks);
	free(f->rows);
	free(f->fresh);
	free(f->weights);
}

/* By names: those whose row is not known. */
static int rows_add(struct sw_recorder *r, struct sw_recorder_known *all,
		    const struct sw_sample *sample, struct sw_recorder_found *f,
		    struct sw_error *err)
{
	const struct sw_walks *walks = f->walks;
	uint32_t *rows = f->rows;
	const struct sw_recorder_options *o = &r->options;
	struct sw_report *report = NULL;
	if (o->naming != NULL)
		o->naming(o->naming_arg, true);
	int code = report_make(r, walks, &report, err);
	if (o->naming != NULL)
		o->naming(o->naming_arg, false);
	if (code < 0)
		return code;
	if (r->report != NULL)
		sw_report_destroy(r->report);
	r->report = report;
	size_t n = report->n_threads;
	sw_cleanup(sw_free_p) bool *wanted = calloc(n + 1, sizeof(*wanted));
	sw_cleanup(sw_free_p) uint32_t *found = calloc(n + 1, sizeof(*found));
	sw_cleanup(sw_free_p) enum sw_activity *activity = calloc(n + 1, sizeof(*activity));
	if (wanted == NULL || found == NULL || activity == NULL)
		return sw_fail_nomem(err);
	if (activities_find(sample, report, activity) < 0)
		return sw_fail_nomem(err);
	size_t w = 0;
	/* Walks are of some of the report's threads, in the same order. */
	for (size_t i = 0; i < n && w < walks->n_walks; i++) {
		if (report->threads[i].tid != walks->walks[w].thread->tid)
			continue;
		bool counts = f->weights == NULL || f->weights[w] > 0;
		wanted[i] = rows[w++] == SW_RECORDER_NO_ROW && counts &&
			    sw_recorder_wants(r, report->threads[i].tid, activity[i]) &&
			    is_of_source(r, all, report->threads[i].tid, activity[i]);
	}
	code = r->sink->rows(r->sink->arg, report, wanted, activity, found, err);
	w = 0;
	if (all->rows.count > KNOWN_MAX)
		sw_map64_deinit(&all->rows);
	for (size_t i = 0; code == 0 && i < n && w < walks->n_walks; i++) {
		if (report->threads[i].tid != walks->walks[w].thread->tid)
			continue;
		uint64_t key = wanted[i] ? known_key(sample, &walks->walks[w]) : 0;
		if (wanted[i])
			rows[w] = found[i];
		f->fresh[w] = wanted[i];
		if (key != 0 && found[i] != SW_RECORDER_NO_ROW)
			(void) sw_map64_put(&all->rows, key, found[i]); /* else it is found again */
		w++;
	}
	return code;
}

/* For how many samples each event counts. */
static int weights_take(struct sw_recorder *r, struct sw_recorder_found *f)
{
	f->weights = calloc(f->walks->n_walks + 1, sizeof(*f->weights));
	if (f->weights == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < f->walks->n_walks; i++) {
		struct sw_recorder_slot *s =
			sw_recorder_slot_of_tid(r, f->walks->walks[i].thread->tid);
		f->weights[i] = s != NULL ? sw_shares_take_event(&s->shares) : 1;
	}
	return 0;
}

int sw_recorder_find(struct sw_recorder *r, const struct sw_sample *sample, int source,
		     struct sw_recorder_found *ret, struct sw_error *err)
{
	struct sw_recorder_known *all = &r->known[source];
	if (sample->generation != all->generation)
		sw_map64_deinit(&all->rows);
	all->generation = sample->generation;
	if (sample->snap == NULL)
		return 0;
	struct sw_pipeline_options how = how_now(r);
	int code = how.libunwind ? sw_walk_libunwind(sample->snap, &how.walk, &ret->walks, err)
				 : sw_walk_all(sample->snap, &how.walk, &ret->walks, err);
	if (code < 0)
		return code;
	ret->rows = calloc(ret->walks->n_walks + 1, sizeof(*ret->rows));
	ret->fresh = calloc(ret->walks->n_walks + 1, sizeof(*ret->fresh));
	if (ret->rows == NULL || ret->fresh == NULL)
		return sw_fail_nomem(err);
	if (sw_recorder_by_both(r) && source == SW_BY_EVENTS && weights_take(r, ret) < 0)
		return sw_fail_nomem(err);
	if (rows_find(all, ret->walks, sample, ret->rows) > 0)
		code = rows_add(r, all, sample, ret, err);
	return code;
}
