/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SAMPLE_RESTS_H
#define SW_SAMPLE_RESTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Pauses between looks at a process whose memory does not answer, where one who looks is waited for by samples of many
 * processes: each wait is short, and the pause after it is many times as long and grows. All waits together are a small
 * share of the run, however many processes there are. Times are those of CLOCK_MONOTONIC.
 */

/* Looks at all processes together. */
struct sw_rests_all {
	int64_t begin_ns; /* of the run */
	int64_t waited_ns;
};

/* Looks at one. */
struct sw_rests {
	int64_t until_ns; /* no look before then */
	int64_t rest_ns;  /* the last pause; 0: the last look did not wait */
};

/* For how long a look that begins now may wait, in milliseconds; not 0. */
uint32_t sw_rests_patience_ms(const struct sw_rests_all *all, int64_t now_ns);

struct sw_rests_look {
	int64_t waited_ns; /* for what does not answer */
	int64_t copied_ns; /* for copies of files */
	bool failed;
};

/* A look is over. True: there is a pause now. */
bool sw_rests_note(struct sw_rests *rests, struct sw_rests_all *all, int64_t now_ns,
		   const struct sw_rests_look *look);

#endif
