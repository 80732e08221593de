/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWARF_NAMES_H
#define SW_DWARF_NAMES_H

#include "provider.h"
#include "unit.h"

#include <elfutils/libdw.h>

/*
 * Names of functions that only DWARF knows: inlined ones. Where the compiler gave a linkage name it
 * demangles to the full name; gcc gives none to functions with internal linkage and to lambdas, whose
 * scopes are then looked up: "ns::helper", "main::operator()".
 */

struct sw_scope_index; /* the scopes of one unit, by offset */

struct sw_dwarf_names {
	struct sw_arena *arena;
	int64_t deadline_ns;
	struct sw_scope_index *indexes; /* owned */
	size_t n_indexes;
};

void sw_dwarf_names_deinit(struct sw_dwarf_names *names);

/* Fills function and mangled of *symbol, and leaves them alone when the DIE has no name. 0 or
 * -SW_E_NOMEM. */
int sw_dwarf_name(struct sw_dwarf_names *names, Dwarf_Die *die, struct sw_symbol *symbol);

#endif
