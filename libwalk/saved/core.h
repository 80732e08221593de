/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAVED_CORE_H
#define SW_SAVED_CORE_H

#include "unwind/tables.h"

#include <snapwalk/capture.h>

/* sw_snapshot_from_dump() for those who unwind by tables: runtimes that are in the process open the files
 * that they need (sw_runtime_ops.before). */
int sw_core_snapshot(struct sw_context *ctx, const char *core_path,
		     const struct sw_core_options *options, const struct sw_tables *tables,
		     struct sw_snapshot **ret, struct sw_error *err);

#endif
