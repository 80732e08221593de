/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf_units.h"
#include "test.h"

struct aranges {
	uint8_t bytes[512];
	size_t size;
};

static void put(struct aranges *a, uint64_t value, size_t bytes)
{
	assert_true(a->size + bytes <= sizeof(a->bytes));
	memcpy(a->bytes + a->size, &value, bytes);
	a->size += bytes;
}

/* Put a set with two ranges and the pair of zeros that ends it. */
static void put_set(struct aranges *a, uint64_t unit_off, uint64_t start, uint64_t bytes)
{
	put(a, 12 + 48, 4); /* length of what follows */
	put(a, 2, 2);
	put(a, unit_off, 4);
	put(a, 8, 1);
	put(a, 0, 1);
	put(a, 0, 4); /* to the next multiple of 16 */
	put(a, start, 8);
	put(a, bytes, 8);
	put(a, start + 0x10000, 8);
	put(a, bytes, 8);
	put(a, 0, 8);
	put(a, 0, 8);
}

/* The same with 64-bit lengths and offsets: header of 24 bytes, aligned to 32. */
static void put_wide_set(struct aranges *a, uint64_t unit_off, uint64_t start, uint64_t bytes)
{
	put(a, UINT32_MAX, 4);
	put(a, 20 + 32, 8);
	put(a, 2, 2);
	put(a, unit_off, 8);
	put(a, 8, 1);
	put(a, 0, 1);
	put(a, 0, 8);
	put(a, start, 8);
	put(a, bytes, 8);
	put(a, 0, 8);
	put(a, 0, 8);
}

/* Put a set of i386: tuples of 8 bytes, with their header of 12 aligned to that. */
static void put_set_i386(struct aranges *a, uint64_t unit_off, uint64_t start, uint64_t bytes)
{
	put(a, 12 + 24, 4);
	put(a, 2, 2);
	put(a, unit_off, 4);
	put(a, 4, 1);
	put(a, 0, 1);
	put(a, 0, 4);
	put(a, start, 4);
	put(a, bytes, 4);
	put(a, start + 0x10000, 4);
	put(a, bytes, 4);
	put(a, 0, 4);
	put(a, 0, 4);
}

static struct sw_bytes bytes_of(const struct aranges *a)
{
	return (struct sw_bytes){a->bytes, a->size};
}

static struct sw_dwarf_want want_at(uint64_t svma)
{
	return (struct sw_dwarf_want){.svma = svma, .die_off = SW_NO_UNIT};
}

static void assert_match(const struct aranges *a, struct sw_dwarf_want *wants,
			 const uint64_t *expected, size_t n)
{
	sw_dwarf_aranges_match(bytes_of(a), wants, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(wants[i].die_off, expected[i]);
}

TEST(test_match)
{
	struct aranges a = {0};
	put_set(&a, 0x11, 0x1000, 0x100);
	put_wide_set(&a, 0x2200, 0x5000, 0x10);
	put_set(&a, 0x33, 0x2000, 1);
	struct sw_dwarf_want wants[] = {
		want_at(0xfff),   want_at(0x1000),  want_at(0x10ff), want_at(0x1100),
		want_at(0x2000),  want_at(0x2001),  want_at(0x5000), want_at(0x5010),
		want_at(0x11000), want_at(0x12000),
	};
	static const uint64_t expected[] = {SW_NO_UNIT, 0x11,   0x11,       SW_NO_UNIT, 0x33,
					    SW_NO_UNIT, 0x2200, SW_NO_UNIT, 0x11,       0x33};
	assert_match(&a, wants, expected, 10);
}

TEST(test_addresses_of_4_bytes)
{
	struct aranges a = {0};
	put_set_i386(&a, 0x11, 0x8049000, 0x100);
	put_set(&a, 0x22, 0x5000, 0x10);
	put_set_i386(&a, 0x33, 0xfffff000, 0x10);
	struct sw_dwarf_want wants[] = {
		want_at(0x5000),    want_at(0x8048fff), want_at(0x8049000),  want_at(0x80490ff),
		want_at(0x8049100), want_at(0x8059000), want_at(0xfffff00f), want_at(0x10000f000),
	};
	static const uint64_t expected[] = {0x22,       SW_NO_UNIT, 0x11, 0x11,
					    SW_NO_UNIT, 0x11,       0x33, SW_NO_UNIT};
	assert_match(&a, wants, expected, 8);
}

/* Versions, address sizes and segments that nobody writes: skipped, what follows is read. */
TEST(test_unknown_set_is_skipped)
{
	static const struct {
		size_t at;
		uint8_t value;
	} edits[] = {{4, 3}, {10, 2}, {11, 1}};
	for (size_t i = 0; i < 3; i++) {
		struct aranges a = {0};
		put_set(&a, 0x11, 0x1000, 0x100);
		put_set(&a, 0x22, 0x1000, 0x100);
		struct sw_dwarf_want want = want_at(0x1000);
		a.bytes[edits[i].at] = edits[i].value;
		sw_dwarf_aranges_match(bytes_of(&a), &want, 1);
		assert_int_equal(want.die_off, 0x22);
	}
}

TEST(test_cut_anywhere)
{
	struct aranges a = {0};
	put_set(&a, 0x11, 0x1000, 0x100);
	size_t first = a.size;
	put_wide_set(&a, 0x22, 0x5000, 0x100);
	for (size_t size = 0; size < a.size; size++) {
		struct sw_dwarf_want wants[] = {want_at(0x1000), want_at(0x5000)};
		uint8_t *exact = malloc(size + 1); /* an over-read is one for ASan */
		assert_non_null(exact);
		memcpy(exact, a.bytes, size);
		sw_dwarf_aranges_match((struct sw_bytes){exact, size}, wants, 2);
		assert_int_equal(wants[0].die_off, size >= first ? 0x11 : SW_NO_UNIT);
		assert_int_equal(wants[1].die_off, SW_NO_UNIT);
		free(exact);
	}
}

/* Ranges that claim everything, thousands of times, do not hang. */
TEST(test_wide_ranges)
{
	enum { SETS = 3000, WANTS = 20000 };
	uint8_t *sets = malloc(SETS * 64);
	struct sw_dwarf_want *wants = calloc(WANTS, sizeof(*wants));
	assert_non_null(sets);
	assert_non_null(wants);
	struct aranges a = {0};
	put_set(&a, 7, 0, UINT64_MAX);
	assert_int_equal(a.size, 64);
	for (size_t i = 0; i < SETS; i++)
		memcpy(sets + i * 64, a.bytes, 64);
	for (size_t i = 0; i < WANTS; i++)
		wants[i] = want_at(i);
	sw_dwarf_aranges_match((struct sw_bytes){sets, SETS * 64}, wants, WANTS);
	assert_int_equal(wants[0].die_off, 7);
	assert_int_equal(wants[WANTS - 1].die_off, 7);
	free(wants);
	free(sets);
}
