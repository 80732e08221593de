/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a function returns: RET instructions alone, never bytes that may be data. */
#include "events/exits.h"
#include "test.h"

enum { AVMA = 0x401000 };

#define EXITS(...) exits_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static uint64_t all[SW_EVENT_RETURNS_MAX];
static struct sw_error err;

/* How many; or the error. */
static int exits_of(const uint8_t *code, size_t n)
{
	size_t found = 0;
	int r = sw_exits_find((struct sw_bytes){code, n}, AVMA, all, &found, &err);
	return r < 0 ? r : (int) found;
}

TEST(test_returns)
{
	assert_int_equal(EXITS(0xc3), 1);
	assert_int_equal(all[0], 0);
	/* test %edi, %edi; je 1f; ret; 1: xor %eax, %eax; ret */
	assert_int_equal(EXITS(0x85, 0xff, 0x74, 0x01, 0xc3, 0x31, 0xc0, 0xc3), 2);
	assert_int_equal(all[0], 4);
	assert_int_equal(all[1], 7);
	/* rep ret */
	assert_int_equal(EXITS(0xf3, 0xc3), 1);
	/* mov $0xc3c3c3c3, %eax; ret: the bytes of the number are none */
	assert_int_equal(EXITS(0xb8, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3), 1);
	assert_int_equal(all[0], 5);
	/* test; je to another function; ret */
	assert_int_equal(EXITS(0x85, 0xff, 0x74, 0x70, 0xc3), 1);
}

TEST(test_what_nothing_comes_to)
{
	/* ret; nop; ret: the second one may be data */
	assert_int_equal(EXITS(0xc3, 0x90, 0xc3), 1);
	/* ret; call; ret: a landing pad */
	assert_int_equal(EXITS(0xc3, 0xe8, 0, 0, 0, 0, 0xc3), 2);
	assert_int_equal(all[1], 6);
	/* jmp *%rax; ret: of a table of jumps */
	assert_int_equal(EXITS(0xff, 0xe0, 0xc3), 1);
	assert_int_equal(all[0], 2);
}

TEST(test_what_is_refused)
{
	/* ret; 06 is no instruction */
	assert_int_equal(EXITS(0xc3, 0x06), -SW_E_UNSUPPORTED);
	assert_true(strstr(err.message, "not understood") != NULL);
	/* ret; a mov that is cut */
	assert_int_equal(EXITS(0xc3, 0xb8, 0x00), -SW_E_UNSUPPORTED);
	/* jmp into the mov; mov; ret */
	assert_int_equal(EXITS(0xeb, 0x01, 0xb8, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3), -SW_E_UNSUPPORTED);
	assert_true(strstr(err.message, "not understood") != NULL);
	/* jmp to another function */
	assert_int_equal(EXITS(0xeb, 0x70), -SW_E_UNSUPPORTED);
	assert_true(strstr(err.message, "jumps to other functions") != NULL);
	/* ret $8 */
	assert_int_equal(EXITS(0xc2, 0x08, 0x00), -SW_E_UNSUPPORTED);
	assert_int_equal(sw_exits_find((struct sw_bytes){NULL, 0}, AVMA, all, &(size_t){0}, &err),
			 -SW_E_UNSUPPORTED);
}

TEST(test_too_many)
{
	uint8_t code[3 * (SW_EVENT_RETURNS_MAX + 1)];
	/* je over the RET that follows, again and again */
	for (size_t i = 0; i < sizeof(code); i += 3)
		memcpy(code + i, (const uint8_t[]){0x74, 0x01, 0xc3}, 3);
	assert_int_equal(exits_of(code, sizeof(code) - 3), SW_EVENT_RETURNS_MAX);
	assert_int_equal(exits_of(code, sizeof(code)), -SW_E_UNSUPPORTED);
}
