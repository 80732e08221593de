/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/otel/runtime.h"
#include "cleanup.h"
#include "runtimes/otel/process.h"
#include "snapshot/snapshot.h"

#include <stdio.h>
#include <stdlib.h>

struct otel {
	struct sw_arena arena;
	struct sw_otel_process process;
};

static void otel_close(void *state)
{
	struct otel *otel = state;
	if (otel != NULL)
		sw_arena_deinit(&otel->arena);
	free(otel);
}

static int otel_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	bool is_there = false;
	struct otel *otel = calloc(1, sizeof(*otel));
	(void) found; /* it has no hooks */
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
	*ret_state = otel;
	return 0;
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
	.open = otel_open,
	.close = otel_close,
	.identify = otel_identify,
	.resource = otel_resource,
};
