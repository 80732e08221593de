/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_STEP_H
#define SW_V8_STEP_H

#include "runtimes/v8/frame.h"

/* As sw_runtime_ops.step. */
enum sw_step sw_v8_step(struct sw_v8 *v8, const struct sw_cursor *cursor, struct sw_stepped *ret);

#endif
