/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_FRAMES_H
#define SW_TEXT_FRAMES_H

#include "report/text_put.h"

/* The frames of a stack and how it ended. */
void sw_text_frames(struct sw_text_writer *w, const struct sw_report_stack *stack);
/* The same, of the innermost frames so many lines. */
void sw_text_frames_some(struct sw_text_writer *w, const struct sw_report_stack *stack,
			 size_t most_lines);
/* "read < fetch < main": names of at most so many innermost frames. Returns how many there are. */
size_t sw_put_names(struct sw_text_writer *w, const struct sw_report_stack *stack, size_t most);

/* "  read < fetch < main": names of at most so many frames of the program's own, from frame at on. */
void sw_put_own_names(struct sw_text_writer *w, const struct sw_report_stack *stack, size_t at,
		      size_t most);

/* What to call a frame without a name: "libc.so.6+0x29d90" or "0x7f0012345678". The same in all
 * formats for people. */
void sw_frame_place_name(struct sw_text *text, const struct sw_report *report,
			 const struct sw_report_frame *frame);

/* "frame pointer", "scan": how a frame was guessed; NULL when it is no guess. */
const char *sw_guess_name(const char *trust);
/* An interpreter's own frame, which is left out of folded stacks, and of the text unless verbose. What
 * must be seen is not: a guess, a signal, a place where frames may be missing. */
bool sw_frame_is_hidden(const struct sw_report_frame *frame);

/* Code that a runtime names. */
bool sw_frame_is_managed(const struct sw_report_frame *frame);

/* The part of a path behind the last slash. */
const char *sw_base_name(const char *path);

#endif
