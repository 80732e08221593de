/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * _Unwind_RaiseException(), _Unwind_Resume() and their like save all registers on the stack, look for
 * who handles the exception, and overwrite what they saved by what it had:
 *
 *	struct _Unwind_Context this_context, cur_context;	of the caller; of the handler
 *	uw_install_context_1(&this_context, &cur_context)	overwrites, register by register
 *	_Unwind_DebugHook(cfa, handler)
 *	__builtin_eh_return(offset, handler)			restores, sets rsp, jumps
 *
 * From the first line of these on, tables give a caller that has the registers of the handler, and the
 * frames up to it are no longer needed by anybody: the handler is what calls.
 *
 * Source: GCC 12.2, libgcc/unwind-dw2.c, struct _Unwind_Context, uw_init_context_1() and
 * uw_install_context_1(); the layout is that of every version since 4.2 in which flags says so.
 */
#include "native/landing_pad.h"
#include "arch/arch.h"
#include "arch/eh_return.h"
#include "cfi/function.h"
#include "native/call_site.h"

enum {
	CONTEXT_COLUMNS =
		17, /* of tables: those with a place in it, for i386 too; one more is not used */
	CONTEXT_WORDS = 18 + 9,
	CONTEXT_FLAGS = 24,     /* in words */
	FRAME_BYTES_MAX = 4096, /* 12.2: 704 */
	ARGS_BYTES_MAX = 1 << 16,
};

/* The sizes and flags for a process with words of word_bytes. */
struct layout {
	unsigned word_bytes, context_bytes;
	/* Flags, of which there are two: that the context has all fields; that a signal came there. */
	uint64_t extended, signal_frame;
};

static const struct layout layout_64 = {8, 0xf0, UINT64_C(1) << 62, UINT64_C(1) << 63},
			   layout_32 = {4, 0x80, UINT64_C(1) << 30, UINT64_C(1) << 31};

struct context {
	uint64_t reg[SW_REGS_MAX]; /* where its value is; the value itself by_value; 0: nowhere */
	bool by_value[SW_REGS_MAX];
	uint64_t cfa_avma, ra_avma, lsda_avma, function_avma, args_bytes;
};

static const struct layout *layout_of(struct sw_memory m)
{
	return sw_memory_is_32bit(m) ? &layout_32 : &layout_64;
}

/*
 *	words	0	registers, by columns of tables
 *		18	CFA, return address, LSDA, bases of text and data, start of the function
 *		24	flags, version, bytes of arguments
 *		27	a byte for each register: whether its word is the value itself
 */
static bool context_read(struct sw_memory m, uint64_t avma, struct context *ret)
{
	enum { CFA = 18, RA = 19, LSDA = 20, FUNCTION = 23, ARGS_BYTES = 26 };
	const struct layout *l = layout_of(m);
	uint64_t words[CONTEXT_WORDS];
	uint8_t by_value[CONTEXT_COLUMNS];
	if (!sw_memory_word(m, avma + CONTEXT_FLAGS * l->word_bytes, &words[CONTEXT_FLAGS]) ||
	    (words[CONTEXT_FLAGS] & ~l->signal_frame) != l->extended ||
	    !sw_memory_read(m, avma + CONTEXT_WORDS * l->word_bytes, by_value, sizeof(by_value)))
		return false;
	for (unsigned i = 0; i < CONTEXT_WORDS; i++)
		if (!sw_memory_word(m, avma + i * l->word_bytes, &words[i]))
			return false;
	*ret = (struct context){.cfa_avma = words[CFA],
				.ra_avma = words[RA],
				.lsda_avma = words[LSDA],
				.function_avma = words[FUNCTION],
				.args_bytes = words[ARGS_BYTES]};
	for (unsigned i = 0; i < CONTEXT_COLUMNS; i++) {
		unsigned reg = sw_arch_reg_of_column(sw_memory_is_32bit(m), i);
		if (by_value[i] > 1)
			return false;
		if (reg == SW_REGS_MAX)
			continue;
		ret->reg[reg] = words[i];
		ret->by_value[reg] = by_value[i];
	}
	return true;
}

/* Where the function saved a register of its caller's, from its CFA. False: nowhere. */
static bool saved_at(const struct sw_cfi_rule *rule, unsigned reg, int32_t *ret_offset)
{
	for (unsigned i = 0; i < rule->n_regs; i++) {
		if (rule->regs[i].reg != reg || rule->regs[i].how != SW_CFI_AT_CFA)
			continue;
		*ret_offset = rule->regs[i].offset;
		return true;
	}
	return false;
}

/* The registers that are passed to it. */
static bool is_saved_for_handler(const struct sw_cfi_rule *rule)
{
	/* No other function saves them. */
	int32_t offset;
	return saved_at(rule, SW_ARCH_HANDLER_FIRST, &offset) &&
	       saved_at(rule, SW_ARCH_HANDLER_SECOND, &offset);
}

bool sw_may_lead_to_handler(const struct sw_cfi_rule *rule, bool exact_pc)
{
	/* The tables of libgcc for i386 say of its last instructions that all is restored. */
	bool may_be_end = rule->is_32bit && exact_pc &&
			  (rule->cfa_reg == SW_ARCH_HANDLER_STACK || rule->cfa_reg == SW_ARCH_SP);
	return may_be_end || is_saved_for_handler(rule);
}

/* The context of the function's own caller: all registers that the table says it saved, and only those. */
static bool is_of_caller(const struct context *c, const struct sw_cfi_rule *rule, uint64_t cfa_avma,
			 uint64_t function_avma)
{
	if (c->cfa_avma != cfa_avma || c->function_avma != function_avma)
		return false;
	for (unsigned i = 0; i < SW_REGS_MAX; i++) {
		int32_t offset;
		if (i == SW_ARCH_SP) /* uw_install_context_1() has use for it */
			continue;
		uint64_t at =
			saved_at(rule, i, &offset) ? cfa_avma + (uint64_t) (int64_t) offset : 0;
		if (c->reg[i] != at || c->by_value[i])
			return false;
	}
	return true;
}

/* The two contexts of the function's frame: exactly two, one of them its caller's. */
static bool handler_find(const struct sw_cursor *cursor, const struct sw_cfi_rule *rule,
			 uint64_t cfa_avma, uint64_t function_avma, struct context *ret)
{
	const struct layout *l = layout_of(cursor->memory);
	uint64_t at = cursor->regs.sp_avma;
	if (at >= cfa_avma || cfa_avma - at > FRAME_BYTES_MAX || at % l->word_bytes != 0)
		return false;
	struct context c, handler;
	unsigned n_callers = 0, n_handlers = 0;
	while (at + l->context_bytes <= cfa_avma) {
		if (!context_read(cursor->memory, at, &c)) {
			at += l->word_bytes;
			continue;
		}
		if (is_of_caller(&c, rule, cfa_avma, function_avma)) {
			n_callers++;
		} else {
			n_handlers++;
			handler = c;
		}
		at += l->context_bytes;
	}
	if (n_callers != 1 || n_handlers != 1)
		return false;
	*ret = handler;
	return true;
}

/* A register of the handler's: saved by a frame between the function's and its. */
static bool handler_reg(const struct context *c, unsigned reg, const struct sw_cursor *cursor,
			uint64_t lowest_avma, struct sw_regs *ret)
{
	uint64_t at = c->reg[reg], value = at;
	if (!c->by_value[reg] &&
	    (at % layout_of(cursor->memory)->word_bytes != 0 || at < lowest_avma ||
	     at >= c->cfa_avma || !sw_memory_word(cursor->memory, at, &value)))
		return false;
	sw_regs_set(ret, reg, value);
	return true;
}

static bool handler_regs(const struct context *c, const struct sw_cfi_rule *rule,
			 const struct sw_cursor *cursor, uint64_t cfa_avma, struct sw_regs *ret)
{
	uint32_t preserved = sw_arch_preserved(rule->is_32bit) &
			     ~(UINT32_C(1) << SW_ARCH_SP | UINT32_C(1) << SW_ARCH_RA);
	int32_t lowest;
	*ret = (struct sw_regs){0};
	if (!saved_at(rule, SW_ARCH_HANDLER_FIRST, &lowest))
		return false;
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		if ((preserved & UINT32_C(1) << i) &&
		    !handler_reg(c, i, cursor, cfa_avma + (uint64_t) (int64_t) lowest, ret))
			return false;
	sw_regs_set(ret, SW_ARCH_SP, c->cfa_avma + c->args_bytes);
	sw_regs_set(ret, SW_ARCH_RA, c->ra_avma);
	return true;
}

/* The function's frame is there, and in it what it will do. */
static enum sw_step ahead_step(struct sw_elf_cfi *cfi, const struct sw_cfi_rule *rule,
			       const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	uint64_t fp, function_svma, bias = cursor->place->bias;
	struct context handler;
	if (rule->cfa_expr != NULL || rule->cfa_reg != SW_ARCH_FP ||
	    !sw_regs_get(&cursor->regs, SW_ARCH_FP, &fp) ||
	    !sw_elf_function_start(cfi, cursor->lookup_avma - bias, &function_svma))
		return SW_STEP_DECLINE;
	uint64_t cfa = fp + (uint64_t) (int64_t) rule->cfa_offset;
	if (!handler_find(cursor, rule, cfa, function_svma + bias, &handler) ||
	    handler.cfa_avma < cfa || handler.cfa_avma >= sw_cursor_stack_end(cursor) ||
	    handler.args_bytes > ARGS_BYTES_MAX || handler.lsda_avma == 0 ||
	    !sw_is_executable(cursor->snap, handler.function_avma) ||
	    !sw_is_executable(cursor->snap, handler.ra_avma) ||
	    !handler_regs(&handler, rule, cursor, cfa, &ret->regs))
		return SW_STEP_DECLINE;
	return SW_STEP_OK;
}

/* The registers have been restored: what the table says of them is about the caller's frame. */
static enum sw_step done_step(const struct sw_cfi_rule *rule, const struct sw_cursor *cursor,
			      struct sw_stepped *ret)
{
	struct sw_cfi_env env = {.regs = &cursor->regs,
				 .memory = cursor->memory,
				 .bias = cursor->place->bias};
	struct sw_regs regs;
	if (rule->cfa_reg == SW_ARCH_FP || sw_cfi_rule_apply(rule, &env, &regs) != SW_CFI_OK ||
	    !sw_is_executable(cursor->snap, regs.pc_avma))
		return SW_STEP_DECLINE;
	ret->regs = cursor->regs;
	ret->regs.known &= sw_arch_preserved(rule->is_32bit);
	sw_regs_set(&ret->regs, SW_ARCH_SP, regs.sp_avma);
	sw_regs_set(&ret->regs, SW_ARCH_RA, regs.pc_avma);
	return SW_STEP_OK;
}

enum sw_step sw_handler_step(struct sw_elf_cfi *cfi, const struct sw_cfi_rule *rule,
			     const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	enum sw_step step = SW_STEP_DECLINE;
	switch (sw_arch_eh_return(cursor->memory, cursor->regs.pc_avma, cursor->exact_pc,
				  is_saved_for_handler(rule))) {
	case SW_EH_RETURN_NO: break;
	case SW_EH_RETURN_AHEAD: step = ahead_step(cfi, rule, cursor, ret); break;
	case SW_EH_RETURN_DONE: step = done_step(rule, cursor, ret); break;
	}
	if (step == SW_STEP_OK)
		ret->flags = SW_FRAME_EXACT_PC;
	return step;
}
