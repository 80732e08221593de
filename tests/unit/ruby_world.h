/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RUBY_WORLD_H
#define RUBY_WORLD_H

#include "fake.h"
#include "runtimes/ruby/ruby.h"
#include "unwind/runtime.h"

/*
 * A small Ruby 3.1 in one array, whose thread is stopped in leaf():
 *
 *	leaf			run by rb_vm_exec()
 *	times, <main>		run by the rb_vm_exec() before it
 *	the thread's first frame, which runs nothing
 */
enum {
	RUBY_WORLD = 0x300000, /* address of the array */
	RUBY_WORLD_BYTES = 0x3000,
	RUBY_FS = RUBY_WORLD + 0x100,
	RUBY_SLOT = RUBY_FS - 8, /* ruby_current_ec */
	RUBY_EC = RUBY_WORLD + 0x200,
	RUBY_VALUES = RUBY_WORLD + 0x400, /* environments, 0x40 for each frame */
	RUBY_FRAMES = RUBY_WORLD + 0x700, /* four of 64 bytes */
	RUBY_FRAMES_END = RUBY_FRAMES + 4 * 64,
	RUBY_LEAF = RUBY_FRAMES,
	RUBY_TIMES = RUBY_FRAMES + 64,
	RUBY_MAIN = RUBY_FRAMES + 128,
	RUBY_ISEQS = RUBY_WORLD + 0x900,   /* 0x400 for each: iseq, body at 0x100, succ at 0x200 */
	RUBY_METHOD = RUBY_WORLD + 0x1800, /* definition at 0x80 */
	RUBY_SYMBOLS = RUBY_WORLD + 0x1a00,
	RUBY_IDS = RUBY_WORLD + 0x1b00,
	RUBY_STRINGS = RUBY_WORLD + 0x1d00, /* 0x80 for each */
	RUBY_CODE = 0x500000,               /* rb_vm_exec() */
};

struct ruby_world {
	uint8_t data[RUBY_WORLD_BYTES];
	struct fake_region region;
	struct fake_memory fake;
	struct sw_place place;
	struct sw_thread thread;
	struct sw_snapshot_priv priv;
	struct sw_snapshot snap;
	struct sw_ruby ruby;
	bool was_read[RUBY_WORLD_BYTES]; /* by the last ruby_world_touch() */
	size_t n_reads;
};

void ruby_world_init(struct ruby_world *w);
void ruby_world_deinit(struct ruby_world *w);
void ruby_world_u64(struct ruby_world *w, uint64_t avma, uint64_t value);
void ruby_world_u32(struct ruby_world *w, uint64_t avma, uint32_t value);

/* Instruction i of the function of frame f (0 leaf, 2 <main>), as a pc. */
uint64_t ruby_world_pc(unsigned f, unsigned i);

/* Reads as a capture does. From then on ruby has what was read, and nothing else. */
void ruby_world_touch(struct ruby_world *w);

/* Frames that were added. */
struct ruby_sink {
	struct sw_frame_sink sink;
	struct sw_frame frames[64];
	size_t n;
};

/* Asks for the frames on native frame i: of rb_vm_exec(), or of what it calls with r15. */
bool ruby_world_frames(struct ruby_world *w, size_t i, bool is_vm, uint64_t r15,
		       struct ruby_sink *ret);

#endif
