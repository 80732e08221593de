/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWARF_RANGES_H
#define SW_DWARF_RANGES_H

#include "bytes.h"

#include <elfutils/libdw.h>

/* The parts of its skeleton that a unit of split DWARF needs, which libdw can only have by opening
 * files itself. */
struct sw_dwarf_skeleton {
	uint8_t address_bytes;    /* 8; 4 for i386 */
	uint64_t base;            /* DW_AT_low_pc */
	struct sw_bytes addr;     /* its part of .debug_addr */
	struct sw_bytes ranges;   /* DWARF 4: its part of .debug_ranges */
	struct sw_bytes rnglists; /* DWARF 5: .debug_rnglists.dwo */
};

/* The ranges of a DIE, one by one. skeleton: NULL: it is not of a split unit. */
struct sw_dwarf_ranges {
	Dwarf_Die *die; /* borrowed */
	const struct sw_dwarf_skeleton *skeleton;
	ptrdiff_t at;
	Dwarf_Addr base;
	uint64_t off; /* of a split unit's list */
	int n;
	bool own; /* it has such a list */
};

void sw_dwarf_ranges_begin(struct sw_dwarf_ranges *r, Dwarf_Die *die,
			   const struct sw_dwarf_skeleton *skeleton);
/* [*start, *end). False: there are no more. */
bool sw_dwarf_ranges_next(struct sw_dwarf_ranges *r, uint64_t *start, uint64_t *end);

#endif
