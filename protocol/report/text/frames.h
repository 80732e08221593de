/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_FRAMES_H
#define SW_TEXT_FRAMES_H

#include "report/text/put.h"

/* The frames of a stack and how it ended. */
void sw_text_frames(struct sw_text_writer *w, const struct sw_report_stack *stack);
/* The same, of the innermost frames so many lines. */
void sw_text_frames_some(struct sw_text_writer *w, const struct sw_report_stack *stack,
			 size_t most_lines);
/* "read < fetch < main": names of at most so many frames, from frame at on. Returns how many there are. */
size_t sw_put_names(struct sw_text_writer *w, const struct sw_report_stack *stack, size_t at,
		    size_t most);

/* "  read < fetch < main": names of at most so many frames of the program's own, from frame at on.
 */
void sw_put_own_names(struct sw_text_writer *w, const struct sw_report_stack *stack, size_t at,
		      size_t most);

#endif
