/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/wasm: code of WebAssembly over made structures. */
#include "fake.h"
#include "runtimes/v8/wasm.h"
#include "test.h"

enum {
	AT = 0x10000,
	VARIABLE = AT,
	STATE = AT + 0x100,
	RANGE = AT + 0x200,
	MODULE = AT + 0x300,
	NODE_ONE = AT + 0x400,
	NODE_TWO = AT + 0x480,
	CODE_ONE = AT + 0x500,
	CODE_TWO = AT + 0x600,
	NEW_CODE = AT + 0x700,
	WASM_MODULE = AT + 0x800,
	FUNCTIONS = AT + 0x900,
	META = AT + 0xa00,
	NEWEST = AT + 0xb00,
	INSTRUCTIONS = 0x900000,
	RELOC = 3,
	PROTECTED = 2,
};

static const struct sw_v8_layout layout = {
	.wasm = {.state_ranges = 72,
		 .state_wrappers = SW_V8_NONE,
		 .module_codes = 16,
		 .module_module = 120,
		 .module_bytes = 136,
		 .module_functions = 8,
		 .code_meta = 16,
		 .code_sizes = 24,
		 .code_protected = 40,
		 .code_index = 44,
		 .code_flags = 80,
		 .kind_bits = 2,
		 .kind_jumps = 3,
		 .has_inlined = true},
};

static uint8_t memory[0x1000];

static void put(uint64_t avma, uint64_t value)
{
	memcpy(memory + (avma - AT), &value, sizeof(value));
}

static void put32(uint64_t avma, uint32_t value)
{
	memcpy(memory + (avma - AT), &value, sizeof(value));
}

static void put_code(uint64_t avma, uint64_t start, uint32_t size, uint32_t index, uint8_t flags)
{
	put(avma, MODULE);
	put(avma + 8, start);
	put(avma + 16, META);
	put32(avma + 24, size);
	put32(avma + 28, RELOC);
	put32(avma + 32, 6);  /* bytes of positions */
	put32(avma + 36, 13); /* of inlined calls */
	put32(avma + 40, PROTECTED);
	put32(avma + 44, index);
	put32(avma + 80, flags);
}

/* Two functions, 1 by Liftoff and 2 by TurboFan, into which a call of 0 was compiled; a third one is not in the
 * tree yet. */
static struct sw_v8_heap heap(struct fake_memory *fake)
{
	memset(memory, 0, sizeof(memory));
	put(VARIABLE, STATE);
	put(STATE + 72 + 8, RANGE);
	put(RANGE + 32, INSTRUCTIONS);
	put(RANGE + 40, INSTRUCTIONS + 0x10000);
	put(RANGE + 48, MODULE);
	put(MODULE + 16 + 8, NODE_ONE);
	put(NODE_ONE + 24, NODE_TWO);
	put(NODE_ONE + 32, INSTRUCTIONS);
	put(NODE_ONE + 40, CODE_ONE);
	put(NODE_TWO + 32, INSTRUCTIONS + 0x100);
	put(NODE_TWO + 40, CODE_TWO);
	put_code(CODE_ONE, INSTRUCTIONS, 0x100, 1, 4);
	put_code(CODE_TWO, INSTRUCTIONS + 0x100, 0x80, 2, 8);
	put_code(NEWEST, INSTRUCTIONS + 0x200, 0x40, 0, 8);
	put(MODULE + 16 + 40, NEW_CODE);
	put(MODULE + 16 + 48, NEW_CODE + 8);
	put(NEW_CODE, NEWEST);
	put(MODULE + 120, WASM_MODULE);
	put(WASM_MODULE + 8, FUNCTIONS);
	put(WASM_MODULE + 16, FUNCTIONS + 3 * 32);
	for (uint32_t i = 0; i < 3; i++) {
		put32(FUNCTIONS + 32 * i + 8, i);
		put32(FUNCTIONS + 32 * i + 16, 0x100 * i);
		put32(FUNCTIONS + 32 * i + 20, 0x80);
	}
	/* at 16: byte 9; at 32: byte 4 of what was compiled in, at byte 20 */
	static const uint8_t positions[] = {2 * 17, 2 * 20, 2 * 16};
	uint8_t *to = memory + (META + PROTECTED + RELOC - AT);
	memcpy(to, positions, sizeof(positions));
	/* from (9 + 1) << 1 to 1 << 31 | (4 + 1) << 1: VLQ of twice the difference */
	uint64_t delta = 2 * ((UINT64_C(1) << 31 | 10) - 20);
	size_t n = sizeof(positions);
	for (; delta > 0x7f; delta >>= 7)
		to[n++] = (uint8_t) (delta | 0x80);
	to[n++] = (uint8_t) delta;
	put32(CODE_TWO + 32, (uint32_t) n);
	uint64_t inlined = META + PROTECTED + RELOC + n;
	put32(inlined, 0);
	put(inlined + 5, 2 * 21);
	static const struct fake_region region = {AT, memory, sizeof(memory)};
	*fake = (struct fake_memory){.regions = &region, .n_regions = 1};
	return (struct sw_v8_heap){&layout, fake_memory(fake)};
}

TEST(test_find)
{
	struct fake_memory fake;
	struct sw_v8_heap h = heap(&fake);
	struct sw_v8_wasm_code code;
	assert_true(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS + 0xff, &code));
	assert_int_equal(code.index, 1);
	assert_true(code.liftoff);
	assert_true(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS + 0x100, &code));
	assert_int_equal(code.index, 2);
	assert_false(code.liftoff);
	assert_int_equal(code.start_avma, INSTRUCTIONS + 0x100);
	assert_int_equal(code.end_avma, INSTRUCTIONS + 0x180);
	assert_true(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS + 0x210, &code));
	assert_int_equal(code.object, NEWEST);
	assert_false(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS + 0x180, &code));
	assert_false(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS - 1, &code));
	assert_false(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS + 0x10000, &code));
	assert_false(sw_v8_wasm_find(h, 0, INSTRUCTIONS, &code));
}

/* Objects that do not fit together are nobody's. */
TEST(test_lies)
{
	struct fake_memory fake;
	struct sw_v8_wasm_code code;
	struct sw_v8_heap h = heap(&fake);
	put(CODE_ONE, MODULE + 8);
	assert_false(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS, &code));
	h = heap(&fake);
	put32(CODE_ONE + 44, 3); /* there is no such function */
	assert_false(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS, &code));
	h = heap(&fake);
	put(NODE_TWO + 24, NODE_ONE); /* a tree that goes round */
	put(NODE_TWO + 16, NODE_ONE);
	put(NODE_ONE + 16, NODE_TWO);
	assert_false(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS + 0x110, &code));
	h = heap(&fake);
	put(MODULE + 16 + 48, UINT64_MAX); /* much new code */
	assert_false(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS + 0x180, &code));
}

TEST(test_levels)
{
	struct fake_memory fake;
	struct sw_v8_heap h = heap(&fake);
	struct sw_v8_wasm_code code;
	struct sw_v8_wasm_level levels[SW_V8_WASM_INLINED_MAX];
	bool certain;
	assert_true(sw_v8_wasm_find(h, VARIABLE, INSTRUCTIONS + 0x100, &code));
	assert_int_equal(sw_v8_wasm_levels(h, &code, code.start_avma + 17, levels, &certain), 1);
	assert_true(certain);
	assert_int_equal(levels[0].index, 2);
	assert_int_equal(levels[0].offset, 0x200 + 9);
	assert_int_equal(sw_v8_wasm_levels(h, &code, code.start_avma + 40, levels, &certain), 2);
	assert_true(certain);
	assert_int_equal(levels[0].index, 0);
	assert_int_equal(levels[0].offset, 4);
	assert_int_equal(levels[1].index, 2);
	assert_int_equal(levels[1].offset, 0x200 + 20);
	/* before the first entry: which one it is cannot be known */
	assert_int_equal(sw_v8_wasm_levels(h, &code, code.start_avma + 8, levels, &certain), 1);
	assert_false(certain);
	assert_int_equal(levels[0].offset, -1);
}
