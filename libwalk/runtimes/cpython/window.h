/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_WINDOW_H
#define SW_CPYTHON_WINDOW_H

#include "unwind/capture.h"

/* As those of struct sw_runtime_ops. */
int sw_cpython_before(struct sw_capture *capture);
int sw_cpython_in_window(struct sw_capture *capture);

#endif
