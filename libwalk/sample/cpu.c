/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "sample/cpu_base.h"
#include "sample/cpu_batch.h"
#include "snapshot/snapshot.h"
#include "walk/active.h"
#include "walk/tables.h"

#include <snapwalk/clock.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_STACK_BYTES = 16 << 10 };

/* Breakpoints in the code of the process, where they are the events. */
static int probes_open(struct sw_cpu_sampler *s, struct sw_error *err)
{
	const struct sw_event_options *o = &s->wanted;
	const bool counts = o->what == SW_EVENT_PAIR_CALLS;
	const bool pairs = o->what == SW_EVENT_PAIRS || counts;
	if (!sw_cpu_has_probes(s))
		return 0;
	return sw_uprobes_open(
		s->target, o->places, o->n_places,
		&(struct sw_uprobes_programs){.begin_fd = sw_copies_program(s->copies, 0),
					      .return_fd = (pairs && !counts) || o->at_return
								   ? sw_copies_program(s->copies, 1)
								   : -EBADF,
					      .release_fd = pairs ? sw_copies_program(s->copies, 2)
								  : -EBADF,
					      .linked = s->linked,
					      .probe_open = o->probe_open,
					      .probe_arg = o->probe_arg},
		&s->probes, err);
}

int sw_cpu_sampler_new(struct sw_context *ctx, const struct sw_target *target,
		       struct sw_cpu_sampler **ret, struct sw_error *err)
{
	struct sw_cpu_sampler *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return sw_fail_nomem(err);
	s->ctx = ctx;
	s->target = target;
	s->exec_link_fd = -EBADF;
	s->ranges = calloc(SW_COPY_PARTS_MAX, sizeof(*s->ranges));
	if (s->ranges == NULL) {
		sw_cpu_sampler_destroy(s);
		return sw_fail_nomem(err);
	}
	*ret = s;
	return 0;
}

/* wanted: NULL: samples of CPU time. */
static int create(struct sw_context *ctx, struct sw_target *target,
		  const struct sw_events_options *options, unsigned flags,
		  const struct sw_event_options *wanted, struct sw_cpu_sampler **ret,
		  struct sw_error *err)
{
	size_t stack_bytes = options->stack_bytes;
	struct sw_cpu_sampler *s;
	int r = sw_cpu_sampler_new(ctx, target, &s, err);
	if (r < 0)
		return r;
	s->by_calls = wanted != NULL;
	if (wanted != NULL)
		s->wanted = *wanted;
	s->fixed = (flags & SW_CPU_SAMPLER_FIXED) != 0;
	s->native_frames = (flags & SW_CPU_SAMPLER_NATIVE) != 0;
	s->names.task_fd = target->task_fd;
	s->names.fixed = s->fixed;
	s->beside_looks = (flags & SW_CPU_SAMPLER_CLOCK) != 0;
	s->stack_bytes = stack_bytes == 0                    ? DEFAULT_STACK_BYTES
			 : stack_bytes < SW_EVENTS_STACK_MAX ? stack_bytes
							     : SW_EVENTS_STACK_MAX;
	s->stacks = malloc(SW_CPU_BATCH * s->stack_bytes);
	if (s->stacks == NULL)
		r = sw_fail_nomem(err);
	if (r == 0 && s->by_calls)
		r = sw_cpu_exec_link_open(s, err);
	if (r == 0)
		r = sw_cpu_base_take(s, err);
	s->first_exec_id = s->base_exec_id;
	if (r == 0)
		r = sw_events_open(target,
				   &(struct sw_events_options){
					   .rate_hz = options->rate_hz,
					   .stack_bytes = s->stack_bytes,
					   .copies = s->copies,
					   .clock_only = (flags & SW_CPU_SAMPLER_CLOCK) != 0},
				   &s->events, err);
	if (r == 0 && s->by_calls)
		r = probes_open(s, err);
	if (r == 0 && s->by_calls && s->wanted.n_places > 0) {
		size_t bytes = s->wanted.n_places * sizeof(*s->places);
		s->places = malloc(bytes);
		if (s->places == NULL)
			r = sw_fail_nomem(err);
		else
			memcpy(s->places, s->wanted.places, bytes);
	}
	s->wanted.places = NULL; /* the caller's */
	if (r < 0) {
		sw_cpu_sampler_destroy(s);
		return r;
	}
	if (s->fixed) /* after the events: of those that begin now there is a record */
		sw_cpu_names_read(&s->names);
	/* The recipe for copies may have been read by a reader. */
	sw_pages_helpers_end(&s->base->priv->pages);
	*ret = s;
	return 0;
}

int sw_cpu_sampler_create(struct sw_context *ctx, struct sw_target *target, uint32_t rate_hz,
			  size_t stack_bytes, unsigned flags, struct sw_cpu_sampler **ret,
			  struct sw_error *err)
{
	const struct sw_events_options options = {.rate_hz = rate_hz, .stack_bytes = stack_bytes};
	return create(ctx, target, &options, flags, NULL, ret, err);
}

int sw_event_sampler_create(struct sw_context *ctx, struct sw_target *target,
			    const struct sw_event_options *options, struct sw_cpu_sampler **ret,
			    struct sw_error *err)
{
	enum { STACK_BYTES = 8 << 10 };
	const struct sw_events_options none = {
		.stack_bytes = options->stack_bytes != 0 ? options->stack_bytes : STACK_BYTES};
	return create(ctx, target, &none, options->fixed ? SW_CPU_SAMPLER_FIXED : 0, options, ret,
		      err);
}

void sw_cpu_sampler_destroy(struct sw_cpu_sampler *s)
{
	if (s == NULL)
		return;
	sw_events_close(s->events);
	sw_uprobes_close(&s->probes);
	if (sw_cpu_is_fed(s))
		sw_copies_forget(s->copies, s->target->pid);
	else
		sw_copies_close(s->copies);
	sw_close_p(&s->exec_link_fd);
	sw_cpu_base_drop(s);
	sw_cpu_names_deinit(&s->names);
	free(s->places);
	free(s->ranges);
	free(s->stacks);
	free(s);
}

static int fail_old(struct sw_cpu_sampler *s, struct sw_error *err)
{
	sw_cpu_rest_count(s);
	return sw_fail(err, SW_E_CHANGED, "process %d has other code now", (int) s->target->pid);
}

static void snapshot_finish(struct sw_cpu_sampler *s, int64_t time_ns)
{
	struct sw_snapshot *snap = s->snap;
	snap->n_threads = s->n;
	if (s->copies == NULL)
		snap->n_ranges = 0;
	snap->time_ns = time_ns;
	sw_snapshot_index_threads(snap);
}

int sw_cpu_sampler_next(struct sw_cpu_sampler *s, struct sw_sample *ret, struct sw_error *err)
{
	struct sw_sample sample = {.number = ++s->number, .time_ns = sw_realtime_ns()};
	if (s->fixed && s->base_old)
		return fail_old(s, err);
	if (sw_cpu_is_fed(s)) {
		int r = sw_cpu_fed_take(s, &sample.new_program, err);
		if (r < 0)
			return r;
	} else if (sw_cpu_base_is_due(s)) {
		int r = sw_cpu_base_renew(s, err);
		if (r == -SW_E_EXITED)
			sw_cpu_rest_count(s);
		if (r < 0)
			return r;
	}
	if (s->copies != NULL && s->snap != NULL)
		sw_active_open(s->snap, &sw_tables);
	if (!sw_cpu_is_fed(s))
		sw_cpu_batch_fill(s, &sample.new_program);
	if (!sw_cpu_is_fed(s) && s->n == 0 && !s->alone && !s->base_old &&
	    !sw_target_lives(s->target)) {
		sw_cpu_batch_fill(
			s, &sample.new_program); /* what it wrote before its end is there by now */
		if (s->n == 0 && !s->alone && !s->base_old)
			return sw_fail(err, SW_E_EXITED, "process %d exited", (int) s->target->pid);
	}
	struct sw_snapshot *snap = s->snap;
	if (snap != NULL)
		snapshot_finish(s, sample.time_ns);
	for (size_t i = 0; i < s->n; i++) {
		const struct sw_thread *t = &snap->threads[i];
		s->changes[i] = (struct sw_sample_change){.slot = (uint32_t) i,
							  .tid = t->tid,
							  .kind = SW_CHANGE_READ,
							  .activity = SW_ACTIVITY_ON_CPU};
		memcpy(s->changes[i].comm, t->comm, sizeof(t->comm));
	}
	sample.snap = s->n > 0 ? snap : NULL;
	sample.changes = s->changes;
	sample.n_changes = sample.n_threads = s->n;
	sample.generation = s->generation;
	sample.light = true;
	sample.kept = s->copies != NULL;
	sample.event_alone = s->alone;
	sample.more = !sw_cpu_is_fed(s) && (s->n > 0 || s->alone || s->base_old);
	*ret = sample;
	return 0;
}

uint64_t sw_cpu_sampler_lost(const struct sw_cpu_sampler *s)
{
	struct sw_copies_counts counts = {0};
	if (sw_cpu_is_fed(s)) /* the others are those of all processes */
		return s->n_left;
	if (s->copies != NULL)
		counts = sw_copies_counts(s->copies);
	return sw_events_lost(s->events) + s->n_left + counts.n_no_space + counts.n_nested;
}

bool sw_cpu_sampler_with_kernel(const struct sw_cpu_sampler *s)
{
	return sw_cpu_is_fed(s) || sw_events_with_kernel(s->events);
}
