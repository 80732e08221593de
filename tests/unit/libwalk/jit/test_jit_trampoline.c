/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/trampoline.h"
#include "arch/arch.h"
#include "jit/common/source.h"
#include "walk_case.h"
#include "test.h"

enum {
	BIAS = 0x550000000000,
	CODE = BIAS + IMAGE_CODE,
	JIT = 0x660000000000,
	VARIABLE = 0x770000000000,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
	ROOT_BEAM = 1,
};

/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret: at +4 of the mapping, and again right behind. */
static const uint8_t code[] = {
	0xcc, 0xcc, 0xcc, 0xcc, 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3,
	0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3, 0x48, 0x83, 0xec, 0x08,
};

enum { FIRST = JIT + 4, SECOND = JIT + 15 };

/*
 *	40 start: call *%rax	ff d0, which nothing called
 */
static const uint8_t file_code[0x48] = {[0x40] = 0xff, 0xd0};
static const struct image_fde fdes[] = {{.start = 0x40, .end = 0x48, IMAGE_ROWS(0x07, 16)}};

static struct sw_snapshot *snapshot(void)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS,
		    &(struct image_parts){.code = file_code,
					  .n_code = sizeof(file_code),
					  .fdes = fdes,
					  .n_fdes = 1});
	(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
	fake_snapshot_range(snap, JIT, code, sizeof(code));
	return snap;
}

/* Stopped at each of its instructions: the return address is where it must be. */
TEST(test_python)
{
	static const struct {
		uint64_t pc, sp;
	} cases[] = {{FIRST, SP + 8},      {FIRST + 4, SP + 16}, {FIRST + 6, SP + 16},
		     {FIRST + 10, SP + 8}, {SECOND, SP + 8},     {SECOND + 10, SP + 8}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t stack[] = {CODE + 0x42, CODE + 0x42};
		stack[cases[i].sp == SP + 8] = 0x57a1e; /* the other one */
		struct sw_snapshot *snap = snapshot();
		(void) fake_snapshot_stack(snap, 1, cases[i].pc, stack, 2);
		walk_is(snap, NULL,
			FRAMES({cases[i].pc, SP, "context", "context", SW_FRAME_EXACT_PC},
			       {CODE + 0x42, cases[i].sp, "trampoline", "jit", 0}),
			SW_END_COMPLETE, NULL);
	}
}

/* As a caller: the function it called returns behind its CALL. */
TEST(test_python_caller)
{
	static const uint64_t stack[] = {SECOND + 6, 0, FIRST + 6, 0, CODE + 0x42};
	struct sw_snapshot *snap = snapshot();
	(void) fake_snapshot_stack(snap, 1, FIRST, stack, 5);
	walk_is(snap, NULL,
		FRAMES({FIRST, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {SECOND + 6, SP + 8, "trampoline", "jit", 0},
		       {FIRST + 6, SP + 24, "trampoline", "jit", 0},
		       {CODE + 0x42, SP + 40, "trampoline", "jit", 0}),
		SW_END_COMPLETE, NULL);
}

static bool finds(struct sw_snapshot *snap, const struct sw_jit_root *roots, size_t n,
		  uint64_t avma, struct sw_jit_entry *entry)
{
	void *state = NULL;
	assert_int_equal(sw_jit_trampoline.attach(snap, roots, n, NULL, &state), 0);
	bool found = sw_jit_trampoline.find(state, avma, entry);
	sw_jit_trampoline.detach(state);
	return found;
}

/* Other code, a part of it, its bytes in a file's code. */
TEST(test_not_python)
{
	struct sw_jit_entry entry;
	struct sw_snapshot *snap = snapshot();
	fake_snapshot_finish(snap);
	assert_false(finds(snap, NULL, 0, JIT + 3, &entry));
	assert_false(finds(snap, NULL, 0, SECOND + 11, &entry)); /* cut by the end of the memory */
	assert_false(finds(snap, NULL, 0, JIT - 4, &entry));
	assert_false(finds(snap, NULL, 0, 3, &entry));
	assert_true(finds(snap, NULL, 0, FIRST + 5, &entry));
	assert_int_equal(entry.start_avma, FIRST + 4);
	assert_int_equal(entry.end_avma, FIRST + 10);
	assert_int_equal(entry.how, SW_JIT_FIXED_CFA);
	assert_int_equal(entry.cfa_offset, 16);
	fake_snapshot_destroy(snap);
}

/* The address to which beam_normal_exit points ends the stack of an Erlang process. */
TEST(test_beam)
{
	static const uint64_t exit_avma = JIT + 0x100, none = 0;
	const struct sw_jit_root roots[] = {{.avma = VARIABLE, .detail = ROOT_BEAM},
					    {.avma = VARIABLE + 0x100, .detail = ROOT_BEAM},
					    {.avma = VARIABLE + 0x200, .detail = ROOT_BEAM}};
	struct sw_jit_entry entry;
	struct sw_snapshot *snap = snapshot();
	fake_snapshot_range(snap, VARIABLE, &none, sizeof(none));
	fake_snapshot_range(snap, VARIABLE + 0x200, &exit_avma, sizeof(exit_avma));
	fake_snapshot_finish(snap);
	assert_false(finds(snap, roots, 2, exit_avma, &entry)); /* 0, not readable */
	assert_true(finds(snap, roots, 3, exit_avma, &entry));
	assert_int_equal(entry.how, SW_JIT_END);
	assert_true(finds(snap, roots, 3, exit_avma - 1, &entry)); /* as a return address */
	assert_false(finds(snap, roots, 3, exit_avma + 1, &entry));
	assert_false(finds(snap, roots, 3, exit_avma - 2, &entry));
	fake_snapshot_destroy(snap);
}
