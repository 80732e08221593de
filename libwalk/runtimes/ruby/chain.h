/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_CHAIN_H
#define SW_RUBY_CHAIN_H

#include "runtimes/ruby/ruby.h"

/* Reads the frames of a thread; none is not an error. */
void sw_ruby_chain_read(struct sw_ruby *ruby, const struct sw_thread *thread);
/* Notes that the thread before is done. */
void sw_ruby_chain_end(struct sw_ruby *ruby);

/* The stack of a thread. Of a copy it is read once. */
bool sw_ruby_chain_stack(struct sw_ruby *ruby, const struct sw_thread *thread,
			 struct sw_ruby_stack *ret);

#endif
