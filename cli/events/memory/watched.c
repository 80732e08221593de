/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/memory/watched.h"
#include "errors.h"

#include <snapwalk/capture.h>
#include <snapwalk/snapshot.h>

int sw_watched_open(struct sw_watched *ret, pid_t pid, uint64_t starttime,
		    const struct sw_event_options *wanted, struct sw_error *err)
{
	*ret = (struct sw_watched){0};
	int r = sw_context_create(&ret->ctx, err);
	if (r == 0)
		r = sw_target_open(pid, &ret->target, err);
	if (r == 0 && starttime != 0 && sw_target_starttime(ret->target) != starttime)
		r = sw_fail(err, SW_E_EXITED, "the process exited");
	return r < 0 ? r
		     : sw_event_sampler_create(ret->ctx, ret->target, wanted, &ret->sampler, err);
}

void sw_watched_close(struct sw_watched *w)
{
	sw_cpu_sampler_destroy(w->sampler);
	sw_target_close(w->target);
	sw_context_destroy(w->ctx);
	*w = (struct sw_watched){0};
}
