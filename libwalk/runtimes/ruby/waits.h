/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_WAITS_H
#define SW_RUBY_WAITS_H

#include "runtimes/ruby/ruby.h"

/* As sw_runtime_ops.wait: for threads that want the GVL or a Mutex. */
bool sw_ruby_wait(struct sw_ruby *ruby, const struct sw_thread *thread,
		  struct sw_runtime_wait *ret);

/* As sw_runtime_ops.thread: whether it has the GVL. */
bool sw_ruby_thread_note(struct sw_ruby *ruby, const struct sw_thread *thread,
			 struct sw_thread_info *ret);

#endif
