/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SYMBOLIZER_H
#define SW_SYMBOLIZER_H

#include "arena.h"
#include "entries.h"
#include "kept.h"
#include "dwarf/table_memory.h"

/* The state from one snapshot to the next: a unit for each module, and the strings of all
 * results. */
struct sw_symbolizer {
	struct sw_context *ctx;    /* borrowed */
	struct sw_arena arena;     /* the strings of all results */
	struct sw_map64 by_module; /* module pointer -> index */
	struct sw_unit **units;    /* owned */
	size_t n_units, capacity;
	size_t n_entries;                     /* of all units, since the cache was last emptied */
	size_t n_borrowers;                   /* sw_symbols not destroyed yet */
	struct sw_table_memory tables;        /* of all units */
	uint64_t generation;                  /* counts calls */
	struct sw_kept kept;                  /* results of others */
	const struct sw_debug_search *search; /* borrowed; NULL: none */
};

/* The module's unit, made if there is none; NULL: no memory. */
struct sw_unit *sw_symbolizer_unit(struct sw_symbolizer *s, struct sw_module *module);

/* Forgets everything when that has become too much and nobody borrows from it. */
void sw_symbolizer_trim(struct sw_symbolizer *s);

#endif
