/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_WINDOW_H
#define SW_RUBY_WINDOW_H

#include "unwind/capture.h"

/* sw_runtime_ops.before and .in_window. */
int sw_ruby_before(struct sw_capture *capture);
int sw_ruby_in_window(struct sw_capture *capture);

#endif
