/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the report: modules and threads here, the rest in report/process.c, report/stacks.c and
 * report/warnings.c. */
#include "report/build.h"
#include "cleanup.h"
#include "errors.h"
#include "report/builder.h"
#include "report/crash.h"
#include "report/hints.h"
#include "report/task_waits.h"
#include "report/waits.h"
#include "report/warnings.h"
#include "syscall_name.h"

#include <stdlib.h>
#include <string.h>

static const char *build_id_hex(struct sw_report_builder *b, struct sw_module *module)
{
	size_t bytes;
	const uint8_t *id = sw_module_build_id(module, &bytes);
	if (id == NULL || bytes == 0)
		return NULL;
	char *hex = sw_report_calloc(b, bytes * 2 + 1, 1);
	for (size_t i = 0; hex != NULL && i < bytes; i++) {
		hex[i * 2] = "0123456789abcdef"[id[i] >> 4];
		hex[i * 2 + 1] = "0123456789abcdef"[id[i] & 15];
	}
	return hex;
}

static void module_fill(struct sw_report_builder *b, const struct sw_place *place,
			struct sw_report_module *ret)
{
	struct sw_module *module = place->module;
	*ret = (struct sw_report_module){
		.path = sw_report_copy(b, sw_module_path(module)),
		.build_id = build_id_hex(b, module),
		.start_avma = place->start_avma,
		.end_avma = place->end_avma,
		.format = sw_module_kind_name(sw_module_kind(module)),
		.symbols = sw_symbol_source_name(
			b->symbols == NULL ? SW_SOURCE_NONE : sw_symbols_source(b->symbols, place)),
		.symbols_why = b->symbols == NULL
				       ? NULL
				       : sw_report_copy(b, sw_symbols_why(b->symbols, place)),
		.problem = sw_report_copy(b, sw_module_problem(module)),
		.deleted = sw_module_deleted(module),
		.debug_package =
			b->symbols == NULL
				? NULL
				: sw_report_copy(b, sw_symbols_debug_package(b->symbols, place)),
	};
}

/* Only modules that a frame is in: a browser maps 400, and 10 are of interest. */
static void modules_build(struct sw_report_builder *b)
{
	const struct sw_snapshot *snap = b->walks->snap;
	b->modules_by_place = malloc((snap->n_places + 1) * sizeof(*b->modules_by_place));
	if (b->modules_by_place == NULL) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < snap->n_places; i++)
		b->modules_by_place[i] = -1;
	for (size_t i = 0; i < b->walks->n_walks; i++) {
		const struct sw_walk *walk = &b->walks->walks[i];
		for (size_t f = 0; f < walk->n_frames; f++)
			if (walk->frames[f].place != NULL)
				b->modules_by_place[walk->frames[f].place - snap->places] = 0;
	}
	size_t count = 0;
	for (size_t i = 0; i < snap->n_places; i++)
		if (b->modules_by_place[i] >= 0)
			b->modules_by_place[i] = (int32_t) count++;
	b->report->modules = sw_report_calloc(b, count, sizeof(*b->report->modules));
	if (b->report->modules == NULL)
		return;
	b->report->n_modules = count;
	for (size_t i = 0; i < snap->n_places; i++)
		if (b->modules_by_place[i] >= 0)
			module_fill(b, &snap->places[i],
				    &b->report->modules[b->modules_by_place[i]]);
}

static const char *syscall_text(struct sw_report_builder *b, int64_t number)
{
	const char *name = sw_syscall_name(number);
	if (name != NULL || number < 0)
		return name;
	number -= number >= SW_SYSCALL_I386 ? SW_SYSCALL_I386 : 0;
	name = sw_arena_printf(b->arena, "syscall_%lld", (long long) number);
	b->failed |= name == NULL;
	return name;
}

static void thread_fill(struct sw_report_builder *b, const struct sw_thread *thread,
			struct sw_report_thread *ret)
{
	/* /proc/PID/wchan has "0" for a thread that is not in the kernel or may not be looked at */
	bool waits = thread->wchan[0] != '\0' && strcmp(thread->wchan, "0") != 0;
	*ret = (struct sw_report_thread){
		.tid = thread->tid,
		.comm = sw_report_copy(b, thread->comm),
		.state = thread->state,
		.captured = thread->captured,
		.wchan = waits ? sw_report_copy(b, thread->wchan) : NULL,
		.syscall = syscall_text(b, thread->syscall),
		.interrupted = thread->interrupted,
		.cpu_ns = thread->cpu_ns,
		.stop_us = thread->stop_ns < 0 ? -1 : thread->stop_ns / 1000,
		.captured_by = sw_captured_by_name(thread->captured_by),
		.since_ms = thread->since_ns < 0 ? -1 : thread->since_ns / 1000000,
		.stack = -1,
	};
	if (thread->captured)
		return;
	/* No reason: --threads left it out. */
	ret->reason = thread->reason == 0 ? "not_requested" : sw_error_wire(thread->reason);
	ret->reason_text =
		thread->reason == 0 ? "it was not asked for" : sw_error_text(thread->reason);
}

static const struct sw_report_managed *managed_fill(struct sw_report_builder *b,
						    const struct sw_thread_info *note)
{
	struct sw_report_managed *managed = sw_report_calloc(b, 1, sizeof(*managed));
	if (managed != NULL)
		*managed = (struct sw_report_managed){
			.runtime = note->runtime,
			.id = note->id < 0 ? -1 : note->id,
			.name = sw_report_copy_known(b, note->name),
			.mode = note->mode,
			.role = note->role,
		};
	return managed;
}

static const struct sw_report_request *request_fill(struct sw_report_builder *b,
						    const struct sw_served *from)
{
	struct sw_report_request *request = sw_report_calloc(b, 1, sizeof(*request));
	if (request != NULL)
		*request = (struct sw_report_request){
			.runtime = from->runtime,
			.method = sw_report_copy_known(b, from->method),
			.uri = sw_report_copy_known(b, from->uri),
			.script = sw_report_copy_known(b, from->script),
		};
	return request;
}

static const struct sw_report_pool *pool_fill(struct sw_report_builder *b,
					      const struct sw_worker_pool *from)
{
	struct sw_report_pool *pool = sw_report_calloc(b, 1, sizeof(*pool));
	if (pool != NULL)
		*pool = (struct sw_report_pool){
			.address_avma = from->address_avma,
			.name = from->name,
			.threads = from->threads,
			.most = from->most,
			.queued = from->queued,
		};
	return pool;
}

static const char *hex(struct sw_report_builder *b, const uint8_t *bytes, size_t n)
{
	char text[2 * 16 + 1] = "";
	for (size_t i = 0; i < n && 2 * i + 2 < sizeof(text); i++)
		(void) snprintf(text + 2 * i, 3, "%02x", bytes[i]); /* fits */
	return sw_report_copy(b, text);
}

static const struct sw_report_trace *trace_fill(struct sw_report_builder *b,
						const struct sw_trace *from)
{
	struct sw_report_trace *trace = sw_report_calloc(b, 1, sizeof(*trace));
	struct sw_attribute *to = sw_report_calloc(b, from->n_attributes, sizeof(*to));
	if (trace == NULL || to == NULL)
		return NULL;
	for (size_t i = 0; i < from->n_attributes; i++)
		to[i] = (struct sw_attribute){sw_report_copy(b, from->attributes[i].key),
					      sw_report_copy(b, from->attributes[i].value)};
	*trace = (struct sw_report_trace){.sampled = from->flags & 1,
					  .attributes = to,
					  .n_attributes = from->n_attributes};
	if (from->has_ids) {
		trace->trace_id = hex(b, from->trace_id, sizeof(from->trace_id));
		trace->span_id = hex(b, from->span_id, sizeof(from->span_id));
	}
	return trace;
}

static void peers_build(struct sw_report_builder *b)
{
	const struct sw_snapshot *snap = b->walks->snap;
	struct sw_report_peer *peers = sw_report_calloc(b, snap->n_peers, sizeof(*peers));
	for (size_t i = 0; peers != NULL && i < snap->n_peers; i++) {
		const struct sw_peer *from = &snap->peers[i];
		peers[i] = (struct sw_report_peer){
			.pid = from->pid,
			.tid = from->tid,
			.comm = sw_report_copy(b, from->comm),
			.state = from->state,
			.syscall = syscall_text(b, from->syscall),
			.owner_pid = from->wait_for.owner_pid,
			.owner_tid = from->wait_for.owner_tid,
			.proven = from->wait_for.proven,
		};
	}
	b->report->peers = peers;
	b->report->n_peers = peers != NULL ? snap->n_peers : 0;
}

static void threads_build(struct sw_report_builder *b)
{
	const struct sw_snapshot *snap = b->walks->snap;
	b->report->threads = sw_report_calloc(b, snap->n_threads, sizeof(*b->report->threads));
	if (b->report->threads == NULL)
		return;
	b->report->n_threads = snap->n_threads;
	for (size_t i = 0; i < snap->n_threads; i++)
		thread_fill(b, &snap->threads[i], &b->report->threads[i]);
	for (size_t i = 0; i < b->walks->n_walks; i++) {
		const struct sw_walk *walk = &b->walks->walks[i];
		if (walk->thread == NULL)
			continue;
		struct sw_report_thread *thread = &b->report->threads[walk->thread - snap->threads];
		if (walk->info != NULL)
			thread->managed = managed_fill(b, walk->info);
		if (walk->request != NULL)
			thread->request = request_fill(b, walk->request);
		if (walk->trace != NULL)
			thread->trace = trace_fill(b, walk->trace);
		if (walk->pool != NULL)
			thread->pool = pool_fill(b, walk->pool);
	}
}

int sw_report_build(const struct sw_walks *walks, const struct sw_symbols *symbols,
		    const struct sw_report_options *options, struct sw_report **ret,
		    struct sw_error *err)
{
	static const struct sw_report_options defaults = {0};
	struct sw_report *report = sw_report_create();
	if (report == NULL)
		return sw_fail_nomem(err);
	struct sw_report_builder b = {.walks = walks,
				      .symbols = symbols,
				      .report = report,
				      .arena = &report->priv->arena};
	modules_build(&b);
	threads_build(&b);
	peers_build(&b);
	if (!b.failed)
		sw_report_build_stacks(&b);
	if (!b.failed)
		sw_report_build_warnings(&b);
	/* last, for total_us */
	sw_report_build_process(&b, options != NULL ? options : &defaults);
	if (!b.failed)
		sw_report_build_crash(&b);
	if (!b.failed)
		sw_report_build_hints(&b);
	if (!b.failed)
		sw_report_build_waits(&b);
	if (!b.failed)
		sw_report_build_task_waits(&b);
	sw_map64_deinit(&b.copies);
	free(b.modules_by_place);
	free(b.ends);
	if (b.failed) {
		sw_report_destroy(report);
		return sw_fail_nomem(err);
	}
	*ret = report;
	return 0;
}
