/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_RULE_H
#define SW_PE_RULE_H

#include "arena.h"
#include "map.h"
#include "pe/unwind.h"

/*
 * Unwind information for one code address as a small rule, as cfi/rule.h has it for DWARF: made
 * once, then applied with nothing but the stack.
 *
 *	sp = rsp, then in this order
 *	  LOAD        reg = [sp + off]
 *	  SET_SP      sp = reg - off
 *	  SET_FRAME   frame = reg - off
 *	  LOAD_FRAME  reg = [frame + off]
 *	return:        pc = [sp + end_off], sp = sp + end_off + 8
 *	machine frame: pc = [sp + end_off], sp = [sp + end_off + 24]
 */
enum sw_pe_what { SW_PE_LOAD, SW_PE_SET_SP, SW_PE_SET_FRAME, SW_PE_LOAD_FRAME };

struct sw_pe_rule_op {
	uint8_t what; /* enum sw_pe_what */
	uint8_t reg;  /* DWARF number */
	uint64_t off;
};

struct sw_pe_rule {
	uint32_t preserved; /* registers that keep their value when nothing is said of them */
	bool machine;
	bool leaf; /* made without an entry */
	uint64_t end_off;
	size_t n_ops;
	const struct sw_pe_rule_op *ops; /* a draft's, or the cache's */
};

enum {
	/* A function saves each of 15 registers once, and each info of a chain may set up a frame. */
	SW_PE_RULE_OPS_MAX = 96,
	/* Rules in one cache; when it is reached all are dropped and made anew. */
	SW_PE_CACHE_MAX = 65536,
};

/* A rule in the making, at its largest. */
struct sw_pe_draft {
	struct sw_pe_rule rule;
	struct sw_pe_rule_op ops[SW_PE_RULE_OPS_MAX];
};

/*
 * The rule for the instruction at rva in a function; env->exact_pc says if it may be in an epilogue.
 * SW_PE_OK, SW_PE_BAD or SW_PE_UNREADABLE. rule.ops points into *ret.
 */
enum sw_pe_result sw_pe_rule_make(struct sw_pe_env *env, const struct sw_pe_function *function,
				  uint32_t rva, struct sw_pe_draft *ret);

/* The rule of a function without an entry. It never fails. */
void sw_pe_rule_make_leaf(struct sw_pe_env *env, uint64_t pc_avma, struct sw_pe_draft *ret);

/* SW_PE_OK or SW_PE_OK_MACHINE and the caller's registers; one whose memory cannot be read is lost,
 * when it is the return address the result is SW_PE_UNREADABLE. */
enum sw_pe_result sw_pe_rule_apply(const struct sw_pe_rule *rule, struct sw_pe_env *env,
				   const struct sw_regs *regs, struct sw_regs *ret);

/* The registers that a function leaves as they are, as a mask of DWARF numbers. */
uint32_t sw_pe_preserved(enum sw_pe_rules rules);

/*
 * Rules of one image, or of one range of dynamic tables: tables and code must not change while they
 * are kept. Zero-initialised is a valid empty one.
 *
 *	rule = sw_pe_cache_find(&cache, rva, exact_pc);
 *	result = rule != NULL ? sw_pe_rule_apply(rule, &env, regs, ret)
 *			      : sw_pe_cache_step(&cache, &env, function of rva, regs, ret);
 */
struct sw_pe_cache {
	struct sw_map64 by_pc;
	struct sw_arena arena;
};

void sw_pe_cache_deinit(struct sw_pe_cache *cache);

/* NULL when there is none yet. Valid until the next sw_pe_cache_step(). */
const struct sw_pe_rule *sw_pe_cache_find(const struct sw_pe_cache *cache, uint32_t rva,
					  bool exact_pc);

/* sw_pe_step(), or sw_pe_step_leaf() when function is NULL, and the rule is kept (without memory it
 * is not, and is made again the next time). */
enum sw_pe_result sw_pe_cache_step(struct sw_pe_cache *cache, struct sw_pe_env *env,
				   const struct sw_pe_function *function,
				   const struct sw_regs *regs, struct sw_regs *ret);

/* ---- for pe/epilog.c ------------------------------------------------------------------ */

/* An empty rule: the return address is at [rsp]. */
void sw_pe_draft_init(const struct sw_pe_env *env, struct sw_pe_draft *draft);

/* False: over the limit. */
bool sw_pe_draft_add(struct sw_pe_draft *draft, enum sw_pe_what what, unsigned reg, uint64_t off);

/* The rule by the codes of the prologue for rva, as if it were in no epilogue. */
enum sw_pe_result sw_pe_rule_make_body(struct sw_pe_env *env, const struct sw_pe_function *function,
				       uint32_t rva, struct sw_pe_draft *ret);

#endif
