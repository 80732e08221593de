/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_WINDOW_H
#define SW_HOTSPOT_WINDOW_H

#include "runtimes/hotspot/hotspot.h"
#include "unwind/capture.h"

enum {
	SW_HOTSPOT_STACK_BYTES = 16384, /* that are looked at, from sp on */
	SW_HOTSPOT_SEEN_SLOTS = 4096,   /* power of two; half of them are used at most */
};

/* What is set aside for the window before it: *sw_capture.found. */
struct sw_hotspot_window {
	struct sw_hotspot_layout at;
	struct sw_hotspot_cache cache;
	uint64_t seen
		[SW_HOTSPOT_SEEN_SLOTS]; /* addresses that were dealt with: pcs, lines, blocks */
	size_t n_seen;
	uint64_t stack[SW_HOTSPOT_STACK_BYTES / 8];
};

/* As sw_runtime_ops.in_window. */
int sw_hotspot_in_window(struct sw_capture *capture);

#endif
