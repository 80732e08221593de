/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: vm_core.h, iseq.h, iseq.c (succ_index_table), method.h, symbol.h and include/ruby/internal/core
 * of Ruby 3.0 to 3.4; for YJIT yjit_codegen.c of 3.1 (yjit_entry_prologue(): three registers). 3.1 was
 * compared with Debian's libruby3.1 3.1.7, 3.3 with Debian's libruby3.3 3.3.8,
 * 3.4 with libruby3.4 3.4.11 of Debian's experimental. Locks: thread_pthread.h, ractor_core.h and thread_sync.c of 3.1;
 * offsets as the compiler gives them for what Debian's ruby3.1-dev 3.1.2 and 3.1.7 declare.
 */
#include "runtimes/ruby/layout.h"
#include "cleanup.h"

static const struct sw_ruby_lock_layout locks_3_1 = {
	.thread_bytes = 272,
	.thread_ractor = 24,
	.thread_ec = 40,
	.thread_id = 80,
	.thread_node = 104,
	.thread_cond = 120,
	.thread_wakes = 248,
	.thread_mutex = 264,
	.ractor_gvl = 336,
	.gvl_lock = 8,
	.gvl_queue = 48,
	.gvl_yield = 80,
	.gvl_yield_end = 176,
};

static const struct sw_ruby_layout layouts[] = {
	{3, 0, 56, 120, 136, 144, 8, 16, 0, NULL, false},
	{3, 1, 64, 120, 136, 144, 12, 16, 32, &locks_3_1, false},
	{3, 2, 64, 112, 128, 136, 12, 24, 0, NULL, false},
	{3, 3, 56, 112, 128, 136, 12, 24, 0, NULL, true},
	{3, 4, 56, 112, 128, 136, 12, 24, 0, NULL, true},
};

const struct sw_ruby_layout *sw_ruby_layout_of(unsigned major, unsigned minor)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(layouts); i++)
		if (layouts[i].major == major && layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}
