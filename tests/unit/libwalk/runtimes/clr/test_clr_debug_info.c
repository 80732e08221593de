/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/published/debug_info.h"
#include "cleanup.h"
#include "fake.h"
#include "test.h"

enum { AVMA = 0x7000, CODE_BYTES = 51, IL_BYTES = 13, NONE = -1, MAX = 256 };

/*
 * A method of 51 bytes: prologue up to 16, IL from 0 on up to 45, epilogue. Three entries of 2 + 5 + 2
 * bits, behind three numbers in nibbles: 3 entries, 5 - 1, 2 - 1.
 *
 *	source 2, + 0,  1: prologue	10 00000 10		bits from the lowest one on, each number's
 *	source 2, +16,  0 + 3		01 00001 11		lowest first, as they are stored
 *	source 2, +29,  0: epilogue	01 10111 00
 */
static const uint8_t packed[] = {0x00, 0x66, 0x43, 0x01, 0x82, 0x84, 0xdb, 0x01};

/* The same for .NET 8: 3; 0 1 2; 2+8 0 (16), 3 2; 3+8 5 (29), 0 2. */
static const uint8_t nibbles[] = {0x00, 0x66, 0x03, 0x21, 0x0a, 0x23, 0x5b, 0x20};

/* The IL offset, NONE when there is none. */
static int32_t il_at(const void *bytes, size_t n, enum sw_clr_debug_format format,
		     uint32_t native_off)
{
	struct fake_memory fake = FAKE_MEMORY({AVMA, bytes, n});
	const struct sw_clr_debug_info info = {AVMA, CODE_BYTES, IL_BYTES, format, false};
	uint32_t il_off;
	return sw_clr_il_offset(fake_memory(&fake), &info, native_off, &il_off) ? (int32_t) il_off
										: NONE;
}

static void both_are_right(const uint8_t *bytes, size_t n, enum sw_clr_debug_format format)
{
	assert_int_equal(il_at(bytes, n, format, 0), 0);
	assert_int_equal(il_at(bytes, n, format, 16), 0);
	assert_int_equal(il_at(bytes, n, format, 44), 0);
	assert_int_equal(il_at(bytes, n, format, 45), NONE);
	assert_int_equal(il_at(bytes, n, format, 50), NONE);
	assert_int_equal(il_at(bytes, n, format, 51), NONE);
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(il_at(bytes, cut, format, 16), NONE);
}

TEST(test_formats)
{
	both_are_right(packed, sizeof(packed), SW_CLR_DEBUG_PACKED);
	both_are_right(nibbles, sizeof(nibbles), SW_CLR_DEBUG_NIBBLES);
	/* Each is nonsense in the other's way of writing. */
	assert_int_equal(il_at(packed, sizeof(packed), SW_CLR_DEBUG_NIBBLES, 16), NONE);
	assert_int_equal(il_at(nibbles, sizeof(nibbles), SW_CLR_DEBUG_PACKED, 16), NONE);
	assert_int_equal(il_at(packed, sizeof(packed), SW_CLR_DEBUG_UNKNOWN, 16), NONE);
}

/* ReadyToRun: no flags. */
TEST(test_bare)
{
	for (int bare = 0; bare < 2; bare++) {
		struct fake_memory fake = FAKE_MEMORY({AVMA, packed + 1, sizeof(packed) - 1});
		const struct sw_clr_debug_info info = {AVMA, CODE_BYTES, IL_BYTES,
						       SW_CLR_DEBUG_PACKED, bare};
		uint32_t il_off;
		assert_int_equal(sw_clr_il_offset(fake_memory(&fake), &info, 20, &il_off), bare);
	}
}

/* ---- what lies before it ----------------------------------------------------------------------- */

static void before_is_skipped(const void *before, size_t n)
{
	uint8_t bytes[MAX];
	memcpy(bytes, before, n);
	memcpy(bytes + n, packed + 1, sizeof(packed) - 1);
	assert_int_equal(il_at(bytes, n + sizeof(packed) - 1, SW_CLR_DEBUG_PACKED, 16), 0);
}

TEST(test_before)
{
	static const uint8_t rich[] = {2, 3, 0, 0, 0, 0xff, 0xff, 0xff};
	uint8_t patchpoint[1 + 40 + 2 * 4 + 5];
	before_is_skipped(rich, sizeof(rich));
	/* .NET 10: 40 bytes, of which the fifth word is the number of locals. */
	memset(patchpoint, 0xff, sizeof(patchpoint));
	patchpoint[0] = 1;
	memcpy(patchpoint + 1 + 16, "\2\0\0", 4);
	before_is_skipped(patchpoint, 1 + 40 + 2 * 4);
	/* .NET 8: 32 bytes, the third one. */
	memset(patchpoint, 0xff, sizeof(patchpoint));
	patchpoint[0] = 1;
	memcpy(patchpoint + 1 + 8, "\2\0\0", 4);
	before_is_skipped(patchpoint, 1 + 32 + 2 * 4);
	/* Both of them. */
	patchpoint[0] = 3;
	memcpy(patchpoint + 1 + 32 + 2 * 4, "\1\0\0\0\xee", 5);
	before_is_skipped(patchpoint, 1 + 32 + 2 * 4 + 5);
	/* A flag that is not known. */
	uint8_t other[sizeof(packed)];
	memcpy(other, packed, sizeof(packed));
	other[0] = 4;
	assert_int_equal(il_at(other, sizeof(other), SW_CLR_DEBUG_PACKED, 16), NONE);
}

/* A profiler changed the IL: the second bounds are those of the assembly's own. Numbers: 0xffffffff,
 * 6, 6, 0. */
TEST(test_original)
{
	uint8_t bytes[] = {0x00, 0xfb, 0xff, 0xff, 0xff, 0xff, 0x67, 0x06, 0xaa, 0xaa,
			   0xaa, 0xaa, 0xaa, 0xaa, 0x43, 0x01, 0x82, 0x84, 0xdb, 0x01};
	assert_int_equal(il_at(bytes, sizeof(bytes), SW_CLR_DEBUG_PACKED, 16), 0);
	bytes[14] = 0xaa;
	assert_int_equal(il_at(bytes, sizeof(bytes), SW_CLR_DEBUG_PACKED, 16), NONE);
}

/* ---- what is not believed ---------------------------------------------------------------------- */

TEST(test_limits)
{
	static const struct {
		uint32_t code_bytes, il_bytes;
		bool good;
	} cases[] = {{46, 1, true}, {45, 1, false}, {46, 0, false}, {UINT32_MAX, UINT32_MAX, true}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct fake_memory fake = FAKE_MEMORY({AVMA, packed, sizeof(packed)});
		const struct sw_clr_debug_info info = {AVMA, cases[i].code_bytes, cases[i].il_bytes,
						       SW_CLR_DEBUG_PACKED, false};
		uint32_t il_off = 77;
		assert_int_equal(sw_clr_il_offset(fake_memory(&fake), &info, 20, &il_off),
				 cases[i].good);
		assert_int_equal(il_off, cases[i].good ? 0 : 77);
	}
}

/* Debug information that does not fit to the last bit. */
TEST(test_changed)
{
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = {
		{1, 0x67}, /* a byte more than the bounds need */
		{1, 0x65}, /* one less */
		{1, 0x60}, /* none */
		{2, 0x42}, /* two entries: bytes are left over */
		{2, 0x40}, /* none */
		{2, 0x53}, /* wider entries do not fit */
		{3, 0x11}, /* ... nor with a number more before them */
		{4, 0x86}, /* the first one is not where the code begins */
		{7, 0x09}, /* something behind the last one */
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		uint8_t bytes[sizeof(packed)];
		memcpy(bytes, packed, sizeof(bytes));
		assert_int_not_equal(bytes[cases[i].at], cases[i].value);
		bytes[cases[i].at] = cases[i].value;
		assert_int_equal(il_at(bytes, sizeof(bytes), SW_CLR_DEBUG_PACKED, 20), NONE);
	}
}

/* A number has 32 bits at most: 2 + 8 in the first of eleven nibbles is good, 4 + 8 is not. */
TEST(test_number)
{
	uint8_t bytes[] = {0x00, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x67, 0x06};
	uint8_t endless[32];
	assert_int_equal(il_at(bytes, sizeof(bytes), SW_CLR_DEBUG_PACKED, 0), NONE);
	memset(endless, 0xff, sizeof(endless));
	endless[0] = 0;
	assert_int_equal(il_at(endless, sizeof(endless), SW_CLR_DEBUG_PACKED, 0), NONE);
}

/* ---- which entry counts ------------------------------------------------------------------------ */

struct entry {
	uint32_t source, native_off;
	int32_t il_off;
};

static void put_bits(uint8_t *to, size_t *at, uint64_t value, unsigned n)
{
	for (unsigned i = 0; i < n; i++, ++*at)
		to[*at / 8] |= (uint8_t) ((value >> i & 1) << *at % 8);
}

/* With 7 bits for native differences and 5 for IL offsets. */
static size_t entries_pack(const struct entry *entries, size_t n, uint8_t *to)
{
	size_t at = 0, bytes = 2 + (n * (2 + 7 + 5) + 7) / 8;
	memset(to, 0, MAX);
	assert_true(n < 8 && bytes < 64);
	put_bits(to, &at, 0, 8);
	put_bits(to, &at, 8 | bytes >> 3, 4);
	put_bits(to, &at, bytes & 7, 4);
	put_bits(to, &at, 0, 8); /* no variables; the rest of the byte */
	put_bits(to, &at, n, 4);
	put_bits(to, &at, 6, 4);
	put_bits(to, &at, 4, 8);
	for (size_t i = 0, last = 0; i < n; last = entries[i++].native_off) {
		put_bits(to, &at, entries[i].source, 2);
		put_bits(to, &at, entries[i].native_off - last, 7);
		put_bits(to, &at, (uint32_t) (entries[i].il_off + 3), 5);
	}
	return 3 + bytes;
}

TEST(test_entries)
{
	static const struct entry entries[] = {
		{2, 0, -2}, {2, 4, 3}, {1, 6, 9}, {2, 10, 7}, {2, 10, 5}, {2, 20, -1}, {2, 30, -2},
	};
	static const struct {
		uint32_t native_off;
		int32_t il_off;
	} cases[] = {
		{3, 0},     {4, 3},
		{7, 3},              /* where a call returns to says nothing of what is before it */
		{9, 3},     {10, 5}, /* the lowest of two */
		{19, 5},    {20, NONE}, /* the compiler's own */
		{30, NONE},             /* the prologue of a funclet is not the method's */
	};
	uint8_t bytes[MAX];
	size_t n = entries_pack(entries, SW_ARRAY_SIZE(entries), bytes);
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++)
		assert_int_equal(il_at(bytes, n, SW_CLR_DEBUG_PACKED, cases[i].native_off),
				 cases[i].il_off);
	/* Only what is said of calls. */
	static const struct entry calls[] = {{1, 0, 4}, {1, 8, 5}};
	n = entries_pack(calls, SW_ARRAY_SIZE(calls), bytes);
	assert_int_equal(il_at(bytes, n, SW_CLR_DEBUG_PACKED, 9), NONE);
}
