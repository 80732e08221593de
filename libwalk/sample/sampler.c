/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes since the last sample, and the stacks of threads that changed. By what is known of the
 * process a sample is made in one of two ways: sw_light_read() over the maps of an earlier snapshot, where
 * all code is native; else sw_snapshot_take() of those threads. The first way falls back to the second
 * when the maps turn out to be old, and goes on from its snapshot.
 */
#include "arena.h"
#include "capture/maps.h"
#include "capture/returns.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/thread.h"
#include "process/target.h"
#include "sample/borrowed.h"
#include "sample/code.h"
#include "sample/handed.h"
#include "sample/light.h"
#include "sample/passes.h"
#include "sample/recipes.h"
#include "sample/table.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"
#include "walk/tables.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <string.h>

struct sw_sampler {
	struct sw_context *ctx;         /* borrowed */
	const struct sw_target *target; /* borrowed */
	struct sw_snapshot_options options;
	uint64_t number, n_passes, generation;
	struct sw_sample_table table;

	bool by_iterator;
	struct sw_error refused; /* why not; code 0: SW_STOP_ALWAYS, or it is used */
	struct sw_sample_passes passes;
	uint64_t exec_id; /* of the program; 0: not known yet */
	bool new_program;

	struct sw_snapshot *snap; /* owned: of the last sample by sw_snapshot_take(); NULL: none */
	struct sw_light *light;   /* owned; its base is snap */
	bool heavy;               /* never again by sw_light_read() */
	bool by_recipes;          /* it may read what is constant afterwards */
	bool fixed;               /* by nothing else */
	struct sw_handed handed;
	struct sw_sample_code code;
	bool code_is_other; /* than that of snap */

	struct sw_sample_change *changes; /* owned */
	size_t n_changes, changes_max;
	size_t n_kept;                  /* of them, of a sample that failed */
	struct sw_sample failed;        /* its stops: no more of it */
	pid_t *tids;                    /* owned: of those that are to be read */
	struct sw_light_thread *wanted; /* owned: likewise, with records */
	size_t n_wanted, wanted_max;
};

const char *sw_activity_name(enum sw_activity activity)
{
	switch (activity) {
	case SW_ACTIVITY_ON_CPU: return "on-cpu";
	case SW_ACTIVITY_RUNNABLE: return "runnable";
	case SW_ACTIVITY_BLOCKED: return "blocked";
	case SW_ACTIVITY_OTHER: return "other";
	}
	return "other";
}

/* ---- create, destroy ------------------------------------------------------------------------ */

/* Out of memory is no reason to do without the iterator. */
static int iterator_prepare(struct sw_sampler *s, struct sw_error *err)
{
	struct sw_error why = {0};
	const struct sw_target *t = s->target;
	struct sw_context *ctx = s->ctx;
	if (s->options.stop == SW_STOP_ALWAYS)
		return 0;
	int r;
	if (s->options.iterator_refused != NULL)
		r = sw_fail(&why, SW_E_UNSUPPORTED, "%s", s->options.iterator_refused);
	else
		r = sw_sample_passes_open(&s->passes, ctx, t, &why);
	s->by_iterator = r == 0;
	if (r == 0) {
		if (s->options.returns_fd <= 0)
			sw_returns_load(ctx);
		return 0;
	}
	s->refused = why;
	if (r == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	if (s->options.stop == SW_STOP_NEVER)
		return sw_fail(err, why.code, "process %d cannot be sampled without a stop: %s",
			       (int) t->pid, why.message);
	return 0;
}

int sw_sampler_create(struct sw_context *ctx, struct sw_target *target,
		      const struct sw_snapshot_options *options, struct sw_sampler **ret,
		      struct sw_error *err)
{
	return sw_sampler_create_lent(ctx, target, options, NULL, ret, err);
}

int sw_sampler_create_lent(struct sw_context *ctx, struct sw_target *target,
			   const struct sw_snapshot_options *options,
			   const struct sw_sampler_programs *programs, struct sw_sampler **ret,
			   struct sw_error *err)
{
	struct sw_sampler *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return sw_fail_nomem(err);
	s->ctx = ctx;
	s->target = target;
	if (options != NULL)
		s->options = *options;
	s->options.tids = NULL;
	s->options.n_tids = 0;
	s->options.running_only = false;
	sw_sample_passes_init(&s->passes);
	int r = programs != NULL ? sw_sample_passes_lend(&s->passes, ctx, programs, err) : 0;
	if (r == 0)
		r = iterator_prepare(s, err);
	if (r < 0) {
		sw_sampler_destroy(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* Threads whose stacks ended in code that the maps did not have are read again, though they may not run. */
static void unknown_read_again(struct sw_sampler *s)
{
	for (size_t i = 0; i < s->table.n; i++) {
		struct sw_sample_thread *t = &s->table.threads[i];
		t->stale |= t->unknown_code;
		t->unknown_code = false;
	}
}

static void base_drop(struct sw_sampler *s)
{
	unknown_read_again(s);
	s->code_is_other = false;
	sw_light_destroy(s->light);
	s->light = NULL;
	sw_snapshot_destroy(s->snap);
	s->snap = NULL;
	s->code.hash = 0;
	s->generation++;
}

void sw_sampler_destroy(struct sw_sampler *s)
{
	if (s == NULL)
		return;
	base_drop(s);
	sw_sample_passes_deinit(&s->passes);
	sw_sample_table_deinit(&s->table);
	sw_handed_deinit(&s->handed);
	free(s->changes);
	free(s->tids);
	free(s->wanted);
	free(s);
}

void sw_sampler_set_stop(struct sw_sampler *s, enum sw_stop_mode stop)
{
	s->options.stop = stop;
	s->options.blocked_only &= stop == SW_STOP_NEVER;
	if (s->light != NULL)
		sw_light_set_stop(s->light, stop);
}

void sw_sampler_note_unknown_code(struct sw_sampler *s, pid_t tid)
{
	size_t slot = sw_sample_table_find(&s->table, tid, 0);
	if (slot == SIZE_MAX || s->light == NULL)
		return;
	s->table.threads[slot].unknown_code = true;
	sw_sample_code_ask(&s->code);
}

const char *sw_sampler_refused(const struct sw_sampler *s)
{
	return s->refused.code != 0 ? s->refused.message : "";
}

/* ---- changes -------------------------------------------------------------------------------- */

static struct sw_sample_change *change_add(struct sw_sampler *s, size_t slot,
					   enum sw_change_kind kind)
{
	struct sw_sample_change *grown =
		sw_grow(s->changes, s->n_changes, &s->changes_max, 64, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	s->changes = grown;
	struct sw_sample_change *change = &s->changes[s->n_changes++];
	const struct sw_sample_thread *t = &s->table.threads[slot];
	*change = (struct sw_sample_change){.slot = (uint32_t) slot,
					    .tid = t->tid,
					    .kind = kind,
					    .activity = t->activity,
					    .times = t->times};
	return change;
}

static int thread_end(struct sw_sampler *s, size_t slot)
{
	if (change_add(s, slot, SW_CHANGE_ENDED) == NULL)
		return -SW_E_NOMEM;
	sw_sample_table_remove(&s->table, slot);
	return 0;
}

/* All that the last whole listing did not have, or all. */
static int threads_end(struct sw_sampler *s, bool all)
{
	for (size_t i = 0; i < s->table.n; i++) {
		const struct sw_sample_thread *t = &s->table.threads[i];
		if (t->used && (all || t->pass != s->n_passes) && thread_end(s, i) < 0)
			return -SW_E_NOMEM;
	}
	return 0;
}

static enum sw_activity activity_of(char state, bool on_cpu)
{
	switch (state) {
	case 'R': return on_cpu ? SW_ACTIVITY_ON_CPU : SW_ACTIVITY_RUNNABLE;
	case 'S':
	case 'D':
	case 'I': return SW_ACTIVITY_BLOCKED;
	default: return on_cpu ? SW_ACTIVITY_ON_CPU : SW_ACTIVITY_OTHER;
	}
}

/* ---- who moved ------------------------------------------------------------------------------ */

static struct sw_sample_times times_of(const struct sw_iterate_record *r, int64_t now_ns)
{
	uint64_t queued_ns = r->run_delay_ns;
	if (r->queued_ns != 0 && r->clock_ns > r->queued_ns)
		queued_ns += r->clock_ns - r->queued_ns;
	return (struct sw_sample_times){.time_ns = now_ns,
					.cpu_ns = (int64_t) r->runtime_ns,
					.queued_ns = (int64_t) queued_ns,
					.since_ns = sw_iterate_waits_ns(r),
					.n_waits = r->n_voluntary};
}

static int record_note(struct sw_sampler *s, size_t k, int64_t now_ns)
{
	const struct sw_iterate_record *r = &s->passes.records[k];
	uint64_t n_switches = sw_iterate_switches(r);
	size_t slot = sw_sample_table_find(&s->table, (pid_t) r->tid, 0);
	if (slot != SIZE_MAX && s->table.threads[slot].start_ns != r->start_ns) {
		if (thread_end(s, slot) < 0)
			return -SW_E_NOMEM;
		slot = SIZE_MAX;
	}
	if (slot == SIZE_MAX)
		slot = sw_sample_table_add(&s->table, (pid_t) r->tid, r->start_ns);
	if (slot == SIZE_MAX)
		return -SW_E_NOMEM;
	struct sw_sample_thread *t = &s->table.threads[slot];
	enum sw_activity activity = activity_of(sw_iterate_state(r), r->on_cpu != 0);
	bool ran = r->on_cpu != 0 || t->n_switches != n_switches || t->n_switches == UINT64_MAX;
	t->pass = s->n_passes;
	t->stale |= ran;
	t->n_switches = r->on_cpu != 0 ? UINT64_MAX : n_switches;
	t->record = (uint32_t) k + 1;
	t->times = times_of(r, now_ns);
	if (!t->stale && activity != t->activity) {
		t->activity = activity;
		struct sw_sample_change *change = change_add(s, slot, SW_CHANGE_STATE);
		if (change == NULL)
			return -SW_E_NOMEM;
		memcpy(change->comm, r->comm, sizeof(r->comm));
	}
	t->activity = activity;
	return 0;
}

static int wanted_add(struct sw_sampler *s, pid_t tid, const struct sw_iterate_record *record)
{
	if (s->n_wanted == s->wanted_max) {
		size_t max = s->wanted_max * 2 + 64;
		pid_t *tids = reallocarray(s->tids, max, sizeof(*tids));
		if (tids != NULL)
			s->tids = tids;
		struct sw_light_thread *wanted = reallocarray(s->wanted, max, sizeof(*wanted));
		if (wanted != NULL)
			s->wanted = wanted;
		if (tids == NULL || wanted == NULL)
			return -SW_E_NOMEM;
		s->wanted_max = max;
	}
	s->tids[s->n_wanted] = tid;
	s->wanted[s->n_wanted++] = (struct sw_light_thread){.record = record};
	return 0;
}

static int change_note(struct sw_sampler *s, pid_t tid, const char *comm, int reason)
{
	size_t slot = sw_sample_table_find(&s->table, tid, 0);
	if (slot == SIZE_MAX)
		return 0;
	struct sw_sample_thread *t = &s->table.threads[slot];
	struct sw_sample_change *change =
		change_add(s, slot, reason == 0 ? SW_CHANGE_READ : SW_CHANGE_MISSED);
	if (change == NULL)
		return -SW_E_NOMEM;
	t->stale = reason == SW_E_RUNNING || reason == SW_E_STOP_TIMEOUT; /* once more, then */
	t->unknown_code = false;
	change->reason = reason;
	(void) snprintf(change->comm, sizeof(change->comm), "%s", comm); /* as long as that */
	return 0;
}

static int look_note(struct sw_sampler *s, const struct sw_iterate_record *record, int reason)
{
	char comm[SW_ITERATE_COMM + 1];
	sw_iterate_comm(record, comm);
	return change_note(s, (pid_t) record->tid, comm, reason);
}

/* Lists those whose stack is not known; s->wanted is them. */
static int moved_find(struct sw_sampler *s, struct sw_error *err)
{
	bool whole = false;
	for (int i = 0; i < 2; i++) {
		int r = sw_sample_passes_read(&s->passes, s->target, &whole, err);
		if (r < 0)
			return r;
		int64_t now_ns = sw_clock_ns();
		if (!sw_target_lives(s->target))
			return sw_fail(err, SW_E_EXITED, "process %d exited", (int) s->target->pid);
		s->n_passes += whole;
		for (size_t k = 0; k < s->passes.n_records; k++) {
			const struct sw_iterate_record *record = &s->passes.records[k];
			if (s->exec_id != 0 && record->exec_id != s->exec_id) {
				s->new_program = true;
				if (threads_end(s, true) < 0)
					return sw_fail_nomem(err);
			}
			s->exec_id = record->exec_id;
			if (record_note(s, k, now_ns) < 0)
				return sw_fail_nomem(err);
		}
		if (whole && threads_end(s, false) < 0)
			return sw_fail_nomem(err);
		if (s->table.n_used == s->passes.n_listed || whole)
			break;
		s->passes.all_wanted = true; /* some ended: who? */
	}
	s->n_wanted = 0;
	for (size_t i = 0; i < s->table.n; i++) {
		struct sw_sample_thread *t = &s->table.threads[i];
		if (!t->used)
			continue;
		if (t->stale && t->record == 0)
			s->passes.all_wanted = true; /* not in this pass: with the next one */
		const struct sw_iterate_record *record =
			t->stale && t->record != 0 ? &s->passes.records[t->record - 1] : NULL;
		t->record = 0;
		if (record == NULL)
			continue;
		bool running = s->options.blocked_only && record->on_cpu != 0 && s->number > 1;
		if (running ? look_note(s, record, SW_E_RUNNING) < 0
			    : wanted_add(s, t->tid, record) < 0)
			return sw_fail_nomem(err);
	}
	return 0;
}

/* ---- reading them --------------------------------------------------------------------------- */

/* Leaves out the threads that ended since the pass; how many are left. */
static size_t tids_keep(struct sw_sampler *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n_wanted; i++) {
		char name[32];
		(void) snprintf(name, sizeof(name), "%d/stat", (int) s->tids[i]); /* fits */
		if (faccessat(s->target->task_fd, name, F_OK, 0) == 0)
			s->tids[n++] = s->tids[i];
	}
	return n;
}

static void light_prepare(struct sw_sampler *s)
{
	struct sw_recipe recipe;
	if (s->heavy || !s->by_iterator)
		return;
	bool native = sw_light_is_possible(s->snap, &sw_tables);
	/* Nobody is stopped for what a recipe copies: who runs has to be of no interest. */
	if (!native && (!s->by_recipes || !s->options.blocked_only ||
			sw_sample_recipe(s->snap, &sw_tables, &recipe, NULL) < 0))
		return;
	if (sw_light_create(s->snap, s->target, &s->options, &s->passes.links,
			    native ? NULL : &recipe, &s->light, NULL) < 0)
		s->heavy = true; /* as without it */
	else
		(void) sw_sample_code_is_other(
			&s->code, s->target, s->snap); /* its result is of no matter: the look is */
}

/* The records of those that are wanted are in the memory of the light way from its first window on, which is given up:
 * they are those of the pass again. */
static void wanted_restore(struct sw_sampler *s)
{
	for (size_t i = 0; i < s->n_wanted; i++)
		for (size_t k = 0; k < s->passes.n_records; k++)
			if ((pid_t) s->passes.records[k].tid == s->tids[i])
				s->wanted[i] =
					(struct sw_light_thread){.record = &s->passes.records[k]};
}

/*
 * Maps and modules by a look that touches no thread. Where threads are read by recipes it stands for a whole capture: that
 * takes much longer, and what it copies beside stacks is torn while threads run. Nothing is said of what does not succeed:
 * a whole capture follows.
 */
static bool light_renew(struct sw_sampler *s)
{
	struct sw_target *target = (struct sw_target *) s->target;
	struct sw_error ignored;
	if (!s->by_recipes || !s->by_iterator || !s->options.blocked_only || s->heavy || s->fixed)
		return false;
	wanted_restore(s);
	base_drop(s);
	if (sw_capture_maps(s->ctx, target, &sw_tables, NULL, &s->snap, &ignored) == 0 &&
	    sw_returns_page(s->snap) == NULL)
		light_prepare(s);
	if (s->light == NULL)
		base_drop(s);
	return s->light != NULL;
}

/* By sw_snapshot_take(), of those that are wanted; of all, when it is not known who moved. */
static int read_heavy(struct sw_sampler *s, bool all, struct sw_sample *ret, struct sw_error *err)
{
	enum { TRIES_MAX = 3 };
	struct sw_snapshot_options options = s->options;
	struct sw_target *target = (struct sw_target *) s->target;
	base_drop(s);
	int r = -SW_E_NO_THREAD;
	for (int i = 0; i < TRIES_MAX && r == -SW_E_NO_THREAD; i++) {
		if (!all) {
			options.n_tids = tids_keep(s);
			options.tids = s->tids;
			if (options.n_tids == 0)
				return 0;
			s->n_wanted = options.n_tids;
		}
		r = sw_capture_take(s->ctx, target, &options, &sw_tables, &s->snap, err);
	}
	if (r < 0)
		return r;
	ret->snap = s->snap;
	ret->time_ns = s->snap->time_ns;
	ret->n_stopped = s->snap->n_stopped;
	ret->n_interrupted = s->snap->interrupted_calls;
	ret->stopped_ns = s->snap->times.stopped_ns;
	ret->longest_ns = s->snap->times.longest_thread_ns;
	return 0;
}

/* Makes the threads of the snapshot the changes. */
static int heavy_note(struct sw_sampler *s, struct sw_error *err)
{
	for (size_t i = 0; s->snap != NULL && i < s->snap->n_threads; i++) {
		const struct sw_thread *t = &s->snap->threads[i];
		if (t->reason == SW_E_SKIPPED)
			continue;
		/* Threads that came after the pass are shown by the next one. */
		size_t slot = sw_sample_table_find(&s->table, t->tid, 0);
		if (slot == SIZE_MAX && s->by_iterator)
			continue;
		if (slot == SIZE_MAX)
			slot = sw_sample_table_add(&s->table, t->tid, 0);
		if (slot == SIZE_MAX)
			return sw_fail_nomem(err);
		s->table.threads[slot].pass = s->n_passes;
		if (!s->by_iterator) {
			s->table.threads[slot].activity = activity_of(t->state, true);
			s->table.threads[slot].times =
				(struct sw_sample_times){.time_ns = sw_clock_ns(),
							 .cpu_ns = t->cpu_ns,
							 .queued_ns = -1,
							 .since_ns = -1,
							 .n_waits = UINT64_MAX};
		}
		if (change_note(s, t->tid, t->comm, t->captured ? 0 : t->reason) < 0)
			return sw_fail_nomem(err);
	}
	return 0;
}

static int sample_whole(struct sw_sampler *s, struct sw_sample *ret, struct sw_error *err)
{
	s->n_passes++;
	int r = read_heavy(s, true, ret, err);
	if (r == 0)
		r = heavy_note(s, err);
	if (r == 0 && threads_end(s, false) < 0)
		r = sw_fail_nomem(err);
	return r;
}

/* 1: done; 0: not by this way. */
static int read_light(struct sw_sampler *s, struct sw_sample *ret, struct sw_error *err)
{
	struct sw_light_result got;
	if (s->light == NULL || s->n_wanted > sw_light_capacity(s->light) || s->new_program ||
	    s->code_is_other || sw_sample_code_is_other(&s->code, s->target, s->snap))
		return 0;
	int r = sw_light_read(s->light, s->wanted, s->n_wanted, &got, err);
	ret->n_stopped = got.n_stopped;
	ret->n_interrupted = got.n_interrupted;
	ret->stopped_ns = got.stopped_ns;
	ret->longest_ns = got.longest_ns;
	if (r < 0)
		return r;
	s->heavy |= got.lost;
	s->generation += got.renewed;
	if (got.lost || got.unknown_code)
		return 0;
	ret->snap = got.snap;
	ret->time_ns = got.time_ns;
	for (size_t i = 0; i < s->n_wanted; i++)
		if (look_note(s, s->wanted[i].record, s->wanted[i].reason) < 0)
			return sw_fail_nomem(err);
	return 1;
}

static void stops_add(struct sw_sample *to, const struct sw_sample *from)
{
	to->n_stopped += from->n_stopped;
	to->n_interrupted += from->n_interrupted;
	to->stopped_ns += from->stopped_ns;
	if (from->longest_ns > to->longest_ns)
		to->longest_ns = from->longest_ns;
}

/* All that were wanted run. Their records of the pass are asked: those of the light way went with it. */
static int running_note(struct sw_sampler *s, struct sw_error *err)
{
	for (size_t i = 0; i < s->n_wanted; i++)
		for (size_t k = 0; k < s->passes.n_records; k++)
			if ((pid_t) s->passes.records[k].tid == s->tids[i] &&
			    look_note(s, &s->passes.records[k], SW_E_RUNNING) < 0)
				return sw_fail_nomem(err);
	return 0;
}

/* Before it is known who moved: nobody may have. */
static void asked_look(struct sw_sampler *s)
{
	if (!s->code.asked || s->light == NULL ||
	    !sw_sample_code_is_other(&s->code, s->target, s->snap))
		return;
	s->code_is_other = s->passes.all_wanted = true;
	unknown_read_again(s);
}

static int sample_moved(struct sw_sampler *s, struct sw_sample *ret, struct sw_error *err)
{
	asked_look(s);
	int r = moved_find(s, err);
	if (r < 0 || s->n_wanted == 0)
		return r;
	r = read_light(s, ret, err);
	if (r == 0 && light_renew(s)) {
		const bool new_program = s->new_program;
		s->new_program = false; /* the maps are its own */
		r = read_light(s, ret, err);
		s->new_program = new_program;
	}
	if (r != 0)
		return r < 0 ? r : 0;
	if (s->fixed)
		return sw_fail(err, SW_E_CHANGED, "process %d has other maps now",
			       (int) s->target->pid);
	struct sw_sample light = *ret;
	r = read_heavy(s, s->number == 1, ret, err);
	if (r == -SW_E_RUNNING && s->options.blocked_only) {
		/* Nobody else is there. */
		return running_note(s, err);
	}
	if (r == 0)
		r = heavy_note(s, err);
	if (r < 0)
		return r;
	stops_add(ret, &light);
	if (s->snap != NULL)
		light_prepare(s);
	return 0;
}

/* Keeps what was found out for the next sample: who ended; all others are asked for again. */
static void failure_keep(struct sw_sampler *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n_changes; i++)
		if (s->changes[i].kind == SW_CHANGE_ENDED)
			s->changes[n++] = s->changes[i];
	s->n_kept = n;
	for (size_t i = 0; i < s->table.n; i++)
		s->table.threads[i].stale = true;
	s->passes.all_wanted = true;
}

int sw_sampler_next(struct sw_sampler *s, struct sw_sample *ret, struct sw_error *err)
{
	struct sw_sample sample = {.number = s->number + 1,
				   .time_ns = sw_realtime_ns(),
				   .begin_ns = sw_clock_ns()};
	s->number++;
	s->n_changes = s->n_kept;
	s->n_kept = 0;
	int r = s->by_iterator ? sample_moved(s, &sample, err) : sample_whole(s, &sample, err);
	stops_add(&sample, &s->failed);
	s->failed = (struct sw_sample){0};
	if (r < 0) {
		stops_add(&s->failed, &sample);
		failure_keep(s);
		return r;
	}
	sample.changes = s->changes;
	sample.n_changes = s->n_changes;
	sample.n_threads = s->table.n_used;
	sample.generation = s->generation;
	sample.light = s->light != NULL && sample.snap != s->snap;
	sample.kept = sample.light && sw_light_by_copies(s->light);
	sample.new_program = s->new_program;
	s->new_program = false;
	*ret = sample;
	return 0;
}

/* ---- in two processes ------------------------------------------------------------------------ */

void sw_sampler_set_by_recipes(struct sw_sampler *s)
{
	s->by_recipes = true;
}

bool sw_sampler_is_light(const struct sw_sampler *s)
{
	return s->light != NULL && !sw_light_by_copies(s->light);
}

void sw_sampler_fix(struct sw_sampler *s)
{
	s->fixed = true;
}

int sw_sampler_pack(struct sw_sampler *s, const struct sw_sample *sample, const void **ret,
		    size_t *ret_size, struct sw_error *err)
{
	if (s->light == NULL || sample->snap == s->snap)
		return sw_fail(err, SW_E_INVALID, "a sample with maps of its own");
	return sw_handed_pack(&s->handed, sample, ret, ret_size, err);
}

int sw_sampler_unpack(struct sw_sampler *s, const void *bytes, size_t size, struct sw_sample *ret,
		      struct sw_error *err)
{
	int r = 0;
	if (s->snap == NULL)
		return sw_fail(err, SW_E_INVALID, "no sample was taken");
	if (s->handed.snap == NULL)
		r = sw_borrowed_create(s->snap, &s->handed.snap, err);
	return r < 0 ? r : sw_handed_unpack(&s->handed, bytes, size, ret, err);
}

void sw_sampler_leave(struct sw_sampler *s)
{
	sw_sample_passes_close(&s->passes);
	sw_close_p(&s->ctx->iterator_fd);
	sw_close_p(&s->ctx->returns_fd);
}
