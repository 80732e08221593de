/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_SCHEDULE_H
#define SNAPWALK_SCHEDULE_H

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * When samples are due. Sample k of a run is due at begin + k / rate; one that begins by more than half
 * of that interval later is late. When the next ones are due already, they are lost: samples are not made
 * up for, as that would count one instant several times.
 */
struct sw_schedule {
	int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end INT64_MAX: none */
	uint32_t rate_hz;
	uint32_t max_load_percent;
	uint64_t next;     /* the number of the next one, from 0 on */
	uint64_t n_wanted; /* that were due so far: taken, or not */
	uint64_t n_late;
	uint64_t n_lost;     /* there was no time */
	uint64_t n_left_out; /* for the load limit */
};

/** @param end_ns  INT64_MAX: none. @param max_load_percent  0: no limit. */
SW_PUBLIC void sw_schedule_init(struct sw_schedule *s, int64_t begin_ns, int64_t end_ns,
				uint32_t rate_hz, uint32_t max_load_percent);

/** How many samples are due in [begin, now), and before the end. */
SW_PUBLIC uint64_t sw_schedule_due(const struct sw_schedule *s, int64_t now_ns);

/** A run that others have begun goes on at this instant: what was due before it is not this one's. */
SW_PUBLIC void sw_schedule_join(struct sw_schedule *s, int64_t now_ns);

/**
 * When the next sample is due, at the latest when the run ends. held_ns: by how much the target was held
 * up so far; the load limit puts it off until that is few enough of the time that has passed.
 */
SW_PUBLIC int64_t sw_schedule_next_ns(struct sw_schedule *s, double held_ns);

/** A sample begins now. False: the run is over. */
SW_PUBLIC bool sw_schedule_begin(struct sw_schedule *s, int64_t now_ns);

/** The run ends now: what was due by then was wanted. */
SW_PUBLIC void sw_schedule_finish(struct sw_schedule *s, int64_t now_ns);

#ifdef __cplusplus
}
#endif

#endif
