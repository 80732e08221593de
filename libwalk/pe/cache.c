/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe/rule.h"

#include <string.h>

void sw_pe_cache_deinit(struct sw_pe_cache *cache)
{
	sw_map64_deinit(&cache->by_pc);
	sw_arena_deinit(&cache->arena);
	*cache = (struct sw_pe_cache){0};
}

static uint64_t cache_key(uint32_t rva, bool exact_pc)
{
	return (uint64_t) rva << 1 | exact_pc;
}

const struct sw_pe_rule *sw_pe_cache_find(const struct sw_pe_cache *cache, uint32_t rva,
					  bool exact_pc)
{
	uint64_t rule;
	return sw_map64_get(&cache->by_pc, cache_key(rva, exact_pc), &rule)
		       ? (const struct sw_pe_rule *) (uintptr_t) rule
		       : NULL;
}

/* The rule and its operations in one piece. */
static void cache_keep(struct sw_pe_cache *cache, uint64_t key, const struct sw_pe_rule *rule)
{
	if (cache->by_pc.count >= SW_PE_CACHE_MAX)
		sw_pe_cache_deinit(cache);
	size_t bytes = rule->n_ops * sizeof(*rule->ops);
	struct sw_pe_rule *kept = sw_arena_alloc(&cache->arena, sizeof(*kept) + bytes);
	if (kept == NULL)
		return;
	*kept = *rule;
	kept->ops = (const struct sw_pe_rule_op *) (kept + 1);
	memcpy(kept + 1, rule->ops, bytes);
	(void) sw_map64_put(&cache->by_pc, key, (uintptr_t) kept); /* without memory: not kept */
}

enum sw_pe_result sw_pe_cache_step(struct sw_pe_cache *cache, struct sw_pe_env *env,
				   const struct sw_pe_function *function,
				   const struct sw_regs *regs, struct sw_regs *ret)
{
	uint32_t rva = (uint32_t) (regs->pc_avma - env->base_avma);
	struct sw_pe_draft draft;
	enum sw_pe_result r = SW_PE_OK;
	if (function != NULL)
		r = sw_pe_rule_make(env, function, rva, &draft);
	else
		sw_pe_rule_make_leaf(env, regs->pc_avma, &draft);
	if (r != SW_PE_OK)
		return r;
	cache_keep(cache, cache_key(rva, env->exact_pc), &draft.rule);
	return sw_pe_rule_apply(&draft.rule, env, regs, ret);
}
