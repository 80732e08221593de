/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RECORDING_COUNTING_H
#define SW_RECORDING_COUNTING_H

#include "recording/state.h"

/* Whether a thread that does that is one of those that are sampled. */
bool sw_recorder_wants(const struct sw_recorder *r, pid_t tid, enum sw_activity activity);

/* Up to the sample before this one; until: the instant of that one, of a thread that moved. */
void sw_recorder_slot_count(struct sw_recorder *r, struct sw_recorder_slot *s, uint64_t sample,
			    const struct sw_sample_times *until);
/* The slot's thread ends, or the run does: what is left of the counters goes where the thread was
 * seen last; blocked time after the last look is not known. */
void sw_recorder_share_finish(struct sw_recorder *r, struct sw_recorder_slot *s);
void sw_recorder_blocked_finish(struct sw_recorder *r, const struct sw_recorder_slot *s,
				int64_t until_ns);

/* Which threads of a sample moved, and what they do since. rows, fresh: of the walks. 0; -SW_E_NOMEM. */
int sw_recorder_note(struct sw_recorder *r, const struct sw_sample *sample,
		     const struct sw_walks *walks, const uint32_t *rows, const bool *fresh,
		     struct sw_error *err);

/* The slot of a thread; NULL if no sample has seen it yet, or it has ended: then the event alone
 * tells. */
struct sw_recorder_slot *sw_recorder_slot_of_tid(struct sw_recorder *r, pid_t tid);

#endif
