/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWARF_UNITS_H
#define SW_DWARF_UNITS_H

#include "dwarf_file.h"

static const uint64_t SW_NO_UNIT = UINT64_MAX;

/* An address and the unit that has code there. */
struct sw_dwarf_want {
	uint64_t svma;
	uint64_t die_off;     /* of the unit's DIE in .debug_info; SW_NO_UNIT while unknown */
	struct sw_want *want; /* borrowed */
	bool searched;        /* all of the file was looked through for it */
};

/*
 * Finds the units of all wants (sorted by svma): by .debug_aranges, and what is left (clang and rustc
 * write none) by the ranges of every unit. False: the deadline came; wants without unit that are not
 * searched are unfinished.
 */
bool sw_dwarf_units_find(struct sw_dwarf_file *file, struct sw_dwarf_want *wants, size_t n,
			 int64_t deadline_ns);

/* The aranges part: die_off gets the offset of the unit's HEADER. For tests. */
void sw_dwarf_aranges_match(struct sw_bytes aranges, struct sw_dwarf_want *wants, size_t n);

#endif
