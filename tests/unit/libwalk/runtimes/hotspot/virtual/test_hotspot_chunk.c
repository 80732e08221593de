/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/hotspot/virtual/chunk: frames of a virtual thread that no thread carries, over a made chunk. */
#include "hotspot_world.h"
#include "runtimes/hotspot/virtual/chunk.h"
#include "test.h"

enum { FRAMES = 16 };

struct frame {
	uint64_t pc, method, bcp;
};

static struct hotspot_world world;
static uint64_t interpreter;
static struct frame frames[FRAMES];
static size_t n_frames, wanted;

static void word(uint64_t chunk, unsigned index, uint64_t value)
{
	hotspot_world_chunk_word(&world, chunk, index, value);
}

static void chunk_put(uint64_t chunk, uint32_t sp, uint32_t bottom, uint64_t parent)
{
	hotspot_world_chunk_head(&world, chunk, sp, bottom, parent);
}

static int setup(void **state)
{
	static const uint8_t entry[] = {0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8, 0x50,
					0x55, 0x48, 0x8b, 0xec, 0x41, 0x55};
	(void) state;
	hotspot_world_init(&world);
	interpreter = hotspot_world_interpreter(&world, entry, sizeof(entry));
	hotspot_world_locks(&world);
	hotspot_world_chunk(&world, interpreter);
	n_frames = 0;
	wanted = FRAMES;
	return 0;
}

static int teardown(void **state)
{
	(void) state;
	hotspot_world_deinit(&world);
	return 0;
}

static bool frame_add(void *arg, uint64_t pc, uint64_t method, uint64_t bcp)
{
	(void) arg;
	if (n_frames < FRAMES)
		frames[n_frames++] = (struct frame){pc, method, bcp};
	return n_frames < wanted;
}

static bool read_frames(uint64_t object)
{
	const struct sw_hotspot_thread_layout *layout =
		sw_hotspot_thread_layout(&world.h, WORLD_THREAD);
	assert_non_null(layout);
	n_frames = 0;
	return sw_hotspot_chunk_frames(&world.h, layout, world.h.memory, object, frame_add, NULL);
}

static void is(size_t i, uint64_t pc, uint64_t method, uint64_t bcp)
{
	assert_true(i < n_frames);
	assert_int_equal(frames[i].pc, pc);
	assert_int_equal(frames[i].method, method);
	assert_int_equal(frames[i].bcp, bcp);
}

TEST_WITH(test_frames, setup, teardown)
{
	assert_true(read_frames(WORLD_VIRTUAL));
	assert_int_equal(n_frames, 3);
	is(0, WORLD_CALL, 0, 0);
	is(1, interpreter, WORLD_INNER, 0x1234);
	is(2, WORLD_CALL + 4, 0, 0);
	wanted = 2;
	assert_true(read_frames(WORLD_VIRTUAL));
	assert_int_equal(n_frames, 2);
}

/* An interpreted method that another one called, and whose variables are the last words of the chunk. */
TEST_WITH(test_interpreted, setup, teardown)
{
	word(WORLD_CHUNK, 18, 12); /* to word 30 */
	word(WORLD_CHUNK, 19, interpreter);
	word(WORLD_CHUNK, 22, 0x5678);
	word(WORLD_CHUNK, 23, 4);
	word(WORLD_CHUNK, 27, WORLD_OUTER);
	hotspot_world_u32(&world, WORLD_CHUNK + 16, 35);
	assert_true(read_frames(WORLD_VIRTUAL));
	assert_int_equal(n_frames, 3);
	is(1, interpreter, WORLD_INNER, 0x1234);
	is(2, interpreter, WORLD_OUTER, 0x5678);
}

/* The stack goes on in another chunk; one may be empty. */
TEST_WITH(test_parents, setup, teardown)
{
	hotspot_world_u32(&world, WORLD_CHUNK + 24, WORLD_PARENT);
	chunk_put(WORLD_PARENT, 6, 10, 0);
	word(WORLD_PARENT, 5, WORLD_CALL + 8);
	assert_true(read_frames(WORLD_VIRTUAL));
	assert_int_equal(n_frames, 4);
	is(3, WORLD_CALL + 8, 0, 0);
	chunk_put(WORLD_CHUNK, 26, 26, WORLD_PARENT);
	assert_true(read_frames(WORLD_VIRTUAL));
	assert_int_equal(n_frames, 1);
	chunk_put(WORLD_PARENT, 10, 10, WORLD_PARENT); /* without end */
	assert_false(read_frames(WORLD_VIRTUAL));
}

TEST_WITH(test_hostile, setup, teardown)
{
	static const struct {
		unsigned word;
		uint64_t value;
	} words[] = {{3, 0},           {3, WORLD_HEAP_END},      {6, 0},        {6, UINT64_MAX},
		     {6, 1 << 20},     {7, WORLD_HEAP + 0x2ff0}, {11, 1 << 20}, {17, 0},
		     {17, UINT64_MAX}, {17, UINT64_MAX / 8},     {19, 0}};
	static const uint32_t heads[][2] = {{27, 26},
					    {4, WORLD_CHUNK_WORDS + 1},
					    {UINT32_MAX, 26},
					    {0, 26}};
	static const uint64_t objects[] = {0,           8,
					   WORLD_CHUNK, WORLD_CONTINUATION,
					   WORLD_LOCK,  UINT64_MAX - 7};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		word(WORLD_CHUNK, words[i].word, words[i].value);
		if (words[i].word == 11) { /* the variables come last: so it is the last frame */
			assert_true(read_frames(WORLD_VIRTUAL));
			assert_int_equal(n_frames, 2);
		} else {
			assert_false(read_frames(WORLD_VIRTUAL));
		}
		assert_int_equal(teardown(NULL), 0);
		assert_int_equal(setup(NULL), 0);
	}
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		chunk_put(WORLD_CHUNK, heads[i][0], heads[i][1], 0);
		assert_false(read_frames(WORLD_VIRTUAL));
	}
	chunk_put(WORLD_CHUNK, 4, 26, 0);
	hotspot_world_u32(&world, WORLD_CHUNK + 20, 1 << 20); /* more than are read */
	assert_false(read_frames(WORLD_VIRTUAL));
	chunk_put(WORLD_CHUNK, 4, 26, 0);
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		assert_false(read_frames(objects[i]));
	assert_true(read_frames(WORLD_VIRTUAL));
	hotspot_world_u64(&world, WORLD_CHUNK, 3); /* moved */
	assert_false(read_frames(WORLD_VIRTUAL));
	hotspot_world_u64(&world, WORLD_CHUNK, 1);
	hotspot_world_u64(&world, WORLD_COLLECTOR + 8, 1);
	assert_false(read_frames(WORLD_VIRTUAL));
}
