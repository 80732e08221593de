/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_LOCATIONS_H
#define SW_PROFILE_LOCATIONS_H

#include "profile/tables.h"

enum { SW_PROFILE_LOCATION_LINES_MAX = 256 }; /* more inlined calls at one address are left out */

/*
 * Locations, as pprof and OTLP have them: an address with the function whose code it is and the calls
 * that were inlined there. A location is numbered from 1; its lines are frames, innermost first.
 */
struct sw_profile_locations {
	const struct sw_profile *profile; /* borrowed */
	struct sw_profile_table table; /* of (the location without its last line, its last line) */
	uint32_t *ids;                 /* owned; of each element of the table; 0: not a whole */
	size_t ids_capacity;
	uint32_t *ends; /* owned; of each location: its element of the table */
	size_t n, ends_capacity;
	uint32_t stack[SW_PROFILE_DEPTH_MAX + 1]; /* of the last sw_profile_locations_of() */
};

void sw_profile_locations_init(struct sw_profile_locations *ret, const struct sw_profile *p);
void sw_profile_locations_deinit(struct sw_profile_locations *locations);

/* The locations of a stack, innermost first, in locations->stack until the next call. Their number;
 * -SW_E_NOMEM. */
int sw_profile_locations_of(struct sw_profile_locations *locations, uint32_t node);

/* The frames of a location, innermost first: at most max of them. Their number. */
size_t sw_profile_location_lines(const struct sw_profile_locations *locations, uint32_t id,
				 uint32_t *ret_frames, size_t max);

/*
 * The address in the process, in the call that the frame is in: who looks it up finds the line of the call, as both
 * formats want it. 0: none is known.
 */
uint64_t sw_profile_location_avma(const struct sw_profile_locations *locations, uint32_t id);

#endif
