/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_NAMES_H
#define SW_HOTSPOT_NAMES_H

#include "runtimes/hotspot/structures/hotspot.h"
#include "unwind/runtime.h"

static const size_t SW_HOTSPOT_OUTERMOST = SIZE_MAX;

/* As sw_runtime_ops.owns; the cookie of an interpreted frame is its number. */
bool sw_hotspot_owns(struct sw_hotspot *h, const struct sw_cursor *cursor, uint64_t *ret_cookie);

/* The same of a frame of the interpreter, by its method and bytecode. 0: they do not belong together. */
uint64_t sw_hotspot_interpreted_cookie(struct sw_hotspot *h, uint64_t method_avma,
				       uint64_t bcp_avma);

/* As sw_runtime_ops.internal: code of libjvm.so, and stubs that lead there or from method to method. */
bool sw_hotspot_is_internal(struct sw_hotspot *h, const struct sw_frame *frame);

/* As sw_runtime_ops.names, of one of the methods that the frame executes: 0 is the innermost. */
int sw_hotspot_describe(struct sw_hotspot *h, const struct sw_frame *frame, size_t level,
			struct sw_description *ret);

/* As sw_runtime_ops.explain. */
void sw_hotspot_explain(struct sw_hotspot *h, uint64_t avma, struct sw_text *text);

/* As sw_runtime_ops.explain_frame: of an interpreted frame the method and the bytecode that it executes. */
void sw_hotspot_explain_frame(struct sw_hotspot *h, const struct sw_frame *frame,
			      struct sw_text *text);

#endif
