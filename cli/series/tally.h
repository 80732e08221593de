/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_TALLY_H
#define SW_CLI_TALLY_H

#include "arena.h"
#include "map.h"
#include "text.h"

#include <snapwalk/protocol.h>

/* The threads of reports, added up by their folded stacks. Zero-initialised is a valid empty one.
 */
struct sw_tally {
	struct sw_arena arena; /* the names */
	struct sw_map64 index;
	struct sw_tally_entry {
		const char *name; /* "comm;outermost;...;innermost"; the arena's */
		uint64_t count;
	} * entries; /* owned */
	size_t n_entries, capacity;
	uint64_t n_lost; /* counts that found no space: SW_TALLY_MAX names are there */
};

enum { SW_TALLY_MAX = 1 << 20 };

void sw_tally_deinit(struct sw_tally *tally);

/* The entry of one name, counted 0 times when it is new; SW_TALLY_NO_ROW: there is no space for it.
 * 0; -SW_E_NOMEM. */
int sw_tally_row(struct sw_tally *tally, const char *name, size_t length, uint32_t *ret_row);

/* Entries by count, largest first, then by name. Rows are of no use afterwards. */
void sw_tally_sort(struct sw_tally *tally);

enum { SW_TALLY_NO_ROW = UINT32_MAX };

/* For each thread i of a report for which wanted[i] is set: what sw_tally_again() takes. 0,
 * -SW_E_NOMEM. */
int sw_tally_rows(struct sw_tally *tally, const struct sw_report *report, const bool *wanted,
		  uint32_t *ret_rows, struct sw_error *err);

/* Counts a thread so many times more. */
void sw_tally_again(struct sw_tally *tally, uint32_t row, uint64_t count);

/* In place of each group of names that differ in the number at their end only: the name with '*'.
 * After it, rows are of no use. 0, -SW_E_NOMEM. */
int sw_tally_merge_numbered(struct sw_tally *tally);

#endif
