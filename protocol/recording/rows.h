/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RECORDING_ROWS_H
#define SW_RECORDING_ROWS_H

#include "recording/state.h"

/* The threads that were read, by their stacks. */
struct sw_recorder_found {
	struct sw_walks *walks; /* owned, as the following: one for each of them */
	uint32_t *rows;
	bool *fresh;       /* the sink has counted it */
	uint64_t *weights; /* NULL: each counts */
};

/* Walks those whose stacks a sample has, and finds or makes their rows. source: SW_BY_SAMPLER, SW_BY_EVENTS. */
int sw_recorder_find(struct sw_recorder *r, const struct sw_sample *sample, int source,
		     struct sw_recorder_found *ret, struct sw_error *err);
void sw_recorder_found_deinit(struct sw_recorder_found *found);

#endif
