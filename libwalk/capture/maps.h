/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CAPTURE_MAPS_H
#define SW_CAPTURE_MAPS_H

#include "process/target.h"
#include "unwind/tables.h"

/* Waits for memory and files that do not answer: those of file systems whose server does not. */
struct sw_capture_waits {
	uint32_t most_ms;  /* in all, but for copies of files; 0: as long as a capture waits */
	int64_t waited_ns; /* also if it failed */
	int64_t copied_ns; /* for copies of files whose server answers */
};

/* A snapshot without threads: the process, its maps and modules. No thread is touched. As sw_snapshot_take(). tables: whose
 * files beside the process are opened; NULL: none are. waits: NULL is as long as a capture waits. */
int sw_capture_maps(struct sw_context *ctx, const struct sw_target *target,
		    const struct sw_tables *tables, struct sw_capture_waits *waits,
		    struct sw_snapshot **ret, struct sw_error *err);

#endif
