/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_YJIT_H
#define SW_RUBY_YJIT_H

#include "runtimes/ruby/ruby.h"
#include "unwind/unwinder.h"

enum {
	SW_RUBY_FILL_BYTES = 96, /* of code that fills a frame */
	SW_RUBY_ENTRY_BYTES = 5, /* of code that saves registers: they begin a function of YJIT */
	SW_RUBY_END_BYTES = 16,  /* that give them back, or follow those */
};

/*
 * Whether there may be code of YJIT: executable memory that is no file's, or a part of it to which YJIT writes, in
 * which case it cannot be executed for a moment.
 */
bool sw_ruby_yjit_at(const struct sw_ruby *ruby, uint64_t avma);

/* Whether the frame at the cursor may be in code of YJIT. */
bool sw_ruby_in_yjit(const struct sw_ruby *ruby, const struct sw_cursor *cursor);

/* sw_runtime_ops.step: out of code of YJIT. */
enum sw_step sw_ruby_yjit_step(struct sw_ruby *ruby, struct sw_cursor *cursor,
			       struct sw_stepped *ret);

/*
 * How many frames of the chain do not count (0 or 1), for a cursor at an instruction of YJIT's code that
 * was interrupted: it puts a frame into the chain before it fills it.
 */
size_t sw_ruby_yjit_unfinished(const struct sw_ruby *ruby, const struct sw_cursor *cursor);

/* How many registers are saved above sp, then the return address, where code at its first or last
 * instructions is interrupted: what was executed, and what comes. -1: it is elsewhere. */
int sw_ruby_yjit_saved(struct sw_bytes before, struct sw_bytes from);

/* Whether code that was executed to its end has put a method's frame into the chain, and not filled
 * it. */
bool sw_ruby_yjit_fills(struct sw_bytes before);

#endif
