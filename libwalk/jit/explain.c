/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is published of an address in generated code, in words. */
#include "errors.h"
#include "jit/step.h"

#include <inttypes.h>

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
			  const struct sw_jit_entry *entry, uint64_t avma, struct sw_text *text)
{
	sw_text_printf(text, "%s: [0x%" PRIx64 ", 0x%" PRIx64 ")%s%s\n", sw_jit_source_names[i],
		       entry->start_avma, entry->end_avma, entry->where != NULL ? ", " : "",
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
