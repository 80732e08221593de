/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WALK_CASE_H
#define WALK_CASE_H

#include "elf_image.h"
#include "fake.h"
#include "unwind/unwinder.h"
#include "snapshot/read.h"

/* Walks of fake snapshots, compared frame by frame with what they must be. */
struct walk_frame {
	uint64_t pc_avma, sp_avma;
	const char *by;    /* unwinder's wire name */
	const char *trust; /* wire name */
	unsigned flags;    /* SW_FRAME_* */
};

#define FRAMES(...)                               \
	(const struct walk_frame[]){__VA_ARGS__}, \
		sizeof((const struct walk_frame[]){__VA_ARGS__}) / sizeof(struct walk_frame)

/* The snapshot's only thread. Finishes the snapshot, walks, compares, destroys it. why may be NULL
 * (there must be none). */
void walk_is(struct sw_snapshot *snap, const struct sw_walk_options *options,
	     const struct walk_frame *frames, size_t n_frames, enum sw_end end, const char *why);

/* An ELF module at bias, as elf_image() makes it. */
void walk_module(struct sw_snapshot *snap, uint64_t bias, const struct image_parts *parts);

/* A cursor at a thread's first frame; memory belongs to it. */
struct walk_cursor {
	struct sw_snapshot_memory memory;
	struct sw_cursor cursor;
};
void walk_cursor_init(struct walk_cursor *w, struct sw_snapshot *snap,
		      const struct sw_thread *thread, bool exact_pc);

/* The unwinder of that name. */
const struct sw_unwinder_ops *walk_unwinder(const char *name);

/* The value of a register that must be known. */
uint64_t walk_reg(const struct sw_regs *regs, unsigned number);

#endif
