/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_WINDOW_H
#define SW_V8_WINDOW_H

#include "unwind/capture.h"

/* As sw_runtime_ops.before and in_window. */
int sw_v8_before(struct sw_capture *capture);
int sw_v8_in_window(struct sw_capture *capture);

#endif
