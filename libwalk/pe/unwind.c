/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe/unwind.h"
#include "pe/info.h"
#include "pe/rule.h"

#include <string.h>

bool sw_pe_function_resolve(struct sw_pe_env *env, struct sw_pe_function *function)
{
	env->why = NULL;
	for (size_t i = 0; function->unwind_rva & 1; i++) {
		if (i == SW_PE_CHAIN_MAX) {
			env->why = "too many indirect function entries";
			return false;
		}
		uint64_t avma = env->base_avma + function->unwind_rva - 1;
		if (!sw_pe_read(env, avma, function, SW_PE_FUNCTION_BYTES))
			return false;
	}
	if (function->begin_rva < function->end_rva)
		return true;
	env->why = "the function entry's range is empty";
	return false;
}

bool sw_pe_table_search(struct sw_memory memory, uint64_t table_avma, size_t n, uint32_t rva,
			struct sw_pe_function *ret)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct sw_pe_function f;
		if (!sw_memory_read(memory, table_avma + middle * SW_PE_FUNCTION_BYTES, &f,
				    sizeof(f)))
			return false;
		if (rva < f.begin_rva) {
			high = middle;
		} else if (rva >= f.end_rva) {
			low = middle + 1;
		} else {
			*ret = f;
			return true;
		}
	}
	return false;
}

enum sw_pe_result sw_pe_step(struct sw_pe_env *env, const struct sw_pe_function *function,
			     const struct sw_regs *regs, struct sw_regs *ret)
{
	struct sw_pe_draft draft;
	enum sw_pe_result r =
		sw_pe_rule_make(env, function, (uint32_t) (regs->pc_avma - env->base_avma), &draft);
	return r == SW_PE_OK ? sw_pe_rule_apply(&draft.rule, env, regs, ret) : r;
}

enum sw_pe_result sw_pe_step_leaf(struct sw_pe_env *env, const struct sw_regs *regs,
				  struct sw_regs *ret)
{
	struct sw_pe_draft draft;
	sw_pe_rule_make_leaf(env, regs->pc_avma, &draft);
	return sw_pe_rule_apply(&draft.rule, env, regs, ret);
}
