/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Out of managed code: by the unwind information that the JIT compiler writes (Windows' format, also
 * on Unix), and by rule out of what has none.
 * Source: dotnet/runtime v10.0.0, docs/design/coreclr/botr/clr-abi.md, src/coreclr/jit/unwindamd64.cpp.
 */
#include "runtimes/clr/unwind.h"
#include "runtimes/clr/tasks/running.h"
#include "runtimes/clr/hijack.h"
#include "arch/arch.h"
#include "native/call_site.h"
#include "formats/pe_image.h"
#include "pe/rule.h"
#include "runtimes/clr/code/dynamic.h"
#include "runtimes/clr/code/ranges.h"
#include "runtimes/clr/restore.h"
#include "runtimes/clr/stub.h"

#include <string.h>

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

/* A lookup of functions in one image: a jump at the end of a function may lead to another one. */
struct finder {
	struct sw_clr *clr;
	uint64_t base_avma;
};

static bool function_find(void *arg, uint32_t rva, struct sw_pe_function *ret)
{
	const struct finder *f = arg;
	const struct sw_clr_code *code = sw_clr_code_find(f->clr, f->base_avma + rva);
	if (code == NULL || code->kind == SW_CLR_CODE_STUB || code->base_avma != f->base_avma ||
	    rva >= code->function.end_rva)
		return false;
	*ret = code->function;
	return true;
}

/* The rule for an address, made once. Code does not change, so that the process may run meanwhile. */
static enum sw_pe_result rule_get(struct sw_clr *clr, const struct sw_clr_code *code,
				  struct sw_pe_env *env, uint64_t pc_avma,
				  const struct sw_pe_rule **ret)
{
	uint64_t key = pc_avma << 1 | env->exact_pc, kept;
	bool lasts = !sw_clr_is_doubtful(clr, code);
	if (lasts && sw_map64_get(&clr->rules, key, &kept)) {
		*ret = (const struct sw_pe_rule *) (uintptr_t) kept;
		return SW_PE_OK;
	}
	struct finder finder = {clr, code->base_avma};
	struct sw_pe_env making = *env;
	struct sw_pe_draft draft;
	making.memory = clr->memory;
	making.table = (struct sw_pe_table){function_find, &finder};
	enum sw_pe_result r = sw_pe_rule_make(&making, &code->function,
					      (uint32_t) (pc_avma - code->base_avma), &draft);
	env->why = making.why;
	env->fault_avma = making.fault_avma;
	if (r != SW_PE_OK)
		return r;
	size_t bytes = draft.rule.n_ops * sizeof(*draft.ops);
	struct sw_pe_rule *rule = sw_arena_alloc(&clr->arena, sizeof(*rule) + bytes);
	if (rule == NULL) {
		env->why = "not enough memory";
		return SW_PE_BAD;
	}
	memcpy(rule + 1, draft.ops, bytes);
	*rule = draft.rule;
	rule->ops = (const struct sw_pe_rule_op *) (rule + 1);
	if (lasts)
		(void) sw_map64_put(&clr->rules, key,
				    (uintptr_t) rule); /* lost: it is made again */
	*ret = rule;
	return SW_PE_OK;
}

static enum sw_step method_step(struct sw_clr *clr, const struct sw_clr_code *code,
				struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct sw_pe_env env = {.memory = cursor->memory,
				.base_avma = code->base_avma,
				.rules = sw_clr_rules(code->runtime),
				.exact_pc = cursor->exact_pc};
	const struct sw_pe_rule *rule;
	uint64_t header;
	/* The code may have been freed, and other code may be there by now: by this read the frame
	 * shows that what it was found with is younger than the stop. Other code stays as it is. */
	if (code->collectible)
		(void) sw_memory_u64(cursor->memory, code->start_avma - SW_ARCH_WORD, &header);
	enum sw_pe_result r = rule_get(clr, code, &env, cursor->regs.pc_avma, &rule);
	if (r == SW_PE_OK)
		r = sw_pe_rule_apply(rule, &env, &cursor->regs, &ret->regs);
	switch (r) {
	case SW_PE_OK: break;
	case SW_PE_OK_MACHINE: ret->flags = SW_FRAME_EXACT_PC; break;
	case SW_PE_BAD:
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    env.why != NULL ? env.why : "the unwind information is malformed");
	case SW_PE_UNREADABLE:
		return fail(ret, sw_cursor_memory_end(cursor, env.fault_avma),
			    "what the unwind information refers to could not be read");
	}
	if (!sw_clr_hijack_undo(clr, cursor->memory, &ret->regs))
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    "the runtime has replaced the return address, and where it was kept "
			    "is not known");
	return SW_STEP_OK;
}

/* The word on top of the stack is an address of managed code, or of the runtime. */
static bool is_called_by_runtime(struct sw_clr *clr, const struct sw_cursor *cursor)
{
	uint64_t word;
	return sw_memory_u64(cursor->memory, cursor->regs.sp_avma, &word) &&
	       sw_clr_is_of_runtime(clr, word);
}

static const char double_mapping[] = "/memfd:doublemapper";

bool sw_clr_is_double_mapped(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_maps; i++)
		if (strncmp(snap->maps[i].path, double_mapping, sizeof(double_mapping) - 1) == 0)
			return true;
	return false;
}

static bool has_unread(const struct sw_clr *clr)
{
	for (size_t i = 0; i < clr->n_runtimes; i++)
		if (!clr->runtimes[i].usable)
			return true;
	return false;
}

bool sw_clr_is_helper(struct sw_clr *clr, const struct sw_cursor *cursor)
{
	const struct sw_module *module = cursor->place != NULL ? cursor->place->module : NULL;
	if (!cursor->exact_pc || has_unread(clr))
		return false; /* its methods are in not its ranges, too */
	if (module != NULL &&
	    strncmp(sw_module_path(module), double_mapping, sizeof(double_mapping) - 1) == 0)
		return true;
	/* Memory that could be of somebody else: who called tells. */
	return !clr->double_mapped &&
	       (module == NULL || sw_module_kind(module) == SW_MODULE_ANON) &&
	       sw_is_executable(clr->snap, cursor->regs.pc_avma) &&
	       is_called_by_runtime(clr, cursor);
}

const char *sw_clr_unread_why(const struct sw_clr *clr, const struct sw_place *place)
{
	struct sw_pe_image image;
	if (!has_unread(clr) || place == NULL)
		return NULL;
	/* Only headers: the code is mapped with a copy of them, and RVAs do not count from there. */
	if (sw_module_kind(place->module) == SW_MODULE_PE &&
	    sw_pe_image_read(clr->memory, place->start_avma, &image) &&
	    image.machine == SW_PE_MACHINE_X86_64_LINUX)
		return "managed code of a .NET runtime that could not be read: see the warning";
	if (sw_module_kind(place->module) == SW_MODULE_ANON)
		return "code made at run time, and the .NET runtime, whose it may be, could not be "
		       "read: see the warning";
	return NULL;
}

enum sw_step sw_clr_step(struct sw_clr *clr, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	if (clr->n_runtimes == 0)
		return SW_STEP_DECLINE;
	if (sw_clr_is_native(cursor->place) || sw_clr_is_runtime(clr, cursor->place)) {
		enum sw_step step = sw_clr_hijack_step(clr, cursor, ret);
		return step != SW_STEP_DECLINE ? step : sw_clr_restore_step(clr, cursor, ret);
	}
	const struct sw_clr_code *code = sw_clr_code_find(clr, cursor->regs.pc_avma);
	if (code == NULL && sw_clr_is_helper(clr, cursor))
		return sw_clr_stub_step(clr, cursor, 1, ret);
	if (code == NULL) {
		const char *why = sw_clr_unread_why(clr, cursor->place);
		return why != NULL ? fail(ret, SW_END_NO_UNWIND_INFO, why) : SW_STEP_DECLINE;
	}
	if (code->kind != SW_CLR_CODE_STUB) {
		enum sw_step step = method_step(clr, code, cursor, ret);
		uint64_t cookie;
		if (step == SW_STEP_OK && sw_clr_dynamic_find(clr, cursor, code, &cookie) &&
		    cookie == 0)
			ret->flags |= SW_FRAME_MAY_MISS;
		if (step == SW_STEP_OK && !clr->by_copies)
			sw_clr_tasks_note(clr, code, cursor, ret->regs.sp_avma);
		return step;
	}
	return cursor->exact_pc ? sw_clr_stub_step(clr, cursor, SW_CLR_STUB_WORDS, ret)
				: SW_STEP_DECLINE;
}
