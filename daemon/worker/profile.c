/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Samples of a profile. The samples before it were taken by other workers, each of a process that may have
 * been made to attack it: what they have left is read as strictly as any file.
 */
#include "worker/profile.h"
#include "worker/names.h"
#include "worker/wire.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/profile.h>
#include <snapwalk/schedule.h>

enum { NS_PER_US = 1000, NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

/* The limits keep a profile's JSON, which repeats names, usually below SW_PROFILE_BYTES. */
static const struct sw_profile_limits limits = {
	.max_stacks = 10000,
	.max_threads = 4096,
	.max_rows = 32768,
	.max_bytes = 4 << 20,
};

int sw_worker_profile_open(const struct sw_worker *worker, struct sw_profile **ret,
			   struct sw_error *err)
{
	const struct sw_worker_profile *asked = &worker->request.profile;
	if (asked->size == 0)
		return sw_profile_create(&limits, ret, err);
	char *json = sw_names_profile(worker->names_fd, asked->size);
	if (json == NULL)
		return sw_fail(err, SW_E_NOMEM, "the samples so far cannot be read");
	int r = sw_profile_parse(json, asked->size, ret, err);
	if (r == 0)
		sw_profile_set_limits(*ret, &limits);
	return r;
}

/* The sum with a number that another worker has left, which may be anything. */
static int64_t sum(int64_t a, int64_t b)
{
	int64_t both;
	return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

/* By the state that the report tells: what is sampled one by one. */
static int add(const struct sw_worker *worker, struct sw_profile *profile,
	       const struct sw_report *report, int64_t interval_ns, struct sw_error *err)
{
	const enum sw_record_mode mode = (enum sw_record_mode) worker->request.profile.mode;
	struct sw_profile_weight *weights = calloc(report->n_threads + 1, sizeof(*weights));
	if (weights == NULL)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < report->n_threads; i++) {
		bool runs = report->threads[i].state == 'R';
		weights[i] = (struct sw_profile_weight){.count = 1,
							.ns = (uint64_t) interval_ns,
							.state = mode == SW_RECORD_CPU
									 ? SW_PROFILE_ON_CPU
									 : SW_PROFILE_AS_REPORTED,
							.skip = (mode == SW_RECORD_CPU && !runs) ||
								(mode == SW_RECORD_OFF && runs)};
	}
	return sw_profile_add(profile, report, weights, NULL, err);
}

static void info_set(const struct sw_worker *worker, struct sw_profile *profile,
		     const struct sw_worker_round *round)
{
	const struct sw_worker_profile *asked = &worker->request.profile;
	struct sw_profile_info info = *sw_profile_get_info(profile);
	uint64_t n_lost = 0;
	info.mode = sw_record_mode_name((enum sw_record_mode) asked->mode);
	info.begin_ns = asked->begin_real_ns;
	info.duration_ns = round->until_ns - asked->begin_ns;
	info.rate_hz = asked->rate_hz;
	info.n_samples = (uint64_t) sum((int64_t) info.n_samples, (int64_t) round->n_samples);
	info.n_late = (uint64_t) sum((int64_t) info.n_late, (int64_t) round->n_late);
	if (round->by_events) { /* how many were due only those who took them know */
		n_lost = (uint64_t) sum((int64_t) info.n_lost,
					sum((int64_t) asked->n_lost, (int64_t) round->n_lost));
		info.n_wanted = (uint64_t) sum((int64_t) info.n_samples, (int64_t) n_lost);
	} else {
		struct sw_schedule schedule;
		sw_schedule_init(&schedule, asked->begin_ns, asked->end_ns, asked->rate_hz, 0);
		info.n_wanted = sw_schedule_due(&schedule, round->end_ns);
		if (info.n_wanted < info.n_samples) /* the last one came late by its interval */
			info.n_wanted = info.n_samples;
		n_lost = info.n_wanted - info.n_samples;
	}
	info.n_lost = n_lost;
	info.stopped_ns = sum(info.stopped_ns, round->stopped_ns);
	if (round->longest_ns > info.longest_stop_ns)
		info.longest_stop_ns = round->longest_ns;
	sw_profile_set_info(profile, &info);
}

/* The head that a profile shares with a dump, for all samples: the last one says which process it
 * is. */
static struct sw_report head_of(const struct sw_worker *worker, const struct sw_profile *profile,
				const struct sw_report *report, const struct sw_worker_round *round)
{
	const struct sw_worker_profile *asked = &worker->request.profile;
	const struct sw_profile_info *info = sw_profile_get_info(profile);
	struct sw_report head = *report;
	if (asked->size > 0)
		head.id = asked->id;
	head.time_ns = asked->begin_real_ns;
	head.complete = sw_profile_is_complete(profile);
	head.timings.stopped_us = info->stopped_ns / NS_PER_US;
	head.timings.longest_thread_stop_us = info->longest_stop_ns / NS_PER_US;
	head.timings.attach_us = sum(head.timings.attach_us, asked->attach_us);
	head.timings.copy_us = sum(head.timings.copy_us, asked->copy_us);
	head.timings.unwind_us = sum(head.timings.unwind_us, asked->unwind_us);
	head.timings.symbolize_us = sum(head.timings.symbolize_us, asked->symbolize_us);
	head.timings.interrupted_calls =
		(size_t) sum(asked->interrupted_calls, (int64_t) round->n_interrupted);
	head.timings.total_us = info->duration_ns / NS_PER_US;
	head.timings.n_stopped = -1; /* of which sample? */
	return head;
}

int sw_worker_profile_finish(const struct sw_worker *worker, struct sw_profile *profile,
			     const struct sw_report *head, const struct sw_worker_round *round,
			     int stream, struct sw_error *err)
{
	char *json = NULL;
	size_t size = 0, max = SW_PROFILE_BYTES;
	info_set(worker, profile, round);
	const struct sw_report whole = head_of(worker, profile, head, round);
	int r = sw_profile_write_kept(profile, &whole, &json, &size, err);
	if (r < 0)
		return r;
	if (max > worker->config->dump_bytes_max)
		max = worker->config->dump_bytes_max;
	if (size > max)
		return sw_fail(err, SW_E_LIMIT, "the profile has %zu bytes, of at most %zu", size,
			       max);
	return sw_worker_event_write(stream, SW_WORKER_DUMP, json, size, err);
}

/* Begun by more than half of the interval after it was due? The broker's timer has its own grid, which is
 * that of the profile. */
static bool is_late(const struct sw_worker *worker, int64_t interval_ns)
{
	int64_t passed_ns = worker->begin_ns - worker->request.profile.begin_ns;
	return passed_ns > 0 && passed_ns % interval_ns > interval_ns / 2;
}

int sw_worker_profile_send(const struct sw_worker *worker, const struct sw_report *report,
			   struct sw_error *err)
{
	const struct sw_worker_profile *asked = &worker->request.profile;
	const int64_t interval_ns = NS_PER_S / (int64_t) asked->rate_hz;
	const struct sw_worker_round round = {
		.n_samples = 1,
		.n_late = is_late(worker, interval_ns),
		.n_interrupted = report->timings.interrupted_calls,
		.stopped_ns = report->timings.stopped_us * NS_PER_US,
		.longest_ns = report->timings.longest_thread_stop_us * NS_PER_US,
		.end_ns = worker->begin_ns + 1,
		.until_ns = worker->begin_ns + interval_ns,
	};
	struct sw_profile *profile = NULL;
	int r = sw_worker_profile_open(worker, &profile, err);
	if (r == 0)
		r = add(worker, profile, report, interval_ns, err);
	return r < 0 ? r
		     : sw_worker_profile_finish(worker, profile, report, &round, worker->stream,
						err);
}

struct sw_recorder_options sw_worker_record_options(struct sw_worker *worker)
{
	const struct sw_worker_request *request = &worker->request;
	/* Threads that run have no stack that counts for blocked time: nobody needs to be
	 * stopped. */
	const bool quiet = request->profile.mode == SW_RECORD_OFF && request->stop == SW_STOP_AUTO;
	return (struct sw_recorder_options){
		.mode = (enum sw_record_mode) request->profile.mode,
		.rate_hz = request->profile.rate_hz,
		.how = {.snapshot = {.stop = quiet ? SW_STOP_NEVER
						   : (enum sw_stop_mode) request->stop,
				     .blocked_only = quiet,
				     .returns_fd = worker->returns_fd >= 0 ? worker->returns_fd : 0,
				     .max_stop_ms = request->max_stop_ms,
				     .stack_bytes = request->stack_bytes,
				     .permit = sw_worker_permit,
				     .permit_arg = worker},
			.walk = {.max_frames = request->depth},
			.symbolize = {.level = (enum sw_symbol_level) request->symbols,
				      .no_inlines = request->no_inlines,
				      .unpacked = &worker->unpacked},
			.limit_ns = (int64_t) request->names_timeout_ms * NS_PER_MS,
			.report = {.reason = request->reason[0] != '\0' ? request->reason : NULL,
				   .seq = request->seq}},
		.only_events = true,
		.fixed = true,
	};
}
