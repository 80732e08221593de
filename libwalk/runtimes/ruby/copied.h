/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_RUBY_COPIED_H
#define SW_RUBY_COPIED_H

#include "arena.h"
#include "map.h"
#include "runtimes/ruby/vm.h"

enum { SW_RUBY_COPIED_SEEN = 64 /* power of two */ };

/* The place in the program that a frame executes. */
struct sw_ruby_position {
	const char *label, *path; /* the arena's */
	uint32_t line;
};

/*
 * The positions of frames in the copies that the kernel made of threads at events. Labels and paths
 * are those of the copy; lines are read later, and count if the iseq is still what the copy has.
 * Names of C methods are symbols, which stay.
 */
struct sw_ruby_copied {
	struct sw_arena arena;
	struct sw_ruby_position *positions; /* owned */
	size_t n_positions, capacity;
	struct sw_map64 by_spot; /* -> index */
	struct sw_map64 texts;   /* by hash, -> the arena's */
	/* The iseqs of one copy whose identity is known. */
	struct {
		uint64_t iseq_avma, identity;
	} seen[SW_RUBY_COPIED_SEEN];
};

/* The VMs from which frames are read: the copy, the copy with what is read later, and what is read
 * later alone. */
struct sw_ruby_copied_source {
	const struct sw_ruby_vm *copied, *later, *now;
};

void sw_ruby_copied_deinit(struct sw_ruby_copied *copied);
/* Another copy comes. */
void sw_ruby_copied_begin(struct sw_ruby_copied *copied);
/* Whether there is space for what another copy may have. */
bool sw_ruby_copied_has_space(const struct sw_ruby_copied *copied);

/* The cookie of a frame. 0: the copy does not have what it executes. */
uint64_t sw_ruby_copied_cookie(struct sw_ruby_copied *copied,
			       const struct sw_ruby_copied_source *from,
			       const struct sw_ruby_frame *frame, bool pc_known);

/* As sw_runtime_ops.names. */
int sw_ruby_copied_names(const struct sw_ruby_copied *copied, const struct sw_frame *frame,
			 struct sw_description *ret);

#endif
