/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/run.h"
#include "worker/target.h"
#include "worker/wire.h"
#include "sandbox/roles.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <snapwalk/protocol.h>

#include <inttypes.h>
#include <sys/prctl.h>

enum { NS_PER_MS = 1000000, NS_PER_US = 1000, NS_PER_S = 1000000000 };

/* With capabilities: everything up to the moment at which the target runs again. */
static int take(struct sw_worker *worker, struct sw_context *ctx, struct sw_snapshot **ret,
		struct sw_error *err)
{
	struct sw_target *target = NULL;
	const struct sw_snapshot_options options = {
		.max_stop_ms = worker->request.max_stop_ms,
		.stack_bytes = worker->request.stack_bytes,
		.permit = sw_worker_permit,
		.permit_arg = worker,
	};
	int r = sw_worker_target_open(worker, &target, err);
	if (r < 0)
		return r;
	r = sw_snapshot_take(ctx, target, &options, ret, err);
	sw_target_close(target);
	if (r < 0)
		return r;
	const struct sw_worker_resumed resumed = {
		.stopped_us = (*ret)->times.stopped_ns / NS_PER_US,
		.owner = worker->owner,
		.rights = worker->rights,
	};
	return sw_worker_event_send(worker->stream, SW_WORKER_RESUMED, &resumed, sizeof(resumed),
				    worker->program_fd, err);
}

static int symbolize(const struct sw_worker *worker, struct sw_context *ctx,
		     const struct sw_walks *walks, int64_t deadline_ns, struct sw_symbols **ret,
		     struct sw_error *err)
{
	struct sw_symbolizer *symbolizer = NULL;
	const struct sw_symbolize_options options = {
		.level = (enum sw_symbol_level) worker->request.symbols,
		.no_inlines = worker->request.no_inlines,
		.deadline_ns = deadline_ns,
	};
	*ret = NULL;
	if (options.level == SW_SYMBOLS_NONE)
		return 0;
	int r = sw_symbolizer_create(ctx, &symbolizer, err);
	return r < 0 ? r : sw_symbolize(symbolizer, walks, &options, ret, err);
}

/* Without capabilities: bytes of the target and of its files are looked at only here, but for what
 * unwinders must know before the stop (libwalk/runtimes/clr/threads.c). Nothing is freed: the process ends. */
static int tell(const struct sw_worker *worker, struct sw_context *ctx,
		const struct sw_snapshot *snap, struct sw_error *err)
{
	const struct sw_worker_request *request = &worker->request;
	struct sw_walks *walks = NULL;
	struct sw_symbols *symbols = NULL;
	struct sw_report *report = NULL;
	char *json = NULL;
	size_t size = 0;
	int64_t deadline_ns =
		request->names_timeout_ms == 0
			? 0
			: worker->begin_ns + (int64_t) request->names_timeout_ms * NS_PER_MS;
	const struct sw_walk_options walk = {.max_frames = request->depth,
					     .deadline_ns = deadline_ns};
	const struct sw_report_options about = {.reason = request->reason[0] != '\0'
								  ? request->reason
								  : NULL,
						.seq = request->seq,
						.begin_ns = worker->begin_ns};
	int r = sw_walk_all(snap, &walk, &walks, err);
	if (r == 0)
		r = symbolize(worker, ctx, walks, deadline_ns, &symbols, err);
	if (r == 0)
		r = sw_report_build(walks, symbols, &about, &report, err);
	if (r == 0)
		r = sw_report_json(report, &json, &size, err);
	if (r < 0)
		return r;
	if (size > worker->config->dump_bytes_max)
		return sw_fail(err, SW_E_LIMIT, "the dump has %zu bytes, DumpMax is %" PRIu64, size,
			       worker->config->dump_bytes_max);
	return sw_worker_event_write(worker->stream, SW_WORKER_DUMP, json, size, err);
}

static int capture(struct sw_worker *worker, struct sw_error *err)
{
	struct sw_context *ctx = NULL;
	struct sw_snapshot *snap = NULL;
	int r = sw_context_create(&ctx, err);
	if (r == 0)
		r = take(worker, ctx, &snap, err);
	if (r == 0)
		r = sw_sandbox_worker(worker->request.memory_mib, worker->request.names_timeout_ms,
				      err);
	return r < 0 ? r : tell(worker, ctx, snap, err);
}

void sw_worker_run(const struct sw_config *config, const struct sw_worker_request *request,
		   int target_pidfd, int stream)
{
	struct sw_worker worker = {.config = config,
				   .request = *request,
				   .target_pidfd = target_pidfd,
				   .stream = stream,
				   .program_fd = -EBADF,
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
	int r = capture(&worker, &err);
	if (r < 0) {
		const struct sw_worker_failed failed = sw_worker_failure(&worker, -r, &err);
		/* When this fails the broker is gone. */
		(void) sw_worker_event_write(stream, SW_WORKER_FAILED, &failed, sizeof(failed),
					     NULL);
	}
	_exit(r < 0);
}
