/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Samples of one process, by the clock, by events or by both; counting.c adds them up, rows.c names them. */
#include "cleanup.h"
#include "errors.h"
#include "recording/counting.h"
#include "recording/rows.h"

#include <snapwalk/clock.h>
#include <stdlib.h>

enum { EVENTS_NS = 1000000000 /* for those of one look: what is left waits for the next */ };

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

/* SW_CPU_SAMPLER_*: whether native frames are enough where nobody may be stopped. */
static unsigned flags_of(const struct sw_recorder_options *o)
{
	if (o->fixed)
		return SW_CPU_SAMPLER_FIXED;
	return o->how.snapshot.stop == SW_STOP_NEVER ? SW_CPU_SAMPLER_NATIVE : 0;
}

/* Where the kernel refuses events, running threads are sampled by the clock. */
static int events_begin(struct sw_recorder *r, size_t stack_bytes, unsigned flags,
			struct sw_error *err)
{
	const struct sw_recorder_options *o = &r->options;
	if (o->event != NULL)
		return sw_event_sampler_create(sw_session_context(r->session), r->target, o->event,
					       &r->cpu, err);
	if (o->host != NULL)
		return sw_cpu_sampler_create_of(o->host, sw_session_context(r->session), r->target,
						&r->cpu, err);
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
	int code = sw_sampler_create(sw_session_context(r->session), r->target, options,
				     &r->sampler, err);
	if (code == 0)
		sw_sampler_set_by_recipes(r->sampler);
	return code;
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
	if (events_begin(r, stack_bytes, SW_CPU_SAMPLER_CLOCK | flags_of(&r->options), &ignored) <
		    0 ||
	    r->cpu == NULL)
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
		code = events_begin(r, o->how.snapshot.stack_bytes, flags_of(o), err);
	if (code == 0 && r->cpu == NULL)
		code = sampler_begin(r, &o->how.snapshot, err);
	return code;
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
	if (r->options.host != NULL && r->cpu != NULL)
		sw_host_sampler_drop(r->options.host, r->cpu);
	sw_cpu_sampler_destroy(r->cpu);
	if (r->target != NULL)
		sw_target_close(r->target);
	if (r->report != NULL)
		sw_report_destroy(r->report);
	for (size_t i = 0; i < SW_SOURCES; i++)
		sw_map64_deinit(&r->known[i].rows);
	sw_map64_deinit(&r->by_tid);
	free(r->slots);
	free(r);
}

/* ---- one sample ------------------------------------------------------------------------------ */

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
	/* A thread that is held for a millisecond, one of eight that run, is an eighth of a
	 * millisecond for the program. */
	if (n_moved > 0)
		t->held_ns +=
			(double) sample->stopped_ns *
			(sample->n_stopped < n_moved ? (double) sample->n_stopped / (double) n_moved
						     : 1);
	r->n_threads = sample->n_threads;
}

/* Maps of an earlier sample may not have code that was made executable since. */
static void unknown_code_note(struct sw_recorder *r, const struct sw_walks *walks)
{
	const struct sw_recorder_source *source = r->options.source;
	for (size_t i = 0; walks != NULL && i < walks->n_walks; i++) {
		if (!walks->walks[i].unknown_code || walks->walks[i].thread == NULL)
			continue;
		const pid_t tid = walks->walks[i].thread->tid;
		if (r->sampler != NULL)
			sw_sampler_note_unknown_code(r->sampler, tid);
		else if (source != NULL && source->unknown_code != NULL)
			source->unknown_code(source->arg, tid);
	}
}

static int sample_count(struct sw_recorder *r, const struct sw_sample *sample, struct sw_error *err)
{
	sw_cleanup(sw_recorder_found_deinit) struct sw_recorder_found f = {0};
	int code = sw_recorder_find(r, sample, SW_BY_SAMPLER, &f, err);
	if (code == 0)
		unknown_code_note(r, f.walks);
	if (code == 0)
		code = sw_recorder_note(r, sample, f.walks, f.rows, f.fresh, err);
	if (code == 0)
		totals_add(r, sample);
	return code;
}

/* By events: each is a sample of its own. */
static int events_count(struct sw_recorder *r, const struct sw_sample *sample, struct sw_error *err)
{
	sw_cleanup(sw_recorder_found_deinit) struct sw_recorder_found f = {0};
	if (sample->event_alone && r->sink->event != NULL)
		return r->sink->event(r->sink->arg, sw_cpu_sampler_event(r->cpu),
				      SW_RECORDER_NO_ROW, err);
	int code = sw_recorder_find(r, sample, SW_BY_EVENTS, &f, err);
	if (code < 0 || f.walks == NULL)
		return code;
	r->totals.n_remembered += f.walks->n_remembered;
	r->totals.n_differ += f.walks->n_differ;
	for (size_t i = 0; i < f.walks->n_walks; i++) {
		uint64_t n = f.weights != NULL ? f.weights[i] : 1;
		struct sw_recorder_slot *s =
			sw_recorder_by_both(r)
				? sw_recorder_slot_of_tid(r, f.walks->walks[i].thread->tid)
				: NULL;
		if (s != NULL && n > 0)
			s->event_row = f.rows[i];
		if (f.rows[i] != SW_RECORDER_NO_ROW && n > f.fresh[i])
			r->sink->count(r->sink->arg, f.rows[i], n - f.fresh[i]);
		r->totals.n_read++;
		if (r->sink->event != NULL)
			code = r->sink->event(r->sink->arg, sw_cpu_sampler_event(r->cpu), f.rows[i],
					      err);
		if (code < 0)
			return code;
		if (sw_recorder_by_both(r))
			continue;
		r->totals.n_samples++;
		r->totals.on_cpu++;
	}
	return 0;
}

/* All that there are by now, as far as the time goes. */
static int events_take(struct sw_recorder *r, bool counts, struct sw_error *err)
{
	struct sw_sample sample;
	int64_t deadline_ns = sw_clock_ns() + EVENTS_NS;
	int code;
	do {
		code = sw_cpu_sampler_next(r->cpu, &sample, err);
		if (code == 0 && counts)
			code = events_count(r, &sample, err);
	} while (code == 0 && sample.more && sw_clock_ns() < deadline_ns);
	return code;
}

/* The process has other code than native now: recording goes on as if there had been no events. */
static void events_end(struct sw_recorder *r, const struct sw_error *why)
{
	for (size_t i = 0; i < r->n_slots; i++) {
		sw_recorder_slot_count(r, &r->slots[i], r->totals.n_samples, &r->slots[i].times);
		sw_recorder_share_finish(r, &r->slots[i]);
	}
	r->no_events = *why;
	sw_cpu_sampler_destroy(r->cpu);
	r->cpu = NULL;
	sw_sampler_set_stop(r->sampler, r->options.how.snapshot.stop);
}

/* Take the events of threads that run, from before the sample that begins now. Events before the
 * first sample count for none. */
static int both_take(struct sw_recorder *r, struct sw_error *err)
{
	struct sw_error why = {0};
	int code = events_take(r, r->totals.n_samples > 0, &why);
	if (code == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	if (code == -SW_E_INVALID)
		events_end(r, &why);
	return 0; /* else the sampler says what is the matter with the process */
}

static int only_events_take(struct sw_recorder *r, struct sw_error *err)
{
	int code = events_take(r, true, err);
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
	int code = sw_recorder_by_both(r) ? both_take(r, err) : 0;
	if (code == 0)
		code = only_events ? only_events_take(r, err) : sample_next(r, &sample, err);
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
		sw_recorder_slot_count(r, &r->slots[i], r->totals.n_samples, &r->slots[i].times);
		sw_recorder_blocked_finish(r, &r->slots[i], r->last_look_ns);
		if (sw_recorder_by_both(r))
			sw_recorder_share_finish(r, &r->slots[i]);
	}
}

void sw_recorder_renumber(struct sw_recorder *r, uint32_t (*row)(void *arg, uint32_t old),
			  void *arg)
{
	for (size_t i = 0; i < SW_SOURCES; i++)
		sw_map64_deinit(&r->known[i].rows);
	for (size_t i = 0; i < r->n_slots; i++) {
		struct sw_recorder_slot *s = &r->slots[i];
		if (s->used && s->row != SW_RECORDER_NO_ROW)
			s->row = row(arg, s->row);
		if (s->used && s->event_row != SW_RECORDER_NO_ROW)
			s->event_row = row(arg, s->event_row);
	}
}

bool sw_recorder_has_events(const struct sw_recorder *r)
{
	return r->cpu != NULL && r->options.event != NULL && sw_event_sampler_has_more(r->cpu);
}

uint64_t sw_recorder_native(const struct sw_recorder *r)
{
	return r->cpu != NULL ? sw_cpu_sampler_native(r->cpu) : 0;
}

uint64_t sw_recorder_unanswered(const struct sw_recorder *r)
{
	return sw_cpu_sampler_unanswered(r->cpu);
}

const char *sw_recorder_no_recipe(const struct sw_recorder *r)
{
	return r->cpu != NULL ? sw_cpu_sampler_no_recipe(r->cpu) : "";
}

struct sw_event_cost sw_recorder_event_cost(const struct sw_recorder *r)
{
	return r->cpu != NULL ? sw_event_sampler_cost(r->cpu) : (struct sw_event_cost){0};
}

int sw_recorder_held(const struct sw_recorder *r,
		     int (*tell)(void *arg, const struct sw_event_held *held), void *arg,
		     struct sw_error *err)
{
	return r->cpu != NULL ? sw_event_sampler_held(r->cpu, tell, arg, err) : 0;
}

bool sw_recorder_events_are_over(const struct sw_recorder *r)
{
	return r->cpu != NULL && sw_event_sampler_is_over(r->cpu);
}

void sw_recorder_stop_events(struct sw_recorder *r)
{
	if (r->cpu != NULL)
		sw_event_sampler_stop(r->cpu);
}

void sw_recorder_drop_events(struct sw_recorder *r)
{
	if (r->cpu == NULL)
		return;
	sw_event_sampler_drop(r->cpu);
	r->totals.n_lost = sw_cpu_sampler_lost(r->cpu);
}

bool sw_recorder_take_probe_out(struct sw_recorder *r)
{
	return r->cpu != NULL && sw_event_sampler_take_out(r->cpu);
}

size_t sw_recorder_slots(const struct sw_recorder *r)
{
	return r->n_slots;
}

bool sw_recorder_thread(const struct sw_recorder *r, size_t slot, struct sw_recorder_thread *ret)
{
	const struct sw_recorder_slot *s = &r->slots[slot];
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
	if (r->options.event != NULL)
		return sw_event_sampler_no_stacks(r->cpu);
	return r->no_events.code != 0 ? r->no_events.message : "";
}

bool sw_recorder_quiet(const struct sw_recorder *r)
{
	return sw_recorder_by_both(r) || sw_recorder_by_events(r);
}

bool sw_recorder_by_events(const struct sw_recorder *r)
{
	return r->cpu != NULL && r->sampler == NULL;
}

const struct sw_report *sw_recorder_report(const struct sw_recorder *r)
{
	return r->report;
}
