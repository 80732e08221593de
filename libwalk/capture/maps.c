/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/maps.h"
#include "capture/before.h"
#include "cleanup.h"
#include "errors.h"
#include "snapshot/snapshot.h"

#include <string.h>

static void take_deinit(struct sw_take *take)
{
	sw_snapshot_destroy(take->snap);
	sw_close_p(&take->stop.statm_fd);
	sw_close_p(&take->live_fd);
}

int sw_capture_maps(struct sw_context *ctx, const struct sw_target *target,
		    struct sw_capture_waits *waits, struct sw_snapshot **ret, struct sw_error *err)
{
	sw_cleanup(take_deinit) struct sw_take take = {.target = target,
						       .maps_only = true,
						       .stop.statm_fd = -EBADF,
						       .live_fd = -EBADF,
						       .link_fd = -EBADF,
						       .err = err};
	int r = sw_snapshot_create(ctx, &take.snap, err);
	if (r < 0)
		return r;
	struct sw_pages *pages = &take.snap->priv->pages;
	pages->waits_ms = waits != NULL ? waits->most_ms : 0;
	r = sw_take_files(&take);
	if (r == 0)
		r = sw_take_maps(&take);
	if (waits != NULL) {
		waits->waited_ns = pages->waited_ns;
		waits->copied_ns = pages->copied_ns;
	}
	if (r < 0)
		return r;
	struct sw_proc_stat leader;
	if (sw_target_stat(target, &leader))
		memcpy(take.snap->process.comm, leader.comm, sizeof(leader.comm));
	sw_snapshot_index(take.snap);
	sw_pages_helpers_end(pages);
	pages->live_fd = -EBADF; /* is closed here */
	*ret = sw_take_ptr(take.snap);
	return 0;
}

int sw_snapshot_maps(struct sw_context *ctx, const struct sw_target *target,
		     struct sw_snapshot **ret, struct sw_error *err)
{
	return sw_capture_maps(ctx, target, NULL, ret, err);
}
