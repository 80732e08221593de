/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From unwind information to a rule, and a rule applied. The effect of each code: Microsoft, "x64
 * exception handling"; CoreCLR 10.0, src/coreclr/unwinder/amd64/unwinder.cpp.
 */
#include "pe/rule.h"
#include "arch/arch.h"
#include "pe/epilog.h"
#include "pe/info.h"
#include "arch/x86_decode.h"

#include <string.h>

enum { MACHINE_SP_OFF = 24 }; /* rip, cs, eflags, rsp, ss: what the processor pushes */

uint32_t sw_pe_preserved(enum sw_pe_rules rules)
{
	return rules == SW_PE_WINDOWS ? sw_arch_preserved_windows() : sw_arch_preserved(false);
}

void sw_pe_draft_init(const struct sw_pe_env *env, struct sw_pe_draft *draft)
{
	draft->rule =
		(struct sw_pe_rule){.preserved = sw_pe_preserved(env->rules), .ops = draft->ops};
}

bool sw_pe_draft_add(struct sw_pe_draft *draft, enum sw_pe_what what, unsigned reg, uint64_t off)
{
	if (draft->rule.n_ops == SW_PE_RULE_OPS_MAX)
		return false;
	draft->ops[draft->rule.n_ops++] =
		(struct sw_pe_rule_op){.what = (uint8_t) what, .reg = (uint8_t) reg, .off = off};
	return true;
}

/* An info of a chain while its codes are undone. rule.end_off is how far rsp has come. */
struct undo {
	struct sw_pe_draft *draft;
	const struct sw_pe_info *info;
	bool frame_is_rsp;    /* saves are relative to rsp as it is before anything is undone */
	uint64_t frame_start; /* then: this far from sp */
};

static const struct sw_pe_code *find_set_fpreg(const struct sw_pe_info *info)
{
	for (size_t i = 0; i < info->n_codes; i++)
		if (info->codes[i].op == SW_PE_SET_FPREG ||
		    info->codes[i].op == SW_PE_SET_FPREG_LARGE)
			return &info->codes[i];
	return NULL;
}

/* In the prologue the frame register counts once it is set. An info that does not set it itself
 * shares its parent's: then it is set all the time. */
static bool frame_is_rsp(const struct sw_pe_info *info, uint32_t offset)
{
	if (info->frame_reg == 0)
		return true;
	const struct sw_pe_code *set = find_set_fpreg(info);
	if (set != NULL)
		return offset < set->offset;
	return offset < info->prologue_bytes && !(info->flags & SW_PE_CHAININFO);
}

static bool undo_save(struct undo *u, const struct sw_pe_code *code)
{
	unsigned reg = sw_x86_dwarf_number(code->info);
	if (u->frame_is_rsp)
		return sw_pe_draft_add(u->draft, SW_PE_LOAD, reg, u->frame_start + code->value);
	return sw_pe_draft_add(u->draft, SW_PE_LOAD_FRAME, reg, code->value);
}

/* False: more operations than a rule has space for. */
static bool undo_code(struct undo *u, const struct sw_pe_code *code)
{
	struct sw_pe_rule *rule = &u->draft->rule;
	switch ((enum sw_pe_op) code->op) {
	case SW_PE_PUSH_NONVOL:
		if (!sw_pe_draft_add(u->draft, SW_PE_LOAD, sw_x86_dwarf_number(code->info),
				     rule->end_off))
			return false;
		rule->end_off += SW_ARCH_WORD;
		return true;
	case SW_PE_ALLOC_LARGE:
	case SW_PE_ALLOC_SMALL: rule->end_off += code->value; return true;
	case SW_PE_SET_FPREG:
	case SW_PE_SET_FPREG_LARGE:
		rule->end_off = 0;
		return sw_pe_draft_add(u->draft, SW_PE_SET_SP,
				       sw_x86_dwarf_number(u->info->frame_reg),
				       u->info->frame_bytes);
	case SW_PE_SAVE_NONVOL:
	case SW_PE_SAVE_NONVOL_FAR: return undo_save(u, code);
	case SW_PE_PUSH_MACHFRAME:
		rule->machine = true;
		rule->end_off += code->info ? SW_ARCH_WORD : 0; /* an error code */
		return true;
	case SW_PE_EPILOG:
	case SW_PE_SPARE:
	case SW_PE_SAVE_XMM128:
	case SW_PE_SAVE_XMM128_FAR: return true;
	}
	return true;
}

/* Before anything is undone: a push of the frame register may come before a save. */
static bool frame_set(struct undo *u, uint32_t offset)
{
	for (size_t i = 0; !u->frame_is_rsp && i < u->info->n_codes; i++) {
		const struct sw_pe_code *code = &u->info->codes[i];
		if (offset >= code->offset &&
		    (code->op == SW_PE_SAVE_NONVOL || code->op == SW_PE_SAVE_NONVOL_FAR))
			return sw_pe_draft_add(u->draft, SW_PE_SET_FRAME,
					       sw_x86_dwarf_number(u->info->frame_reg),
					       u->info->frame_bytes);
	}
	return true;
}

static enum sw_pe_result undo_info(struct sw_pe_env *env, const struct sw_pe_info *info,
				   uint32_t offset, struct sw_pe_draft *draft)
{
	struct undo u = {
		.draft = draft,
		.info = info,
		.frame_is_rsp = frame_is_rsp(info, offset),
		.frame_start = draft->rule.end_off,
	};
	if (!frame_set(&u, offset))
		return sw_pe_bad(env, "the unwind information has too many codes");
	for (size_t i = 0; i < info->n_codes; i++) {
		if (offset < info->codes[i].offset)
			continue; /* that instruction was not executed yet */
		if (draft->rule.machine)
			return sw_pe_bad(env, "unwind codes follow a machine frame");
		if (!undo_code(&u, &info->codes[i]))
			return sw_pe_bad(env, "the unwind information has too many codes");
	}
	return SW_PE_OK;
}

static enum sw_pe_result read_resolved(struct sw_pe_env *env, struct sw_pe_function *function,
				       struct sw_pe_info *ret)
{
	if (!sw_pe_function_resolve(env, function))
		return env->why != NULL ? SW_PE_BAD : SW_PE_UNREADABLE;
	return sw_pe_info_read(env, function->unwind_rva, ret);
}

/* The info of a function and those it is chained to. *info is the first one's and is used up. */
static enum sw_pe_result make_chain(struct sw_pe_env *env, const struct sw_pe_function *function,
				    struct sw_pe_info *info, uint32_t rva, struct sw_pe_draft *ret)
{
	struct sw_pe_function f = *function;
	for (size_t i = 0; i < SW_PE_CHAIN_MAX; i++) {
		/* A part that lies before its parent gives a huge offset: all was done there. */
		enum sw_pe_result r = undo_info(env, info, rva - f.begin_rva, ret);
		if (r != SW_PE_OK || !(info->flags & SW_PE_CHAININFO))
			return r;
		if (ret->rule.machine)
			return sw_pe_bad(env, "unwind codes follow a machine frame");
		f = info->parent;
		r = read_resolved(env, &f, info);
		if (r != SW_PE_OK)
			return r;
	}
	return sw_pe_bad(env, "the unwind information's chain is too long");
}

enum sw_pe_result sw_pe_rule_make_body(struct sw_pe_env *env, const struct sw_pe_function *function,
				       uint32_t rva, struct sw_pe_draft *ret)
{
	struct sw_pe_function f = *function;
	struct sw_pe_info info;
	enum sw_pe_result r = read_resolved(env, &f, &info);
	sw_pe_draft_init(env, ret);
	return r == SW_PE_OK ? make_chain(env, &f, &info, rva, ret) : r;
}

enum sw_pe_result sw_pe_rule_make(struct sw_pe_env *env, const struct sw_pe_function *function,
				  uint32_t rva, struct sw_pe_draft *ret)
{
	struct sw_pe_function f = *function;
	struct sw_pe_info info;
	enum sw_pe_result r = read_resolved(env, &f, &info);
	if (r != SW_PE_OK)
		return r;
	sw_pe_draft_init(env, ret);
	if (env->exact_pc && sw_pe_epilog(env, &f, &info, rva, ret))
		return SW_PE_OK;
	return make_chain(env, &f, &info, rva, ret);
}

static bool stack_read(struct sw_pe_env *env, uint64_t avma, uint64_t *ret)
{
	env->fault_avma = avma;
	return sw_memory_u64(env->stack.ops != NULL ? env->stack : env->memory, avma, ret);
}

static enum sw_pe_result rule_op_apply(const struct sw_pe_rule_op *op, struct sw_pe_env *env,
				       struct sw_regs *ret, uint64_t *sp, uint64_t *frame,
				       uint32_t *loaded)
{
	uint64_t value, *base = sp;
	switch ((enum sw_pe_what) op->what) {
	case SW_PE_SET_FRAME: base = frame; /* fall through */
	case SW_PE_SET_SP:
		if (!(ret->known & (UINT32_C(1) << op->reg)))
			return sw_pe_bad(env, "the unwind information needs a register that was "
					      "lost");
		*base = ret->val[op->reg] - op->off;
		return SW_PE_OK;
	case SW_PE_LOAD_FRAME: base = frame; /* fall through */
	case SW_PE_LOAD:
		if (stack_read(env, *base + op->off, &value)) {
			ret->val[op->reg] = value;
			ret->known |= UINT32_C(1) << op->reg;
			*loaded |= UINT32_C(1) << op->reg;
		} else {
			ret->known &= ~(UINT32_C(1) << op->reg);
			*loaded &= ~(UINT32_C(1) << op->reg);
		}
		return SW_PE_OK;
	}
	return SW_PE_OK;
}

enum sw_pe_result sw_pe_rule_apply(const struct sw_pe_rule *rule, struct sw_pe_env *env,
				   const struct sw_regs *regs, struct sw_regs *ret)
{
	uint64_t sp = regs->sp_avma, frame = 0, pc;
	uint32_t loaded = 0;
	*ret = *regs;
	for (size_t i = 0; i < rule->n_ops; i++) {
		enum sw_pe_result r = rule_op_apply(&rule->ops[i], env, ret, &sp, &frame, &loaded);
		if (r != SW_PE_OK)
			return r;
	}
	sp += rule->end_off;
	ret->known &= rule->preserved | loaded;
	if (!stack_read(env, sp, &pc))
		return SW_PE_UNREADABLE;
	if (!rule->machine)
		sp += SW_ARCH_WORD;
	else if (!stack_read(env, sp + MACHINE_SP_OFF, &sp))
		return SW_PE_UNREADABLE;
	sw_regs_set(ret, SW_ARCH_SP, sp);
	sw_regs_set(ret, SW_ARCH_RA, pc);
	return rule->machine ? SW_PE_OK_MACHINE : SW_PE_OK;
}

/* ---- functions without an entry ----------------------------------------------------------------- */

/*
 * Leaves, which push and save nothing. mingw's ___chkstk_ms has no entry and does push (gcc 12.2,
 * libgcc/config/i386/cygwin.S; compiler-rt 14, lib/builtins/x86_64/chkstk.S).
 */
enum {
	PUSH_RCX_END = 1,
	PUSH_RAX_END = 2,
	CHKSTK_MAX = 64, /* it has 50 bytes, and 48 in compiler-rt */
	PAGE_BYTES = 4096,
};

static const uint8_t chkstk_start[] = {
	0x51,                               /* push %rcx */
	0x50,                               /* push %rax */
	0x48, 0x3d, 0x00, 0x10, 0x00, 0x00, /* cmp $0x1000,%rax */
	0x48, 0x8d, 0x4c, 0x24, 0x18,       /* lea 24(%rsp),%rcx */
};
static const uint8_t chkstk_end[] = {0x58, 0x59, 0xc3}; /* pop %rax; pop %rcx; ret */

/* Code around pc: *ret_before bytes of it lie before pc. Returns how many there are in all. */
static size_t read_around(struct sw_memory memory, uint64_t pc_avma, uint8_t code[2 * CHKSTK_MAX],
			  size_t *ret_before)
{
	*ret_before = CHKSTK_MAX;
	if (sw_memory_read(memory, pc_avma - CHKSTK_MAX, code, 2 * CHKSTK_MAX))
		return 2 * CHKSTK_MAX;
	/* A neighbour of pc's page may be missing: then the function is not in it. */
	size_t in_page = pc_avma % PAGE_BYTES, left = PAGE_BYTES - in_page;
	size_t before = in_page < CHKSTK_MAX ? in_page : CHKSTK_MAX;
	size_t size = before + (left < CHKSTK_MAX ? left : CHKSTK_MAX);
	*ret_before = before;
	return sw_memory_read(memory, pc_avma - before, code, size) ? size : 0;
}

/* How many bytes ___chkstk_ms has on the stack when it is at offset pc - start. */
static size_t chkstk_pushed(const uint8_t *start, size_t size, size_t pc)
{
	for (size_t end = sizeof(chkstk_start); end + sizeof(chkstk_end) <= size; end++) {
		if (memcmp(start + end, chkstk_end, sizeof(chkstk_end)) != 0)
			continue;
		if (pc >= PUSH_RAX_END && pc <= end)
			return 16;
		return pc == PUSH_RCX_END || pc == end + 1 ? 8 : 0;
	}
	return 0;
}

static size_t leaf_pushed(struct sw_memory memory, uint64_t pc_avma)
{
	uint8_t code[2 * CHKSTK_MAX];
	size_t pc, size = read_around(memory, pc_avma, code, &pc);
	for (size_t start = 0; start + sizeof(chkstk_start) <= size && start <= pc; start++)
		if (memcmp(code + start, chkstk_start, sizeof(chkstk_start)) == 0)
			return chkstk_pushed(code + start, size - start, pc - start);
	return 0;
}

void sw_pe_rule_make_leaf(struct sw_pe_env *env, uint64_t pc_avma, struct sw_pe_draft *ret)
{
	sw_pe_draft_init(env, ret);
	ret->rule.leaf = true;
	ret->rule.end_off = leaf_pushed(env->memory, pc_avma);
}

/* ---- rules that are kept ------------------------------------------------------------------------ */

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

/* The rule and its operations in one part. */
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
