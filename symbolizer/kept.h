/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_KEPT_H
#define SW_KEPT_H

#include "arena.h"
#include "unit.h"

/* The bytes that sw_symbolizer_keep() wrote, for another symbolizer. Zero-initialised: nothing. */
struct sw_kept {
	struct sw_bytes units; /* borrowed; records of struct unit_head and what follows each */
};

/* Whether the bytes are whole. */
bool sw_kept_open(struct sw_kept *kept, struct sw_bytes bytes);

/* Adds to a new unit what is there of its file. Texts are borrowed from the bytes, arrays are the arena's.
 * Whatever the bytes are: what is not understood is left out. 0; -SW_E_NOMEM. */
int sw_kept_recall(const struct sw_kept *kept, struct sw_unit *unit, struct sw_arena *arena);

/* Writes what is known of files, at first the addresses that this generation asked for, as much as there is
 * space. Returns the number of bytes; 0: not even one unit. */
size_t sw_kept_write(struct sw_unit *const *units, size_t n_units, uint64_t generation,
		     void *buffer, size_t size);

#endif
