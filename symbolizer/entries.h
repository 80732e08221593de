/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ENTRIES_H
#define SW_ENTRIES_H

#include "unit.h"
#include "provider.h"

/* The symbols of one address of a module. Kept across snapshots. */
struct sw_entry {
	uint64_t svma;
	const struct sw_symbol *symbols; /* innermost first; borrowed from the symbolizer's arena */
	size_t n_symbols;
	bool named, lined;   /* looked up, whether something was found or not */
	uint64_t generation; /* of the last call that asked for it */
};

struct sw_unit *sw_unit_create(struct sw_module *module);
void sw_unit_destroy(struct sw_unit *unit);

/* The entry for the address, made if there is none; its index in *ret. 0 or -SW_E_NOMEM. */
int sw_unit_entry(struct sw_unit *unit, uint64_t svma, size_t *ret);

/*
 * Looks up what the current generation asks for and does not have yet. Entries that the deadline
 * left out stay as they were. 0 or -SW_E_NOMEM.
 */
int sw_unit_names(struct sw_unit *unit, const struct sw_request *request);
int sw_unit_lines(struct sw_unit *unit, const struct sw_request *request);

#endif
