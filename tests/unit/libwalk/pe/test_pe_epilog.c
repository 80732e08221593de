/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_case.h"
#include "test.h"

enum { RBX = 3, R12 = 12, R15 = 15 }; /* DWARF numbers */

/* push %rbx; push %r15; sub $16,%rsp: in the body pc is at [rsp+32] */
#define PUSHES PE_SLOT(7, 2, 1), PE_SLOT(3, 0, 15), PE_SLOT(1, 0, 3)
enum { BODY_WORDS = 4, AT = 64 /* where the code under test is */ };

static const uint8_t version_1[] = {1, 7, 3, 0, PUSHES};

/* How many words are on the stack above the return address's callee, by what step() finds. */
static uint64_t words(struct pe_case *c, uint32_t offset)
{
	assert_int_equal(pe_case_step(c, offset), SW_PE_OK);
	uint64_t n = (c->ret.sp_avma - PE_STACK) / 8 - 1;
	assert_int_equal(c->ret.pc_avma, 0x10 + n);
	return n;
}

static void prepare(struct pe_case *c, const uint8_t *code, size_t n)
{
	pe_case_init(c, NULL, 0, version_1, sizeof(version_1));
	pe_case_bytes(c, PE_CODE + AT, code, n);
	pe_case_stack(c, PE_WORDS(0x10, 0x11, 0x12, 0x13, 0x14, 0x15));
}

TEST(test_returns)
{
	struct pe_case c;
	/* add $16,%rsp; pop %r15; pop %rbx; ret */
	prepare(&c, PE_BYTES(0x48, 0x83, 0xc4, 0x10, 0x41, 0x5f, 0x5b, 0xc3));
	assert_int_equal(words(&c, AT), BODY_WORDS);
	assert_int_equal(words(&c, AT + 4), 2);
	assert_int_equal(pe_case_reg(&c, R15), 0x10);
	assert_int_equal(pe_case_reg(&c, RBX), 0x11);
	assert_int_equal(words(&c, AT + 6), 1);
	assert_int_equal(pe_case_reg(&c, R15), 0xaf);
	assert_int_equal(pe_case_reg(&c, RBX), 0x10);
	assert_int_equal(words(&c, AT + 7), 0);
	/* a return address is in no epilogue: after a call that does not return anything may follow */
	c.env.exact_pc = false;
	assert_int_equal(words(&c, AT + 7), BODY_WORDS);

	prepare(&c, PE_BYTES(0xf3, 0xc3)); /* rep ret */
	assert_int_equal(words(&c, AT), 0);
	prepare(&c, PE_BYTES(0xf2, 0xc3)); /* bnd ret */
	assert_int_equal(words(&c, AT), 0);
	prepare(&c, PE_BYTES(0xc2, 8, 0)); /* ret $8 */
	assert_int_equal(words(&c, AT), 0);
	prepare(&c, PE_BYTES(0x59, 0xc3)); /* pop %rcx frees 8 bytes */
	assert_int_equal(words(&c, AT), 1);
	prepare(&c, PE_BYTES(0x5c, 0xc3)); /* pop %rsp */
	assert_int_equal(words(&c, AT), BODY_WORDS);
	prepare(&c, PE_BYTES(0x5b, 0x90, 0xc3)); /* pop %rbx; nop; ret */
	assert_int_equal(words(&c, AT), BODY_WORDS);
	prepare(&c, PE_BYTES(0xf3, 0x90)); /* pause */
	assert_int_equal(words(&c, AT), BODY_WORDS);
}

/* 17 pops are no epilogue, and the end of the function is the end of what is decoded. */
TEST(test_bounds)
{
	struct pe_case c;
	prepare(&c, PE_BYTES(0x5b, 0x5b, 0x5b, 0x5b, 0x5b, 0x5b, 0x5b, 0x5b, 0x5b, 0x5b, 0x5b, 0x5b,
			     0x5b, 0x5b, 0x5b, 0x5b, 0x5b, 0xc3));
	assert_int_equal(words(&c, AT), BODY_WORDS);
	prepare(&c, PE_BYTES(0x5b, 0xc3));
	c.function.end_rva = PE_CODE + AT + 1;
	assert_int_equal(words(&c, AT), BODY_WORDS);
	c.function.end_rva = PE_CODE + AT + 2;
	assert_int_equal(words(&c, AT), 1);
	/* jumps whose displacement is cut off */
	prepare(&c, PE_BYTES(0xe9, 0, 0x10, 0, 0));
	c.function.end_rva = PE_CODE + AT + 4;
	assert_int_equal(words(&c, AT), BODY_WORDS);
	prepare(&c, PE_BYTES(0xeb, 0x70));
	c.function.end_rva = PE_CODE + AT + 1;
	assert_int_equal(words(&c, AT), BODY_WORDS);
	/* code that cannot be read, or is outside of the function, is body */
	prepare(&c, PE_BYTES(0xc3));
	c.regions[0].size = PE_CODE + AT;
	static struct fake_region split[3];
	split[0] = c.regions[0];
	split[1] = c.regions[1];
	split[2] = (struct fake_region){PE_BASE + PE_INFO, c.image + PE_INFO, 0x100};
	c.fake = (struct fake_memory){.regions = split, .n_regions = 3};
	assert_int_equal(words(&c, AT), BODY_WORDS);
	prepare(&c, PE_BYTES(0xc3));
	c.function.end_rva = PE_CODE + AT;
	assert_int_equal(words(&c, AT), BODY_WORDS);
}

static void jump_is(bool leaves, const uint8_t *code, size_t n)
{
	struct pe_case c;
	prepare(&c, code, n);
	assert_int_equal(words(&c, AT), leaves ? 0 : BODY_WORDS);
}

TEST(test_jumps_by_their_form)
{
	jump_is(true, PE_BYTES(0xff, 0x25, 0, 0, 0, 0));       /* jmp *(%rip) */
	jump_is(true, PE_BYTES(0xf2, 0xff, 0x25, 0, 0, 0, 0)); /* bnd */
	jump_is(true, PE_BYTES(0x48, 0xff, 0xe0));             /* rex.W jmp *%rax */
	jump_is(true, PE_BYTES(0x49, 0xff, 0xe3));             /* rex.WB jmp *%r11 */
	jump_is(true, PE_BYTES(0x48, 0xff, 0x60, 0x18));       /* rex.W jmp *24(%rax) */
	jump_is(false, PE_BYTES(0xff, 0xe0));                  /* jmp *%rax: a switch */
	jump_is(false, PE_BYTES(0x41, 0xff, 0xe3));            /* jmp *%r11 */
	jump_is(false, PE_BYTES(0x48, 0xff, 0xd0));            /* rex.W call *%rax */
	jump_is(false, PE_BYTES(0xff, 0x15, 0, 0, 0, 0));      /* call *(%rip) */
	jump_is(true, PE_BYTES(0xe9, 0, 0x10, 0, 0));          /* jmp out of the function */
	jump_is(false, PE_BYTES(0xe9, 0x10, 0, 0, 0));         /* jmp within it */
	jump_is(false, PE_BYTES(0xeb, 0x10));
	jump_is(false, PE_BYTES(0xeb, 0x100 - AT - 2 + 7)); /* to the end of the prologue */
	jump_is(true, PE_BYTES(0xeb, 0x100 - AT - 2));      /* to its begin: it calls itself */
}

/* Another function for the table to find. */
static bool find_one(void *arg, uint32_t rva, struct sw_pe_function *ret)
{
	const struct sw_pe_function *f = arg;
	if (rva < f->begin_rva || rva >= f->end_rva)
		return false;
	*ret = *f;
	return true;
}

static void jump_into(bool leaves, uint32_t target_rva, const uint8_t *info, size_t n)
{
	struct sw_pe_function other = {PE_CODE + 0x200, PE_CODE + 0x300, PE_INFO + 0x100};
	uint32_t from = PE_CODE + AT + 5;
	struct pe_case c;
	prepare(&c, PE_BYTES(0xe9, PE_U32(target_rva - from)));
	pe_case_bytes(&c, other.unwind_rva, info, n);
	c.env.table = (struct sw_pe_table){find_one, &other};
	assert_int_equal(words(&c, AT), leaves ? 0 : BODY_WORDS);
}

/* A jump leaves if there is nothing of a frame where it goes. */
TEST(test_jumps_by_their_target)
{
	/* the begin of a function, and of one without a frame */
	jump_into(true, PE_CODE + 0x200, version_1, sizeof(version_1));
	jump_into(true, PE_CODE + 0x200, PE_BYTES(1, 0, 0, 0));
	/* code without an entry */
	jump_into(true, PE_CODE + 0x300, version_1, sizeof(version_1));
	/* back from a split-off part, into the middle */
	jump_into(false, PE_CODE + 0x250, version_1, sizeof(version_1));
	/* to a split-off part: as gcc makes it, with the codes of the whole and no prologue ... */
	jump_into(false, PE_CODE + 0x200, PE_BYTES(1, 0, 1, 0, PE_SLOT(0, 0, 3)));
	/* ... and chained */
	jump_into(false, PE_CODE + 0x200,
		  PE_BYTES(1 | 4 << 3, 0, 0, 0, PE_ENTRY(PE_CODE, PE_CODE + 0x100, PE_INFO)));
	/* what cannot be read: outside is outside */
	jump_into(true, PE_CODE + 0x200, PE_BYTES(7, 0, 0, 0));
}

/* Without codes there is nothing to pop, but in a part that is chained there may be. */
TEST(test_without_codes)
{
	struct pe_case c;
	pe_case_init(&c, PE_BYTES(0x5b, 0xc3), PE_BYTES(1, 0, 0, 0));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x12, 0x13, 0x14));
	assert_int_equal(words(&c, 0), 0);
	pe_case_init(&c, PE_BYTES(0x5b, 0xc3),
		     PE_BYTES(1 | 4 << 3, 0, 0, 0,
			      PE_ENTRY(PE_CODE + 0x100, PE_CODE + 0x200, PE_INFO + 0x100)));
	pe_case_bytes(&c, PE_INFO + 0x100, version_1, sizeof(version_1));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x12, 0x13, 0x14));
	assert_int_equal(words(&c, 0), 1);
	assert_int_equal(words(&c, 0x20), BODY_WORDS);
}

/* Version 2: what is listed counts, not what the instructions are. */
TEST(test_listed)
{
	/* 4 bytes each: pop %r15; pop %rbx; ret. An epilogue is at the end, another one 0x80 bytes
	 * before it. */
	static const uint8_t info[] = {2,
				       7,
				       7,
				       0,
				       PE_SLOT(4, 6, 1),
				       PE_SLOT(0x80, 6, 0),
				       PE_SLOT(7, 2, 1),
				       PE_SLOT(3, 0, 15),
				       PE_SLOT(1, 0, 3),
				       PE_SLOT(0, 8, 6),
				       0,
				       0};
	struct pe_case c;
	pe_case_init(&c, NULL, 0, info, sizeof(info));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x12, 0x13, 0x14));
	static const uint32_t begins[] = {PE_CODE_BYTES - 4, PE_CODE_BYTES - 0x80};
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(words(&c, begins[i] - 1), BODY_WORDS);
		assert_int_equal(words(&c, begins[i]), 2);
		assert_int_equal(pe_case_reg(&c, R15), 0x10);
		assert_int_equal(pe_case_reg(&c, RBX), 0x11);
		assert_int_equal(words(&c, begins[i] + 2), 1);
		assert_int_equal(pe_case_reg(&c, R15), 0xaf);
		assert_int_equal(words(&c, begins[i] + 3), 0);
	}
	assert_int_equal(words(&c, PE_CODE_BYTES - 0x80 + 4), BODY_WORDS);
	pe_case_bytes(&c, PE_CODE + AT, PE_BYTES(0xc3));
	assert_int_equal(words(&c, AT), BODY_WORDS);
	/* a return address is in none */
	c.env.exact_pc = false;
	assert_int_equal(words(&c, begins[0]), BODY_WORDS);
	/* without the flag there is none at the end */
	c.env.exact_pc = true;
	c.image[PE_INFO + 5] = 6;
	assert_int_equal(words(&c, begins[0]), BODY_WORDS);
	assert_int_equal(words(&c, begins[1]), 2);
}

/* pushfq: 8 bytes allocated by an instruction of one byte; and a machine frame at the bottom. */
TEST(test_listed_specials)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(2, 4, 5, 0, PE_SLOT(3, 6, 1), PE_SLOT(0, 6, 0), PE_SLOT(4, 2, 4),
			      PE_SLOT(2, 0, 3), PE_SLOT(1, 2, 0)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x12, 0x13, 0x14));
	assert_int_equal(words(&c, PE_CODE_BYTES - 3), 2);
	assert_int_equal(words(&c, PE_CODE_BYTES - 2), 1);
	assert_int_equal(words(&c, PE_CODE_BYTES - 1), 0);

	pe_case_init(&c, NULL, 0,
		     PE_BYTES(2, 1, 4, 0, PE_SLOT(2, 6, 1), PE_SLOT(0, 6, 0), PE_SLOT(1, 0, 3),
			      PE_SLOT(0, 10, 0)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x33, 0x246, 0x9000, 0x2b));
	assert_int_equal(pe_case_step(&c, PE_CODE_BYTES - 2), SW_PE_OK_MACHINE);
	assert_int_equal(c.ret.pc_avma, 0x11);
	assert_int_equal(c.ret.sp_avma, 0x9000);
}

/* The pushes are the parent's. */
TEST(test_listed_chained)
{
	struct pe_case c;
	static const uint8_t part[] = {
		2 | 4 << 3,
		5,
		4,
		0,
		PE_SLOT(2, 6, 1),
		PE_SLOT(0, 6, 0),
		PE_SLOT(5, 4, 12),
		PE_U16(1),
		PE_ENTRY(PE_CODE + 0x100, PE_CODE + 0x200, PE_INFO + 0x100),
	};
	pe_case_init(&c, NULL, 0, part, sizeof(part));
	pe_case_bytes(&c, PE_INFO + 0x100, version_1, sizeof(version_1));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11, 0x12, 0x13, 0x14));
	assert_int_equal(words(&c, PE_CODE_BYTES - 2), 2);
	assert_int_equal(words(&c, 8), BODY_WORDS);
	assert_int_equal(pe_case_reg(&c, R12), 0x11);
	/* a chain that does not end */
	pe_case_bytes(&c, PE_INFO + 0x100,
		      PE_BYTES(1 | 4 << 3, 0, 0, 0,
			       PE_ENTRY(PE_CODE, PE_CODE + 0x100, PE_INFO + 0x100)));
	assert_int_equal(pe_case_step(&c, PE_CODE_BYTES - 2), SW_PE_BAD);
	assert_string_equal(c.env.why, "the unwind information's chain is too long");
}

/* Four pushes and the same again, more often than any function does: no part of it is believed. */
TEST(test_listed_too_many)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0,
		     PE_BYTES(2 | 4 << 3, 0, 6, 0, PE_SLOT(4, 6, 1), PE_SLOT(0, 6, 0),
			      PE_SLOT(0, 0, 3), PE_SLOT(0, 0, 5), PE_SLOT(0, 0, 6),
			      PE_SLOT(0, 0, 7),
			      PE_ENTRY(PE_CODE, PE_CODE + PE_CODE_BYTES, PE_INFO)));
	/* the same parent all the time, and at last one that pushes nothing */
	enum { STEP = 0x40, N = 30 };
	for (uint32_t i = 1; i < N; i++) {
		memcpy(c.image + PE_INFO + i * STEP, c.image + PE_INFO, STEP);
		memcpy(c.image + PE_INFO + (i - 1) * STEP + 24, &(uint32_t){PE_INFO + i * STEP}, 4);
	}
	c.image[PE_INFO + (N - 1) * STEP] = 2;
	pe_case_stack(&c, c.stack, PE_STACK_WORDS);
	c.regions[1].size = sizeof(c.stack);
	assert_int_equal(pe_case_step(&c, PE_CODE_BYTES - 4), SW_PE_BAD);
	assert_string_equal(c.env.why, "the unwind information has too many codes");
}
