/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RUBY_FIBER_WORLD_H
#define RUBY_FIBER_WORLD_H

#include "ruby_world.h"
#include "runtimes/ruby/fibers.h"

/*
 * The small Ruby of ruby_world.h with a fiber, which has resumed another one and waits in leaf(),
 * called by times, and one that has not begun, whose block is leaf(). The first one's memory is
 * there as far as it is looked at:
 *
 *	RUBY_FIBER_END		frames
 *	RUBY_FIBER_VALUES	environments; below it the machine stack
 *	RUBY_FIBER_START
 */
enum {
	RUBY_FIBER_START = 0x700000,
	RUBY_FIBER_END = RUBY_FIBER_START + 0xa1000,
	RUBY_FIBER_VALUES = RUBY_FIBER_END - SW_RUBY_FIBER_VALUES_BYTES,
	RUBY_FIBER_MACHINE_BYTES = 0x200,
	RUBY_FIBER_FRAMES_BYTES = 3 * 64,
	RUBY_FIBER = 0x340000, /* rb_fiber_t */
	RUBY_FIBER_EC = RUBY_FIBER + 80,
	RUBY_FIBER_RESUMING = RUBY_FIBER + 512,
	RUBY_FIBER_STACK =
		RUBY_FIBER_RESUMING + 32, /* fiber_pool_stack, behind its status and its sp */
	RUBY_FIBER_OTHER = RUBY_FIBER + 0x400,
	RUBY_FIBER_CREATED = RUBY_FIBER + 0x600, /* the other's rb_fiber_t */
	RUBY_FIBER_PROC = RUBY_FIBER + 0x900,    /* its Proc; rb_proc_t is behind it */
	RUBY_FIBER_CONTEXT_OFF = 488,            /* of the rb_jit_cont in rb_fiber_t */
	RUBY_FIBER_CONTEXTS =
		RUBY_FIBER + 0x980, /* 0x20 for each: who has not begun, the fiber, the thread's */
	RUBY_FIBER_POOL = RUBY_FIBER + 0xa00, /* allocation at 0x40 */
	RUBY_FIBER_OBJECT = 0x7f00c0d8,
	RUBY_FIBER_OTHER_OBJECT = 0x7f00bee8,
	RUBY_FIBER_CREATED_OBJECT = 0x7f00aaa8,
	RUBY_FIBER_BYTES = 0x1100, /* of all that is there */
	RUBY_FIBER_MAPS = 3,
	RUBY_FIBER_REGIONS = 5,
};

struct ruby_fiber_world {
	struct ruby_world base;
	struct sw_ruby_layout layout; /* of 3.1, with a list of contexts as later ones have */
	uint8_t data[RUBY_FIBER_BYTES];
	struct fake_region regions[RUBY_FIBER_REGIONS];
	struct fake_memory fake;
	struct sw_map maps[RUBY_FIBER_MAPS];
};

void ruby_fiber_world_init(struct ruby_fiber_world *w);
void ruby_fiber_world_deinit(struct ruby_fiber_world *w);
/* Write a word of the fiber; for other words: ruby_world_u64(). */
void ruby_fiber_world_u64(struct ruby_fiber_world *w, uint64_t avma, uint64_t value);
uint64_t ruby_fiber_world_get(const struct ruby_fiber_world *w, uint64_t avma);

/* Let the fiber be run by its thread. */
void ruby_fiber_world_run(struct ruby_fiber_world *w);

#endif
