/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/objects/pal: who has the mutex that a thread waits for, in structures as .NET 9 and 10 have them. */
#include "runtimes/clr/objects/pal.h"
#include "fake.h"
#include "test.h"

#define DATA UINT64_C(0x500000000000)

enum { THREAD = 0x100, NODE = 0x800, SYNC = 0x900, DATA_BYTES = 0x1000, TID = 77, OWNER = 78 };

static struct world {
	uint8_t data[DATA_BYTES];
	struct fake_region region;
	struct fake_memory fake;
	struct sw_memory memory;
	struct sw_clr_pal at;
	uint64_t avma;
	uint32_t owner;
} w;

static void put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(w.data + at, &value, bytes);
}

static void make(long major)
{
	memset(&w, 0, sizeof(w));
	w.region = (struct fake_region){DATA, w.data, DATA_BYTES};
	w.fake = (struct fake_memory){.regions = &w.region, .n_regions = 1};
	w.memory = fake_memory(&w.fake);
	w.at = sw_clr_pal_of(major, false);
	assert_true(w.at.usable);
	put(THREAD + w.at.tid, TID, 8);
	put(THREAD + w.at.self, DATA + THREAD, 8);
	put(THREAD + w.at.self + 8, DATA + NODE, 8);
	put(NODE + w.at.data, DATA + SYNC, 8);
	put(SYNC + w.at.kind, 2, 4);
	put(SYNC + w.at.owned, 1, 4);
	put(SYNC + w.at.owner, OWNER, 4);
}

static bool mutex(void)
{
	w.avma = w.owner = 0;
	return sw_clr_pal_mutex(&w.at, w.memory, DATA + THREAD, &w.avma, &w.owner);
}

TEST(versions)
{
	static const long unknown[] = {0, 7, 11};
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		assert_false(sw_clr_pal_of(unknown[i], false).usable);
	assert_false(sw_clr_pal_of(10, true).usable);
	assert_int_equal(sw_clr_pal_of(8, false).owner, 56);
	assert_int_equal(sw_clr_pal_of(9, false).self, 536);
	assert_int_equal(sw_clr_pal_of(10, false).tid, 80);
}

TEST(thread)
{
	make(10);
	assert_int_equal(sw_clr_pal_thread(&w.at, w.memory, DATA + THREAD), TID);
	assert_int_equal(sw_clr_pal_thread(&w.at, w.memory, DATA + THREAD + 8), 0);
	assert_int_equal(sw_clr_pal_thread(&w.at, w.memory, DATA - 8), 0);
	put(THREAD + w.at.tid, UINT64_C(1) << 32 | TID, 8);
	assert_int_equal(sw_clr_pal_thread(&w.at, w.memory, DATA + THREAD), 0);
	make(10);
	put(THREAD + w.at.self, DATA + THREAD + 8, 8);
	assert_int_equal(sw_clr_pal_thread(&w.at, w.memory, DATA + THREAD), 0);
	w.at.usable = false;
	put(THREAD + w.at.self, DATA + THREAD, 8);
	assert_int_equal(sw_clr_pal_thread(&w.at, w.memory, DATA + THREAD), 0);
}

TEST(owner)
{
	static const long versions[] = {8, 9, 10};
	for (size_t i = 0; i < 3; i++) {
		make(versions[i]);
		assert_true(mutex());
		assert_int_equal(w.owner, OWNER);
		assert_int_equal(w.avma, DATA + SYNC);
	}
}

/* An event, a mutex that nobody has, and what does not fit. */
TEST(no_owner)
{
	make(10);
	put(SYNC + w.at.kind, 1, 4);
	assert_false(mutex());
	make(10);
	put(SYNC + w.at.owned, 0, 4);
	assert_false(mutex());
	make(10);
	put(SYNC + w.at.owner, 0, 4);
	assert_false(mutex());
	make(10);
	put(NODE + w.at.data, DATA + SYNC + 1, 8);
	assert_false(mutex());
	make(10);
	put(THREAD + w.at.self + 8, DATA - 64, 8);
	assert_false(mutex());
}
