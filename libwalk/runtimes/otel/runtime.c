/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/otel/runtime.h"
#include "cleanup.h"
#include "runtimes/otel/process.h"
#include "runtimes/otel/thread.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <stdio.h>
#include <stdlib.h>

struct otel {
	const struct sw_snapshot *snap; /* borrowed */
	struct sw_arena arena;
	struct sw_otel_process process;
	int64_t looked_ns; /* when it was read last */
};

enum { RENEW_NS = 1000000000 };

static void otel_close(void *state)
{
	struct otel *otel = state;
	if (otel != NULL)
		sw_arena_deinit(&otel->arena);
	free(otel);
}

static int otel_before(struct sw_capture *capture)
{
	sw_otel_threads_before(capture);
	return 0;
}

static int otel_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	bool is_there = false;
	struct otel *otel = calloc(1, sizeof(*otel));
	(void) found; /* what is copied of threads is theirs */
	if (otel == NULL)
		return -SW_E_NOMEM;
	int r = sw_otel_process_read(snap, &otel->arena, &otel->process, &is_there);
	if (r < 0 || !is_there) {
		otel_close(otel);
		return r;
	}
	if (otel->process.cut)
		sw_snapshot_note_limit(snap, "OTEL_CTX: attributes after the 64th, and those "
					     "that are too long, were left out");
	otel->snap = snap;
	otel->looked_ns = sw_clock_ns();
	*ret_state = otel;
	return 0;
}

/* Looks again now and then at what the process was writing. It is whole for whoever opens it next: other walks may have
 * the state that is here. */
static bool otel_renew(void *state)
{
	struct otel *otel = state;
	struct sw_otel_process process;
	struct sw_arena arena = {0};
	bool is_there = false;
	const int64_t now_ns = sw_clock_ns();
	if (!otel->process.changed || now_ns - otel->looked_ns < RENEW_NS)
		return true;
	otel->looked_ns = now_ns;
	bool whole = sw_otel_process_read(otel->snap, &arena, &process, &is_there) == 0 &&
		     is_there && !process.changed;
	sw_arena_deinit(&arena);
	return !whole;
}

static bool otel_trace(void *state, const struct sw_thread *thread, struct sw_arena *arena,
		       struct sw_trace *ret)
{
	const struct otel *otel = state;
	const struct sw_bytes record = {thread->context, thread->context_bytes};
	bool cut = false;
	bool is_there = otel->process.has_threads && record.size > 0 &&
			sw_otel_record_parse(record, &otel->process, arena, ret, &cut);
	if (cut)
		sw_snapshot_note_limit(otel->snap, "attributes of a thread's request that were "
						   "not copied (996 bytes at most) are not here");
	return is_there;
}

/* A resource is no runtime, and listed as one only where there is something to tell. */
static size_t otel_identify(void *state, struct sw_runtime *ret, size_t max)
{
	if (max == 0 || !((struct otel *) state)->process.changed)
		return 0;
	*ret = (struct sw_runtime){.name = "otel", .entries = -1};
	(void) snprintf(
		ret->problem, sizeof(ret->problem),
		"the process was changing the resource that it publishes, which is not here");
	return 1;
}

static const struct sw_resource *otel_resource(void *state)
{
	return &((struct otel *) state)->process.resource;
}

const struct sw_runtime_ops sw_runtime_otel = {
	.name = "otel",
	.kind = "otel",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.probe = sw_otel_process_probe,
	.announces = sw_otel_process_is_named,
	.before = otel_before,
	.renew = otel_renew,
	.open = otel_open,
	.close = otel_close,
	.identify = otel_identify,
	.trace = otel_trace,
	.resource = otel_resource,
};
