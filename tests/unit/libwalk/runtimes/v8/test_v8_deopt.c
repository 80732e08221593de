/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/instructions/deopt: from the builtin that replaces a frame to the caller of that. */
#include "fake.h"
#include "runtimes/v8/instructions/deopt.h"
#include "test.h"

/*
 * The builtin with two registers instead of sixteen:
 *
 *	0x00 sub $0x100, %rsp; 0x07 push %rax; 0x08 push %r15; 0x0a mov 0x110(%rsp), %rdx
 *	0x12 mov %rsp, %r10; 0x15 sub $8, %rsp; 0x19 and $-16, %rsp; 0x1d mov %r10, (%rsp); 0x21 call *%rax
 *	0x23 mov (%rsp), %rsp; 0x27 mov 0x50(%rax), %rbx; 0x2b pop 0x88(%rbx)
 *	0x31 mov 0x10(%rbx), %rcx; 0x35 add %rsp, %rcx; 0x38 lea 0x1c8(%rbx), %rdx
 *	0x3f push %rax; 0x40 call *%rax; 0x42 ret
 */
static const uint8_t entry[] = {0x48, 0x81, 0xec, 0x00, 0x01, 0x00, 0x00, 0x50, 0x41, 0x57,
				0x48, 0x8b, 0x94, 0x24, 0x10, 0x01, 0x00, 0x00, 0x49, 0x89,
				0xe2, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xe4, 0xf0, 0x4c,
				0x89, 0x14, 0x24, 0xff, 0xd0, 0x48, 0x8b, 0x24, 0x24, 0x48,
				0x8b, 0x58, 0x50, 0x8f, 0x83, 0x88, 0x00, 0x00, 0x00, 0x48,
				0x8b, 0x4b, 0x10, 0x48, 0x01, 0xe1, 0x48, 0x8d, 0x93, 0xc8,
				0x01, 0x00, 0x00, 0x50, 0xff, 0xd0, 0xc3};
enum { AND = 0x19, INPUT = 0x27, SIZE = 0x31, CONTENT = 0x38, SECOND_CALL = 0x40 };

static bool read_without(size_t at, size_t n)
{
	enum { NOP = 0x90 };
	uint8_t code[sizeof(entry)];
	struct sw_v8_deopt d;
	memcpy(code, entry, sizeof(code));
	memset(code + at, NOP, n);
	return sw_v8_deopt_read((struct sw_bytes){code, sizeof(code)}, &d);
}

TEST(test_read)
{
	struct sw_v8_deopt d = {0};
	assert_true(sw_v8_deopt_read((struct sw_bytes){entry, sizeof(entry)}, &d));
	assert_int_equal(d.begin_off, 0x23);
	assert_int_equal(d.compute_off, 0x42);
	assert_int_equal(d.return_off, 0x110);
	assert_int_equal(d.input_off, 0x50);
	assert_int_equal(d.size_off, 0x10);
	assert_int_equal(d.content_off, 0x1c8);
	/* Each part that is not there. */
	assert_false(read_without(AND, 4));
	assert_false(read_without(INPUT, 4));
	assert_false(read_without(SIZE, 4));
	assert_false(read_without(CONTENT, 7));
	assert_false(read_without(SECOND_CALL, 2));
	for (size_t n = 0; n < SECOND_CALL + 2; n++)
		assert_false(sw_v8_deopt_read((struct sw_bytes){entry, n}, &d));
}

enum { SP = 0x7000, OBJECT = 0x20000, CONTENT_AVMA = 0x30000 + 0x1c8, CALLER_PC = 0x1234 };
static const struct sw_v8_deopt deopt = {.begin_off = 0x23,
					 .compute_off = 0x42,
					 .return_off = 0x10,
					 .input_off = 0x50,
					 .size_off = 0x10,
					 .content_off = 0x1c8};

/*
 *	SP       sp before it was aligned: SP + 16
 *	SP + 16  two registers
 *	SP + 32  the return address
 */
TEST(test_begin)
{
	uint64_t words[] = {SP + 16, 0, 1, 2, CALLER_PC, 0};
	struct fake_memory fake = FAKE_MEMORY({SP, words, sizeof(words)});
	struct sw_memory m = fake_memory(&fake);
	struct sw_v8_given_up found;
	assert_true(sw_v8_deopt_caller(&deopt, 0x23, m, m, SP, 0x7100, &found));
	assert_int_equal(found.pc, CALLER_PC);
	assert_int_equal(found.sp, SP + 40);
	assert_int_equal(found.fp, 0x7100);
	assert_false(found.incomplete);
	assert_false(sw_v8_deopt_caller(&deopt, 0x27, m, m, SP, 0x7100, &found));
	static const uint64_t wrong[] = {SP, SP - 8, SP + 24, SP + 12, 0};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wrong); i++) {
		words[0] = wrong[i];
		assert_false(sw_v8_deopt_caller(&deopt, 0x23, m, m, SP, 0x7100, &found));
	}
}

struct computing {
	uint64_t stack[3];   /* sp before; alignment; the Deoptimizer */
	uint64_t input;      /* in that */
	uint64_t size;       /* of the frame */
	uint64_t content[5]; /* two locals, fp, the return address, an argument */
	struct fake_region regions[4];
	struct fake_memory fake;
};

static struct sw_memory computing_make(struct computing *c)
{
	*c = (struct computing){{SP + 16, 0, OBJECT},         0x30000, sizeof(c->content),
				{1, 2, 0x7200, CALLER_PC, 3}, {{0}},   {0}};
	const struct fake_region regions[] = {{SP, c->stack, sizeof(c->stack)},
					      {OBJECT + 0x50, &c->input, 8},
					      {0x30000 + 0x10, &c->size, 8},
					      {CONTENT_AVMA, c->content, sizeof(c->content)}};
	memcpy(c->regions, regions, sizeof(regions));
	c->fake = (struct fake_memory){.regions = c->regions, .n_regions = SW_ARRAY_SIZE(regions)};
	return fake_memory(&c->fake);
}

/* The frame was in 40 bytes below what is behind the Deoptimizer's address on the stack: its fp is 24 bytes below. */
TEST(test_compute)
{
	enum { END = SP + 24, FP = END - 24 };
	struct computing c;
	struct sw_v8_given_up found;
	struct sw_memory m = computing_make(&c);
	assert_true(sw_v8_deopt_caller(&deopt, 0x42, m, m, SP, FP, &found));
	assert_int_equal(found.pc, CALLER_PC);
	assert_int_equal(found.fp, 0x7200);
	assert_int_equal(found.sp, END);
	assert_true(found.incomplete);
	static const uint64_t wrong[] = {END - 48, END - 8, END, END - 20, 0, UINT64_MAX - 7};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wrong); i++)
		assert_false(sw_v8_deopt_caller(&deopt, 0x42, m, m, SP, wrong[i], &found));
	static const uint64_t sizes[] = {0, 8, 36, 2 << 20, UINT64_MAX - 7};
	for (size_t i = 0; i < SW_ARRAY_SIZE(sizes); i++) {
		c.size = sizes[i];
		assert_false(sw_v8_deopt_caller(&deopt, 0x42, m, m, SP, FP, &found));
	}
}

/* All that the way to the caller reads is read, and of a long frame its end only. */
TEST(test_touch)
{
	struct computing c;
	struct sw_memory m = computing_make(&c);
	uint64_t object;
	assert_true(sw_v8_deopt_object(m, SP, &object));
	assert_int_equal(object, OBJECT);
	c.fake.reads = 0;
	sw_v8_deopt_touch(&deopt, m, object);
	assert_int_equal(c.fake.reads, 2 + SW_ARRAY_SIZE(c.content));
	c.size = 1 << 20;
	c.fake.reads = 0;
	sw_v8_deopt_touch(&deopt, m, object);
	assert_int_equal(c.fake.reads, 2 + 2048 / 8);
	c.size += 8; /* no frame is as long */
	c.fake.reads = 0;
	sw_v8_deopt_touch(&deopt, m, object);
	assert_int_equal(c.fake.reads, 2);
}
