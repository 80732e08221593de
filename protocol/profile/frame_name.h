/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROFILE_FRAME_NAME_H
#define SW_PROFILE_FRAME_NAME_H

#include "profile/tables.h"
#include "text.h"

/* The name of a frame: its function, "libc.so.6+0x29d90", or "[unknown]"; behind a guess stands "
 * [guess]". The same as in folded dumps. */
void sw_profile_frame_name(struct sw_text *text, const struct sw_profile *p,
			   const struct sw_profile_frame *frame);

/* Takes the mark of a guess from the end of a name that has more than it. False: there is none. */
bool sw_profile_guess_cut(const char *name, size_t *size);

/* The state of a thread, as a word of the formats: "on_cpu". */
const char *sw_profile_state_word(uint32_t state);
/* The same for people, with what it was blocked in: "blocked: futex". */
void sw_profile_state_name(struct sw_text *text, const struct sw_profile *p,
			   const struct sw_profile_row *row);

/* "server", or "server and 3 others". */
void sw_profile_process_name(struct sw_text *text, const struct sw_profile *p);

/* The process of a thread; NULL: there were too many. */
const struct sw_profile_process *sw_profile_process_of(const struct sw_profile *p,
						       const struct sw_profile_thread *thread);

/* Nanoseconds that a sample stands for, on average; 0: unknown. */
uint64_t sw_profile_period_ns(const struct sw_profile *p);
/* The time that a row stands for: as it was given, or by the period. */
uint64_t sw_profile_row_ns(const struct sw_profile *p, const struct sw_profile_row *row);
/* The profile counts time rather than samples: "off". */
bool sw_profile_by_time(const struct sw_profile *p);

#endif
