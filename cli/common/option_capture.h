/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OPTION_CAPTURE_H
#define SW_CLI_OPTION_CAPTURE_H

#include "common/option_table.h"

/* Options of a capture: what is copied, how it is walked and named. */
sw_option_set sw_set_follow, sw_set_kernel, sw_set_threads, sw_set_stop, sw_set_max_stop,
	sw_set_timeout, sw_set_stack_bytes, sw_set_goroutines, sw_set_tasks, sw_set_args,
	sw_set_restart, sw_set_via, sw_set_priority, sw_set_depth, sw_set_walk, sw_set_scan_below,
	sw_set_walks, sw_set_scan_range, sw_set_scan_all, sw_set_trim_unknown, sw_set_symbols,
	sw_set_from, sw_set_debuginfod, sw_set_no_sandbox, sw_set_cache, sw_set_no_inlines,
	sw_set_burst;

#endif
