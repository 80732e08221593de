/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWARF_FUNCTIONS_H
#define SW_DWARF_FUNCTIONS_H

#include "map.h"
#include "dwarf/table_memory.h"

#include <elfutils/libdw.h>

/*
 * The functions of a unit by their addresses. To look for one goes through all DIEs of the unit, which is the right thing
 * for a dump, whose addresses are looked for together; a profile asks for a few addresses each time, most of them in the
 * same units. A unit that has been searched often has a table.
 */
struct sw_dwarf_functions {
	struct sw_table_memory *memory; /* borrowed; counts the ranges */
	size_t n_searches;              /* without the table */
	bool tried;
	size_t n, capacity;
	struct sw_dwarf_function {
		uint64_t start, end; /* a range of the function */
		uint64_t last_end;   /* of this range and of all before it */
		size_t order; /* in the unit: of two functions that hold an address the first one counts */
		Dwarf_Die die;
	} * all; /* owned, by start; NULL: there is no table */
};

/* The tables of all units of a file. Begins as zeros. */
struct sw_dwarf_function_units {
	struct sw_map64 by_unit;         /* offset of the unit's DIE -> index + 1 */
	struct sw_dwarf_functions **all; /* owned, and what they lead to */
	size_t n, capacity;
};

/* The functions of a unit; NULL: there is no memory for them, or there are those of many units. memory outlives units. */
struct sw_dwarf_functions *sw_dwarf_functions_of(struct sw_dwarf_function_units *units,
						 uint64_t die_off, struct sw_table_memory *memory);
void sw_dwarf_function_units_deinit(struct sw_dwarf_function_units *units);

/* Returns true if the unit is to have a table now: what it was asked for before would have paid for it. */
bool sw_dwarf_functions_are_due(const struct sw_dwarf_functions *functions);
/* Adds a range, in the order of the DIEs. False: there are too many, or all tables together have too many. */
bool sw_dwarf_functions_add(struct sw_dwarf_functions *functions, uint64_t start, uint64_t end,
			    const Dwarf_Die *die);
/* All ranges were added (whole), or not: then there is no table. */
void sw_dwarf_functions_finish(struct sw_dwarf_functions *functions, bool whole);
/* The function that holds the address; NULL: none does. */
const Dwarf_Die *sw_dwarf_functions_find(const struct sw_dwarf_functions *functions,
					 uint64_t address);

#endif
