/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "worker/capture.h"
#include "worker/names.h"
#include "worker/wire.h"
#include "sandbox/roles.h"
#include "cleanup.h"
#include "errors.h"

#include <inttypes.h>

enum {
	NS_PER_MS = 1000000,
	NS_PER_US = 1000,
};

struct sw_pipeline_options sw_worker_capture_options(struct sw_worker *worker)
{
	const struct sw_worker_request *request = &worker->request;
	/* The first capture of a series, which must not wait, differs; samples of a profile must
	 * not. */
	bool first = request->seq <= 1 && request->profile.rate_hz == 0;
	return (struct sw_pipeline_options){
		.snapshot = {.stop = (enum sw_stop_mode) request->stop,
			     .iterator_fd = worker->iterator_fd >= 0 ? worker->iterator_fd : 0,
			     .returns_fd = worker->returns_fd >= 0 ? worker->returns_fd : 0,
			     .iterator_refused = worker->iterator_refused,
			     .max_stop_ms = request->max_stop_ms,
			     .stack_bytes = request->stack_bytes,
			     .permit = sw_worker_permit,
			     .permit_arg = worker,
			     .peers = first,
			     .may_name = sw_worker_may_name,
			     .may_name_arg = worker},
		.walk = {.max_frames = request->depth,
			 .outermost = request->depth == 0 || request->depth == SW_MAX_FRAMES},
		.symbolize = {.level = (enum sw_symbol_level) request->symbols,
			      .no_inlines = request->no_inlines,
			      .unpacked = &worker->unpacked,
			      .package_lists = first ? SW_PACKAGE_LISTS : NULL},
		.limit_ns = (int64_t) request->names_timeout_ms * NS_PER_MS,
		/* Three quarters of the time for all: at its end we are killed, whatever is there. */
		.end_ns =
			worker->begin_ns + (int64_t) worker->config->timeout_ms * NS_PER_MS / 4 * 3,
		.report = {.reason = request->reason[0] != '\0' ? request->reason : NULL,
			   .seq = request->seq,
			   .begin_ns = worker->begin_ns},
	};
}

int sw_worker_resumed_send(struct sw_worker *worker, const struct sw_snapshot *snap, bool stays,
			   struct sw_error *err)
{
	const struct sw_worker_resumed event = {
		.stopped_us = snap->times.stopped_ns / NS_PER_US,
		.target = worker->creds,
		.stays = stays,
		.runs_required = sw_worker_runs_required(worker),
	};
	return sw_worker_event_send(worker->stream, SW_WORKER_RESUMED, &event, sizeof(event),
				    worker->program_fd, err);
}

int sw_worker_confine(struct sw_worker *worker, uint32_t more_ms, struct sw_error *err)
{
	int *const fds[] = {&worker->iterator_fd, /* it shows registers of the target */
			    &worker->threads_fd,  &worker->moved_fd, &worker->returns_fd,
			    &worker->turns_fd,    &worker->prober_fd};
	for (size_t i = 0; i < SW_ARRAY_SIZE(fds); i++)
		sw_close_p(fds[i]);
	const struct sw_worker_request *request = &worker->request;
	int (*confine)(uint32_t, uint32_t, const struct sw_unpacked *, struct sw_error *) =
		sw_worker_probes(request) ? sw_sandbox_worker_with_probes : sw_sandbox_worker;
	int r = confine(request->memory_mib, request->names_timeout_ms + more_ms, &worker->unpacked,
			err);
	if (r == 0)
		sw_names_recall(worker->names_fd, worker->session);
	return r;
}

int sw_worker_report_send(const struct sw_worker *worker, const struct sw_report *report,
			  struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *json = NULL;
	size_t size = 0;
	int r = sw_report_json(report, &json, &size, err);
	if (r < 0)
		return r;
	if (size > worker->config->dump_bytes_max)
		return sw_fail(err, SW_E_LIMIT, "the dump has %zu bytes, DumpMax is %" PRIu64, size,
			       worker->config->dump_bytes_max);
	return sw_worker_event_write(worker->stream, SW_WORKER_DUMP, json, size, err);
}
