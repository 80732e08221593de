/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/hotspot/window: what is copied of the code cache, in each of several windows. */
#include "hotspot_world.h"
#include "arch/arch.h"
#include "runtimes/hotspot/window.h"
#include "test.h"

enum { COPIES_MAX = 64, SP = 0x8800, STACK_END = 0x9000 };

static struct hotspot_world world;
static uint64_t copies[COPIES_MAX];
static size_t n_copies, stack_bytes;

static bool copy(struct sw_capture *capture, uint64_t avma, size_t bytes, const uint8_t **ret)
{
	static uint8_t data[COPIES_MAX][SW_HOTSPOT_BLOB_BYTES];
	if (n_copies == COPIES_MAX || bytes > SW_HOTSPOT_BLOB_BYTES ||
	    !sw_memory_read(world.h.memory, avma, data[n_copies], bytes))
		return false;
	*ret = data[n_copies];
	copies[n_copies++] = avma;
	return true;
}

static void read_many(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		reads[i].ok = sw_memory_read(world.h.memory, reads[i].avma, reads[i].buffer,
					     reads[i].bytes);
}

/* A stack of nothing but one return address. */
static bool in_stack(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	static const uint64_t back = WORLD_CALL;
	if (avma != SP)
		return false;
	stack_bytes += bytes;
	memset(buffer, 0, bytes);
	memcpy(buffer, &back, sizeof(back));
	return true;
}

static bool is_whole(struct sw_capture *capture)
{
	return true;
}

/* The header of the method is copied in each window, as another one may have begun at its place. */
TEST(test_repeated)
{
	static const struct sw_capture_ops ops = {.copy = copy,
						  .read_many = read_many,
						  .in_stack = in_stack,
						  .is_whole = is_whole};
	struct sw_hotspot_window *window = calloc(1, sizeof(*window));
	void *found = window;
	struct sw_map stack = {.start_avma = 0x8000,
			       .end_avma = STACK_END,
			       .prot = SW_MAP_READ,
			       .path = ""};
	struct sw_thread thread = {.tid = 100};
	assert_non_null(window);
	hotspot_world_init(&world);
	struct sw_capture capture = {.snap = &world.snap, .ops = &ops, .found = &found};
	sw_regs_set(&thread.regs, SW_ARCH_RA, 0x1000);
	sw_regs_set(&thread.regs, SW_ARCH_SP, SP);
	world.snap.threads = &thread;
	world.snap.n_threads = 1;
	world.snap.maps = &stack;
	world.snap.n_maps = 1;
	window->at = world.h.at;
	window->cache = world.h.cache;
	for (int i = 0; i < 2; i++) {
		n_copies = stack_bytes = 0;
		assert_int_equal(sw_hotspot_in_window(&capture), 0);
		assert_int_equal(n_copies, 2); /* a line of the segment map, and the header */
		assert_int_equal(stack_bytes, STACK_END - SP);
		assert_int_equal(window->stacks_bytes, STACK_END - SP);
	}
	world.snap.n_threads = world.snap.n_maps = 0;
	hotspot_world_deinit(&world);
	free(window);
}
