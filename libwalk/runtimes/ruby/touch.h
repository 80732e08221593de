/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_TOUCH_H
#define SW_RUBY_TOUCH_H

#include "runtimes/ruby/vm.h"

#include <snapwalk/walk.h>

/* The result of before(), for touch() and open(). */
struct sw_ruby_before {
	struct sw_ruby_found found;
	struct sw_ruby_pool pool; /* as it was then */
};

/* As sw_runtime_ops.touch. */
void sw_ruby_touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory);

#endif
