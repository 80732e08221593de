/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_TALLY_H
#define SW_CLI_TALLY_H

#include "folded.h"

#include <snapwalk/protocol.h>

/* The threads of reports, added up by their folded stacks. */

enum { SW_TALLY_NO_ROW = UINT32_MAX };

/* For each thread i of a report for which wanted[i] is set: what sw_tally_again() takes. 0, -SW_E_NOMEM. */
int sw_tally_rows(struct sw_tally *tally, const struct sw_report *report, const bool *wanted,
		  uint32_t *ret_rows, struct sw_error *err);

/* Counts a thread so many times more. */
void sw_tally_again(struct sw_tally *tally, uint32_t row, uint64_t count);

/* In place of each group of names that differ in the number at their end only: the name with '*'. After
 * it, rows are of no use. 0, -SW_E_NOMEM. */
int sw_tally_merge_numbered(struct sw_tally *tally);

#endif
