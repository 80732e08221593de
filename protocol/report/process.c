/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of a report about the dump, the host and the process as a whole. */
#include "cgroup.h"
#include "report/builder.h"
#include "report/build.h"
#include "utc.h"

#include <snapwalk/clock.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>

/* Sorts by time as text; the random part tells apart dumps of one process in one microsecond, and
 * those of two pid namespaces. */
static const char *dump_id(struct sw_report_builder *b, int64_t time_ns, pid_t pid)
{
	uint32_t random = 0;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t) sizeof(random))
		random = (uint32_t) sw_mix64((uint64_t) sw_clock_ns());
	char stamp[64];
	sw_utc_format(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", time_ns);
	const char *id = sw_arena_printf(b->arena, "%s.%06d-%d-%08x", stamp,
					 (int) (time_ns % 1000000000 / 1000), (int) pid, random);
	b->failed |= id == NULL;
	return id;
}

static const char *copy_part(struct sw_report_builder *b, struct sw_cgroup_part part)
{
	if (part.data == NULL)
		return NULL;
	const char *copy = sw_arena_strndup(b->arena, part.data, part.size);
	b->failed |= copy == NULL;
	return copy;
}

static void host_fill(struct sw_report_builder *b)
{
	struct utsname host;
	if (b->walks->snap->process.has_no_host) {
		b->report->host_machine = "x86_64"; /* whose minidumps are read */
		return;
	}
	if (uname(&host) != 0)
		memset(&host, 0, sizeof(host));
	b->report->host_name = sw_report_copy(b, host.nodename);
	b->report->host_kernel = sw_report_copy(b, host.release);
	b->report->host_machine = sw_report_copy(b, host.machine);
}

static void process_fill(struct sw_report_builder *b)
{
	const struct sw_process *from = &b->walks->snap->process;
	struct sw_report *report = b->report;
	report->process.pid = from->pid;
	report->process.ppid = from->ppid;
	report->process.uid = from->uid;
	report->process.starttime = from->starttime;
	report->process.uptime_ms = from->uptime_ms;
	report->process.elf_class = from->elf_class;
	report->process.limits = from->limits;
	if (from->limits.maps_limit > 0)
		report->process.limits.maps = (int64_t) b->walks->snap->n_maps;
	report->process.comm = sw_report_copy(b, from->comm);
	report->process.exe = sw_report_copy_known(b, from->exe);
	report->process.cgroup = sw_report_copy_known(b, from->cgroup);
	if (report->process.cgroup == NULL)
		return;
	report->process.unit = copy_part(b, sw_cgroup_unit(report->process.cgroup));
	report->process.container = copy_part(b, sw_cgroup_container(report->process.cgroup));
}

static void resource_fill(struct sw_report_builder *b)
{
	const struct sw_resource *from = &b->walks->resource;
	struct sw_attribute *to = sw_report_calloc(b, from->n_attributes, sizeof(*to));
	if (to == NULL)
		return;
	for (size_t i = 0; i < from->n_attributes; i++)
		to[i] = (struct sw_attribute){sw_report_copy(b, from->attributes[i].key),
					      sw_report_copy(b, from->attributes[i].value)};
	b->report->process.resource = to;
	b->report->process.n_resource = from->n_attributes;
}

static const struct sw_report_virtual_threads *
virtual_threads(struct sw_report_builder *b, const struct sw_virtual_threads *from)
{
	struct sw_report_virtual_threads *ret =
		from->known ? sw_report_calloc(b, 1, sizeof(*ret)) : NULL;
	if (ret != NULL)
		*ret = (struct sw_report_virtual_threads){.count = (int64_t) from->count,
							  .mounted = (int64_t) from->mounted,
							  .at_least = from->at_least};
	return ret;
}

static const struct sw_report_collecting *collecting(struct sw_report_builder *b,
						     const struct sw_collecting *from)
{
	struct sw_report_collecting *ret =
		from->known ? sw_report_calloc(b, 1, sizeof(*ret)) : NULL;
	if (ret != NULL)
		*ret = (struct sw_report_collecting){.now = from->now,
						     .name = sw_report_copy_known(b, from->name),
						     .cause = sw_report_copy_known(b, from->cause),
						     .number = (int64_t) from->number,
						     .stopped_permille = from->stopped_permille};
	return ret;
}

static const struct sw_report_event_loop *event_loop(struct sw_report_builder *b,
						     const struct sw_event_loop *from)
{
	struct sw_report_event_loop *ret =
		from->known ? sw_report_calloc(b, 1, sizeof(*ret)) : NULL;
	if (ret != NULL)
		*ret = (struct sw_report_event_loop){.late_ms = from->late_ms,
						     .requests = from->requests};
	return ret;
}

static const struct sw_report_thread_pool *thread_pool(struct sw_report_builder *b,
						       const struct sw_thread_pool *from)
{
	struct sw_report_thread_pool *ret =
		from->known ? sw_report_calloc(b, 1, sizeof(*ret)) : NULL;
	if (ret != NULL)
		*ret = (struct sw_report_thread_pool){.working = from->working,
						      .threads = from->threads,
						      .most = from->most,
						      .taken_ms = from->taken_ms,
						      .waits = from->waits,
						      .name = sw_report_copy_known(b, from->name),
						      .queued = from->name[0] != '\0' ? from->queued
										      : -1};
	return ret;
}

/* The runtimes and registries that were recognised: registries have entries, runtimes have none. */
static void runtimes_fill(struct sw_report_builder *b)
{
	const struct sw_walks *walks = b->walks;
	struct sw_report *report = b->report;
	struct sw_report_runtime *runtimes =
		sw_report_calloc(b, walks->n_runtimes, sizeof(*runtimes));
	struct sw_report_registry *registries =
		sw_report_calloc(b, walks->n_runtimes, sizeof(*registries));
	if (runtimes == NULL || registries == NULL)
		return;
	report->process.runtimes = runtimes;
	report->process.registries = registries;
	for (size_t i = 0; i < walks->n_runtimes; i++) {
		const struct sw_runtime *from = &walks->runtimes[i];
		const char *where = sw_report_copy_known(b, from->where);
		if (from->entries >= 0)
			registries[report->process.n_registries++] =
				(struct sw_report_registry){.name = from->name,
							    .where = where,
							    .entries = from->entries};
		else
			runtimes[report->process.n_runtimes++] = (struct sw_report_runtime){
				.name = from->name,
				.version = sw_report_copy_known(b, from->version),
				.where = where,
				.virtual_threads = virtual_threads(b, &from->virtual_threads),
				.collecting = collecting(b, &from->collecting),
				.event_loop = event_loop(b, &from->event_loop),
				.thread_pool = thread_pool(b, &from->pool)};
	}
}

static void timings_fill(struct sw_report_builder *b, int64_t begin_ns)
{
	const struct sw_snapshot *snap = b->walks->snap;
	struct sw_report *report = b->report;
	int64_t symbolize_ns = b->symbols != NULL ? b->symbols->symbolize_ns : 0;
	int64_t total_ns = begin_ns != 0 ? sw_clock_ns() - begin_ns
					 : snap->times.take_ns + b->walks->walk_ns + symbolize_ns;
	report->timings.stopped_us = snap->times.stopped_ns / 1000;
	report->timings.longest_thread_stop_us = snap->times.longest_thread_ns / 1000;
	report->timings.attach_us = snap->times.attach_ns / 1000;
	report->timings.copy_us = snap->times.copy_ns / 1000;
	report->timings.unwind_us = b->walks->walk_ns / 1000;
	report->timings.symbolize_us = symbolize_ns / 1000;
	report->timings.total_us = total_ns / 1000;
	report->timings.interrupted_calls = snap->interrupted_calls;
	report->timings.stopped_why =
		snap->stopped_why[0] != '\0' ? sw_report_copy(b, snap->stopped_why) : NULL;
	report->timings.n_stopped = (int64_t) snap->n_stopped;
	report->timings.realtime_refused = snap->realtime_refused;
}

void sw_report_build_process(struct sw_report_builder *b, const struct sw_report_options *options)
{
	const struct sw_snapshot *snap = b->walks->snap;
	b->report->id = dump_id(b, snap->time_ns, snap->process.pid);
	b->report->seq = options->seq;
	b->report->time_ns = snap->time_ns;
	b->report->reason = sw_report_copy(b, options->reason);
	host_fill(b);
	process_fill(b);
	resource_fill(b);
	runtimes_fill(b);
	timings_fill(b, options->begin_ns);
}
