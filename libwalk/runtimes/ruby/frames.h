/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_FRAMES_H
#define SW_RUBY_FRAMES_H

#include "runtimes/ruby/ruby.h"
#include "unwind/runtime.h"

/* sw_runtime_ops.frames. */
bool sw_ruby_frames(struct sw_ruby *ruby, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		    struct sw_frame_sink *sink);

/* The frame, which is not SW_RUBY_FRAME_OTHER, for names(): as sw_frame_sink.add. pc_known: it is at its pc. */
bool sw_ruby_frame_add(struct sw_frame_sink *sink, const struct sw_ruby_frame *frame,
		       bool pc_known);

/* sw_runtime_ops.names. */
int sw_ruby_names(struct sw_ruby *ruby, const struct sw_frame *frame, struct sw_description *ret);

#endif
