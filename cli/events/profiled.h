/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_PROFILED_H
#define SW_CLI_PROFILED_H

#include "events/stacks.h"

#include <snapwalk/profile.h>

/* The stacks of events as rows of a profile, for the formats that profiles are written in. Zero-initialised is a valid one
 * that keeps none. */
struct sw_event_profiled {
	struct sw_profile *profile; /* owned; NULL: none are kept */
	uint32_t *rows;             /* owned: of the profile, by row of struct sw_event_stacks */
	size_t n, capacity;
};

/* From now on they are kept. 0; -SW_E_NOMEM. */
int sw_event_profiled_begin(struct sw_event_profiled *profiled, struct sw_error *err);
void sw_event_profiled_deinit(struct sw_event_profiled *profiled);

/* The stack of a thread of a report has that row, maybe anew. Nothing is counted. 0; -SW_E_NOMEM. */
int sw_event_profiled_add(struct sw_event_profiled *profiled, const struct sw_report *report,
			  size_t thread, uint32_t row, struct sw_error *err);

/* SW_PROFILE_NO_ROW: there is none. */
uint32_t sw_event_profiled_row(const struct sw_event_profiled *profiled, uint32_t row);

#endif
