/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A heap of V8 that anybody wrote. The first byte says which version reads it, the rest is its memory; then
 * objects all over it are read as functions, strings, scripts, code, bytecode and microtasks, who awaits them is asked,
 * and the bytes are followed as instructions. The recipe for copies of threads is executed on it; functions and code are read
 * by copies of which the second half of the memory is what the process has by now.
 */
#include "fuzz.h"
#include "cleanup.h"
#include "copies/execute.h"
#include "copies/record.h"
#include "fake.h"
#include "runtimes/v8/awaits.h"
#include "runtimes/v8/code.h"
#include "runtimes/v8/copied.h"
#include "runtimes/v8/instructions/flow.h"
#include "runtimes/v8/function.h"
#include "runtimes/v8/microtask.h"
#include "runtimes/v8/recipe.h"

#include <string.h>

enum { HEAP = 0x100000, HEAP_BYTES = 0x3000, READS_MAX = 3000000 };

#define AWAITS                                                                      \
	{                                                                           \
		.type_function = 26, .type_generator = 27, .type_promise = 28,      \
		.type_reaction = 29, .type_capability = 30, .type_request = 31,     \
		.type_interpreter_data = 32, .reaction_next = 8, .has_types = true, \
		.type_bound = 34, .type_fulfill_job = 35, .type_reject_job = 36,    \
		.builtins = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .has_builtins = true       \
	}

static const struct sw_v8_layout layouts[] = {
	{.major = 10,
	 .function_first = 1,
	 .function_last = 15,
	 .type_shared = 20,
	 .type_script = 21,
	 .type_scope = 22,
	 .type_bytecode = 23,
	 .type_code = 24,
	 .type_wrapper = SW_V8_NONE,
	 .type_debug_info = 33,
	 .function_shared = 24,
	 .shared_name = 16,
	 .shared_script = 32,
	 .bytecode_data = 56,
	 .kind_baseline = 11,
	 .header_code = SW_V8_NONE,
	 .code_start = SW_V8_NONE,
	 .code_size = 40,
	 .code_flags = 48,
	 .code_deopt = 16,
	 .code_positions = 24,
	 .bytecode_positions = 32,
	 .jump_loop = 9,
	 .scope_locals = 32,
	 .deopt_literals = 2,
	 .deopt_shared = 6,
	 .deopt_positions = 7,
	 .awaits = AWAITS},
	{.major = 14,
	 .function_first = 1,
	 .function_last = 15,
	 .type_shared = 20,
	 .type_script = 21,
	 .type_scope = 22,
	 .type_bytecode = 23,
	 .type_code = 24,
	 .type_wrapper = 25,
	 .type_debug_info = SW_V8_NONE,
	 .function_shared = 32,
	 .shared_name = 24,
	 .shared_script = 40,
	 .bytecode_data = 64,
	 .kind_baseline = 11,
	 .header_code = 24,
	 .code_start = 40,
	 .code_size = 56,
	 .code_flags = 52,
	 .code_deopt = 8,
	 .code_positions = 16,
	 .bytecode_positions = 24,
	 .jump_loop = 9,
	 .scope_locals = 48,
	 .scope_flags_raw = true,
	 .positions_flagged = true,
	 .deopt_literals = 3,
	 .deopt_shared = 7,
	 .deopt_positions = 8,
	 .awaits = AWAITS},
};

static void ignore(void *arg, uint64_t object)
{
}

static void chain_look(struct sw_v8_await_chain chain)
{
	struct sw_v8_await await;
	size_t n = 0;
	while (sw_v8_await_next(&chain, &await))
		if (++n > SW_V8_AWAITS_MAX)
			__builtin_trap();
}

static void awaits_look(struct sw_v8_heap heap, uint64_t object)
{
	struct sw_v8_await await;
	struct sw_v8_await_chain chain = {.heap = heap, .promise = object};
	uint64_t function;
	chain_look(chain);
	if (sw_v8_await_begin(heap, object, &await, &chain))
		chain_look(chain);
	if (sw_v8_await_job(heap, object, &function, &await, &chain))
		chain_look(chain);
	(void) sw_v8_await_is_over(heap, object);
}

static void object_look(struct sw_v8_heap heap, uint64_t object)
{
	static struct sw_v8_function function;
	static const uint8_t sizes[3 * 64] = {[0 ... 3 * 64 - 1] = 2};
	static const struct sw_v8_code_visitor visitor = {ignore, ignore, NULL};
	char text[64];
	uint64_t word;
	(void) sw_v8_string(heap, object, text, sizeof(text));
	if (sw_v8_shared_of(heap, object, &word))
		(void) sw_v8_function_read(heap, word, &function);
	(void) sw_v8_function_read(heap, object, &function);
	(void) sw_v8_line(heap, object, 40);
	(void) sw_v8_bytecode_position(heap, object, 9);
	awaits_look(heap, object);
	for (enum sw_v8_kind kind = SW_V8_OTHER_CODE; kind <= SW_V8_TURBOFAN; kind++) {
		struct sw_v8_level levels[SW_V8_INLINED_MAX];
		struct sw_v8_code code = {.object = object,
					  .start_avma = HEAP,
					  .end_avma = HEAP + 0x800,
					  .kind = kind};
		size_t n = sw_v8_code_levels(heap, &code, HEAP + 0x123, levels);
		for (size_t i = 0; i < n; i++)
			(void) sw_v8_level_position(heap, &code, &levels[i]);
		(void) sw_v8_code_entered(heap, &code);
		sw_v8_code_touch(heap, &code, &visitor);
		(void) sw_v8_baseline_offset(heap, &code, HEAP + 0x123,
					     (struct sw_bytes){sizes, sizeof(sizes)}, &word);
	}
}

/* Copies of a thread whose registers lead into the heap end, and hold what is there. */
static void recipe_execute(const struct sw_v8_program *p, const struct fake_memory *fake,
			   const uint8_t *bytes)
{
	static struct sw_copy_part parts[SW_COPY_PARTS_MAX];
	static uint64_t space[SW_SAMPLED_BYTES_MAX / sizeof(uint64_t)];
	struct fake_memory memory = *fake;
	struct sw_recipe recipe = {0};
	struct sw_copy copy;
	uint64_t regs[SW_ITERATE_REGS];
	for (size_t i = 0; i < SW_ARRAY_SIZE(regs); i++)
		regs[i] = HEAP + (bytes[i] << 4) + bytes[i] % 2;
	const struct sw_recipe_thread thread = {regs, HEAP + 0x400};
	check(sw_v8_recipe_make(p, fake_memory(&memory), 0, &recipe) && sw_recipe_finish(&recipe));
	size_t n =
		sw_recipe_execute(&recipe.steps, fake_memory(&memory), &thread, (uint8_t *) space);
	check(sw_copy_parse((const uint8_t *) space, n, parts, &copy));
	for (size_t i = 0; i < copy.n_parts; i++)
		check(copy.parts[i].avma >= HEAP && copy.parts[i].bytes <= HEAP_BYTES &&
		      copy.parts[i].avma + copy.parts[i].bytes <= HEAP + HEAP_BYTES &&
		      memcmp(copy.parts[i].data, bytes + (copy.parts[i].avma - HEAP),
			     copy.parts[i].bytes) == 0);
	check(memory.reads < READS_MAX);
}

static void copies_look(const struct sw_v8_layout *at, const struct fake_memory *fake,
			const uint8_t *bytes)
{
	const struct sw_v8_program p = {
		.usable = true,
		.at = *at,
		.microtasks = {.isolate = {.kind = SW_TLS_PROGRAM, .offset = -16}, .off = 8},
		.entry_off = bytes[0] * 8U};
	struct fake_region now = {HEAP, bytes + HEAP_BYTES / 2, HEAP_BYTES / 2};
	struct fake_memory heap = *fake, later = {.regions = &now, .n_regions = 1};
	const struct sw_v8_heap then = {&p.at, fake_memory(&heap)};
	struct sw_v8_copies copies = {0};
	struct sw_v8 v8 = {.program = &p,
			   .by_copies = true,
			   .heap = then,
			   .copied = then,
			   .now = {&p.at, fake_memory(&later)},
			   .copies = &copies};
	const struct sw_thread thread = {0};
	const struct sw_cursor cursor = {.thread = &thread};
	recipe_execute(&p, fake, bytes);
	for (uint64_t at_avma = HEAP; at_avma < HEAP + 0x800; at_avma += 64) {
		uint64_t shared;
		if (sw_v8_function_shared(&v8, at_avma + 1, &shared))
			(void) sw_v8_is_still(&v8, shared);
		if (sw_v8_is_still(&v8, at_avma + 1))
			check(sw_v8_identity(&v8, at_avma + 1) != 0);
	}
	for (unsigned turn = 0; turn < 3 && sw_v8_copies_renew(&v8); turn++) {
		const struct sw_v8_known_code *k = sw_v8_known_code(&v8, HEAP + 0x2345);
		if (k != NULL)
			check(sw_v8_is_known_code(&v8, HEAP + 0x2345) &&
			      sw_v8_is_proven_code(&v8, &cursor, k) <= (k->number != 0));
		v8.heap = turn == 1 ? v8.now : then; /* it is freed, and there again */
	}
	sw_v8_copies_deinit(&v8);
	check(heap.reads + later.reads < READS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[HEAP_BYTES];
	struct fake_region region = {HEAP, bytes, sizeof(bytes)};
	struct fake_memory fake = {.regions = &region, .n_regions = 1};
	if (size < 2)
		return 0;
	memset(bytes, 0, sizeof(bytes));
	memcpy(bytes, data + 1, size - 1 < sizeof(bytes) ? size - 1 : sizeof(bytes));
	struct sw_v8_heap heap = {&layouts[data[0] % SW_ARRAY_SIZE(layouts)], fake_memory(&fake)};
	for (uint64_t at = 0; at < 0x800; at += 64)
		object_look(heap, HEAP + at + 1);
	struct sw_v8_code code;
	(void) sw_v8_code_find(heap, HEAP + 0x2345, &code);
	uint32_t off;
	(void) sw_v8_microtask_off((struct sw_bytes){bytes, sizeof(bytes)}, &off);
	for (unsigned flags = 0; flags < 8; flags++) {
		struct sw_v8_function_code f = {.code = {bytes, 512},
						.prologue = flags & 1,
						.framed = flags & 2,
						.entered = flags & 4 ? 16 : 0};
		(void) sw_v8_flow(&f, 77);
	}
	copies_look(heap.at, &fake, bytes);
	if (fake.reads > READS_MAX)
		__builtin_trap(); /* every loop has a limit */
	return 0;
}
