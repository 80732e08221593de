/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/common/parts.h"
#include "jit/common/stop.h"
#include "capture/space.h"
#include "cleanup.h"
#include "fake.h"
#include "test.h"

/* The wanted parts, in the order of addresses. */
static void wanted_are(struct sw_jit_parts *parts, const struct sw_jit_part *wanted, size_t n)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	struct sw_capture_space space = {.snap = snap};
	struct sw_capture capture = sw_capture_of(&space);
	space.parts = calloc(SW_CAPTURE_RANGES, sizeof(*space.parts));
	assert_non_null(space.parts);
	assert_int_equal(sw_jit_parts_want(parts, &capture), 0);
	assert_int_equal(space.n_parts, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(space.parts[i].avma, wanted[i].start_avma);
		assert_int_equal(space.parts[i].bytes, wanted[i].end_avma - wanted[i].start_avma);
	}
	free(space.parts);
	fake_snapshot_destroy(snap);
}

#define WANTED(...)                                \
	(const struct sw_jit_part[]){__VA_ARGS__}, \
		sizeof((const struct sw_jit_part[]){__VA_ARGS__}) / sizeof(struct sw_jit_part)

TEST(test_neighbours)
{
	struct sw_jit_parts p = {0};
	sw_jit_parts_add(&p, 0x9000, 32);
	sw_jit_parts_add(&p, 0x1000, 32);
	sw_jit_parts_add(&p, 0x1020, 8);  /* goes on */
	sw_jit_parts_add(&p, 0x1010, 8);  /* is in it */
	sw_jit_parts_add(&p, 0x1100, 16); /* near */
	sw_jit_parts_add(&p, 0x1211, 16); /* not near: 257 bytes away */
	sw_jit_parts_add(&p, 0x5000, 0);
	assert_int_equal(p.bytes, 32 + 40 + 16 + 16);
	wanted_are(&p, WANTED({0x1000, 0x1110}, {0x1211, 0x1221}, {0x9000, 0x9020}));
}

TEST(test_too_many)
{
	struct sw_jit_parts p = {0};
	for (uint64_t i = 0; i < SW_JIT_PARTS_MAX; i++)
		sw_jit_parts_add(&p, 0x10000 * (i + 1), 8);
	assert_false(p.too_many);
	sw_jit_parts_add(&p, 8, 8);
	assert_true(p.too_many);
	wanted_are(&p, NULL, 0);

	p = (struct sw_jit_parts){0};
	sw_jit_parts_add(&p, 0x1000, SW_JIT_PARTS_BYTES);
	assert_false(p.too_many);
	sw_jit_parts_add(&p, 0x1, 1);
	assert_true(p.too_many);

	p = (struct sw_jit_parts){0};
	sw_jit_parts_add(&p, 0x1000, UINT64_MAX);
	assert_true(p.too_many);
	p = (struct sw_jit_parts){0};
	sw_jit_parts_add(&p, UINT64_MAX - 7, 16);
	assert_true(p.too_many);
}

/* Neighbours that come downwards: joined when there is no more place, with the gaps between them. */
TEST(test_dense)
{
	struct sw_jit_parts p = {.dense = true};
	for (uint64_t i = 0; i < 1000; i++)
		sw_jit_parts_add(&p, 0x100000 - 64 * i, 48);
	assert_false(p.too_many);
	wanted_are(&p, WANTED({0x100000 - 64 * 999, 0x100000 + 48}));
	assert_int_equal(p.bytes, 64 * 999 + 48);

	p = (struct sw_jit_parts){.dense = true}; /* as many as are not worth it */
	for (uint64_t i = 0; i <= SW_JIT_PARTS_MAX; i++)
		sw_jit_parts_add(&p, 0x1000 * (i + 1), 8);
	assert_true(p.too_many);

	p = (struct sw_jit_parts){.dense = true, .most_bytes = 8192};
	for (uint64_t i = 0; i < 8192 / 256 + SW_JIT_PARTS_MAX; i++)
		sw_jit_parts_add(&p, 0x100000 - 256 * i, 8);
	assert_true(p.too_many); /* with the gaps */
}

/* In the stop: what was wanted is here, and only that which was really copied. */
TEST(test_wanted)
{
	uint8_t bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8}, to[8];
	struct sw_capture_part parts[] = {{.avma = 0x5000, .bytes = 8, .to = bytes},
					  {.avma = 0x1000, .bytes = 4, .to = bytes + 2}};
	struct sw_capture_space space = {.parts = parts, .n_parts = 2, .n_want = 2};
	struct sw_capture capture = sw_capture_of(&space);
	assert_true(sw_capture_wanted(&capture, 0x5001, to, 7));
	assert_memory_equal(to, bytes + 1, 7);
	assert_true(sw_capture_wanted(&capture, 0x1000, to, 4));
	assert_memory_equal(to, bytes + 2, 4);
	assert_false(sw_capture_wanted(&capture, 0x5001, to, 8));
	assert_false(sw_capture_wanted(&capture, 0x4fff, to, 1));
	assert_false(sw_capture_wanted(&capture, 0x1004, to, 1));
	space.n_want = 1; /* the second is somebody's stack */
	assert_false(sw_capture_wanted(&capture, 0x1000, to, 4));

	struct sw_jit_stop stop = {.capture = &capture};
	uint64_t word;
	assert_true(sw_memory_u64(sw_jit_stop_memory(&stop), 0x5000, &word));
	assert_int_equal(word, 0x0807060504030201);
	assert_false(sw_memory_u64(sw_jit_stop_memory(&stop), 0x6000, &word)); /* none left */
}
