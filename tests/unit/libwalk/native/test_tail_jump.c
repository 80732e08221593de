/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/tail_jump.h"
#include "fake.h"
#include "test.h"

enum { CODE = 0x401000, FOUND = 0x402000, SLOT = 0x403000 };

/* Whether the code leads to FOUND, within so many instructions. SLOT holds FOUND. */
static bool leads_within(const uint8_t *code, size_t n, size_t insns)
{
	static const uint64_t slot = FOUND;
	uint8_t padded[256] = {0};
	assert_true(n + 16 <= sizeof(padded));
	memcpy(padded, code, n);
	const struct fake_region regions[] = {{CODE, padded, sizeof(padded)},
					      {SLOT, &slot, sizeof(slot)}};
	struct fake_memory fake = {.regions = regions, .n_regions = 2};
	const struct sw_tail_jump to = {.memory = fake_memory(&fake),
					.start_avma = FOUND,
					.pc_avma = FOUND + 0x10,
					.insns_left = &insns};
	return sw_tail_jump_leads(&to, CODE);
}

#define LEADS(...)                                                                           \
	leads_within((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), \
		     SW_TAIL_JUMP_INSNS_MAX)

/* jmp FOUND + more, at that offset of the code */
#define JUMP(at, more) 0xe9, (uint8_t) (0xfb - (at) + (more)), 0x0f, 0, 0

TEST(test_direct)
{
	assert_true(LEADS(0x31, 0xd2, JUMP(2, 0)));              /* xor %edx,%edx; jmp */
	assert_true(LEADS(0x31, 0xd2, JUMP(2, 4)));              /* to another entry before pc */
	assert_false(LEADS(0x31, 0xd2, 0xe9, 0x0a, 0x10, 0, 0)); /* behind pc */
	assert_false(LEADS(0x31, 0xd2, 0xc3, JUMP(3, 0)));       /* it returns before */
	/* 0: je 8; 2: jmp 0; 8: jmp FOUND */
	assert_true(LEADS(0x74, 0x06, 0xeb, 0xfc, 0x90, 0x90, 0x90, 0x90, JUMP(8, 0)));
	/* je FOUND; ret */
	assert_true(LEADS(0x0f, 0x84, 0xfa, 0x0f, 0, 0, 0xc3));
	/* calls are gone over */
	assert_true(LEADS(0xe8, 0, 0, 0, 0x20, JUMP(5, 0)));
}

/* With a frame of its own it is a jump within the function, whatever lies there. */
TEST(test_frame)
{
	assert_true(LEADS(0x53, 0x5b, JUMP(2, 0)));                               /* push, pop */
	assert_false(LEADS(0x53, JUMP(1, 0)));                                    /* push */
	assert_true(LEADS(0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, JUMP(8, 0))); /* sub, add */
	assert_false(LEADS(0x48, 0x83, 0xec, 8, JUMP(4, 0)));
	/* push %rbp; mov %rsp,%rbp; sub $8,%rsp; leave */
	assert_true(LEADS(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 8, 0xc9, JUMP(9, 0)));
	assert_false(LEADS(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 8, JUMP(8, 0)));
	/* pop %rbx takes the return address */
	assert_false(LEADS(0x5b, 0x53, 0x5b, JUMP(3, 0)));
}

TEST(test_slot)
{
	assert_true(LEADS(0xff, 0x25, 0xfa, 0x1f, 0, 0));        /* jmp *SLOT(%rip) */
	assert_false(LEADS(0xff, 0x25, 0xfa, 0x1e, 0, 0));       /* not readable */
	assert_false(LEADS(0x53, 0xff, 0x25, 0xf9, 0x1f, 0, 0)); /* not at the function's end */
	assert_false(LEADS(0xff, 0xe0));                         /* jmp *%rax */
}

TEST(test_limits)
{
	static const uint8_t code[] = {0x90, 0x90, 0x90, JUMP(3, 0)};
	assert_true(leads_within(code, sizeof(code), 4));
	assert_false(leads_within(code, sizeof(code), 3));
	assert_false(LEADS(0xeb, 0xfe)); /* without end */
	assert_false(LEADS(0x06));       /* no instruction */
}
