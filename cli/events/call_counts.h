/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_CALL_COUNTS_H
#define SW_CLI_CALL_COUNTS_H

#include "events/event_run.h"
#include "run/output.h"

/* Events at a system call, added up by stack; the command on. */
struct sw_call_counts {
	struct sw_event_run *run; /* borrowed */
	struct sw_output *output; /* borrowed: for the lines of --each */
	struct sw_call_row {
		uint64_t n, first, last; /* events; the numbers of two of them */
		uint32_t row;
	} * rows; /* owned; by row of the stacks */
	size_t n_rows, capacity;
	uint64_t n;              /* events */
	uint64_t n_unknown;      /* of them, without a stack */
	struct sw_tally details; /* paths and addresses */
	struct {
		int64_t result;
		uint64_t n;
	} results[16]; /* errors, and 0 for all that is none */
	size_t n_results;
	uint64_t n_other_results;
	int64_t longest_ns; /* of functions that returned */
};

void sw_call_counts_deinit(struct sw_call_counts *counts);

/* As sw_event_run.event, of a struct sw_call_counts. Writes a line with --each. */
int sw_call_counts_event(void *arg, const struct sw_event *event, uint32_t row,
			 struct sw_error *err);

/* The counts, for people or as JSON. 0; -SW_E_NOMEM. */
int sw_call_counts_text(struct sw_call_counts *counts, struct sw_text *ret);
int sw_call_counts_json(struct sw_call_counts *counts, struct sw_text *ret);

/* The number of events of each stack in a format of profiles. The run has kept its stacks (events/profiled.h). As
 * sw_profile_write(). */
int sw_call_counts_profile(const struct sw_call_counts *counts, enum sw_profile_format format,
			   struct sw_text *ret);

#endif
