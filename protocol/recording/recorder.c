/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread counts for its stack in each sample from the one in which it was read up to the one before that
 * in which it is another. That is added up when it is another: a thread that does not run costs nothing.
 */
#include "arena.h"
#include "cleanup.h"
#include "errors.h"
#include "map.h"
#include "recording/shares.h"

#include <snapwalk/clock.h>
#include <snapwalk/recorder.h>
#include <string.h>

enum {
	/* Walks whose names are known; then they are forgotten, and found again. */
	KNOWN_MAX = 1 << 16,
	FIRST_SLOTS = 64,
	EVENTS_NS = 1000000000, /* for those of one look: what is left waits for the next */
};

/* A thread, by its slot in the series. */
struct slot {
	pid_t tid;
	uint64_t first, moved; /* samples: in which it was seen first; in which it had run last */
	uint32_t row;          /* of the sink; SW_RECORDER_NO_ROW */
	bool counted;          /* it has a stack, and is one of those that are wanted */
	bool used;
	bool fresh;     /* the sink has counted the first of them */
	bool stackless; /* it has none: a worker of the kernel's, or it has ended */
	enum sw_activity activity;
	char comm[SW_COMM_MAX];
	struct sw_sample_times times; /* of the last change: up to it blocked time is told */
	int64_t pending_ns;           /* blocked, with a stack that was not seen */
	uint64_t since;               /* the first sample for which it is not counted yet */
	struct sw_shares shares;      /* only where running threads are sampled by events */
	uint32_t event_row;           /* likewise: of the last event; SW_RECORDER_NO_ROW */
};

/* Walks whose names are known, of one source of samples. */
struct known {
	struct sw_map64 rows; /* hash of name and frames -> row */
	uint64_t generation;  /* of the maps that they are of */
};
enum { BY_SAMPLER, BY_EVENTS, SOURCES };

struct sw_recorder {
	struct sw_recorder_options options;
	struct sw_session *session; /* borrowed, as the following */
	const struct sw_recorder_sink *sink;
	struct sw_target *target;   /* owned */
	struct sw_sampler *sampler; /* owned; NULL: by events, or of another source */
	/* Owned; NULL: not by events. With a sampler it has the stacks of threads that run, which the sampler
	 * leaves alone. */
	struct sw_cpu_sampler *cpu;
	struct sw_error no_events; /* why the kernel refused them */
	bool running_only;
	struct slot *slots; /* owned */
	size_t n_slots, slots_max;
	struct known known[SOURCES];
	struct sw_map64 by_tid;         /* of those slots; where events are counted for them */
	double spent[SW_SHARES_STATES]; /* likewise: of totals */
	struct sw_report *report; /* owned: of the last walks that were not known; NULL: none */
	size_t n_threads;
	int64_t look_ns,
		last_look_ns; /* when this sample began, and the one before; CLOCK_MONOTONIC */
	bool ended;
	struct sw_recorder_totals totals;
};

SW_DEFINE_CLEANUP(struct sw_symbols *, sw_symbols_destroy);

const char *sw_record_mode_name(enum sw_record_mode mode)
{
	switch (mode) {
	case SW_RECORD_WALL: return "wall";
	case SW_RECORD_CPU: return "cpu";
	case SW_RECORD_OFF: return "off";
	}
	return "wall";
}

/* ---- create, destroy ------------------------------------------------------------------------ */

/* Where the kernel refuses events, running threads are sampled by the clock. */
static int events_begin(struct sw_recorder *r, size_t stack_bytes, unsigned flags,
			struct sw_error *err)
{
	const struct sw_recorder_options *o = &r->options;
	int code = sw_cpu_sampler_create(sw_session_context(r->session), r->target, o->rate_hz,
					 stack_bytes, flags, &r->cpu, &r->no_events);
	bool refused = code == -SW_E_NOT_PERMITTED || code == -SW_E_UNSUPPORTED ||
		       code == -SW_E_LIMIT || code == -SW_E_INVALID;
	if (refused && !o->only_events)
		return 0;
	if (code < 0 && err != NULL)
		*err = r->no_events;
	return code;
}

static int sampler_begin(struct sw_recorder *r, const struct sw_snapshot_options *options,
			 struct sw_error *err)
{
	return sw_sampler_create(sw_session_context(r->session), r->target, options, &r->sampler,
				 err);
}

/* Threads that run are left to events, so that nobody is stopped. False: that cannot be had. */
static bool both_begin(struct sw_recorder *r)
{
	enum { STACK_BYTES = 32 << 10 };
	struct sw_snapshot_options quiet = r->options.how.snapshot;
	size_t stack_bytes = quiet.stack_bytes != 0 ? quiet.stack_bytes : STACK_BYTES;
	struct sw_error ignored;
	quiet.stop = SW_STOP_NEVER;
	quiet.blocked_only = true;
	if (events_begin(r, stack_bytes, SW_CPU_SAMPLER_CLOCK, &ignored) < 0 || r->cpu == NULL)
		return false;
	bool kernel = sw_cpu_sampler_with_kernel(r->cpu);
	if (!kernel)
		(void) sw_fail(
			&r->no_events, SW_E_NOT_PERMITTED,
			"perf events are without time in the kernel "
			"(/proc/sys/kernel/perf_event_paranoid)"); /* told by sw_recorder_refused() */
	/* Where it is the iterator that is refused, the other way says so. */
	if (kernel && sampler_begin(r, &quiet, &ignored) == 0)
		return true;
	sw_cpu_sampler_destroy(r->cpu);
	r->cpu = NULL;
	return false;
}

static int sampling_begin(struct sw_recorder *r, struct sw_error *err)
{
	const struct sw_recorder_options *o = &r->options;
	bool always = o->how.snapshot.stop == SW_STOP_ALWAYS;
	int code = 0;
	if (o->source != NULL)
		return 0;
	if (o->mode == SW_RECORD_WALL && o->with_events && !always && both_begin(r))
		return 0;
	if (o->mode == SW_RECORD_CPU && !always)
		code = events_begin(r, o->how.snapshot.stack_bytes,
				    o->fixed ? SW_CPU_SAMPLER_FIXED : 0, err);
	if (code == 0 && r->cpu == NULL)
		code = sampler_begin(r, &o->how.snapshot, err);
	return code;
}

static bool by_both(const struct sw_recorder *r)
{
	return r->cpu != NULL && r->sampler != NULL;
}

int sw_recorder_create(struct sw_target *target, const struct sw_recorder_options *options,
		       struct sw_session *session, const struct sw_recorder_sink *sink,
		       struct sw_recorder **ret, struct sw_error *err)
{
	struct sw_recorder *r = calloc(1, sizeof(*r));
	if (r == NULL) {
		sw_target_close(target);
		return sw_fail_nomem(err);
	}
	r->options = *options;
	r->session = session;
	r->sink = sink;
	r->target = target;
	r->running_only = options->how.snapshot.running_only || options->mode == SW_RECORD_CPU;
	int code = sampling_begin(r, err);
	if (code < 0) {
		sw_recorder_destroy(r);
		return code;
	}
	*ret = r;
	return 0;
}

void sw_recorder_destroy(struct sw_recorder *r)
{
	if (r == NULL)
		return;
	sw_sampler_destroy(r->sampler);
	sw_cpu_sampler_destroy(r->cpu);
	if (r->target != NULL)
		sw_target_close(r->target);
	if (r->report != NULL)
		sw_report_destroy(r->report);
	for (size_t i = 0; i < SOURCES; i++)
		sw_map64_deinit(&r->known[i].rows);
	sw_map64_deinit(&r->by_tid);
	free(r->slots);
	free(r);
}

/* ---- counting ------------------------------------------------------------------------------- */

static bool is_wanted(const struct sw_recorder *r, pid_t tid, enum sw_activity activity)
{
	const struct sw_snapshot_options *o = &r->options.how.snapshot;
	if (r->running_only && activity > SW_ACTIVITY_RUNNABLE)
		return false;
	for (size_t i = 0; o->tids != NULL && i < o->n_tids; i++)
		if (o->tids[i] == tid)
			return true;
	return o->tids == NULL;
}

static uint64_t rounded(double n)
{
	return n > 0 ? (uint64_t) (n + 0.5) : 0;
}

/* As slot_count(), by what its counters say; until: at which instant. */
static void slot_share(struct sw_recorder *r, struct slot *s, uint64_t sample,
		       const struct sw_sample_times *until)
{
	uint64_t n = sample - s->since;
	sw_shares_add(&s->shares, n, &s->times, until, s->activity, r->spent);
	n = s->counted && s->activity != SW_ACTIVITY_ON_CPU
		    ? sw_shares_take(&s->shares, s->activity)
		    : 0;
	if (n > 0)
		r->sink->count(r->sink->arg, s->row, n);
	s->since = sample;
	s->fresh = false;
	struct sw_recorder_totals *t = &r->totals;
	t->on_cpu = rounded(r->spent[SW_ACTIVITY_ON_CPU]);
	t->runnable = rounded(r->spent[SW_ACTIVITY_RUNNABLE]);
	t->blocked = rounded(r->spent[SW_ACTIVITY_BLOCKED]);
}

static void row_count(struct sw_recorder *r, uint32_t row, uint64_t n)
{
	if (n == 0)
		return;
	if (row == SW_RECORDER_NO_ROW)
		r->totals.n_missed += n;
	else
		r->sink->count(r->sink->arg, row, n);
}

/* The place where it was met on a CPU last, for time in which it was not: it never held still for so long that
 * its stack could be read. */
static void event_row_count(struct sw_recorder *r, const struct slot *s, enum sw_activity activity,
			    uint64_t n)
{
	uint32_t row = s->event_row;
	if (row != SW_RECORDER_NO_ROW &&
	    (r->sink->restate == NULL ||
	     r->sink->restate(r->sink->arg, row, activity, &row, NULL) < 0))
		row = SW_RECORDER_NO_ROW;
	row_count(r, row, n);
}

/* It ends, or the run does: what is left goes where it was seen last. */
static void slot_share_finish(struct sw_recorder *r, struct slot *s)
{
	uint64_t n_on_cpu, n_rest, n_blocked;
	if (!s->used || s->stackless || !is_wanted(r, s->tid, SW_ACTIVITY_ON_CPU))
		return;
	if (r->running_only)
		s->shares.owed[SW_ACTIVITY_BLOCKED] = 0;
	sw_shares_finish(&s->shares, &n_on_cpu, &n_rest, &n_blocked);
	row_count(r, s->event_row, n_on_cpu);
	if (s->counted && s->row != SW_RECORDER_NO_ROW) {
		row_count(r, s->row, n_rest);
		return;
	}
	event_row_count(r, s, SW_ACTIVITY_BLOCKED, n_blocked);
	event_row_count(r, s, SW_ACTIVITY_RUNNABLE, n_rest - n_blocked);
}

/* Up to the sample before this one; until: the instant of that one, of a thread that moved. */
static void slot_count(struct sw_recorder *r, struct slot *s, uint64_t sample,
		       const struct sw_sample_times *until)
{
	if (!s->used)
		return;
	if (by_both(r)) {
		slot_share(r, s, sample, until);
		return;
	}
	uint64_t n = sample - s->since;
	struct sw_recorder_totals *t = &r->totals;
	switch (s->activity) {
	case SW_ACTIVITY_ON_CPU: t->on_cpu += n; break;
	case SW_ACTIVITY_RUNNABLE: t->runnable += n; break;
	case SW_ACTIVITY_BLOCKED: t->blocked += n; break;
	case SW_ACTIVITY_OTHER: break;
	}
	if (s->counted && n > s->fresh)
		r->sink->count(r->sink->arg, s->row, n - s->fresh);
	s->fresh = false;
	s->since = sample;
}

/* ---- blocked time ---------------------------------------------------------------------------- */

static void blocked_add(struct sw_recorder *r, const struct slot *s, int64_t ns)
{
	if (ns <= 0)
		return;
	r->totals.blocked_ns += ns;
	r->sink->blocked(r->sink->arg, s->row, (uint64_t) ns);
}

static bool is_blocked(const struct slot *s)
{
	return s->activity == SW_ACTIVITY_BLOCKED && s->counted && s->row != SW_RECORDER_NO_ROW;
}

static int64_t at_most(int64_t value, int64_t limit)
{
	return value < 0 ? 0 : value < limit ? value : limit;
}

/* Between two instants: all time but that on a CPU or waiting for one. Without counters: as it was seen
 * at the first one. */
static int64_t blocked_between(const struct slot *before, const struct slot *after)
{
	const struct sw_sample_times *a = &before->times, *b = &after->times;
	int64_t elapsed_ns = b->time_ns - a->time_ns;
	if (a->queued_ns < 0 || b->queued_ns < 0)
		return is_blocked(before) ? at_most(elapsed_ns, INT64_MAX) : 0;
	return at_most(elapsed_ns - (b->cpu_ns - a->cpu_ns) - (b->queued_ns - a->queued_ns),
		       elapsed_ns);
}

/*
 * What a thread was blocked since its last change goes to stacks:
 *
 *	before ...... last look ...... [ran, blocked, ran, ...] since ...... now
 *	   known: unmoved  |            stacks that nobody saw    |  known: unmoved
 *
 * With one wait begun in between, that is the one which was found, and what is before it belongs to the
 * stack before. With more of them, those that nobody saw count for the one that was found, as in any
 * sampling: it is found in proportion to its time. A thread that is not blocked now keeps them for when
 * it is.
 */
static void blocked_account(struct sw_recorder *r, const struct slot *before, struct slot *after)
{
	if (r->sink->blocked == NULL || before->times.time_ns == 0)
		return;
	int64_t ns = blocked_between(before, after), old_ns = 0;
	uint64_t n_waits = after->times.n_waits - before->times.n_waits;
	bool counters = before->times.queued_ns >= 0 && after->times.queued_ns >= 0;
	if (is_blocked(before)) {
		old_ns = at_most(r->last_look_ns - before->times.time_ns, ns);
		if (!counters || n_waits == 0)
			old_ns = ns;
		else if (n_waits == 1 && after->activity == SW_ACTIVITY_BLOCKED)
			old_ns = ns - at_most(after->times.since_ns, ns - old_ns);
		blocked_add(r, before, old_ns);
	}
	after->pending_ns = before->pending_ns + ns - old_ns;
	if (is_blocked(after)) {
		blocked_add(r, after, after->pending_ns);
		after->pending_ns = 0;
	}
}

/* It ended, or the run does: what it did after the last look at it is not known. */
static void blocked_finish(struct sw_recorder *r, const struct slot *s, int64_t until_ns)
{
	if (r->sink->blocked == NULL || !s->used)
		return;
	if (is_blocked(s))
		blocked_add(r, s, until_ns - s->times.time_ns);
	r->totals.unplaced_ns += s->pending_ns;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static struct slot *slot_of(struct sw_recorder *r, size_t number)
{
	while (number >= r->slots_max) {
		struct slot *grown =
			sw_grow(r->slots, r->slots_max, &r->slots_max, FIRST_SLOTS, sizeof(*grown));
		if (grown == NULL)
			return NULL;
		r->slots = grown;
	}
	while (r->n_slots <= number)
		r->slots[r->n_slots++] = (struct slot){0};
	return &r->slots[number];
}

/* Which slot a thread has. The map forgets nothing: it is made anew when most of it is of threads that have
 * ended. */
static int tid_note(struct sw_recorder *r, pid_t tid, size_t number)
{
	enum { SPARE = 1024 };
	int code = 0;
	if (r->by_tid.count > 2 * r->n_slots + SPARE) {
		sw_map64_deinit(&r->by_tid);
		for (size_t i = 0; code == 0 && i < r->n_slots; i++)
			if (r->slots[i].used)
				code = sw_map64_put(&r->by_tid, (uint64_t) r->slots[i].tid, i);
	}
	return code == 0 ? sw_map64_put(&r->by_tid, (uint64_t) tid, number) : code;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* A thread in a place, in a system call, with what it waits for in memory. Of a walk whose frames are native
 * code of modules alone: with the same maps it has the same names. 0: it is not such a one. */
static uint64_t walk_key(const struct sw_walk *walk)
{
	const struct sw_thread *t = walk->thread;
	uint64_t key = sw_mix64((uint64_t) t->tid << 32 | (unsigned) walk->end << 8 |
				(unsigned char) t->state);
	key = sw_mix64(key ^ (uint64_t) t->syscall ^ (uint64_t) (t->since_ns == 0) << 32);
	for (const char *c = t->comm; *c != '\0'; c++)
		key = sw_mix64(key ^ (unsigned char) *c);
	for (size_t i = 0; i < t->wait_bytes; i++)
		key = sw_mix64(key ^ t->wait[i]);
	for (size_t i = 0; i < walk->n_frames; i++) {
		const struct sw_frame *f = &walk->frames[i];
		if (f->owner != 0 || f->place == NULL)
			return 0;
		key = sw_mix64(key ^ f->pc_avma);
		key = sw_mix64(key ^ (f->flags | (uint64_t) f->trust << 32));
	}
	return key != 0 ? key : 1;
}

/* The rows of those walks of which they are known. How many are not. */
static size_t rows_find(const struct known *all, const struct sw_walks *walks, bool light,
			uint32_t *rows)
{
	size_t n = 0;
	for (size_t i = 0; i < walks->n_walks; i++) {
		uint64_t key = light ? walk_key(&walks->walks[i]) : 0, row = SW_RECORDER_NO_ROW;
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

/* What each thread of a report does. */
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

/* Of a thread that was on a CPU when a sample began the events have the stack. */
static bool is_of_source(const struct sw_recorder *r, const struct known *all,
			 enum sw_activity activity)
{
	return !by_both(r) || all == &r->known[BY_EVENTS] || activity != SW_ACTIVITY_ON_CPU;
}

/* Who was read, by its stack. */
struct found {
	struct sw_walks *walks; /* owned, as the following: one for each of them */
	uint32_t *rows;
	bool *fresh;       /* the sink has counted it */
	uint64_t *weights; /* NULL: each counts */
};

static void found_deinit(struct found *f)
{
	sw_walks_destroy(f->walks);
	free(f->rows);
	free(f->fresh);
	free(f->weights);
}

/* By names: those whose row is not known. */
static int rows_add(struct sw_recorder *r, struct known *all, const struct sw_sample *sample,
		    struct found *f, struct sw_error *err)
{
	const struct sw_walks *walks = f->walks;
	uint32_t *rows = f->rows;
	bool light = sample->light;
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
			    is_wanted(r, report->threads[i].tid, activity[i]) &&
			    is_of_source(r, all, activity[i]);
	}
	code = r->sink->rows(r->sink->arg, report, wanted, activity, found, err);
	w = 0;
	if (all->rows.count > KNOWN_MAX)
		sw_map64_deinit(&all->rows);
	for (size_t i = 0; code == 0 && i < n && w < walks->n_walks; i++) {
		if (report->threads[i].tid != walks->walks[w].thread->tid)
			continue;
		uint64_t key = light && wanted[i] ? walk_key(&walks->walks[w]) : 0;
		if (wanted[i])
			rows[w] = found[i];
		f->fresh[w] = wanted[i];
		if (key != 0 && found[i] != SW_RECORDER_NO_ROW)
			(void) sw_map64_put(&all->rows, key, found[i]); /* else it is found again */
		w++;
	}
	return code;
}

/* ---- one sample ------------------------------------------------------------------------------ */

static size_t walk_find(const struct sw_walks *walks, pid_t tid)
{
	size_t low = 0, high = walks != NULL ? walks->n_walks : 0;
	size_t n = high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (walks->walks[middle].thread->tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && walks->walks[low].thread->tid == tid ? low : SIZE_MAX;
}

static bool has_no_stack(int reason)
{
	return reason == SW_E_ZOMBIE || reason == SW_E_EXITED || reason == SW_E_IO_WORKER ||
	       reason == SW_E_KERNEL_THREAD;
}

static int changes_note(struct sw_recorder *r, const struct sw_sample *sample,
			const struct sw_walks *walks, const uint32_t *rows, const bool *fresh,
			struct sw_error *err)
{
	uint64_t now = r->totals.n_samples; /* the number of this one, from 0 on */
	for (size_t i = 0; i < sample->n_changes; i++) {
		const struct sw_sample_change *change = &sample->changes[i];
		struct slot *s = slot_of(r, change->slot);
		if (s == NULL)
			return sw_fail_nomem(err);
		slot_count(r, s, now, &change->times);
		const struct slot before = *s;
		if (change->kind == SW_CHANGE_ENDED) {
			blocked_finish(r, s, r->last_look_ns);
			if (by_both(r))
				slot_share_finish(r, s);
			*s = (struct slot){0};
			continue;
		}
		if (!s->used) {
			s->first = now;
			s->event_row = SW_RECORDER_NO_ROW;
			if (by_both(r) && tid_note(r, change->tid, change->slot) < 0)
				return sw_fail_nomem(err);
		}
		s->used = true;
		s->tid = change->tid;
		s->since = now;
		s->activity = change->activity;
		s->times = change->times;
		memcpy(s->comm, change->comm, sizeof(s->comm));
		if (change->kind == SW_CHANGE_STATE) {
			if (s->row != SW_RECORDER_NO_ROW && r->sink->restate != NULL &&
			    r->sink->restate(r->sink->arg, s->row, s->activity, &s->row, err) < 0)
				return -SW_E_NOMEM;
			/* When only those that run are wanted, this decides anew. */
			s->counted = s->row != SW_RECORDER_NO_ROW &&
				     is_wanted(r, change->tid, change->activity);
			if (before.used)
				blocked_account(r, &before, s);
			continue;
		}
		s->moved = now;
		s->stackless = change->kind == SW_CHANGE_MISSED && has_no_stack(change->reason);
		size_t w =
			change->kind == SW_CHANGE_READ ? walk_find(walks, change->tid) : SIZE_MAX;
		s->row = w != SIZE_MAX ? rows[w] : SW_RECORDER_NO_ROW;
		s->fresh = w != SIZE_MAX && fresh[w];
		s->counted = w != SIZE_MAX && s->row != SW_RECORDER_NO_ROW &&
			     is_wanted(r, change->tid, change->activity);
		if (by_both(r) && s->fresh)
			sw_shares_counted(&s->shares, s->activity);
		if (before.used)
			blocked_account(r, &before, s);
		r->totals.n_read += change->kind == SW_CHANGE_READ;
		r->totals.n_missed +=
			change->kind == SW_CHANGE_MISSED && !s->stackless &&
			!(by_both(r) && change->reason == SW_E_RUNNING) &&
			(r->sink->blocked == NULL || change->activity == SW_ACTIVITY_BLOCKED);
	}
	return 0;
}

static void totals_add(struct sw_recorder *r, const struct sw_sample *sample)
{
	struct sw_recorder_totals *t = &r->totals;
	size_t n_moved = 0;
	for (size_t i = 0; i < sample->n_changes; i++)
		n_moved += sample->changes[i].kind == SW_CHANGE_READ ||
			   sample->changes[i].kind == SW_CHANGE_MISSED;
	t->n_samples++;
	t->n_threads += sample->n_threads;
	t->n_stopped += sample->n_stopped;
	t->n_interrupted += sample->n_interrupted;
	t->stopped_ns += sample->stopped_ns;
	if (sample->longest_ns > t->longest_ns)
		t->longest_ns = sample->longest_ns;
	/* One of eight that run, held for a millisecond, is an eighth of a millisecond for the program. */
	if (n_moved > 0)
		t->held_ns +=
			(double) sample->stopped_ns *
			(sample->n_stopped < n_moved ? (double) sample->n_stopped / (double) n_moved
						     : 1);
	r->n_threads = sample->n_threads;
}

/* Of one that no sample has seen yet, or that has ended, the event alone tells. */
static struct slot *slot_of_tid(struct sw_recorder *r, pid_t tid)
{
	uint64_t number;
	if (!sw_map64_get(&r->by_tid, (uint64_t) tid, &number) || number >= r->n_slots)
		return NULL;
	struct slot *s = &r->slots[number];
	return s->used && s->tid == tid ? s : NULL;
}

/* For how many samples each event counts. */
static int weights_take(struct sw_recorder *r, struct found *f)
{
	f->weights = calloc(f->walks->n_walks + 1, sizeof(*f->weights));
	if (f->weights == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < f->walks->n_walks; i++) {
		struct slot *s = slot_of_tid(r, f->walks->walks[i].thread->tid);
		f->weights[i] = s != NULL ? sw_shares_take_event(&s->shares) : 1;
	}
	return 0;
}

static int sample_find(struct sw_recorder *r, const struct sw_sample *sample, int source,
		       struct found *ret, struct sw_error *err)
{
	struct known *all = &r->known[source];
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
	if (by_both(r) && source == BY_EVENTS && weights_take(r, ret) < 0)
		return sw_fail_nomem(err);
	if (rows_find(all, ret->walks, sample->light, ret->rows) > 0)
		code = rows_add(r, all, sample, ret, err);
	return code;
}

static int sample_count(struct sw_recorder *r, const struct sw_sample *sample, struct sw_error *err)
{
	sw_cleanup(found_deinit) struct found f = {0};
	int code = sample_find(r, sample, BY_SAMPLER, &f, err);
	if (code == 0)
		code = changes_note(r, sample, f.walks, f.rows, f.fresh, err);
	if (code == 0)
		totals_add(r, sample);
	return code;
}

/* By events: each is a sample of its own. */
static int events_count(struct sw_recorder *r, const struct sw_sample *sample, struct sw_error *err)
{
	sw_cleanup(found_deinit) struct found f = {0};
	int code = sample_find(r, sample, BY_EVENTS, &f, err);
	if (code < 0 || f.walks == NULL)
		return code;
	for (size_t i = 0; i < f.walks->n_walks; i++) {
		uint64_t n = f.weights != NULL ? f.weights[i] : 1;
		struct slot *s = by_both(r) ? slot_of_tid(r, f.walks->walks[i].thread->tid) : NULL;
		if (s != NULL && n > 0)
			s->event_row = f.rows[i];
		if (f.rows[i] != SW_RECORDER_NO_ROW && n > f.fresh[i])
			r->sink->count(r->sink->arg, f.rows[i], n - f.fresh[i]);
		r->totals.n_read++;
		if (by_both(r))
			continue;
		r->totals.n_samples++;
		r->totals.on_cpu++;
	}
	return 0;
}

/* Those of threads that run, of the time before the sample that begins now. What was before the first one
 * counts for none. */
static int both_take(struct sw_recorder *r, struct sw_error *err)
{
	struct sw_error why = {0};
	struct sw_sample sample;
	int64_t deadline_ns = sw_clock_ns() + EVENTS_NS;
	int code;
	do {
		code = sw_cpu_sampler_next(r->cpu, &sample, &why);
		if (code == 0 && r->totals.n_samples > 0)
			code = events_count(r, &sample, &why);
	} while (code == 0 && sample.more && sw_clock_ns() < deadline_ns);
	if (code != -SW_E_INVALID) {
		if (code == -SW_E_NOMEM)
			return sw_fail_nomem(err);
		return 0; /* the sampler says what is the matter with the process */
	}
	/* It has other code than native now: as if there had been no events. */
	for (size_t i = 0; i < r->n_slots; i++) {
		slot_count(r, &r->slots[i], r->totals.n_samples, &r->slots[i].times);
		slot_share_finish(r, &r->slots[i]);
	}
	r->no_events = why;
	sw_cpu_sampler_destroy(r->cpu);
	r->cpu = NULL;
	sw_sampler_set_stop(r->sampler, r->options.how.snapshot.stop);
	return 0;
}

static int events_take(struct sw_recorder *r, struct sw_error *err)
{
	struct sw_sample sample;
	int64_t deadline_ns = sw_clock_ns() + EVENTS_NS;
	int code;
	do {
		code = sw_cpu_sampler_next(r->cpu, &sample, err);
		if (code == 0)
			code = events_count(r, &sample, err);
	} while (code == 0 && sample.more && sw_clock_ns() < deadline_ns);
	r->totals.n_lost = sw_cpu_sampler_lost(r->cpu);
	r->totals.no_kernel = !sw_cpu_sampler_with_kernel(r->cpu);
	return code;
}

static int sample_next(struct sw_recorder *r, struct sw_sample *ret, struct sw_error *err)
{
	const struct sw_recorder_source *source = r->options.source;
	return source != NULL ? source->next(source->arg, ret, err)
			      : sw_sampler_next(r->sampler, ret, err);
}

int sw_recorder_sample(struct sw_recorder *r, struct sw_error *err)
{
	struct sw_sample sample;
	r->look_ns = sw_clock_ns();
	bool only_events = sw_recorder_by_events(r);
	int code = by_both(r) ? both_take(r, err) : 0;
	if (code == 0)
		code = only_events ? events_take(r, err) : sample_next(r, &sample, err);
	if (code == 0 && !only_events)
		code = sample_count(r, &sample, err);
	if (code == 0)
		r->last_look_ns = only_events ? r->look_ns : sample.begin_ns;
	r->ended |= code == -SW_E_EXITED || code == -SW_E_NO_PROCESS || code == -SW_E_ZOMBIE;
	r->totals.n_failed += code < 0 && !r->ended;
	return code;
}

void sw_recorder_settle(struct sw_recorder *r)
{
	for (size_t i = 0; i < r->n_slots; i++) {
		slot_count(r, &r->slots[i], r->totals.n_samples, &r->slots[i].times);
		blocked_finish(r, &r->slots[i], r->last_look_ns);
		if (by_both(r))
			slot_share_finish(r, &r->slots[i]);
	}
}

void sw_recorder_renumber(struct sw_recorder *r, uint32_t (*row)(void *arg, uint32_t old),
			  void *arg)
{
	for (size_t i = 0; i < SOURCES; i++)
		sw_map64_deinit(&r->known[i].rows);
	for (size_t i = 0; i < r->n_slots; i++) {
		struct slot *s = &r->slots[i];
		if (s->used && s->row != SW_RECORDER_NO_ROW)
			s->row = row(arg, s->row);
		if (s->used && s->event_row != SW_RECORDER_NO_ROW)
			s->event_row = row(arg, s->event_row);
	}
}

size_t sw_recorder_slots(const struct sw_recorder *r)
{
	return r->n_slots;
}

bool sw_recorder_thread(const struct sw_recorder *r, size_t slot, struct sw_recorder_thread *ret)
{
	const struct slot *s = &r->slots[slot];
	if (!s->used || r->totals.n_samples == 0)
		return false;
	*ret = (struct sw_recorder_thread){.tid = s->tid,
					   .row = s->row,
					   .first = s->first,
					   .ran = s->moved == r->totals.n_samples - 1,
					   .activity = s->activity,
					   .times = s->times,
					   .comm = s->comm};
	return true;
}

bool sw_recorder_has_ended(const struct sw_recorder *r)
{
	return r->ended;
}

const struct sw_recorder_totals *sw_recorder_totals(const struct sw_recorder *r)
{
	return &r->totals;
}

size_t sw_recorder_threads(const struct sw_recorder *r)
{
	return r->n_threads;
}

const char *sw_recorder_refused(const struct sw_recorder *r)
{
	if (r->options.mode == SW_RECORD_CPU && r->no_events.code != 0)
		return r->no_events.message;
	return r->sampler != NULL ? sw_sampler_refused(r->sampler) : "";
}

const char *sw_recorder_no_events(const struct sw_recorder *r)
{
	return r->no_events.code != 0 ? r->no_events.message : "";
}

bool sw_recorder_quiet(const struct sw_recorder *r)
{
	return by_both(r);
}

bool sw_recorder_by_events(const struct sw_recorder *r)
{
	return r->cpu != NULL && r->sampler == NULL;
}

const struct sw_report *sw_recorder_report(const struct sw_recorder *r)
{
	return r->report;
}
