/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/hotspot/onward: where the VM's own code leads, at each of its instructions. */
#include "hotspot_world.h"
#include "arch/arch.h"
#include "runtimes/hotspot/onward.h"
#include "runtimes/hotspot/structures/code.h"
#include "runtimes/hotspot/step.h"
#include "test.h"

enum { AT = WORLD_CODE + 0x80, STACK = 0x8000, CALLER_FP = 0x2222 };

static struct hotspot_world world;

/* A place in code. */
struct place {
	unsigned off, sp; /* sp: words above STACK */
	bool called;      /* pc is where a call has returned to */
};

static int setup(void **state)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
	hotspot_world_init(&world);
	hotspot_world_put(&world, WORLD_CALL - sizeof(call), call, sizeof(call));
	return 0;
}

static int teardown(void **state)
{
	hotspot_world_deinit(&world);
	return 0;
}

static enum sw_step stepped_at(const uint64_t *words, size_t n, const struct place *p,
			       const struct sw_regs *regs, struct sw_stepped *ret)
{
	static struct fake_region regions[2];
	static struct fake_memory fake;
	struct sw_cursor c = {.regs = *regs, .exact_pc = !p->called};
	regions[0] = world.region;
	regions[1] = (struct fake_region){STACK, words, n * 8};
	fake = (struct fake_memory){.regions = regions, .n_regions = 2};
	c.memory = fake_memory(&fake);
	c.regs.pc_avma = AT + p->off;
	sw_regs_set(&c.regs, SW_ARCH_SP, STACK + 8 * p->sp);
	*ret = (struct sw_stepped){0};
	return sw_hotspot_step(&world.h, &c, ret);
}

/*
 * C1's unwind_exception: the frame that threw has gone, and its return address is at rsp; the caller's frame is above.
 *
 *	00 mov (%rsp), %rdx; 04 mov %rdx, %rsi; 07 mov %r15, %rdi; 0a test $15, %esp; 10 je 1f
 *	16 sub $8, %rsp; 1a call far away; 1f add $8, %rsp (behind the call); 23 jmp 2a; 25 call far away
 *	2a mov %rax, %rbx; 2d mov %r14, %rax; 30 pop %rdx; 31 jmp *%rbx
 */
TEST_WITH(test_unwind_exception, setup, teardown)
{
	static const uint8_t code[] = {0x48, 0x8b, 0x14, 0x24, 0x48, 0x89, 0xd6, 0x49, 0x8b,
				       0xff, 0xf7, 0xc4, 0x0f, 0,    0,    0,    0x0f, 0x84,
				       0x0f, 0,    0,    0,    0x48, 0x83, 0xec, 0x08, 0xe8,
				       0,    0,    0x40, 0,    0x48, 0x83, 0xc4, 0x08, 0xeb,
				       0x05, 0xe8, 0,    0,    0x40, 0,    0x48, 0x89, 0xc3,
				       0x4c, 0x89, 0xf0, 0x5a, 0xff, 0xe3};
	/* The word that an earlier call left: another return address, which is right behind a call,
	 * too. */
	static const uint64_t words[] = {WORLD_CALL, WORLD_CALL, 3, 4, 5};
	static const struct place places[] = {{0, 1, false},   {4, 1, false},    {10, 1, false},
					      {16, 1, false},  {0x16, 1, false}, {0x1a, 0, false},
					      {0x1f, 0, true}, {0x23, 1, false}, {0x25, 1, false},
					      {0x2a, 1, true}, {0x2d, 1, false}, {0x30, 1, false},
					      {0x31, 2, false}};
	struct sw_stepped s;
	hotspot_world_routines(&world);
	hotspot_world_put(&world, AT, code, sizeof(code));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct sw_regs regs = {0};
		sw_regs_set(&regs, SW_ARCH_FP, CALLER_FP);
		if (places[i].off == 0x31)
			sw_regs_set(&regs, SW_X86_64_RDX, WORLD_CALL);
		assert_int_equal(stepped_at(words, 5, &places[i], &regs, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, WORLD_CALL);
		assert_int_equal(s.regs.sp_avma, STACK + 16);
		assert_int_equal(s.regs.val[SW_ARCH_FP], CALLER_FP);
	}
}

/* Two ways that leave different stacks behind: nothing is said. 00 je 03; 02 push %rax; 03 ret */
TEST_WITH(test_ways_differ, setup, teardown)
{
	static const uint8_t code[] = {0x74, 0x01, 0x50, 0xc3};
	static const uint64_t words[] = {WORLD_CALL, WORLD_CALL};
	struct sw_hotspot_caller caller;
	struct fake_region regions[2] = {world.region, {STACK, words, sizeof(words)}};
	struct fake_memory fake = {.regions = regions, .n_regions = 2};
	struct sw_cursor c = {.memory = fake_memory(&fake),
			      .regs = {.pc_avma = AT, .sp_avma = STACK + 8},
			      .exact_pc = true};
	hotspot_world_routines(&world);
	hotspot_world_put(&world, AT, code, sizeof(code));
	sw_regs_set(&c.regs, SW_X86_64_RAX, WORLD_CALL);
	struct sw_hotspot_frame f = {.h = &world.h,
				     .cursor = &c,
				     .blob = sw_hotspot_blob_at(&world.h, AT),
				     .pc = AT,
				     .sp = STACK + 8};
	assert_false(sw_hotspot_onward(&f, &caller));
	hotspot_world_put(&world, AT, "\x90", 1); /* one way: nop; add %edx, -0x3d(%rax) */
	hotspot_world_put(&world, AT + 1, "\x90\x90", 2);
	assert_true(sw_hotspot_onward(&f, &caller));
	assert_int_equal(caller.sp, STACK + 16);
}

/*
 * The value that arithmetic makes of a register is not what was popped, nor the caller's rbp:
 *
 *	00 pop %rcx; 01 and $-16, %rcx; 05 jmp *%rcx
 *	10 add %rax, %rbp; 13 ret
 *	20 lea (%rax), %esp; 22 ret
 */
TEST_WITH(test_registers_written, setup, teardown)
{
	static const uint8_t popped[] = {0x59, 0x48, 0x83, 0xe1, 0xf0, 0xff, 0xe1};
	static const uint8_t fp[] = {0x48, 0x01, 0xc5, 0xc3}, sp[] = {0x8d, 0x20, 0xc3};
	static const uint64_t words[] = {WORLD_CALL, WORLD_CALL};
	struct sw_hotspot_caller caller;
	struct fake_region regions[2] = {world.region, {STACK, words, sizeof(words)}};
	struct fake_memory fake = {.regions = regions, .n_regions = 2};
	struct sw_cursor c = {.memory = fake_memory(&fake), .exact_pc = true};
	hotspot_world_routines(&world);
	hotspot_world_put(&world, AT, popped, sizeof(popped));
	hotspot_world_put(&world, AT + 0x10, fp, sizeof(fp));
	hotspot_world_put(&world, AT + 0x20, sp, sizeof(sp));
	sw_regs_set(&c.regs, SW_ARCH_FP, CALLER_FP);
	struct sw_hotspot_frame f = {.h = &world.h, .cursor = &c, .sp = STACK};
	f.blob = sw_hotspot_blob_at(&world.h, AT);
	f.pc = c.regs.pc_avma = AT;
	c.regs.sp_avma = STACK;
	assert_false(sw_hotspot_onward(&f, &caller));
	f.pc = c.regs.pc_avma = AT + 0x10;
	assert_true(sw_hotspot_onward(&f, &caller));
	assert_int_equal(caller.pc, WORLD_CALL);
	assert_false(caller.fp_known);
	f.pc = c.regs.pc_avma = AT + 0x13;
	assert_true(sw_hotspot_onward(&f, &caller));
	assert_true(caller.fp_known);
	f.pc = c.regs.pc_avma = AT + 0x20;
	sw_regs_set(&c.regs, SW_X86_64_RAX, STACK + 8);
	assert_false(sw_hotspot_onward(&f, &caller));
}

/*
 * An adapter that has the VM mend the call that led to it. r13 has the stack, and is saved itself:
 *
 *	00 call far away; 05 mov 8(%rsp), %r13; 0a mov %r13, %rsp; 0d jmp *%rcx
 */
TEST_WITH(test_adapter, setup, teardown)
{
	static const uint8_t code[] = {0xe8, 0,    0,    0x40, 0,    0x4c, 0x8b, 0x6c,
				       0x24, 0x08, 0x49, 0x8b, 0xe5, 0xff, 0xe1};
	static const uint64_t words[] = {1, STACK + 32, 3, 4, WORLD_CALL, 6};
	static const struct place places[] = {{0, 0, false}, {5, 0, true}, {0x0a, 0, false}};
	static const char name[] = "I2C/C2I adapters";
	struct sw_stepped s;
	hotspot_world_put(&world, WORLD + 0x400, name, sizeof(name));
	hotspot_world_put(&world, AT, code, sizeof(code));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct sw_regs regs = {0};
		sw_regs_set(&regs, SW_X86_64_R13, places[i].called ? 0x3333 : STACK + 32);
		assert_int_equal(stepped_at(words, 6, &places[i], &regs, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, WORLD_CALL);
		assert_int_equal(s.regs.sp_avma, STACK + 40);
	}
}

/*
 * An adapter that leads from compiled to interpreted code (jdk-17.0.15). r13 is any value before it is the caller's
 * sp, and where the return address goes to is another one, of an earlier call:
 *
 *	00 pop %rax; 01 mov %rsp, %r13; 04 sub $32, %rsp; 08 mov %rax, (%rsp); 0c mov %rsi, 8(%rsp)
 *	11 mov 0x38(%rbx), %rcx; 15 jmp *%rcx
 */
TEST_WITH(test_adapter_of_compiled, setup, teardown)
{
	static const uint8_t code[] = {0x58, 0x4c, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x20,
				       0x48, 0x89, 0x04, 0x24, 0x48, 0x89, 0x74, 0x24,
				       0x08, 0x48, 0x8b, 0x4b, 0x38, 0xff, 0xe1};
	static const uint64_t before[] = {0, WORLD_CALL + 1, 2, 3, WORLD_CALL, 5, 6, 7, 8};
	static const uint64_t after[] = {0, WORLD_CALL, 2, 3, WORLD_CALL + 1, 5, 6, 7, 8};
	static const struct place places[] = {{0, 4, false},   {1, 5, false},    {4, 5, false},
					      {8, 1, false},   {0x0c, 1, false}, {0x11, 1, false},
					      {0x15, 1, false}};
	static const char name[] = "I2C/C2I adapters";
	struct sw_stepped s;
	hotspot_world_put(&world, WORLD + 0x400, name, sizeof(name));
	hotspot_world_put(&world, AT, code, sizeof(code));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct sw_regs regs = {0};
		sw_regs_set(&regs, SW_X86_64_R13, STACK + (i < 2 ? 64 : 40));
		if (i > 0)
			sw_regs_set(&regs, SW_X86_64_RAX, WORLD_CALL);
		assert_int_equal(stepped_at(i < 4 ? before : after, 9, &places[i], &regs, &s),
				 SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, WORLD_CALL);
		assert_int_equal(s.regs.sp_avma, STACK + 40);
	}
	/* r13 that cannot be that of the caller: nothing is said. */
	struct sw_regs regs = {0};
	sw_regs_set(&regs, SW_X86_64_R13, STACK + 8);
	assert_int_equal(stepped_at(after, 9, &places[6], &regs, &s), SW_STEP_FAIL);
	sw_regs_set(&regs, SW_X86_64_R13, STACK + 0x4000);
	assert_int_equal(stepped_at(after, 9, &places[6], &regs, &s), SW_STEP_FAIL);
}

/*
 * More words are written than are remembered; those are not known, all others are:
 *
 *	00 mov %rax, (%rsp); 04 push %rsi, 60 times; 40 add $480, %rsp; 47 jmp *%rcx
 */
TEST_WITH(test_adapter_of_many, setup, teardown)
{
	enum { PUSHES = 60 };
	static const uint8_t begin[] = {0x48, 0x89, 0x04, 0x24}, push[] = {0x56},
			     end[] = {0x48, 0x81, 0xc4, 0xe0, 0x01, 0, 0, 0xff, 0xe1};
	static const char name[] = "I2C/C2I adapters";
	uint64_t words[PUSHES + 4];
	struct sw_stepped s;
	struct sw_regs regs = {0};
	for (size_t i = 0; i < PUSHES + 4; i++)
		words[i] = WORLD_CALL + 1;
	hotspot_world_put(&world, WORLD + 0x400, name, sizeof(name));
	hotspot_world_put(&world, AT, begin, sizeof(begin));
	for (size_t i = 0; i < PUSHES; i++)
		hotspot_world_put(&world, AT + sizeof(begin) + i, push, sizeof(push));
	hotspot_world_put(&world, AT + sizeof(begin) + PUSHES, end, sizeof(end));
	sw_regs_set(&regs, SW_X86_64_RAX, WORLD_CALL);
	sw_regs_set(&regs, SW_X86_64_R13, STACK + 8 * (PUSHES + 2));
	const struct place place = {0, PUSHES, false};
	assert_int_equal(stepped_at(words, PUSHES + 4, &place, &regs, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, WORLD_CALL);
	assert_int_equal(s.regs.sp_avma, STACK + 8 * (PUSHES + 2));
	hotspot_world_put(&world, AT + sizeof(begin) + PUSHES, end + 7, 2); /* rsp is left there */
	assert_int_equal(stepped_at(words, PUSHES + 4, &place, &regs, &s), SW_STEP_FAIL);
}

/*
 * An adapter that leads from interpreted to compiled code. r13 is an argument, and below the aligned stack lies what an earlier call
 * left:
 *
 *	00 mov (%rsp), %rax; 04 mov %rsp, %r11; 07 sub $16, %rsp; 0b and $-16, %rsp; 0f push %rax; 10 mov %r11, %rax
 *	13 mov 0x40(%rbx), %r11; 17 mov 8(%rax), %r13; 1b mov %r13, 8(%rsp); 20 mov %rbx, %rax; 23 jmp *%r11
 */
TEST_WITH(test_adapter_of_interpreted, setup, teardown)
{
	static const uint8_t code[] = {0x48, 0x8b, 0x04, 0x24, 0x4c, 0x8b, 0xdc, 0x48, 0x83, 0xec,
				       0x10, 0x48, 0x83, 0xe4, 0xf0, 0x50, 0x49, 0x8b, 0xc3, 0x4c,
				       0x8b, 0x5b, 0x40, 0x4c, 0x8b, 0x68, 0x08, 0x4c, 0x89, 0x6c,
				       0x24, 0x08, 0x48, 0x8b, 0xc3, 0x41, 0xff, 0xe3};
	static const uint8_t call[] = {0xff, 0xd0};
	static const struct place places[] = {{0, 4, false},    {4, 4, false},    {7, 4, false},
					      {0x0b, 2, false}, {0x0f, 2, false}, {0x10, 1, false},
					      {0x13, 1, false}, {0x17, 1, false}, {0x1b, 1, false},
					      {0x20, 1, false}, {0x23, 1, false}};
	static const char name[] = "I2C/C2I adapters";
	struct sw_stepped s;
	uint64_t caller = hotspot_world_interpreter(&world, call, sizeof(call)) + sizeof(call);
	const uint64_t words[] = {0, caller, WORLD_CALL, WORLD_CALL, caller, 5};
	hotspot_world_put(&world, WORLD + 0x400, name, sizeof(name));
	hotspot_world_put(&world, AT, code, sizeof(code));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct sw_regs regs = {0};
		sw_regs_set(&regs, SW_ARCH_FP, CALLER_FP);
		sw_regs_set(&regs, SW_X86_64_R13, STACK + 32);
		if (i > 0)
			sw_regs_set(&regs, SW_X86_64_RAX, i < 6 ? caller : STACK + 32);
		assert_int_equal(stepped_at(words, 6, &places[i], &regs, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, caller);
		assert_int_equal(s.regs.val[SW_ARCH_FP], CALLER_FP);
		assert_true(s.regs.sp_avma > STACK + 8 * places[i].sp);
	}
}

/*
 * Compiled code that has taken its frame down and goes on where its exception is taken to the caller's handler:
 * 00 add $0x10, %rsp; 04 pop %rbp; 05 jmp far away. A frame has 32 bytes: two words, rbp, return address.
 */
TEST_WITH(test_unwind_handler, setup, teardown)
{
	static const uint8_t code[] = {0x48, 0x83, 0xc4, 0x10, 0x5d, 0xe9, 0, 0, 0x40, 0};
	/* A stale address is where the return address would be if the frame were there. */
	static const uint64_t words[] = {
		1, 2, CALLER_FP, WORLD_CALL, 5, WORLD_CALL + 1, WORLD_CALL + 1, 8};
	static const struct place places[] = {{0, 0, false}, {4, 2, false}, {5, 3, false}};
	struct sw_stepped s;
	hotspot_world_put(&world, AT, code, sizeof(code));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct sw_regs regs = {0};
		sw_regs_set(&regs, SW_ARCH_FP, i == 2 ? CALLER_FP : 0x1111);
		assert_int_equal(stepped_at(words, 8, &places[i], &regs, &s), SW_STEP_OK);
		assert_int_equal(s.regs.pc_avma, WORLD_CALL);
		assert_int_equal(s.regs.sp_avma, STACK + 32);
		assert_int_equal(s.regs.val[SW_ARCH_FP], CALLER_FP);
	}
}

/* Code without an end is gone through once: 00 jmp 00. And a poll's slow path of C1 has no frame any more:
 * 10 mov $pc, %r10; 1a mov %r10, pc(%r15); 21 jmp */
TEST_WITH(test_circle_and_poll, setup, teardown)
{
	static const uint8_t poll[] = {0x49, 0xba, 1,    2,    3, 4, 5,    6, 7, 8,    0x4d,
				       0x89, 0x97, 0x58, 0x03, 0, 0, 0xe9, 0, 0, 0x40, 0};
	static const uint64_t words[] = {WORLD_CALL, 2, 3, 4};
	static const unsigned offs[] = {0x10, 0x1a, 0x21};
	struct sw_stepped s;
	struct sw_regs regs = {0};
	sw_regs_set(&regs, SW_ARCH_FP, CALLER_FP);
	hotspot_world_put(&world, AT + 0x10, poll, sizeof(poll));
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(stepped_at(words, 4, &(struct place){offs[i], 0, false}, &regs,
					    &s),
				 SW_STEP_OK);
		assert_int_equal(s.regs.sp_avma, STACK + 8);
	}
	assert_int_equal(teardown(NULL), 0);
	assert_int_equal(setup(NULL), 0);
	hotspot_world_routines(&world);
	hotspot_world_put(&world, AT, "\xeb\xfe", 2);
	struct sw_hotspot_caller caller;
	struct fake_region regions[2] = {world.region, {STACK, words, sizeof(words)}};
	struct fake_memory fake = {.regions = regions, .n_regions = 2};
	struct sw_cursor c = {.memory = fake_memory(&fake),
			      .regs = {.pc_avma = AT, .sp_avma = STACK},
			      .exact_pc = true};
	struct sw_hotspot_frame f = {.h = &world.h,
				     .cursor = &c,
				     .blob = sw_hotspot_blob_at(&world.h, AT),
				     .pc = AT,
				     .sp = STACK};
	assert_false(sw_hotspot_onward(&f, &caller));
}
