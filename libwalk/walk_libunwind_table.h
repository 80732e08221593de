/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_LIBUNWIND_TABLE_H
#define SW_WALK_LIBUNWIND_TABLE_H

#include "memory.h"
#include "walk_libunwind_load.h"

/* Where a place's sorted table of FDEs lies; found once. */
struct sw_libunwind_table {
	signed char state; /* 0 not looked for yet, 1 info is valid, -1 there is none */
	unw_dyn_info_t info;
};

/*
 * Finds the table of the place by its image's PT_GNU_EH_FRAME, as libunwind's own ptrace backend
 * does, but bounds-checked and in the snapshot's memory. False: there is none that libunwind reads.
 */
bool sw_libunwind_table_find(struct sw_libunwind_table *table, const struct sw_snapshot *snap,
			     const struct sw_place *place, struct sw_memory memory);

/*
 * libunwind believes what tables say: a register number or return address column out of range makes
 * it read outside its arrays (1.6.2 to 1.8.3, src/dwarf/Gparser.c: DW_CFA_register, and
 * apply_reg_state's ret_addr_column). True when the call frame instructions that it found for a pc
 * hold no such thing.
 */
bool sw_libunwind_instructions_ok(const unw_proc_info_t *info, struct sw_memory memory);

#endif
