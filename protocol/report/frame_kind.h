/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_REPORT_FRAME_KIND_H
#define SW_REPORT_FRAME_KIND_H

#include "text.h"

#include <snapwalk/protocol.h>

/* The text for a frame without a name: "libc.so.6+0x29d90" or "0x7f0012345678". The same in all
 * formats for people. */
void sw_frame_place_name(struct sw_text *text, const struct sw_report *report,
			 const struct sw_report_frame *frame);

/* Whether a frame is of machine code in a file, whose symbols name it. */
bool sw_frame_is_of_file(const struct sw_report_frame *frame);
/* exact_pc of each frame, which is 1 or -1, becomes 0 where its place says the same. */
void sw_frames_mark_exact(struct sw_report_frame *frames, size_t n);

/* "frame pointer", "scan": how a frame was guessed; NULL when it is no guess. */
const char *sw_guess_name(const char *trust);

/* Code that a runtime names. */
bool sw_frame_is_managed(const struct sw_report_frame *frame);

/* The function's name, of .NET's methods without the assembly in front. The frame has one. */
const char *sw_frame_method(const struct sw_report_frame *frame);

/* Whether that is the end of a name, or what GCC and Clang add to it: ".isra.0", ".cold". */
bool sw_is_compilers_suffix(const char *rest);

/* The part of a path behind the last slash. */
const char *sw_base_name(const char *path);

/* The C library and the dynamic loader, by the name of the file. */
bool sw_frame_is_libc(const struct sw_report *report, const struct sw_report_frame *frame);

/* The index of the first frame from at on that has a name and is the program's own rather than the
 * C library's; n_frames: there is none. */
size_t sw_own_frame(const struct sw_report *report, const struct sw_report_stack *stack, size_t at);

/* Whether a function of a runtime waits for nothing but the time; one of a program's file only has such a name. */
bool sw_frame_is_sleep(const struct sw_report_frame *frame);

/* Whether the innermost functions of the program's language are those that sleep, whatever the thread's state. */
bool sw_report_is_at_sleep(const struct sw_report_stack *s);

#endif
