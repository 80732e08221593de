/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_NAMES_H
#define SW_V8_NAMES_H

#include "runtimes/v8/v8.h"
#include "unwind/runtime.h"

static const size_t SW_V8_OUTERMOST = SIZE_MAX;

/* As sw_runtime_ops.owns; the cookie is the frame's number. */
bool sw_v8_owns(struct sw_v8 *v8, const struct sw_cursor *cursor, uint64_t *ret_cookie);

/* The cookie of a frame; 0: it could not be kept. */
uint64_t sw_v8_frame_keep(struct sw_v8 *v8, const struct sw_v8_frame *frame);

/* By copies: whether frames may be missing at that frame, because it could not be proven what it executes. */
bool sw_v8_is_doubtful(struct sw_v8 *v8, const struct sw_cursor *cursor);

/* Whether the frame is V8's own, and not the program's. */
bool sw_v8_is_internal(struct sw_v8 *v8, const struct sw_cursor *cursor);

/* Whether the frame of that cookie is one of WebAssembly. */
bool sw_v8_is_wasm(const struct sw_v8 *v8, uint64_t cookie);

/* Whether the frame of that cookie is of code that V8 made between WebAssembly and what it calls, or is called by. */
bool sw_v8_is_wrapper(const struct sw_v8 *v8, uint64_t cookie);

/* As sw_runtime_ops.names, of one of the functions that the frame executes: 0 is the innermost. */
int sw_v8_describe(struct sw_v8 *v8, const struct sw_frame *frame, size_t level,
		   struct sw_description *ret);

/* As sw_runtime_ops.explain. */
void sw_v8_explain(struct sw_v8 *v8, uint64_t avma, struct sw_text *text);

/* Explain a frame: code object, bytecode, functions. */
void sw_v8_explain_frame(struct sw_v8 *v8, const struct sw_frame *frame, struct sw_text *text);

#endif
