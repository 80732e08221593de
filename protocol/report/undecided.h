/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_UNDECIDED_H
#define SW_REPORT_UNDECIDED_H

#include "report/builder.h"
#include "report/waits.h"

/*
 * Waits whose kind names that are added later may change. A report keeps what it takes to decide then; where all files
 * on the way have told all they know, it keeps nothing.
 */

enum {
	SW_UNDECIDED_FRAMES = 32 /* whose functions tell what a futex is, from the innermost one */
};

/* Whether no file can add a name to the frames that tell what a thread waits for. */
bool sw_stack_is_settled(const struct sw_report *report, const struct sw_report_stack *stack);

/* Notes all that is known of a thread's wait. futex: NULL: it is in none. */
void sw_undecided_note(struct sw_report_builder *b, struct sw_report_thread *thread,
		       const struct sw_report_futex *futex, const struct sw_wait_proof *proof);
/* Forgets of all threads what no name can change, and what blocked_on says, too. */
void sw_undecided_finish(struct sw_report *report);

/* All of what is known of a thread's futex, after sw_undecided_finish(). False: it is in none. */
bool sw_undecided_futex(const struct sw_report_thread *thread, struct sw_report_futex *ret);

#endif
