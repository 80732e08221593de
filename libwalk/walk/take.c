/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Snapshots of processes and of core files, for the project's own unwinders and runtimes. */
#include "capture/take.h"
#include "saved/core.h"
#include "walk/tables.h"

int sw_snapshot_take(struct sw_context *ctx, struct sw_target *target,
		     const struct sw_snapshot_options *options, struct sw_snapshot **ret,
		     struct sw_error *err)
{
	return sw_capture_take(ctx, target, options, &sw_tables, ret, err);
}

int sw_snapshot_from_core(struct sw_context *ctx, const char *core_path, const char *exe_path,
			  struct sw_snapshot **ret, struct sw_error *err)
{
	const struct sw_core_options options = {.exe_path = exe_path};
	return sw_core_snapshot(ctx, core_path, &options, &sw_tables, ret, err);
}

int sw_snapshot_from_dump(struct sw_context *ctx, const char *path,
			  const struct sw_core_options *options, struct sw_snapshot **ret,
			  struct sw_error *err)
{
	return sw_core_snapshot(ctx, path, options, &sw_tables, ret, err);
}
