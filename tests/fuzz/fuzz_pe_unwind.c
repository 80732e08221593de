/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Unwind information, function tables and code that somebody else wrote. The input:
 *
 *	1 byte      bit 0: CoreCLR's rules
 *	1 byte      entries in the table, which is at RVA 0
 *	12 bytes    the entry of the function
 *	the rest    the image
 *
 * Steps are made at the function's first and last instructions and in its middle, as exact
 * addresses and as return addresses; a step by a kept rule must be the same.
 */
#include "fuzz.h"
#include "arch/arch.h"
#include "pe/info.h"
#include "pe/rule.h"

#include <string.h>

enum {
	BASE = 0x10000000,
	STACK = 0x20000000,
	STACK_WORDS = 4096,
	HEADER = 14,
	STARTS = 48, /* instructions that are looked at from each end */
	TEXT_MAX = 1 << 20,
};

struct input {
	const uint8_t *image;
	size_t size;
	size_t n_functions;
	struct sw_memory memory;
};

static bool input_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct input *in = arg;
	uint64_t rva = avma - BASE;
	if (rva < in->size && length <= in->size - rva) {
		memcpy(buffer, in->image + rva, length);
		return true;
	}
	/* A stack full of values that are addresses in it, or in the image. */
	if (avma < STACK || avma - STACK >= STACK_WORDS * 8 || length > 8)
		return false;
	uint64_t mixed = sw_mix64(avma), word = mixed % 3 == 0 ? BASE + mixed % (in->size + 1)
							       : STACK + mixed % STACK_WORDS * 8;
	memcpy(buffer, &word, length);
	return true;
}

static bool input_find(void *arg, uint32_t rva, struct sw_pe_function *ret)
{
	const struct input *in = arg;
	return sw_pe_table_search(in->memory, BASE, in->n_functions, rva, ret);
}

static bool same(const struct sw_regs *a, const struct sw_regs *b)
{
	if (a->known != b->known || a->pc_avma != b->pc_avma || a->sp_avma != b->sp_avma)
		return false;
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		if ((a->known & (UINT32_C(1) << i)) && a->val[i] != b->val[i])
			return false;
	return true;
}

static void step(struct sw_pe_env *env, struct sw_pe_cache *cache,
		 const struct sw_pe_function *function, uint32_t rva)
{
	struct sw_regs regs = {0}, first, second;
	for (unsigned i = 0; i < SW_ARCH_RA; i++)
		sw_regs_set(&regs, i, STACK + 64 * i);
	sw_regs_set(&regs, SW_ARCH_SP, STACK + STACK_WORDS);
	sw_regs_set(&regs, SW_ARCH_RA, BASE + (uint64_t) rva);
	enum sw_pe_result r = sw_pe_step(env, function, &regs, &first);
	if (r == SW_PE_BAD && env->why == NULL)
		abort();
	if (sw_pe_cache_step(cache, env, function, &regs, &second) != r)
		abort();
	const struct sw_pe_rule *rule = sw_pe_cache_find(cache, rva, env->exact_pc);
	if (r != SW_PE_OK && r != SW_PE_OK_MACHINE)
		return;
	if (rule == NULL || !same(&first, &second) ||
	    sw_pe_rule_apply(rule, env, &regs, &second) != r || !same(&first, &second))
		abort();
	(void) sw_pe_step_leaf(env, &regs, &first); /* any answer will do */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sw_memory_ops ops = {.read = input_read};
	if (size < HEADER)
		return 0;
	struct input in = {.image = data + HEADER, .size = size - HEADER, .n_functions = data[1]};
	in.memory = (struct sw_memory){&ops, &in};
	struct sw_pe_function function, found;
	memcpy(&function, data + 2, sizeof(function));
	struct sw_pe_env env = {.memory = in.memory,
				.base_avma = BASE,
				.rules = data[0] & 1 ? SW_PE_CLR_SYSV : SW_PE_WINDOWS,
				.table = {input_find, &in}};
	struct sw_pe_cache cache = {0};
	uint32_t middle = function.begin_rva + (function.end_rva - function.begin_rva) / 2;
	for (uint32_t i = 0; i < STARTS; i++)
		for (unsigned exact = 0; exact < 2; exact++) {
			env.exact_pc = exact;
			step(&env, &cache, &function, function.begin_rva + i);
			step(&env, &cache, &function, function.end_rva - i);
			step(&env, &cache, &function, middle + i);
		}
	struct sw_text text = {0};
	sw_pe_function_print(&env, &function, &text);
	if (text.size > TEXT_MAX)
		abort();
	sw_text_deinit(&text);
	for (uint32_t rva = 0; rva < size; rva += 7)
		if (input_find(&in, rva, &found) && (rva < found.begin_rva || rva >= found.end_rva))
			abort();
	sw_pe_cache_deinit(&cache);
	return 0;
}
