/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/rule.h"
#include "arch/arch.h"

#include <dwarf.h>
#include <string.h>

enum { RBX = 3 }; /* psABI figure 3.36 */

/* A rule in the making, at its largest. */
struct draft {
	struct sw_cfi_rule rule;
	struct sw_cfi_reg_rule regs[SW_REGS_MAX];
	const struct sw_cfi_expr *exprs[SW_REGS_MAX];
	size_t n_exprs;
	struct sw_arena *arena;
};

static bool fits_offset(uint64_t value)
{
	return (int64_t) value >= INT32_MIN && (int64_t) value <= INT32_MAX;
}

/* CFA = register + offset, if that is what the operations say. */
static bool cfa_is_plain(const Dwarf_Op *ops, size_t n_ops, struct sw_cfi_rule *rule)
{
	if (n_ops != 1)
		return false;
	uint64_t reg, offset;
	if (ops[0].atom == DW_OP_bregx) {
		reg = ops[0].number;
		offset = ops[0].number2;
	} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		reg = (uint64_t) (ops[0].atom - DW_OP_breg0);
		offset = ops[0].number;
	} else {
		return false;
	}
	unsigned number = sw_arch_reg_of_column(rule->is_32bit, reg);
	if (number >= SW_REGS_MAX || !fits_offset(offset))
		return false;
	rule->cfa_reg = (uint8_t) number;
	rule->cfa_offset = (int32_t) (int64_t) offset;
	return true;
}

static int compile_cfa(struct draft *d, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t n_ops;
	if (dwarf_frame_cfa(frame, &ops, &n_ops) != 0)
		return -SW_E_FORMAT;
	if (n_ops == 0)
		return -SW_E_NOT_FOUND;
	if (cfa_is_plain(ops, n_ops, &d->rule))
		return 0;
	return sw_cfi_expr_compile(ops, n_ops, d->rule.is_32bit, d->arena, &d->rule.cfa_expr);
}

/* Adds a register's rule that is not "lost" or "same". */
static int compile_reg(struct draft *d, unsigned reg, const Dwarf_Op *ops, size_t n_ops)
{
	bool value = ops[n_ops - 1].atom == DW_OP_stack_value;
	size_t n = n_ops - value;
	bool cfa_plus = n == 2 && ops[1].atom == DW_OP_plus_uconst && fits_offset(ops[1].number);
	struct sw_cfi_reg_rule r = {.reg = (uint8_t) reg};

	if (n >= 1 && ops[0].atom == DW_OP_call_frame_cfa && (n == 1 || cfa_plus)) {
		r.how = value ? SW_CFI_CFA_PLUS : SW_CFI_AT_CFA;
		r.offset = n == 1 ? 0 : (int32_t) (int64_t) ops[1].number;
		if (reg == SW_ARCH_SP && r.how == SW_CFI_CFA_PLUS && r.offset == 0)
			return 0; /* what it is anyway */
	} else if (n_ops == 1 && ops[0].atom == DW_OP_regx) {
		unsigned from = sw_arch_reg_of_column(d->rule.is_32bit, ops[0].number);
		if (from >= SW_REGS_MAX)
			return -SW_E_FORMAT;
		r.how = SW_CFI_REGISTER;
		r.offset = (int32_t) from;
	} else {
		const struct sw_cfi_expr *expr;
		int e = sw_cfi_expr_compile(ops, n, d->rule.is_32bit, d->arena, &expr);
		if (e < 0)
			return e;
		r.how = value ? SW_CFI_VALUE_EXPR : SW_CFI_EXPR;
		r.offset = (int32_t) d->n_exprs;
		d->exprs[d->n_exprs++] = expr;
	}
	d->regs[d->rule.n_regs++] = r;
	return 0;
}

/* column is where the table keeps reg: they differ only for the return address. */
static int compile_column(struct draft *d, Dwarf_Frame *frame, unsigned reg, int column)
{
	Dwarf_Op mem[3], *ops;
	size_t n_ops;
	if (dwarf_frame_register(frame, column, mem, &ops, &n_ops) != 0)
		return -SW_E_FORMAT;
	if (n_ops > 0)
		return compile_reg(d, reg, ops, n_ops);
	if (reg == SW_ARCH_RA) {
		if (ops == NULL)
			return -SW_E_FORMAT; /* not mentioned, libdw's default: no proof of an end */
		d->rule.ra_undefined = true;
		return 0;
	}
	/*
	 * Not mentioned means: as psABI figure 3.4 says. libdw's table of that keeps rax where it
	 * means rbx (elfutils 0.188, backends/x86_64_cfi.c), so that rbx comes as "undefined". No
	 * compiler says that of rbx, and _dl_runtime_resolve's CFA is rbx + 32.
	 */
	if ((ops == NULL || reg == RBX) &&
	    (sw_arch_preserved(d->rule.is_32bit) & (UINT32_C(1) << reg)))
		d->rule.same_mask |= UINT32_C(1) << reg;
	return 0;
}

/* A copy from the arena; NULL when there is no memory. */
static void *keep(struct sw_arena *arena, const void *bytes, size_t size)
{
	void *copy = sw_arena_alloc(arena, size);
	if (copy != NULL)
		memcpy(copy, bytes, size);
	return copy;
}

static int draft_keep(struct draft *d, const struct sw_cfi_rule **ret)
{
	d->rule.regs = keep(d->arena, d->regs, d->rule.n_regs * sizeof(d->regs[0]));
	d->rule.exprs = keep(d->arena, d->exprs, d->n_exprs * sizeof(d->exprs[0]));
	*ret = keep(d->arena, &d->rule, sizeof(d->rule));
	return d->rule.regs == NULL || d->rule.exprs == NULL || *ret == NULL ? -SW_E_NOMEM : 0;
}

int sw_cfi_rule_compile(Dwarf_Frame *frame, bool is_32bit, bool for_debuggers,
			struct sw_arena *arena, const struct sw_cfi_rule **ret)
{
	struct draft d = {.arena = arena,
			  .rule.is_32bit = is_32bit,
			  .rule.for_debuggers = for_debuggers};
	int ra_column =
		dwarf_frame_info(frame, &d.rule.start_svma, &d.rule.end_svma, &d.rule.signal);
	if (ra_column < 0)
		return -SW_E_FORMAT;
	int r = compile_cfa(&d, frame);
	if (r == 0)
		r = compile_column(&d, frame, SW_ARCH_RA, ra_column);
	for (unsigned reg = 0; r == 0 && !d.rule.ra_undefined && reg < SW_ARCH_RA; reg++) {
		int column = sw_arch_column_of_reg(is_32bit, reg);
		if (column >= 0 && column != ra_column)
			r = compile_column(&d, frame, reg, column);
	}
	return r < 0 ? r : draft_keep(&d, ret);
}

int sw_cfi_rule_sigreturn(enum sw_known_code code, bool is_32bit, struct sw_arena *arena,
			  const struct sw_cfi_rule **ret)
{
	struct draft d = {.arena = arena, .rule.is_32bit = is_32bit};
	d.rule.cfa_reg = SW_ARCH_SP;
	d.rule.signal = true;
	for (unsigned reg = 0; reg < SW_REGS_MAX; reg++) {
		int off = sw_arch_sigframe_place(code, is_32bit, reg);
		if (off >= 0)
			d.regs[d.rule.n_regs++] = (struct sw_cfi_reg_rule){.reg = (uint8_t) reg,
									   .how = SW_CFI_AT_CFA,
									   .offset = off};
	}
	return draft_keep(&d, ret);
}

static enum sw_cfi_result read_word(struct sw_cfi_env *env, uint64_t avma, uint64_t *ret)
{
	env->fault_avma = avma;
	return sw_memory_u64(env->memory, avma, ret) ? SW_CFI_OK : SW_CFI_UNREADABLE;
}

static enum sw_cfi_result reg_value(const struct sw_cfi_rule *rule, const struct sw_cfi_reg_rule *r,
				    struct sw_cfi_env *env, uint64_t *ret)
{
	uint64_t at;
	enum sw_cfi_result e;
	switch ((enum sw_cfi_how) r->how) {
	case SW_CFI_AT_CFA: return read_word(env, env->cfa + (uint64_t) (int64_t) r->offset, ret);
	case SW_CFI_CFA_PLUS: *ret = env->cfa + (uint64_t) (int64_t) r->offset; return SW_CFI_OK;
	case SW_CFI_REGISTER:
		return sw_regs_get(env->regs, (unsigned) r->offset, ret) ? SW_CFI_OK
									 : SW_CFI_UNKNOWN_REG;
	case SW_CFI_EXPR:
		e = sw_cfi_expr_eval(rule->exprs[r->offset], env, &at);
		return e == SW_CFI_OK ? read_word(env, at, ret) : e;
	case SW_CFI_VALUE_EXPR: return sw_cfi_expr_eval(rule->exprs[r->offset], env, ret);
	}
	return SW_CFI_BAD;
}

static enum sw_cfi_result read_word_32(struct sw_cfi_env *env, uint64_t avma, uint64_t *ret)
{
	uint32_t word;
	env->fault_avma = avma;
	if (!sw_memory_read(env->memory, avma, &word, sizeof(word)))
		return SW_CFI_UNREADABLE;
	*ret = word;
	return SW_CFI_OK;
}

/* The same of a rule for i386: apart, so that those of x86-64 do not pay for it. */
static __attribute__((noinline)) enum sw_cfi_result reg_value_32(const struct sw_cfi_rule *rule,
								 const struct sw_cfi_reg_rule *r,
								 struct sw_cfi_env *env,
								 uint64_t *ret)
{
	uint64_t at = (uint32_t) (env->cfa + (uint64_t) (int64_t) r->offset);
	enum sw_cfi_result e;
	switch ((enum sw_cfi_how) r->how) {
	case SW_CFI_AT_CFA: return read_word_32(env, at, ret);
	case SW_CFI_CFA_PLUS: *ret = at; return SW_CFI_OK;
	case SW_CFI_REGISTER:
		return sw_regs_get(env->regs, (unsigned) r->offset, ret) ? SW_CFI_OK
									 : SW_CFI_UNKNOWN_REG;
	case SW_CFI_EXPR:
		e = sw_cfi_expr_eval(rule->exprs[r->offset], env, &at);
		return e == SW_CFI_OK ? read_word_32(env, at, ret) : e;
	case SW_CFI_VALUE_EXPR: return sw_cfi_expr_eval(rule->exprs[r->offset], env, ret);
	}
	return SW_CFI_BAD;
}

static enum sw_cfi_result cfa_value(const struct sw_cfi_rule *rule, struct sw_cfi_env *env)
{
	env->has_cfa = false;
	if (rule->cfa_expr != NULL) {
		enum sw_cfi_result r = sw_cfi_expr_eval(rule->cfa_expr, env, &env->cfa);
		if (r != SW_CFI_OK)
			return r;
	} else {
		if (!sw_regs_get(env->regs, rule->cfa_reg, &env->cfa))
			return SW_CFI_UNKNOWN_REG;
		env->cfa += (uint64_t) (int64_t) rule->cfa_offset;
		if (rule->is_32bit)
			env->cfa = (uint32_t) env->cfa;
	}
	env->has_cfa = true;
	return SW_CFI_OK;
}

enum sw_cfi_result sw_cfi_rule_apply(const struct sw_cfi_rule *rule, struct sw_cfi_env *env,
				     struct sw_regs *ret)
{
	if (rule->ra_undefined)
		return SW_CFI_END;
	enum sw_cfi_result r = cfa_value(rule, env);
	if (r != SW_CFI_OK)
		return r;
	/* All rules see the callee's registers: the caller's are made next to them. */
	struct sw_regs regs = *env->regs;
	regs.known &= rule->same_mask;
	sw_regs_set(&regs, SW_ARCH_SP, env->cfa);
	for (size_t i = 0; i < rule->n_regs; i++) {
		const struct sw_cfi_reg_rule *one = &rule->regs[i];
		uint64_t value;
		r = rule->is_32bit ? reg_value_32(rule, one, env, &value)
				   : reg_value(rule, one, env, &value);
		if (r == SW_CFI_OK)
			sw_regs_set(&regs, one->reg, value);
		else if (one->reg == SW_ARCH_RA || one->reg == SW_ARCH_SP)
			return r;
	}
	*ret = regs;
	return SW_CFI_OK;
}

static void print_reg(const struct sw_cfi_rule *rule, const struct sw_cfi_reg_rule *r,
		      struct sw_text *text)
{
	sw_text_printf(text, ", %s = ", sw_arch_reg_name(rule->is_32bit, r->reg));
	switch ((enum sw_cfi_how) r->how) {
	case SW_CFI_AT_CFA: sw_text_printf(text, "[CFA%+d]", r->offset); break;
	case SW_CFI_CFA_PLUS: sw_text_printf(text, "CFA%+d", r->offset); break;
	case SW_CFI_REGISTER:
		sw_text_printf(text, "%s", sw_arch_reg_name(rule->is_32bit, (unsigned) r->offset));
		break;
	case SW_CFI_EXPR:
	case SW_CFI_VALUE_EXPR:
		sw_text_printf(text, r->how == SW_CFI_EXPR ? "[(" : "(");
		sw_cfi_expr_print(rule->exprs[r->offset], text);
		sw_text_printf(text, r->how == SW_CFI_EXPR ? ")]" : ")");
		break;
	}
}

void sw_cfi_rule_print(const struct sw_cfi_rule *rule, struct sw_text *text)
{
	if (rule->ra_undefined) {
		sw_text_printf(text, "ra is undefined: the first frame");
		return;
	}
	sw_text_printf(text, "CFA = ");
	if (rule->cfa_expr != NULL) {
		sw_text_printf(text, "(");
		sw_cfi_expr_print(rule->cfa_expr, text);
		sw_text_printf(text, ")");
	} else {
		sw_text_printf(text, "%s%+d", sw_arch_reg_name(rule->is_32bit, rule->cfa_reg),
			       rule->cfa_offset);
	}
	for (unsigned reg = 0; reg < SW_REGS_MAX; reg++) /* the return address last */
		for (size_t i = 0; i < rule->n_regs; i++)
			if (rule->regs[i].reg == reg)
				print_reg(rule, &rule->regs[i], text);
}
