/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of copies: their parts, and bytes that are no such record. */
#include "copies/record.h"
#include "test.h"

struct made {
	uint8_t *bytes; /* of its own size: a sanitizer sees what is behind it */
	size_t size;
};

static struct sw_copy_part parts[SW_COPY_PARTS_MAX];

static void part_put(uint8_t *to, uint64_t avma, uint32_t bytes, uint32_t kind, uint8_t with)
{
	const struct sw_sampled_part part = {avma, bytes, kind};
	memcpy(to, &part, sizeof(part));
	memset(to + sizeof(part), with, bytes);
}

/* Two parts: 12 bytes of stack, which have 4 behind them, and 8 of a recipe. */
static struct made make(void)
{
	struct sw_sampled_head head = {.pid = 7, .tid = 8, .n_parts = 2, .time_ns = 1234};
	struct made m = {.size = sizeof(head) + 16 + 16 + 16 + 8};
	m.bytes = calloc(1, m.size);
	assert_non_null(m.bytes);
	head.regs[16] = 0x401000;
	head.regs[19] = 0x7000;
	head.bytes = (uint32_t) m.size;
	memcpy(m.bytes, &head, sizeof(head));
	part_put(m.bytes + sizeof(head), 0x7000, 12, SW_SAMPLED_KIND_STACK, 0x11);
	part_put(m.bytes + sizeof(head) + 32, 0x9000, 8, 5, 0x22);
	return m;
}

TEST(test_parts_and_registers)
{
	struct made m = make();
	struct sw_copy copy;
	assert_true(sw_copy_parse(m.bytes, m.size, parts, &copy));
	assert_int_equal(copy.head.tid, 8);
	assert_int_equal(copy.regs.rip, 0x401000);
	assert_int_equal(copy.regs.rsp, 0x7000);
	assert_int_equal(copy.n_parts, 2);
	assert_int_equal(copy.parts[0].avma, 0x7000);
	assert_int_equal(copy.parts[0].bytes, 12);
	assert_int_equal(copy.parts[0].data[11], 0x11);
	assert_int_equal(copy.parts[1].avma, 0x9000);
	assert_int_equal(copy.parts[1].kind, 5);
	assert_int_equal(copy.parts[1].data[0], 0x22);
	assert_ptr_equal(copy.parts[1].data + 8, m.bytes + m.size);
	free(m.bytes);
}

static bool parses(struct made m)
{
	struct sw_copy copy;
	return sw_copy_parse(m.bytes, m.size, parts, &copy);
}

static void head_change(struct made m, uint32_t bytes, uint32_t n_parts)
{
	struct sw_sampled_head head;
	memcpy(&head, m.bytes, sizeof(head));
	head.bytes = bytes;
	head.n_parts = n_parts;
	memcpy(m.bytes, &head, sizeof(head));
}

TEST(test_it_is_cut)
{
	struct made m = make();
	for (size_t n = 0; n < m.size; n++) {
		struct made cut = {malloc(n + 1), n};
		assert_non_null(cut.bytes);
		memcpy(cut.bytes, m.bytes, n);
		assert_false(parses(cut));
		if (n >= sizeof(struct sw_sampled_head)) { /* it says so itself */
			head_change(cut, (uint32_t) n, 2);
			assert_false(parses(cut));
		}
		free(cut.bytes);
	}
	free(m.bytes);
}

TEST(test_more_parts_than_there_are)
{
	struct made m = make();
	head_change(m, (uint32_t) m.size, 3);
	assert_false(parses(m));
	head_change(m, (uint32_t) m.size, UINT32_MAX);
	assert_false(parses(m));
	head_change(m, (uint32_t) m.size, 1);
	assert_true(parses(m));
	free(m.bytes);
}

TEST(test_a_part_that_is_longer_than_the_record)
{
	struct made m = make();
	for (uint32_t bytes = 9; bytes < 64; bytes++) {
		const struct sw_sampled_part part = {0x9000, bytes, 5};
		memcpy(m.bytes + sizeof(struct sw_sampled_head) + 32, &part, sizeof(part));
		assert_false(parses(m));
	}
	const struct sw_sampled_part none = {0x9000, 0, 5}, large = {0x9000, UINT32_MAX - 3, 5};
	memcpy(m.bytes + sizeof(struct sw_sampled_head) + 32, &none, sizeof(none));
	assert_false(parses(m));
	memcpy(m.bytes + sizeof(struct sw_sampled_head) + 32, &large, sizeof(large));
	assert_false(parses(m));
	free(m.bytes);
}

/* The bytes that a part is padded with belong to the record. */
TEST(test_without_padding)
{
	struct made m = make();
	size_t n = sizeof(struct sw_sampled_head) + 16 + 12;
	head_change(m, (uint32_t) n, 1);
	m.size = n;
	assert_false(parses(m));
	head_change(m, (uint32_t) n + 4, 1);
	m.size = n + 4;
	assert_true(parses(m));
	free(m.bytes);
}

TEST(test_it_says_another_length)
{
	struct made m = make();
	head_change(m, (uint32_t) m.size - 8, 1);
	assert_false(parses(m));
	head_change(m, (uint32_t) m.size + 8, 1);
	assert_false(parses(m));
	free(m.bytes);
}

/* The kernel's records have no space for so many. */
TEST(test_more_parts_than_are_looked_at)
{
	struct sw_sampled_head head = {.n_parts = SW_COPY_PARTS_MAX};
	struct made m = {.size = sizeof(head) + (SW_COPY_PARTS_MAX + 1) * 24};
	m.bytes = calloc(1, m.size);
	assert_non_null(m.bytes);
	for (size_t i = 0; i <= SW_COPY_PARTS_MAX; i++)
		part_put(m.bytes + sizeof(head) + i * 24, 0x1000 + i * 8, 8, 1, 1);
	head_change(m, (uint32_t) m.size, SW_COPY_PARTS_MAX);
	assert_true(parses(m));
	head_change(m, (uint32_t) m.size, SW_COPY_PARTS_MAX + 1);
	assert_false(parses(m));
	free(m.bytes);
}
