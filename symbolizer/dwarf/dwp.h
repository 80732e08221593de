/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWP_H
#define SW_DWP_H

#include "dwarf/plan.h"

/*
 * The index of a .dwp file: which part of each section belongs to a unit. Version 2 is GNU's, of DWARF 4
 * (gcc.gnu.org/wiki/DebugFissionDWP), version 5 is in DWARF 5, 7.3.5.3.
 */

/* Narrows the sections of plan, in the places that it gives them, to the parts of the unit. False when the
 * index does not have it, or parts do not lie in their sections. */
bool sw_dwp_narrow(const struct sw_elf *dwp, uint64_t dwo_id, struct sw_dwarf_plan *plan);

/* The row of a unit, 1 and more, in the bytes of .debug_cu_index; 0: it is not there. For tests. */
uint32_t sw_dwp_row(struct sw_bytes index, uint64_t dwo_id);

#endif
