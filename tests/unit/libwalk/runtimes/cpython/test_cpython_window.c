/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/cpython/window: what is copied of a thread's frames, and of the lock, in each of several windows. */
#include "cpython_world.h"
#include "arch/arch.h"
#include "runtimes/cpython/gil.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/window.h"
#include "test.h"

enum { COPIES_MAX = 128 };

static struct cpython_world world;
static struct fake_region copies[COPIES_MAX];
static size_t n_copies;
static bool whole;

static bool copy(struct sw_capture *capture, uint64_t avma, size_t bytes, const uint8_t **ret)
{
	if (n_copies == COPIES_MAX || avma < WORLD || bytes > WORLD_BYTES ||
	    avma - WORLD > WORLD_BYTES - bytes)
		return false;
	*ret = world.data + (avma - WORLD);
	copies[n_copies++] = (struct fake_region){avma, *ret, bytes};
	return true;
}

static void read_many(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		reads[i].ok = sw_memory_read(world.c.memory, reads[i].avma, reads[i].buffer,
					     reads[i].bytes);
}

static bool is_whole(struct sw_capture *capture)
{
	return whole;
}

static bool is_late(struct sw_capture *capture)
{
	return false;
}

static bool is_copied(uint64_t avma, size_t bytes)
{
	for (size_t i = 0; i < n_copies; i++)
		if (avma >= copies[i].start_avma && avma - copies[i].start_avma < copies[i].size &&
		    bytes <= copies[i].size - (avma - copies[i].start_avma))
			return true;
	return false;
}

static size_t copies_of(uint64_t avma, size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < n_copies; i++)
		n += copies[i].start_avma == avma && copies[i].size == bytes;
	return n;
}

/* A deep stack leaves space for the names of its innermost frames. */
TEST(test_partial)
{
	struct sw_cpython_chain chain = {.partial = true, .frames_max = 2};
	struct sw_cpython_frame frames[2];
	struct sw_cpython_group groups[SW_CPYTHON_GROUPS_MAX / 1024];
	struct sw_regs regs = {0};
	chain.frames = frames;
	chain.groups = groups;
	for (unsigned minor = 11; minor <= 13; minor++) {
		cpython_world_init(&world, minor);
		cpython_world_u64(&world, cpython_world_frame(0) + world.c.at.layout.frame_previous,
				  cpython_world_frame(0));
		sw_cpython_chain_reset(&chain);
		sw_cpython_chain_add(&world.c.at, world.c.memory, WORLD_THREAD, &regs, &chain);
		assert_true(chain.limited);
		assert_int_equal(chain.n_frames, 2);
		assert_int_equal(chain.n_groups, 0);
		assert_int_equal(chain.frames[0].avma, cpython_world_frame(0));
		chain.partial = false;
		sw_cpython_chain_reset(&chain);
		sw_cpython_chain_add(&world.c.at, world.c.memory, WORLD_THREAD, &regs, &chain);
		assert_true(chain.limited);
		assert_true(chain.n_frames < 2); /* that of the outer activation */
		chain.partial = true;
		cpython_world_deinit(&world);
	}
}

/* A window that is repeated begins anew. The lock is copied where nobody runs, as its owner is another one later. */
TEST(test_repeated)
{
	static const struct sw_capture_ops ops = {.copy = copy,
						  .read_many = read_many,
						  .is_whole = is_whole,
						  .is_late = is_late};
	struct sw_cpython_window *w = calloc(1, sizeof(*w));
	struct sw_thread thread = {.tid = 100, .fs_base = WORLD_ID};
	uint64_t gil;
	void *found = w;
	assert_non_null(w);
	cpython_world_init(&world, 12);
	struct sw_capture capture = {.snap = &world.snap, .ops = &ops, .found = &found};
	w->at = world.c.at;
	w->blocks = (struct sw_copied_blocks){.slots = w->slots,
					      .n_slots = SW_CPYTHON_SLOTS,
					      .block_bytes = SW_CPYTHON_BLOCK_BYTES,
					      .max = SW_CPYTHON_BLOCKS_MAX};
	w->chain.frames_max = SW_CPYTHON_FRAMES_MAX;
	w->chain.frames = calloc(SW_CPYTHON_FRAMES_MAX, sizeof(*w->chain.frames));
	w->chain.groups = calloc(SW_CPYTHON_GROUPS_MAX, sizeof(*w->chain.groups));
	assert_true(w->chain.frames != NULL && w->chain.groups != NULL);
	cpython_world_u64(&world, WORLD_INTERP + w->at.layout.interp_gil, WORLD_OBJECTS);
	assert_true(sw_cpython_gil_find(&w->at, world.c.memory, WORLD_INTERP, &gil));
	sw_regs_set(&thread.regs, SW_ARCH_SP, WORLD_STACK);
	sw_regs_set(&thread.regs, SW_ARCH_RA, 0x401000);
	world.snap.threads = &thread;
	world.snap.n_threads = 1;
	for (int i = 0; i < 4; i++) {
		n_copies = 0;
		whole = i % 2 == 0;
		thread.syscall = i < 2 ? -1 : 35; /* what it executes may be freed if it runs */
		assert_int_equal(sw_cpython_in_window(&capture), 0);
		for (unsigned k = 0; k < 3; k++)
			assert_true(is_copied(cpython_world_frame(k), w->at.layout.frame_bytes));
		assert_int_equal(copies_of(gil, SW_CPYTHON_GIL_BYTES), whole);
		for (unsigned k = 0; k < 3; k++) {
			struct sw_cpython_code code;
			assert_true(sw_cpython_code_read(&w->at, world.c.memory,
							 cpython_world_code(k), &code));
			assert_int_equal(is_copied(code.function_avma, 64), i < 2);
			assert_int_equal(is_copied(code.filename_avma, 64), i < 2);
			assert_int_equal(is_copied(code.lines_avma, 40), i < 2);
		}
	}
	world.snap.n_threads = 0;
	free(w->chain.frames);
	free(w->chain.groups);
	free(w);
	cpython_world_deinit(&world);
}
