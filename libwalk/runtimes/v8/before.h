/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_BEFORE_H
#define SW_V8_BEFORE_H

#include "unwind/capture.h"

/* As sw_runtime_ops.before: where code is, and memory for what is copied. */
int sw_v8_before(struct sw_capture *capture);

#endif
