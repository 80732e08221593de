/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_SCHEDULE_H
#define SW_CLI_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

/*
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

/* duration_s 0: without end. */
void sw_schedule_init(struct sw_schedule *s, int64_t now_ns, uint32_t rate_hz, uint32_t duration_s,
		      uint32_t max_load_percent);

/*
 * When the next sample is due, at the latest when the run ends. held_ns: by how much the target was held
 * up so far; the load limit puts it off until that is few enough of the time that has passed.
 */
int64_t sw_schedule_next_ns(struct sw_schedule *s, double held_ns);

/* A sample begins now. False: the run is over. */
bool sw_schedule_begin(struct sw_schedule *s, int64_t now_ns);

/* The run ends now: what was due by then was wanted. */
void sw_schedule_finish(struct sw_schedule *s, int64_t now_ns);

#endif
