/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: vm_core.h, iseq.h, iseq.c (succ_index_table), method.h, symbol.h and include/ruby/internal/core
 * of Ruby 3.0 to 3.4; for YJIT yjit_codegen.c of 3.1 (yjit_entry_prologue(): three registers). 3.1 was
 * compared with Debian's libruby3.1 3.1.7.
 */
#include "runtimes/ruby/layout.h"
#include "cleanup.h"

static const struct sw_ruby_layout layouts[] = {
	{3, 0, 56, 120, 136, 144, 8, 16, 0},  {3, 1, 64, 120, 136, 144, 12, 16, 32},
	{3, 2, 64, 112, 128, 136, 12, 24, 0}, {3, 3, 56, 112, 128, 136, 12, 24, 0},
	{3, 4, 56, 112, 128, 136, 12, 24, 0},
};

const struct sw_ruby_layout *sw_ruby_layout_of(unsigned major, unsigned minor)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(layouts); i++)
		if (layouts[i].major == major && layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}
