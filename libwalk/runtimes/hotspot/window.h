/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_WINDOW_H
#define SW_HOTSPOT_WINDOW_H

#include "runtimes/hotspot/structures/hotspot.h"
#include "runtimes/hotspot/counters.h"
#include "runtimes/hotspot/locks_window.h"
#include "runtimes/hotspot/seen.h"
#include "runtimes/hotspot/virtual/window.h"
#include "unwind/capture.h"

enum {
	SW_HOTSPOT_STACK_BYTES = 65536, /* that are looked at, from sp on */
};

/* The state of the window, set aside before it: *sw_capture.found. */
struct sw_hotspot_window {
	struct sw_hotspot_layout at;
	struct sw_hotspot_cache cache;
	struct sw_hotspot_seen seen; /* pcs, lines, blocks */
	struct sw_hotspot_locks_plan locks;
	struct sw_hotspot_virtual_plan virtual_threads;
	struct sw_hotspot_counters counters;
	size_t stacks_bytes; /* read so far */
	uint64_t stack[SW_HOTSPOT_STACK_BYTES / 8];
};

/* As sw_runtime_ops.in_window. */
int sw_hotspot_in_window(struct sw_capture *capture);

#endif
