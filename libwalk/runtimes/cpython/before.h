/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_BEFORE_H
#define SW_CPYTHON_BEFORE_H

#include "unwind/capture.h"

/* As sw_runtime_ops.before. */
int sw_cpython_before(struct sw_capture *capture);

#endif
