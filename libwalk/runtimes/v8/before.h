/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_V8_BEFORE_H
#define SW_V8_BEFORE_H

#include "runtimes/v8/touch.h"
#include "unwind/capture.h"

/* As sw_runtime_ops.before. */
int sw_v8_before(struct sw_capture *capture);

/* Where the stacks of threads are in use that wait in the kernel, for the rehearsal. */
void sw_v8_threads_see(struct sw_capture *capture, struct sw_v8_before *ret);

#endif
