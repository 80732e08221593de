/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The step out of generated code, for each way that a source may say it (enum sw_jit_how). */
#include "jit/step.h"
#include <inttypes.h>
#include "arch/arch.h"
#include "cleanup.h"
#include "errors.h"
#include "cfi/fde.h"
#include "native/rule_step.h"
#include "snapshot/read.h"

enum { RULES_MAX = 65536 };

/* The rule for an address, made once: 0 or minus an error. */
int sw_jit_rule_get(struct sw_jit_rules *rules, size_t i, const struct sw_jit_entry *entry,
		    uint64_t avma, const struct sw_cfi_rule **ret)
{
	uint64_t value;
	if (sw_map64_get(&rules->made[i], avma, &value)) {
		if (value <= INT8_MAX)
			return -(int) value;
		*ret = (const struct sw_cfi_rule *) (uintptr_t) value;
		return 0;
	}
	if (rules->n >= RULES_MAX)
		return -SW_E_LIMIT;
	int r = sw_cfi_fde_rule(&entry->cfi, entry->cfi_off, avma, rules->arena, ret);
	value = r == 0 ? (uintptr_t) *ret : (uintptr_t) -r;
	if (sw_map64_put(&rules->made[i], avma, value) == 0) /* else it is made again */
		rules->n++;
	return r;
}

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

static enum sw_step cfi_step(struct sw_jit_rules *rules, size_t i, const struct sw_jit_entry *entry,
			     struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct sw_cfi_rule *rule;
	switch (sw_jit_rule_get(rules, i, entry, cursor->lookup_avma, &rule)) {
	case 0: break;
	case -SW_E_NOT_FOUND: return SW_STEP_DECLINE;
	case -SW_E_NOMEM: return fail(ret, SW_END_INTERNAL, "not enough memory");
	case -SW_E_LIMIT:
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    "the generated code's call frame information is over a limit");
	default:
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    "the generated code's call frame information is malformed");
	}
	return sw_step_by_cfi(rule, 0, cursor, ret);
}

/* CFA = register + offset; the return address is below it, and the caller's rbp below that when
 * the register is rbp. */
static enum sw_step plain_step(struct sw_cursor *cursor, unsigned reg, uint64_t offset,
			       struct sw_stepped *ret)
{
	uint64_t base, words[2];
	if (!sw_regs_get(&cursor->regs, reg, &base))
		return fail(ret, SW_END_NO_UNWIND_INFO,
			    "the generated code's frame pointer was lost");
	uint64_t cfa = base + offset;
	bool has_fp = reg == SW_ARCH_FP;
	uint64_t at = cfa - (has_fp ? 2 : 1) * SW_ARCH_WORD;
	if (!sw_memory_read(cursor->memory, at, words, has_fp ? 16 : 8))
		return fail(ret, sw_cursor_memory_end(cursor, at),
			    "the return address could not be read");
	ret->regs = cursor->regs;
	ret->regs.known &= has_fp ? 0 : sw_arch_preserved(false);
	if (has_fp)
		sw_regs_set(&ret->regs, SW_ARCH_FP, words[0]);
	sw_regs_set(&ret->regs, SW_ARCH_SP, cfa);
	sw_regs_set(&ret->regs, SW_ARCH_RA, words[has_fp]);
	return SW_STEP_OK;
}

/* Code with frame pointers, in a prologue or an epilogue perhaps. */
static enum sw_step fp_step(struct sw_cursor *cursor, struct sw_stepped *ret)
{
	enum sw_fp_place place = cursor->exact_pc
					 ? sw_arch_fp_place(cursor->memory, cursor->regs.pc_avma)
					 : SW_FP_IN_BODY;
	uint64_t rbp;
	enum sw_step step;
	switch (place) {
	case SW_FP_IN_BODY: return plain_step(cursor, SW_ARCH_FP, 2 * SW_ARCH_WORD, ret);
	case SW_FP_AT_ENTRY: return plain_step(cursor, SW_ARCH_SP, SW_ARCH_WORD, ret);
	case SW_FP_PUSHED: break;
	}
	if (!sw_memory_u64(cursor->memory, cursor->regs.sp_avma, &rbp))
		return fail(ret, sw_cursor_memory_end(cursor, cursor->regs.sp_avma),
			    "the caller's frame pointer could not be read");
	step = plain_step(cursor, SW_ARCH_SP, 2 * SW_ARCH_WORD, ret);
	if (step == SW_STEP_OK)
		sw_regs_set(&ret->regs, SW_ARCH_FP, rbp);
	return step;
}

/* x64 unwind information of code that runs on Linux. Where it lies is the target's memory. */
struct sw_pe_env sw_jit_pe_env(const struct sw_jit_entry *entry, struct sw_memory memory)
{
	return (struct sw_pe_env){.memory = memory,
				  .base_avma = entry->base_avma,
				  .rules = SW_PE_CLR_SYSV};
}

static enum sw_step pe_step(const struct sw_jit_entry *entry, struct sw_cursor *cursor,
			    struct sw_stepped *ret)
{
	struct sw_pe_env env = sw_jit_pe_env(entry, cursor->memory);
	struct sw_pe_function function = entry->function;
	env.exact_pc = cursor->exact_pc;
	if (!sw_pe_function_resolve(&env, &function))
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    "the generated code's entry in its function table is malformed");
	return sw_step_of_pe(sw_pe_step(&env, &function, &cursor->regs, &ret->regs), &env, cursor,
			     ret);
}

/* Holds everywhere but at RET, where what the code had reserved is given back. */
static enum sw_step fixed_step(struct sw_cursor *cursor, const struct sw_jit_entry *entry,
			       struct sw_stepped *ret)
{
	bool at_return =
		cursor->exact_pc && sw_arch_at_return(cursor->memory, cursor->regs.pc_avma);
	return plain_step(cursor, SW_ARCH_SP, at_return ? SW_ARCH_WORD : entry->cfa_offset, ret);
}

enum sw_step sw_jit_entry_step(struct sw_jit_rules *rules, size_t i,
			       const struct sw_jit_entry *entry, struct sw_cursor *cursor,
			       struct sw_stepped *ret)
{
	switch (entry->how) {
	case SW_JIT_CFI: return cfi_step(rules, i, entry, cursor, ret);
	case SW_JIT_FRAME_POINTER: return fp_step(cursor, ret);
	case SW_JIT_FIXED_CFA: return fixed_step(cursor, entry, ret);
	case SW_JIT_END: return SW_STEP_END;
	case SW_JIT_PE: return pe_step(entry, cursor, ret);
	case SW_JIT_UNKNOWN: break;
	}
	return SW_STEP_DECLINE;
}

/* ---- in words ------------------------------------------------------------------------------- */

static void explain_rule(struct sw_jit_rules *rules, size_t i, const struct sw_jit_entry *entry,
			 uint64_t avma, struct sw_text *text)
{
	const struct sw_cfi_rule *rule;
	int r = sw_jit_rule_get(rules, i, entry, avma, &rule);
	if (r == 0) {
		sw_text_printf(text, "rule: ");
		sw_cfi_rule_print(rule, text);
		sw_text_printf(text, "\n");
	} else {
		sw_text_printf(text, "rule: %s\n",
			       r == -SW_E_NOT_FOUND ? "none: the entry says nothing of the CFA"
						    : sw_error_text(r));
	}
}

static void explain_pe(const struct sw_snapshot *snap, const struct sw_jit_entry *entry,
		       struct sw_text *text)
{
	struct sw_snapshot_memory memory = {.snap = snap};
	struct sw_pe_env env = sw_jit_pe_env(entry, sw_snapshot_memory(&memory));
	struct sw_pe_function function = entry->function;
	if (sw_pe_function_resolve(&env, &function))
		sw_pe_function_print(&env, &function, text);
	else
		sw_text_printf(text, "rule: malformed\n");
}

void sw_jit_entry_explain(struct sw_jit_rules *rules, const struct sw_snapshot *snap, size_t i,
			  const char *name, const struct sw_jit_entry *entry, uint64_t avma,
			  struct sw_text *text)
{
	sw_text_printf(text, "%s: [0x%" PRIx64 ", 0x%" PRIx64 ")%s%s\n", name, entry->start_avma,
		       entry->end_avma, entry->where != NULL ? ", " : "",
		       entry->where != NULL ? entry->where : "");
	switch (entry->how) {
	case SW_JIT_CFI: explain_rule(rules, i, entry, avma, text); break;
	case SW_JIT_FRAME_POINTER:
		sw_text_printf(text, "rule: rbp = [rbp], ra = [rbp+8], CFA = rbp+16\n");
		break;
	case SW_JIT_FIXED_CFA:
		sw_text_printf(text, "rule: CFA = rsp+%" PRIu32 ", ra = [CFA-8]\n",
			       entry->cfa_offset);
		break;
	case SW_JIT_PE: explain_pe(snap, entry, text); break;
	case SW_JIT_END: sw_text_printf(text, "rule: nothing called it\n"); break;
	case SW_JIT_UNKNOWN: sw_text_printf(text, "rule: none\n"); break;
	}
}
