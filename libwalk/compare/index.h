/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_LIBUNWIND_INDEX_H
#define SW_WALK_LIBUNWIND_INDEX_H

#include "snapshot/module.h"

/*
 * The sorted table that libunwind searches, for modules that come without one (static programs have
 * no .eh_frame_hdr): made from .eh_frame, which libunwind then reads itself.
 */
struct sw_libunwind_entry {
	int32_t pc;  /* first instruction, from the section's address */
	int32_t fde; /* its FDE, from the section's address */
};

struct sw_libunwind_index {
	struct sw_libunwind_entry *entries; /* owned; by pc */
	size_t n_entries;
	uint64_t section_svma;
};

enum { SW_LIBUNWIND_ENTRIES_MAX = 1 << 20 };

/* False when there is no .eh_frame section, nothing in it can be used, or there is no memory. */
bool sw_libunwind_index_init(struct sw_libunwind_index *index, struct sw_module *module);
void sw_libunwind_index_deinit(struct sw_libunwind_index *index);

#endif
