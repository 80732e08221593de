/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/maps.h"
#include "capture/before.h"
#include "capture/space.h"
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

/* Opens files of which names come. Where one cannot be kept its names are missing, no more. */
static void files_open(const struct sw_take *take, const struct sw_tables *tables)
{
	sw_cleanup(sw_free_p) struct sw_capture_space *space = calloc(1, sizeof(*space));
	if (space == NULL)
		return;
	space->snap = take->snap;
	space->proc_fd = take->target->proc_fd;
	struct sw_capture capture = sw_capture_of(space);
	tables = sw_tables_of(tables, take->snap);
	for (size_t i = 0; i < tables->n_unwinders; i++) {
		const struct sw_unwinder_ops *u = tables->unwinders[i];
		if (u->files != NULL && (u->probe == NULL || u->probe(take->snap)))
			(void) u->files(&capture);
	}
}

int sw_capture_maps(struct sw_context *ctx, const struct sw_target *target,
		    const struct sw_tables *tables, struct sw_capture_waits *waits,
		    struct sw_snapshot **ret, struct sw_error *err)
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
	if (r == 0 && tables != NULL)
		files_open(&take, tables);
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
	return sw_capture_maps(ctx, target, NULL, NULL, ret, err);
}
