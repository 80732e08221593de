/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/code/collectible.h"
#include "capture/space.h"
#include "clr_world.h"
#include "test.h"

enum {
	PIECES_MAX = SW_CAPTURE_RANGES,
	BODY = 0x100,
	MADE = 0x240,
	SLOT = 4 * 0x800 + 8 * (int) (WORLD_CODE >> 17 & 0xff), /* in WORLD_DATA: the code's */
	BODY_METHOD = 0x6020,                                   /* third of its chunk */
	MADE_METHOD = 0x6118,
	NAME = 0x6230, /* its first block ends at 0x6240 */
};

struct scene {
	struct clr_world world;
	struct sw_capture_space space;
	struct sw_capture_part parts[PIECES_MAX];
	struct sw_capture capture;
};

static struct scene s;

/* A method and a dynamic method with a funclet in a heap of 0x400 bytes; which may be freed or not. */
static void scene_make(bool collectible)
{
	static const struct sw_pe_function body[] = {{BODY, BODY + 0x40, 0x180}};
	static const struct sw_pe_function made[] = {{MADE, MADE + 0x20, 0x180},
						     {MADE + 0x20, MADE + 0x30, 0x180}};
	struct clr_world *w = &s.world;
	clr_world_init(w, 2);
	clr_world_u64(w, WORLD_DATA + SLOT, WORLD_DATA + WORLD_JIT_FRAGMENT + collectible);
	clr_world_u64(w, WORLD_DATA + WORLD_HEAP + 24, WORLD_CODE + 0x400);
	clr_world_method(w, BODY, 0x40, WORLD_DATA + BODY_METHOD, body, 1);
	clr_world_method(w, MADE, 0x30, WORLD_DATA + MADE_METHOD, made, 2);
	clr_world_stub(w, 0x300, 0x20, 4);
	clr_world_u32(w, WORLD_DATA + BODY_METHOD, UINT32_C(1) << 16); /* ChunkIndex */
	clr_world_u32(w, WORLD_DATA + MADE_METHOD + 4, UINT32_C(7) << 16);
	clr_world_u64(w, WORLD_DATA + MADE_METHOD + 24, WORLD_DATA + NAME);
	clr_world_bytes(w, WORLD_DATA + NAME, "A name of two blocks",
			sizeof("A name of two blocks"));
	memset(&s.space, 0, sizeof(s.space));
	memset(s.parts, 0, sizeof(s.parts));
	s.space.parts = s.parts;
	s.space.parts_max = PIECES_MAX;
	s.capture = sw_capture_of(&s.space);
}

static void look(void)
{
	sw_clr_collectible_want(&s.capture, &s.world.runtime, clr_world_memory(&s.world));
}

static bool wanted(uint64_t avma, size_t bytes)
{
	for (size_t i = 0; i < s.space.n_parts; i++)
		if (s.parts[i].avma == avma && s.parts[i].bytes == bytes)
			return true;
	return false;
}

/* All that the way from an address to a name leads through, and nothing else. */
TEST(test_everything)
{
	scene_make(true);
	look();
	assert_true(wanted(WORLD_DATA + SLOT, 8));
	assert_true(wanted(WORLD_DATA + WORLD_JIT_FRAGMENT, 32));
	assert_true(wanted(WORLD_DATA + WORLD_JIT_SECTION, 72));
	assert_true(wanted(WORLD_DATA + WORLD_HEAP, 48));
	assert_true(wanted(WORLD_DATA + WORLD_NIBBLES, 5 * 4));
	assert_true(wanted(WORLD_CODE, 0x400));
	uint64_t header;
	memcpy(&header, s.world.code + BODY - 8, sizeof(header));
	assert_true(wanted(header, 36 + 12 + 8));
	memcpy(&header, s.world.code + MADE - 8, sizeof(header));
	assert_true(wanted(header, 36 + 24 + 8));
	assert_true(wanted(WORLD_DATA + BODY_METHOD, 32));
	assert_true(wanted(WORLD_DATA + BODY_METHOD - 8 - 24, 24)); /* the chunk */
	assert_true(wanted(WORLD_DATA + MADE_METHOD, 32));
	assert_true(wanted(WORLD_DATA + MADE_METHOD - 24, 24));
	assert_true(wanted(WORLD_DATA + NAME, 16)); /* as clr_string.c reads it */
	assert_true(wanted(WORLD_DATA + NAME + 16, 64));
	assert_int_equal(s.space.n_parts, 14);
}

TEST(test_not_collectible)
{
	scene_make(false);
	look();
	assert_int_equal(s.space.n_parts, 0);
	scene_make(true);
	s.world.runtime.usable = false;
	look();
	assert_int_equal(s.space.n_parts, 0);
}

/* Behind a fragment that is not: its pointer is what changes. */
TEST(test_second_fragment)
{
	scene_make(true);
	clr_world_u64(&s.world, WORLD_DATA + SLOT, WORLD_DATA + WORLD_R2R_FRAGMENT);
	clr_world_u64(&s.world, WORLD_DATA + WORLD_R2R_FRAGMENT,
		      (WORLD_DATA + WORLD_JIT_FRAGMENT) | 1);
	look();
	assert_true(wanted(WORLD_DATA + WORLD_R2R_FRAGMENT, 8));
	assert_true(wanted(WORLD_CODE, 0x400));
}

/* Fragments in a circle, a heap without an end, a map that leads back to itself: it ends, and takes no
 * more than its part of the space. */
TEST(test_hostile)
{
	for (uint64_t bit = 0; bit < 2; bit++) {
		scene_make(bit);
		clr_world_u64(&s.world, WORLD_DATA + WORLD_JIT_FRAGMENT,
			      (WORLD_DATA + WORLD_JIT_FRAGMENT) | bit);
		look();
		assert_true(s.space.n_parts <= SW_CAPTURE_RANGES);
	}
	scene_make(true);
	clr_world_u64(&s.world, WORLD_DATA + WORLD_HEAP + 24, UINT64_MAX);
	look();
	assert_int_equal(s.space.n_parts, 3); /* the way to it */
	scene_make(true);
	for (uint64_t i = 0; i < 256; i++)
		clr_world_u64(&s.world, WORLD_DATA + 8 * i, WORLD_DATA | 1);
	look();
	assert_true(s.space.want_bytes <= 384 << 10);
}
