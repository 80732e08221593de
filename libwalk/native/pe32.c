/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code of PE32 images by their call frame information (pe/cfi.h). Functions of Windows for i386 often take their
 * arguments from the stack themselves (stdcall). Tables count from the CALL, where these still lie there: a
 * frame's sp is that right behind its callee's return address, whoever finds it.
 */
#include "native/pe32.h"
#include "native/call_site.h"
#include "native/rule_step.h"
#include "pe/cfi.h"
#include "snapshot/pe_loader.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"

#include <inttypes.h>

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

static bool pe32_probe(const struct sw_snapshot *snap)
{
	return sw_snapshot_has_kind(snap, SW_MODULE_PE);
}

static struct sw_pe_cfi *cfi_at(const struct sw_place *place)
{
	return place != NULL && place->resolved == 1 ? sw_pe_cfi_get(place->module) : NULL;
}

/* Assembly has tables that do not tell of all that it pushes: then the word is any. A frame that
 * Unix code made, which no call comes before, is left to Wine's own steps. */
static enum sw_step caller_check(const struct sw_cursor *cursor, struct sw_stepped *ret)
{
	/* Code of images, which does not change: reading it is no mark on the frame. */
	struct sw_snapshot_memory code = {.snap = cursor->snap};
	struct sw_cursor quiet = *cursor;
	quiet.memory = sw_snapshot_memory(&code);
	if (ret->regs.pc_avma == 0 &&
	    sw_pe_is_stack_top(cursor->memory, cursor->thread->gs_base, ret->regs.sp_avma))
		return SW_STEP_END;
	if (ret->callee_signal || sw_is_return_address(&quiet, ret->regs.pc_avma))
		return SW_STEP_OK;
	return fail(ret, SW_END_BAD_UNWIND_INFO,
		    "the call frame information leads to what is no return address");
}

static enum sw_step pe32_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	(void) state;
	const struct sw_place *place = cursor->place;
	struct sw_pe_cfi *cfi = cfi_at(place);
	const struct sw_cfi_rule *rule;
	if (cfi == NULL)
		return SW_STEP_DECLINE;
	uint64_t base = place->start_avma;
	switch (sw_pe_cfi_row(cfi, (uint32_t) (cursor->lookup_avma - base), &rule)) {
	case SW_PE_ROW_FOUND: break;
	case SW_PE_ROW_NONE: return SW_STEP_DECLINE;
	case SW_PE_ROW_BAD:
		return fail(ret, SW_END_BAD_UNWIND_INFO, "the call frame information is malformed");
	case SW_PE_ROW_NOMEM: return fail(ret, SW_END_INTERNAL, "not enough memory");
	}
	enum sw_step step = sw_step_by_cfi(rule, sw_pe_cfi_bias(cfi, base), cursor, ret);
	return step == SW_STEP_OK ? caller_check(cursor, ret) : step;
}

static void pe32_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			 struct sw_text *text)
{
	(void) state;
	const struct sw_place *place = sw_snapshot_place(snap, avma);
	struct sw_pe_cfi *cfi = cfi_at(place);
	const struct sw_cfi_rule *rule;
	uint32_t start, end;
	const char *section;
	if (cfi == NULL) {
		sw_text_printf(text, "no PE32 image for i386\n");
		return;
	}
	uint32_t rva = (uint32_t) (avma - place->start_avma);
	if (!sw_pe_cfi_function(cfi, rva, &start, &end, &section)) {
		sw_text_printf(text, "table: none covers it\n");
		return;
	}
	sw_text_printf(text, "table: %s, entry for [0x%" PRIx64 ", 0x%" PRIx64 ")\n", section,
		       place->start_avma + start, place->start_avma + end);
	switch (sw_pe_cfi_row(cfi, rva, &rule)) {
	case SW_PE_ROW_NONE: sw_text_printf(text, "rule: none\n"); return;
	case SW_PE_ROW_BAD: sw_text_printf(text, "rule: malformed\n"); return;
	case SW_PE_ROW_NOMEM: sw_text_printf(text, "rule: not enough memory\n"); return;
	case SW_PE_ROW_FOUND: break;
	}
	sw_text_printf(text, "rule: ");
	sw_cfi_rule_print(rule, text);
	sw_text_printf(text, "\n");
}

const struct sw_unwinder_ops sw_unwind_pe32 = {
	.name = "pe-cfi",
	.kind = "pe",
	.trust = SW_TRUST_CFI,
	.weak_trust = SW_TRUST_CFI,
	.kinds = SW_CODE_PE,
	.probe = pe32_probe,
	.step = pe32_step,
	.explain = pe32_explain,
};
