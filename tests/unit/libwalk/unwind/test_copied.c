/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/copied.h"
#include "memory_blocks.h"
#include "test.h"

enum { BASE = 0x10000, BLOCK = 16, SLOTS = 16, MAX = 4 };

/* Memory of which there are BYTES from BASE on; what copies of it were asked for. */
static struct {
	uint8_t bytes[8 * BLOCK];
	size_t n_asked;
	bool late;
} world;

static bool copy(struct sw_capture *capture, uint64_t avma, size_t bytes, const uint8_t **ret_data)
{
	world.n_asked++;
	if (avma < BASE || avma - BASE > sizeof(world.bytes) - bytes)
		return false;
	*ret_data = world.bytes + (avma - BASE);
	return true;
}

static bool is_late(struct sw_capture *capture)
{
	return world.late;
}

static const struct sw_capture_ops ops = {.copy = copy, .is_late = is_late};
static struct sw_capture capture = {.ops = &ops};
static struct sw_copied_block slots[SLOTS];

static struct sw_copied_blocks blocks_make(void)
{
	memset(&world, 0, sizeof(world));
	memset(slots, 0, sizeof(slots));
	for (size_t i = 0; i < sizeof(world.bytes); i++)
		world.bytes[i] = (uint8_t) i;
	struct sw_copied_blocks b = {.slots = slots,
				     .n_slots = SLOTS,
				     .block_bytes = BLOCK,
				     .max = MAX};
	sw_copied_blocks_begin(&b, &capture);
	return b;
}

TEST(test_each_once)
{
	uint8_t got[2 * BLOCK];
	struct sw_copied_blocks b = blocks_make();
	struct sw_memory m = sw_copied_blocks_memory(&b);
	assert_true(sw_memory_read(m, BASE + 5, got, sizeof(got)));
	assert_memory_equal(got, world.bytes + 5, sizeof(got));
	assert_int_equal(world.n_asked, 3);
	assert_true(sw_memory_read(m, BASE + 40, got, 8));
	assert_int_equal(world.n_asked, 3);
	/* The fifth does not fit; those that are there can be read. */
	assert_true(sw_memory_read(m, BASE + 3 * BLOCK, got, 1));
	assert_false(sw_copied_blocks_has_space(&b));
	assert_false(sw_memory_read(m, BASE + 4 * BLOCK, got, 1));
	assert_true(sw_memory_read(m, BASE, got, 1));
	assert_int_equal(world.n_asked, 4);
	/* The window is repeated. */
	sw_copied_blocks_begin(&b, &capture);
	assert_true(sw_memory_read(m, BASE + 4 * BLOCK, got, 1));
	assert_int_equal(world.n_asked, 5);
}

TEST(test_unreadable)
{
	uint8_t got[8];
	struct sw_copied_blocks b = blocks_make();
	struct sw_memory m = sw_copied_blocks_memory(&b);
	/* The block at 0 is never asked for; what goes beyond the last address is none. */
	assert_false(sw_memory_read(m, 4, got, 4));
	assert_false(sw_memory_read(m, UINT64_MAX - 3, got, 8));
	assert_int_equal(world.n_asked, 0);
	for (int i = 0; i < 2; i++)
		assert_false(sw_memory_read(m, 2 * BASE, got, 1));
	assert_int_equal(world.n_asked, 2);
	assert_int_equal(b.n, 0);
	b.once = true;
	for (int i = 0; i < 2; i++)
		assert_false(sw_memory_read(m, 2 * BASE, got, 1));
	assert_int_equal(world.n_asked, 3);
	assert_int_equal(b.n, 1);
}

TEST(test_late)
{
	uint8_t got[1];
	struct sw_copied_blocks b = blocks_make();
	struct sw_memory m = sw_copied_blocks_memory(&b);
	assert_true(sw_memory_read(m, BASE, got, 1));
	b.until_late = world.late = true;
	assert_false(sw_memory_read(m, BASE + BLOCK, got, 1));
	assert_true(sw_memory_read(m, BASE, got, 1));
	assert_int_equal(world.n_asked, 1);
}

/* ---- blocks that are read, and not copied ------------------------------------------------------ */

static size_t n_reads;

static bool plain_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	n_reads++;
	if (avma >= 3 * SW_MEMORY_BLOCK_BYTES + 8)
		return false;
	if (avma + length > 3 * SW_MEMORY_BLOCK_BYTES + 8)
		return false;
	memset(buffer, (int) (avma / SW_MEMORY_BLOCK_BYTES), length);
	return true;
}

TEST(test_read_by_blocks)
{
	static const struct sw_memory_ops plain = {.read = plain_read};
	struct sw_memory_block *all = calloc(64, sizeof(*all));
	struct sw_memory_blocks b = {{&plain, NULL}, all, 64};
	struct sw_memory m = sw_memory_by_blocks(&b);
	uint64_t word;
	assert_non_null(all);
	for (unsigned i = 0; i < 100; i++)
		assert_true(sw_memory_u64(m, SW_MEMORY_BLOCK_BYTES + 8 * i, &word));
	assert_int_equal(n_reads, 1);
	assert_int_equal(word, UINT64_C(0x0101010101010101));
	/* A block of which there is only a part, and what lies in two. */
	assert_true(sw_memory_u64(m, 3 * SW_MEMORY_BLOCK_BYTES, &word));
	assert_false(sw_memory_u64(m, 3 * SW_MEMORY_BLOCK_BYTES + 8, &word));
	assert_true(sw_memory_u64(m, 2 * SW_MEMORY_BLOCK_BYTES - 4, &word));
	free(all);
}
