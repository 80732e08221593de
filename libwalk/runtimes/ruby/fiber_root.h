/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_FIBER_ROOT_H
#define SW_RUBY_FIBER_ROOT_H

#include "runtimes/ruby/ruby.h"
#include "unwind/unwinder.h"

/* sw_runtime_ops.step: SW_STEP_END at the first function of the fiber that a thread runs. */
enum sw_step sw_ruby_fiber_root_step(struct sw_ruby *ruby, struct sw_cursor *cursor,
				     struct sw_stepped *ret);

#endif
