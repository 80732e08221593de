/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_FOLDED_H
#define SW_CLI_FOLDED_H

#include "arena.h"
#include "map.h"
#include "text.h"

#include <stdint.h>

/* Distinct names and how often they were counted. Zero-initialised is a valid empty one. */
struct sw_tally {
	struct sw_arena arena; /* the names */
	struct sw_map64 index;
	struct sw_tally_entry {
		const char *name; /* the arena's */
		uint64_t count;   /* of a stack; of a function: as the innermost one */
		uint64_t total;   /* of a function: anywhere in the stack */
		size_t seen_in;   /* the last stack it was counted for, plus one */
	} * entries;              /* owned */
	size_t n_entries, capacity;
	uint64_t n_lost; /* counts that found no space: SW_TALLY_MAX names are there */
};

enum { SW_TALLY_MAX = 1 << 20 };

void sw_tally_deinit(struct sw_tally *tally);

/* Adds the lines "comm;outermost;...;innermost COUNT" of folded stacks. 0; -SW_E_NOMEM. */
int sw_tally_add_folded(struct sw_tally *tally, const char *text);

/* The entry of one name, counted 0 times when it is new; UINT32_MAX: there is no space for it. 0;
 * -SW_E_NOMEM. */
int sw_tally_row(struct sw_tally *tally, const char *name, size_t length, uint32_t *ret_row);

/* Entries by count, largest first, then by total and name. */
void sw_tally_sort(struct sw_tally *tally);

/* Folded lines again, for flame graphs. Sort before. */
void sw_tally_print_folded(const struct sw_tally *tally, struct sw_text *text);

/* A table of the functions that most samples were in. 0; -SW_E_NOMEM. */
int sw_tally_print_top(const struct sw_tally *stacks, size_t max, struct sw_text *text);

#endif
