/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GO_NAMES_H
#define SW_GO_NAMES_H

#include "runtimes/go/go.h"
#include "unwind/unwinder.h"

bool sw_go_owns(const struct sw_go *go, const struct sw_cursor *cursor);

enum { SW_GO_OUTERMOST = SW_GO_INLINED_MAX };

/* The function that the frame executes at that level of inlining, 0 the innermost; SW_GO_OUTERMOST:
 * the function itself. */
int sw_go_describe(const struct sw_go *go, const struct sw_frame *frame, size_t level,
		   struct sw_description *ret);

void sw_go_explain(const struct sw_go *go, uint64_t avma, struct sw_text *text);

#endif
