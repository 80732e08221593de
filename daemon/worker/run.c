/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/run.h"
#include "worker/capture.h"
#include "worker/cpu.h"
#include "worker/dumps.h"
#include "worker/events.h"
#include "worker/names.h"
#include "worker/profile.h"
#include "worker/series.h"
#include "worker/target.h"
#include "worker/turn.h"
#include "worker/wire.h"
#include "cleanup.h"
#include "errors.h"
#include "urgent.h"

#include <snapwalk/clock.h>
#include <snapwalk/iterator.h>
#include <snapwalk/pipeline.h>

#include <snapwalk/recorder.h>

#include <sys/prctl.h>

/* The target runs again. Bytes of it and of its files are looked at only after this, without
 * capabilities, but for what unwinders must know before the stop (libwalk/runtimes/clr/threads.c). */
static int resumed(void *arg, const struct sw_snapshot *snap, struct sw_error *err)
{
	struct sw_worker *worker = arg;
	const struct sw_worker_profile *asked = &worker->request.profile;
	/* A worker that samples CPU time goes on with it for a minute: a part of that is its
	 * own. */
	bool lasts = asked->mode == SW_RECORD_CPU && asked->size > 0 && !asked->alone &&
		     !asked->by_clock;
	int r = sw_worker_resumed_send(worker, snap, false, err);
	sw_turn_give(worker->turns_fd, snap->process.pid);
	return r < 0 ? r : sw_worker_confine(worker, lasts ? SW_WORKER_LIFE_MS : 0, err);
}

/* From the iterator of the spawner, which could be limited to any process, one for the target. */
static void iterator_take(struct sw_worker *worker, const struct sw_worker_iterator *iterator,
			  pid_t pid)
{
	static struct sw_error why; /* as long as we live */
	worker->iterator_refused = iterator->refused;
	if (iterator->program_fd < 0)
		return;
	worker->iterator_refused = NULL;
	if (sw_iterator_limit(iterator->program_fd, pid, &worker->iterator_fd, &why) < 0) {
		worker->iterator_fd = -EBADF;
		worker->iterator_refused = why.message;
	}
}

/* Only what a dump says of itself. */
static void look_only(struct sw_pipeline_options *options)
{
	options->symbolize.level = SW_SYMBOLS_NONE;
	options->walk.max_frames = 1;
}

bool sw_worker_may_last(const struct sw_worker_request *request)
{
	const struct sw_worker_profile *asked = &request->profile;
	return asked->rate_hz > 0 && asked->size > 0 && !asked->alone &&
	       asked->mode != SW_RECORD_CPU && request->stop != SW_STOP_ALWAYS;
}

static bool may_be_series(const struct sw_worker *worker)
{
	return sw_worker_may_last(&worker->request) && worker->threads_fd >= 0 &&
	       worker->moved_fd >= 0;
}

/* Nothing is freed: the process ends. */
static int one_capture(struct sw_worker *worker, struct sw_target *target,
		       struct sw_worker_cpu *cpu, struct sw_error *err)
{
	const struct sw_origin origin = {.kind = SW_FROM_TARGET, .target = target};
	const pid_t pid = sw_target_pid(target);
	struct sw_pipeline_options options = sw_worker_capture_options(worker);
	struct sw_pipeline made;
	const enum sw_stop_mode stop = options.snapshot.stop;
	const bool off = worker->request.profile.rate_hz > 0 &&
			 worker->request.profile.mode == SW_RECORD_OFF;
	const bool by_clock = worker->request.profile.rate_hz > 0 &&
			      worker->request.profile.mode == SW_RECORD_CPU &&
			      cpu->recorder == NULL;
	options.resumed = resumed;
	options.resumed_arg = worker;
	options.snapshot.running_only = by_clock;
	if (cpu->recorder != NULL)
		look_only(&options);
	if ((cpu->recorder != NULL || off) && stop == SW_STOP_AUTO && worker->iterator_fd >= 0)
		options.snapshot.stop = SW_STOP_NEVER;
	options.snapshot.blocked_only = options.snapshot.stop != stop;
	if (worker->request.profile.rate_hz == 0) {
		sw_urgent_begin();
		sw_urgent_spare(
			&pid, 1); /* its other threads: by the capture, as soon as it knows them */
	}
	/* Without it the stop is tried all the same. */
	(void) sw_turn_take(worker->turns_fd, pid,
			    (int) worker->request.max_stop_ms + SW_WORKER_TURN_MS);
	int r = sw_pipeline_run(worker->session, &origin, &options, &made, err);
	if (r == -SW_E_RUNNING && options.snapshot.stop != stop) { /* its only thread runs */
		options.snapshot.stop = stop;
		r = sw_pipeline_run(worker->session, &origin, &options, &made, err);
	}
	if (r < 0)
		return r;
	if (cpu->recorder != NULL)
		return sw_worker_cpu_run(worker, cpu, made.report, err);
	if (by_clock) { /* so is the rest of the profile */
		worker->life.more.by_clock = true;
		r = sw_worker_life_flush(&worker->life, worker->stream, err);
		if (r < 0)
			return r;
	}
	sw_names_keep(worker->names_fd, worker->session); /* the next one begins after our dump */
	if (worker->request.profile.rate_hz > 0)
		return sw_worker_profile_send(worker, made.report, err);
	return sw_worker_report_send(worker, made.report, err);
}

static int capture(struct sw_worker *worker, const struct sw_worker_iterator *iterator,
		   struct sw_error *err)
{
	struct sw_worker_cpu cpu = {.ids = {.status_fd = -EBADF}};
	struct sw_target *target = NULL;
	int r = sw_session_create(&worker->session, err);
	if (r == 0)
		r = sw_worker_target_open(worker, &target, err);
	if (r < 0)
		return r;
	if (worker->request.events.wanted)
		return sw_worker_events_run(worker, target, err);
	if (may_be_series(worker))
		return sw_worker_series_run(worker, target, err);
	iterator_take(worker, iterator, sw_target_pid(target));
	sw_close_p(&worker->threads_fd);
	sw_close_p(&worker->moved_fd);
	const struct sw_worker_profile *asked = &worker->request.profile;
	if (worker->request.repeats && asked->rate_hz == 0)
		return sw_worker_dumps_run(worker, target, err);
	/* All threads stopped: by the clock, as in the command. */
	if (asked->rate_hz > 0 && asked->mode == SW_RECORD_CPU && !asked->by_clock &&
	    worker->request.stop != SW_STOP_ALWAYS)
		r = sw_worker_cpu_open(worker, target, &cpu, err);
	return r < 0 ? r : one_capture(worker, target, &cpu, err);
}

void sw_worker_run(const struct sw_config *config, const struct sw_worker_request *request,
		   const struct sw_worker_iterator *iterator, const struct sw_unpacked *unpacked,
		   const struct sw_worker_fds *fds)
{
	struct sw_worker worker = {.config = config,
				   .request = *request,
				   .target_pidfd = fds->target_pidfd,
				   .stream = fds->stream,
				   .names_fd = fds->names,
				   .unpacked = *unpacked,
				   .program_fd = -EBADF,
				   .iterator_fd = -EBADF,
				   .threads_fd = iterator->program_fd,
				   .moved_fd = fds->moved,
				   .returns_fd = iterator->returns_fd,
				   .turns_fd = iterator->turns_fd,
				   .prober_fd = iterator->prober_fd,
				   .probe_cost =
					   iterator->has_probe_cost ? &iterator->probe_cost : NULL,
				   .begin_ns = sw_clock_ns()};
	struct sw_error err = {0};
	(void) prctl(PR_SET_NAME, "snapwalk-worker");
	worker.request.reason[SW_WORKER_REASON_MAX - 1] = '\0';
	if (worker.request.n_groups > SW_WORKER_GROUPS_MAX)
		worker.request.n_groups = SW_WORKER_GROUPS_MAX;
	worker.caller = (struct sw_caller){.uid = request->caller_uid,
					   .gid = request->caller_gid,
					   .groups = worker.request.groups,
					   .n_groups = worker.request.n_groups,
					   .privileged = request->privileged,
					   .same_user_ns = request->caller_same_user_ns};
	int r = capture(&worker, iterator, &err);
	if (r < 0) {
		const struct sw_worker_failed failed = sw_worker_failure(&worker, -r, &err);
		/* When this fails the broker is gone. */
		(void) sw_worker_event_write(worker.stream, SW_WORKER_FAILED, &failed,
					     sizeof(failed), NULL);
	}
	_exit(r < 0);
}
