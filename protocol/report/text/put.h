/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TEXT_PUT_H
#define SW_TEXT_PUT_H

#include "text.h"

#include <snapwalk/protocol.h>

enum sw_style { SW_STYLE_BOLD, SW_STYLE_DIM, SW_STYLE_GUESS, SW_STYLE_ALARM };

/* A dump for people in the making. */
struct sw_text_writer {
	struct sw_text text;
	const struct sw_report *report;
	const struct sw_text_options *options;
};

/* Text of our own. */
__attribute__((format(printf, 2, 3))) void sw_put(struct sw_text_writer *w, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) void sw_put_styled(struct sw_text_writer *w,
							 enum sw_style style, const char *fmt, ...);
/* Text of the target's, made harmless; NULL puts nothing. */
void sw_put_foreign(struct sw_text_writer *w, const char *s);
/* " cart.c:88", where the source of a frame is known. */
void sw_put_source(struct sw_text_writer *w, const struct sw_report_frame *frame);
void sw_style_begin(struct sw_text_writer *w, enum sw_style style);
void sw_style_end(struct sw_text_writer *w);
/* "1.234 s" */
void sw_put_seconds(struct sw_text_writer *w, int64_t ms);
/* "1,234,567" */
void sw_put_number(struct sw_text_writer *w, size_t n);
/* Spaces up to a column, at least two. */
void sw_put_gap(struct sw_text_writer *w, size_t columns, size_t wanted);

#endif
