/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_WINDOW_H
#define SW_RUBY_WINDOW_H

#include "runtimes/ruby/vm.h"
#include "unwind/capture.h"

enum { SW_RUBY_SEEN_SLOTS = 16384 /* power of two; half of them are used at most */ };

/* An entry for memory that was copied, by its address, or for a name whose memory was copied. */
struct sw_ruby_seen {
	uint64_t key;
	const uint8_t *data; /* NULL: a name, whose parts were copied */
	size_t bytes;
};

/* The state of the window, which is set aside before it: *sw_capture.found. */
struct sw_ruby_window {
	struct sw_ruby_found found;
	struct sw_ruby_pool pool; /* as it was before */
	struct sw_capture *capture;
	struct sw_ruby_seen seen[SW_RUBY_SEEN_SLOTS];
	size_t n_seen;
	bool whole;              /* nothing runs */
	bool fibers_cut;         /* not all were looked at */
	const char *created_why; /* static; why there may be more that have not begun; NULL */
	uint64_t gvl_avma;       /* the last one that was copied */
	struct sw_range bulk[2]; /* frames and values of the thread that is copied */
};

/* As sw_runtime_ops.in_window. */
int sw_ruby_in_window(struct sw_capture *capture);

#endif
