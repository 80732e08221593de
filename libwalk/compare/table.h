/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WALK_LIBUNWIND_TABLE_H
#define SW_WALK_LIBUNWIND_TABLE_H

#include "memory.h"
#include "compare/index.h"
#include "compare/load.h"

/* Where a place's sorted table of FDEs lies; found once. */
struct sw_libunwind_table {
	signed char state; /* 0 not looked for yet, 1 info is valid, -1 there is none */
	unw_dyn_info_t info;
	struct sw_libunwind_index index; /* when the module has none that libunwind could use */
};

/*
 * Where libunwind is told that the index of place N begins: SW_LIBUNWIND_INDEX_AVMA + N *
 * SW_LIBUNWIND_INDEX_STRIDE. Not canonical, so that nothing of a process lies there: Intel SDM
 * vol. 1, §3.3.7.1.
 */
static const uint64_t SW_LIBUNWIND_INDEX_AVMA = UINT64_C(1) << 62;
static const uint64_t SW_LIBUNWIND_INDEX_STRIDE = UINT64_C(1) << 32;

void sw_libunwind_table_deinit(struct sw_libunwind_table *table);

/* The word at avma of the indices of n tables; false when avma is not in one. */
bool sw_libunwind_index_word(const struct sw_libunwind_table *tables, size_t n, uint64_t avma,
			     uint64_t *ret);

/*
 * Finds the table of the place by its image's PT_GNU_EH_FRAME, as libunwind's own ptrace backend
 * does, but bounds-checked and in the snapshot's memory; makes one from .eh_frame when there is none.
 * False: there is nothing that libunwind reads.
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
