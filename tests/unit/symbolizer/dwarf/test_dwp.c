/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The index of .dwp files: found, not there, and every number in it as it must not be. */
#include "dwarf/dwp.h"
#include "test.h"

enum { SLOTS = 4, COLUMNS = 2, UNITS = 3, OFF_IDS = 16, OFF_ROWS = OFF_IDS + SLOTS * 8 };

/* Three units in four slots. B's slot is A's: its second hash makes it step three further. */
static const uint64_t A = UINT64_C(0x0000000000000001), B = UINT64_C(0x0000000200000001),
		      C = UINT64_C(0x0000000000000002), ABSENT = UINT64_C(0x0000000100000001);

struct made {
	uint8_t bytes[OFF_ROWS + SLOTS * 4];
};

static void put32(struct made *m, size_t at, uint32_t value)
{
	memcpy(m->bytes + at, &value, sizeof(value));
}

static void slot_put(struct made *m, uint32_t slot, uint64_t id, uint32_t row)
{
	memcpy(m->bytes + OFF_IDS + slot * 8, &id, sizeof(id));
	put32(m, OFF_ROWS + slot * 4, row);
}

static struct sw_bytes make(struct made *m, uint32_t version)
{
	*m = (struct made){0};
	put32(m, 0, version);
	put32(m, 4, COLUMNS);
	put32(m, 8, UNITS);
	put32(m, 12, SLOTS);
	slot_put(m, 1, A, 1);
	slot_put(m, 0, B, 2);
	slot_put(m, 2, C, 3);
	return (struct sw_bytes){m->bytes, sizeof(m->bytes)};
}

TEST(test_found)
{
	struct made m;
	for (uint32_t version = 2; version <= 5; version += 3) {
		struct sw_bytes index = make(&m, version);
		assert_int_equal(sw_dwp_row(index, A), 1);
		assert_int_equal(sw_dwp_row(index, B), 2);
		assert_int_equal(sw_dwp_row(index, C), 3);
		assert_int_equal(sw_dwp_row(index, ABSENT), 0);
	}
}

TEST(test_full)
{
	struct made m;
	struct sw_bytes index = make(&m, 5);
	slot_put(&m, 3, 77, 1); /* no empty slot ends the search */
	assert_int_equal(sw_dwp_row(index, ABSENT), 0);
	assert_int_equal(sw_dwp_row(index, C), 3);
}

TEST(test_broken)
{
	static const struct {
		size_t at;
		uint32_t value;
	} faults[] = {{0, 3}, {0, 0x00010005}, {4, 17}, {12, 0}, {12, 3}, {12, 1u << 31}, {8, 0}};
	struct made m;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct sw_bytes index = make(&m, 2);
		put32(&m, faults[i].at, faults[i].value);
		assert_int_equal(sw_dwp_row(index, A), 0);
	}
	struct sw_bytes index = make(&m, 2);
	for (size_t n = 0; n < sizeof(m.bytes); n++)
		assert_int_equal(sw_dwp_row((struct sw_bytes){index.data, n}, A), 0);
	put32(&m, OFF_ROWS + 4, UNITS + 1); /* a row behind the last one */
	assert_int_equal(sw_dwp_row(index, A), 0);
}
