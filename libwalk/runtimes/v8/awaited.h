/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_AWAITED_H
#define SW_V8_AWAITED_H

#include "runtimes/v8/v8.h"
#include "unwind/runtime.h"

/* Note for each frame of a walk whether it continues an async function: the innermost such frame of
 * a thread counts. */
void sw_v8_resumed_note(struct sw_v8 *v8, const struct sw_cursor *cursor);

/* As sw_runtime_ops.awaited and task. */
size_t sw_v8_awaited(struct sw_v8 *v8, const char **ret_why);
bool sw_v8_awaited_show(struct sw_v8 *v8, size_t n, struct sw_runtime_task *ret,
			struct sw_frame_sink *sink);

#endif
