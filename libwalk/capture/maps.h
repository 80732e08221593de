/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_MAPS_H
#define SW_CAPTURE_MAPS_H

#include "process/target.h"

/* A snapshot without threads: the process, its maps and modules. No thread is touched. As sw_snapshot_take(). */
int sw_capture_maps(struct sw_context *ctx, const struct sw_target *target,
		    struct sw_snapshot **ret, struct sw_error *err);

#endif
