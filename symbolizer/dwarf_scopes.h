/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DWARF_SCOPES_H
#define SW_DWARF_SCOPES_H

#include "dwarf/ranges.h"
#include "dwarf/functions.h"
#include "dwarf_units.h"

enum { SW_INLINES_MAX = 64 }; /* at one address; deeper ones are left out, innermost first */

/* The DIEs of one address: the function, and the calls inlined there, outermost first. */
struct sw_scopes {
	bool found;
	Dwarf_Die function;
	size_t n_inlined;
	Dwarf_Die inlined[SW_INLINES_MAX];
};

/*
 * Finds the scopes of all wants of one unit in one pass over its DIEs; scopes[i] is for wants[i] (sorted
 * by svma). skeleton: NULL when the unit is whole. Stops when all are found. functions: of this unit, with the same answers
 * in less time where it was searched often; NULL: none. False: the deadline or the limit of
 * DIEs and ranges came first.
 */
bool sw_dwarf_scopes_find(Dwarf_Die *unit, const struct sw_dwarf_skeleton *skeleton,
			  struct sw_dwarf_functions *functions, const struct sw_dwarf_want *wants,
			  size_t n, struct sw_scopes *scopes, int64_t deadline_ns);

#endif
