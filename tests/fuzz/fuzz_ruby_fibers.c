/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ruby's fibers as anybody wrote them. The first two bytes say how much of the input is laid over the small Ruby that
 * is right, the rest over its fiber, both in parts: u16 offset / 4 | u8 length | bytes. Then all fibers are listed
 * and shown, their frames named, and the end of the stack of the one that a thread runs is looked for.
 */
#include "fuzz.h"
#include "arch/arch.h"
#include "bytes.h"
#include "lay_over.h"
#include "ruby_fiber_world.h"
#include "walk_case.h"

#include "runtimes/ruby/all_fibers.h"
#include "runtimes/ruby/fiber_root.h"
#include "runtimes/ruby/frames.h"

enum {
	READS_MAX = 400000,
	FRAMES_MAX = 512,
	BIAS = 0x40000000,
	CODE = BIAS + IMAGE_CODE,
};

static struct ruby_fiber_world world;

/* Frames of one fiber, named as they come. */
struct naming_sink {
	struct sw_frame_sink sink;
	size_t n;
};

static bool frame_name(struct sw_frame_sink *sink, uint64_t address_avma, uint64_t cookie)
{
	static struct sw_description d;
	struct naming_sink *s = (struct naming_sink *) sink;
	struct sw_frame frame = {.pc_avma = address_avma, .cookie = cookie};
	if (s->n++ < 4)
		(void) sw_ruby_names(&world.base.ruby, &frame, &d);
	return s->n < FRAMES_MAX;
}

static void fibers_show(struct sw_ruby *ruby)
{
	const char *why;
	size_t n = sw_ruby_all_fibers(ruby, &why);
	for (size_t i = 0; i < n; i++) {
		struct naming_sink sink = {.sink.add = frame_name};
		struct sw_runtime_task task = {0};
		(void) sw_ruby_fiber_show(ruby, i, &task, &sink.sink);
	}
	sw_ruby_all_fibers_destroy(ruby->fibers);
	ruby->fibers = NULL;
}

static const struct image_fde fde = {.start = 0, .end = 0x10, IMAGE_ROWS(0x41, 0x0e, 16)};

/* The library with the fiber's first function, whose frame has 16 bytes; never freed. */
static struct sw_place *library(void)
{
	static const uint8_t code[0x10] = {0x53, 0xe8, 0, 0, 0, 0, 0x90};
	static struct sw_snapshot *snap;
	if (snap == NULL) {
		snap = fake_snapshot_create();
		walk_module(snap, BIAS,
			    &(const struct image_parts){.code = code,
							.n_code = sizeof(code),
							.fdes = &fde,
							.n_fdes = 1});
	}
	return &snap->places[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_bytes all = {data, size}, part;
	struct sw_ruby *ruby = &world.base.ruby;
	struct sw_stepped stepped = {0};
	uint16_t n = 0;
	ruby_fiber_world_init(&world);
	ruby_fiber_world_run(&world);
	ruby->found.place = library();
	if (sw_bytes_u16(all, 0, &n) && sw_bytes_sub(all, 2, n, &part)) {
		lay_over(world.base.data, sizeof(world.base.data), part.data, part.size);
		lay_over(world.data, sizeof(world.data), data + 2 + n, size - 2 - n);
	}
	fibers_show(ruby);
	struct sw_cursor cursor = {.snap = &world.base.snap,
				   .thread = &world.base.thread,
				   .memory = ruby->vm.memory,
				   .place = ruby->found.place,
				   .lookup_avma = CODE + 5,
				   .depth = 2};
	sw_regs_set(&cursor.regs, SW_ARCH_RA, CODE + 6);
	sw_regs_set(&cursor.regs, SW_ARCH_SP, RUBY_FIBER_VALUES - 16);
	(void) sw_ruby_fiber_root_step(ruby, &cursor, &stepped);
	if (world.fake.reads > READS_MAX)
		__builtin_trap(); /* every loop has a limit */
	ruby_fiber_world_deinit(&world);
	return 0;
}
