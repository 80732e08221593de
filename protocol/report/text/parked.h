/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_TEXT_PARKED_H
#define SW_REPORT_TEXT_PARKED_H

#include "report/text/put.h"

/* A kind of stacks that have, while they wait, no thread: goroutines, tasks. */
struct sw_text_parked {
	const char *noun;  /* of one */
	size_t head_lines; /* of a group, without its frames */
	size_t (*count)(const struct sw_report_stack *stack);
	struct sw_report_stack (*only)(const struct sw_report_stack *stack, size_t i);
	/* The first frame that a brief line names; NULL: the innermost one. */
	size_t (*first_told)(const struct sw_report_stack *stack);
	/* Whether it is counted only, unless all are asked for; NULL: none is. */
	bool (*left_out)(const struct sw_report_stack *stack);
	void (*put_who)(struct sw_text_writer *w, const struct sw_report_stack *stack);
	void (*put_waits)(struct sw_text_writer *w, const struct sw_report_stack *stack);
	/* Behind the frames; NULL: nothing. */
	void (*put_end)(struct sw_text_writer *w, const struct sw_report_stack *stack);
};

/* ", 10,212 goroutines in 9 groups"; nothing when there are none. */
void sw_text_parked_count(struct sw_text_writer *w, const struct sw_text_parked *kind);
/* The stacks that no thread runs; behind the first hundred lines a group is a line. Returns how
 * many were left out. */
size_t sw_text_parked(struct sw_text_writer *w, const struct sw_text_parked *kind);

#endif
