/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/expr.h"
#include "arch/arch.h"

#include <dwarf.h>
#include <inttypes.h>

/* The codes that stay after compiling; all other forms become one of them. */
enum {
	OP_PUSH = DW_OP_constu, /* value */
	OP_ADDR = DW_OP_addr,   /* value + bias */
	OP_REG = DW_OP_bregx,   /* reg + value */
	OP_CFA = DW_OP_call_frame_cfa,
	OP_DEREF = DW_OP_deref_size, /* value bytes */
	OP_PICK = DW_OP_pick,        /* value from the top */
};

/* Operations that push something known at compile time, and registers. False: another kind. */
static bool compile_push(const Dwarf_Op *op, bool is_32bit, struct sw_cfi_op *out, bool *ret_valid)
{
	uint8_t atom = op->atom;
	uint64_t column = UINT64_MAX;
	out->value = op->number;
	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
		out->code = OP_PUSH;
		out->value = atom - DW_OP_lit0;
	} else if (atom >= DW_OP_const1u && atom <= DW_OP_consts) {
		out->code = OP_PUSH; /* libdw has extended the sign */
	} else if (atom == DW_OP_addr) {
		out->code = OP_ADDR;
	} else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
		out->code = OP_REG;
		column = (uint64_t) (atom - DW_OP_breg0);
	} else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
		/* A location, which means nothing here; yet fiber switches are written so in the
		 * field (wasmtime), and elfutils takes the register's value. */
		out->code = OP_REG;
		column = (uint64_t) (atom - DW_OP_reg0);
		out->value = 0;
	} else if (atom == DW_OP_bregx || atom == DW_OP_regx) {
		out->code = OP_REG;
		column = op->number;
		out->value = atom == DW_OP_bregx ? op->number2 : 0;
	} else {
		return false;
	}
	if (out->code == OP_REG) {
		unsigned reg = sw_arch_reg_of_column(is_32bit, column);
		*ret_valid = reg < SW_REGS_MAX;
		out->reg = (uint8_t) reg;
	}
	return true;
}

/* The operation that begins at byte offset; n_ops when it is just behind the last; -1 when none. */
static int index_at(const Dwarf_Op *ops, size_t n_ops, uint64_t offset)
{
	for (size_t i = 0; i < n_ops; i++)
		if (ops[i].offset == offset)
			return (int) i;
	/* Nothing says how long the last operation is: a jump behind it ends the expression. */
	return offset > ops[n_ops - 1].offset ? (int) n_ops : -1;
}

static bool compile_one(const Dwarf_Op *ops, size_t n_ops, size_t index, bool is_32bit,
			struct sw_cfi_op *out)
{
	const Dwarf_Op *op = &ops[index];
	bool valid = true;
	if (compile_push(op, is_32bit, out, &valid))
		return valid;
	out->code = op->atom;
	switch (op->atom) {
	case DW_OP_call_frame_cfa:
	case DW_OP_drop:
	case DW_OP_swap:
	case DW_OP_rot:
	case DW_OP_abs:
	case DW_OP_and:
	case DW_OP_div:
	case DW_OP_minus:
	case DW_OP_mod:
	case DW_OP_mul:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_plus_uconst:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_xor:
	case DW_OP_eq:
	case DW_OP_ge:
	case DW_OP_gt:
	case DW_OP_le:
	case DW_OP_lt:
	case DW_OP_ne:
	case DW_OP_nop: return true;
	case DW_OP_dup:
	case DW_OP_over:
		out->code = OP_PICK;
		out->value = op->atom == DW_OP_over;
		return true;
	case DW_OP_pick: return true;
	case DW_OP_deref:
	case DW_OP_deref_size:
		out->code = OP_DEREF;
		if (op->atom == DW_OP_deref)
			out->value = is_32bit ? 4 : 8;
		return out->value == 1 || out->value == 2 || out->value == 4 || out->value == 8;
	case DW_OP_skip:
	case DW_OP_bra: {
		/* The operand counts from the end of the operation, which is 3 bytes long. */
		uint64_t offset = op->offset + 3 + (uint64_t) (int64_t) (int16_t) op->number;
		int target = index_at(ops, n_ops, offset);
		if (target < 0)
			return false;
		out->target = (uint16_t) target;
		return true;
	}
	default: return false; /* needs a frame, an object or a thread: DWARF 5, §6.4.2 */
	}
}

int sw_cfi_expr_compile(const Dwarf_Op *ops, size_t n_ops, bool is_32bit, struct sw_arena *arena,
			const struct sw_cfi_expr **ret)
{
	if (n_ops == 0)
		return -SW_E_FORMAT;
	if (n_ops > SW_CFI_EXPR_OPS_MAX)
		return -SW_E_LIMIT;
	struct sw_cfi_expr *expr =
		sw_arena_calloc(arena, 1, sizeof(*expr) + n_ops * sizeof(expr->ops[0]));
	if (expr == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < n_ops; i++)
		if (!compile_one(ops, n_ops, i, is_32bit, &expr->ops[i]))
			return -SW_E_FORMAT;
	expr->n_ops = n_ops;
	expr->is_32bit = is_32bit;
	*ret = expr;
	return 0;
}

struct stack {
	uint64_t word[SW_CFI_EXPR_STACK_MAX];
	size_t depth;
	bool is_32bit; /* words are kept with their sign extended: DWARF compares and divides so */
};

/* As it is on the stack. */
static uint64_t fit(const struct stack *s, uint64_t value)
{
	return s->is_32bit ? (uint64_t) (int64_t) (int32_t) (uint32_t) value : value;
}

/* As an unsigned number. */
static uint64_t plain(const struct stack *s, uint64_t value)
{
	return s->is_32bit ? (uint32_t) value : value;
}

static bool push(struct stack *s, uint64_t value)
{
	if (s->depth == SW_CFI_EXPR_STACK_MAX)
		return false;
	s->word[s->depth++] = fit(s, value);
	return true;
}

/* a is the second from the top, b the top. */
static bool binary(const struct stack *s, uint8_t code, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t sa = (int64_t) a, sb = (int64_t) b;
	switch (code) {
	case DW_OP_and: *ret = a & b; return true;
	case DW_OP_or: *ret = a | b; return true;
	case DW_OP_xor: *ret = a ^ b; return true;
	case DW_OP_plus: *ret = a + b; return true;
	case DW_OP_minus: *ret = a - b; return true;
	case DW_OP_mul: *ret = a * b; return true;
	case DW_OP_div:
		if (b == 0)
			return false;
		*ret = sb == -1 ? 0 - a : (uint64_t) (sa / sb); /* INT64_MIN / -1 traps */
		return true;
	case DW_OP_mod:
		if (b == 0)
			return false;
		*ret = plain(s, a) % plain(s, b);
		return true;
	case DW_OP_shl: *ret = b < 64 ? a << b : 0; return true;
	case DW_OP_shr: *ret = b < 64 ? plain(s, a) >> b : 0; return true;
	case DW_OP_shra: *ret = (uint64_t) (sa >> (b < 64 ? b : 63)); return true;
	case DW_OP_eq: *ret = a == b; return true;
	case DW_OP_ne: *ret = a != b; return true;
	case DW_OP_ge: *ret = sa >= sb; return true;
	case DW_OP_gt: *ret = sa > sb; return true;
	case DW_OP_le: *ret = sa <= sb; return true;
	case DW_OP_lt: *ret = sa < sb; return true;
	default: return false;
	}
}

/* Operations on the stack alone. */
static bool shuffle(struct stack *s, const struct sw_cfi_op *op)
{
	uint64_t *top = s->word + s->depth; /* top[-1] is the topmost */
	switch (op->code) {
	case OP_PICK: return op->value < s->depth && push(s, top[-1 - (int64_t) op->value]);
	case DW_OP_drop:
		if (s->depth < 1)
			return false;
		s->depth--;
		return true;
	case DW_OP_swap:
	case DW_OP_rot: {
		size_t n = op->code == DW_OP_rot ? 3 : 2;
		if (s->depth < n)
			return false;
		uint64_t first = top[-1];
		for (size_t i = 1; i < n; i++)
			top[-(int64_t) i] = top[-(int64_t) i - 1];
		top[-(int64_t) n] = first;
		return true;
	}
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
		if (s->depth < 1)
			return false;
		if (op->code == DW_OP_not)
			top[-1] = ~top[-1];
		else if (op->code == DW_OP_plus_uconst)
			top[-1] += op->value;
		else if (op->code == DW_OP_neg || (int64_t) top[-1] < 0)
			top[-1] = 0 - top[-1];
		top[-1] = fit(s, top[-1]);
		return true;
	default: {
		uint64_t value;
		if (s->depth < 2 || !binary(s, op->code, top[-2], top[-1], &value))
			return false;
		top[-2] = fit(s, value);
		s->depth--;
		return true;
	}
	}
}

static enum sw_cfi_result execute(struct stack *s, const struct sw_cfi_op *op,
				  struct sw_cfi_env *env)
{
	uint64_t value = 0;
	switch (op->code) {
	case OP_PUSH: value = op->value; break;
	case OP_ADDR: value = op->value + env->bias; break;
	case OP_CFA:
		if (!env->has_cfa)
			return SW_CFI_BAD; /* the CFA cannot be made from itself */
		value = env->cfa;
		break;
	case OP_REG:
		if (!sw_regs_get(env->regs, op->reg, &value))
			return SW_CFI_UNKNOWN_REG;
		value += op->value;
		break;
	case OP_DEREF:
		if (s->depth < 1)
			return SW_CFI_BAD;
		env->fault_avma = plain(s, s->word[--s->depth]);
		if (!sw_memory_read(env->memory, env->fault_avma, &value, (size_t) op->value))
			return SW_CFI_UNREADABLE;
		break;
	default: return shuffle(s, op) ? SW_CFI_OK : SW_CFI_BAD;
	}
	return push(s, value) ? SW_CFI_OK : SW_CFI_BAD;
}

enum sw_cfi_result sw_cfi_expr_eval(const struct sw_cfi_expr *expr, struct sw_cfi_env *env,
				    uint64_t *ret)
{
	struct stack s;
	s.depth = 0;
	s.is_32bit = expr->is_32bit;
	size_t at = 0;
	for (size_t steps = 0; at < expr->n_ops; steps++) {
		const struct sw_cfi_op *op = &expr->ops[at++];
		if (steps == SW_CFI_EXPR_STEPS_MAX)
			return SW_CFI_BAD;
		if (op->code == DW_OP_nop)
			continue;
		if (op->code == DW_OP_bra || op->code == DW_OP_skip) {
			if (op->code == DW_OP_bra && s.depth == 0)
				return SW_CFI_BAD;
			if (op->code == DW_OP_skip || s.word[--s.depth] != 0)
				at = op->target;
			continue;
		}
		enum sw_cfi_result r = execute(&s, op, env);
		if (r != SW_CFI_OK)
			return r;
	}
	if (s.depth == 0)
		return SW_CFI_BAD;
	*ret = plain(&s, s.word[s.depth - 1]);
	return SW_CFI_OK;
}

static const char *code_name(uint8_t code)
{
	switch (code) {
	case OP_CFA: return "cfa";
	case DW_OP_drop: return "drop";
	case DW_OP_swap: return "swap";
	case DW_OP_rot: return "rot";
	case DW_OP_abs: return "abs";
	case DW_OP_and: return "and";
	case DW_OP_div: return "div";
	case DW_OP_minus: return "minus";
	case DW_OP_mod: return "mod";
	case DW_OP_mul: return "mul";
	case DW_OP_neg: return "neg";
	case DW_OP_not: return "not";
	case DW_OP_or: return "or";
	case DW_OP_plus: return "plus";
	case DW_OP_shl: return "shl";
	case DW_OP_shr: return "shr";
	case DW_OP_shra: return "shra";
	case DW_OP_xor: return "xor";
	case DW_OP_eq: return "eq";
	case DW_OP_ge: return "ge";
	case DW_OP_gt: return "gt";
	case DW_OP_le: return "le";
	case DW_OP_lt: return "lt";
	case DW_OP_ne: return "ne";
	case DW_OP_nop: return "nop";
	default: return "?";
	}
}

void sw_cfi_expr_print(const struct sw_cfi_expr *expr, struct sw_text *text)
{
	for (size_t i = 0; i < expr->n_ops; i++) {
		const struct sw_cfi_op *op = &expr->ops[i];
		const char *space = i == 0 ? "" : " ";
		int64_t value = (int64_t) op->value;
		if (op->code == OP_REG && value == 0)
			sw_text_printf(text, "%s%s", space,
				       sw_arch_reg_name(expr->is_32bit, op->reg));
		else if (op->code == OP_REG)
			sw_text_printf(text, "%s%s%+" PRId64, space,
				       sw_arch_reg_name(expr->is_32bit, op->reg), value);
		else if (op->code == OP_PUSH)
			sw_text_printf(text, "%s%" PRId64, space, value);
		else if (op->code == OP_ADDR)
			sw_text_printf(text, "%s0x%" PRIx64, space, op->value);
		else if (op->code == DW_OP_plus_uconst)
			sw_text_printf(text, "%s%+" PRId64, space, value);
		else if (op->code == OP_PICK)
			sw_text_printf(text, "%spick%" PRId64, space, value);
		else if (op->code == OP_DEREF)
			sw_text_printf(text, "%sderef%" PRId64, space, value);
		else if (op->code == DW_OP_bra || op->code == DW_OP_skip)
			sw_text_printf(text, "%s%s->%u", space,
				       op->code == DW_OP_bra ? "bra" : "skip", op->target);
		else
			sw_text_printf(text, "%s%s", space, code_name(op->code));
	}
}
