/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_ALL_FIBERS_H
#define SW_RUBY_ALL_FIBERS_H

#include "runtimes/ruby/ruby.h"
#include "unwind/runtime.h"

/* As sw_runtime_ops.tasks and task. */
size_t sw_ruby_all_fibers(struct sw_ruby *ruby, const char **ret_why);
bool sw_ruby_fiber_show(struct sw_ruby *ruby, size_t n, struct sw_runtime_task *ret,
			struct sw_frame_sink *sink);

void sw_ruby_all_fibers_destroy(struct sw_ruby_all_fibers *all);

#endif
