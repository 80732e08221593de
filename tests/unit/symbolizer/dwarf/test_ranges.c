/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of ranges of a split unit, which is DWARF 4 or 5: each entry, its end, and nothing behind it. */
#include "dwarf/ranges.h"
#include "test.h"

enum { BASE = 0x400000, RANGES_OFF = 16 };

struct range {
	uint64_t start, end;
};

/* Exactly the ranges of the list at an offset. */
static void assert_list(const struct sw_dwarf_skeleton *skeleton, uint64_t off,
			const struct range *wanted, size_t n)
{
	struct sw_dwarf_ranges r = {.skeleton = skeleton, .base = BASE, .off = off, .own = true};
	uint64_t start, end;
	for (size_t i = 0; i < n; i++) {
		assert_true(sw_dwarf_ranges_next(&r, &start, &end));
		assert_int_equal(start, wanted[i].start);
		assert_int_equal(end, wanted[i].end);
	}
	assert_false(sw_dwarf_ranges_next(&r, &start, &end));
}

TEST(test_version_4)
{
	static const uint64_t words[] = {0x77, 0x88, /* of another list */
					 0x10, 0x20, UINT64_MAX, 0x500000,         0x30, 0x40, 0,
					 0,    0x50, 0x60,       /* likewise */ 0, 0};
	static const struct range wanted[] = {{BASE + 0x10, BASE + 0x20}, {0x500030, 0x500040}};
	struct sw_dwarf_skeleton skeleton = {
		.address_bytes = 8,
		.ranges = {(const uint8_t *) words, sizeof(words)},
	};
	assert_list(&skeleton, RANGES_OFF, wanted, 2);
	skeleton.ranges.size = RANGES_OFF + 16; /* cut */
	assert_list(&skeleton, RANGES_OFF, wanted, 1);
}

TEST(test_version_4_of_i386)
{
	static const uint32_t words[] = {0x10, 0x20, UINT32_MAX, 0x500000, 0x30, 0x40, 0, 0, 7, 8};
	static const struct range wanted[] = {{BASE + 0x10, BASE + 0x20}, {0x500030, 0x500040}};
	const struct sw_dwarf_skeleton skeleton = {
		.address_bytes = 4,
		.ranges = {(const uint8_t *) words, sizeof(words)},
	};
	assert_list(&skeleton, 0, wanted, 2);
}

TEST(test_version_5)
{
	/* offset_pair, base_addressx, offset_pair, startx_length, end_of_list; offset_pair of another list. */
	static const uint8_t list[] = {4, 0x10, 0x20, 1, 1, 4, 1, 2, 3, 0, 5, 0, 4, 7, 8};
	static const uint64_t addresses[] = {0x600000, 0x700000};
	static const struct range wanted[] = {{BASE + 0x10, BASE + 0x20},
					      {0x700001, 0x700002},
					      {0x600000, 0x600005}};
	const struct sw_dwarf_skeleton skeleton = {
		.address_bytes = 8,
		.addr = {(const uint8_t *) addresses, sizeof(addresses)},
		.rnglists = {list, sizeof(list)},
	};
	assert_list(&skeleton, 0, wanted, 3);
}
