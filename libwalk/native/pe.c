/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code of PE images by their function tables (.pdata). Headers and tables are read from the process's
 * memory, as the loader left them: nothing else is sure to be what the code runs by.
 *
 * Decoded rules are kept for one snapshot and not in the module: the same file may look different
 * in another process, that has its sections in anonymous memory and may have written to them.
 */
#include "native/pe.h"
#include "native/known_files.h"
#include "arch/arch.h"
#include "formats/pe_image.h"
#include "pe/known_code.h"
#include "pe/own_handler.h"
#include "snapshot/pe_loader.h"
#include "pe/rule.h"
#include "native/rule_step.h"
#include "snapshot/snapshot.h"
#include "unwind/unwinder.h"
#include "snapshot/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The image at one place. */
struct pe_module {
	const char *problem; /* static: why there are no tables; NULL: there are */
	uint64_t base_avma, end_avma;
	uint64_t table_avma;
	size_t n_functions;
	bool runs_32bit;
	struct sw_pe_cache cache;
};

struct pe_state {
	const struct sw_snapshot *snap;
	struct pe_module *
		*modules; /* owned, and each of them; by index of place, made when asked */
};

/*
 * Memory of an image: code and tables as the snapshot has them, all else (a table elsewhere) as the
 * cursor has it. Reads of the image after the stop are no mark on the frame: its code and tables do
 * not change. A stack may lie in an image, too (in its data), and is read as all stacks are.
 */
struct pe_memory {
	struct sw_memory other;
	struct sw_snapshot_memory image;
	const struct pe_module *module;
	bool image_failed;
};

static bool in_image(const struct pe_module *module, uint64_t avma)
{
	return avma >= module->base_avma && avma < module->end_avma;
}

static bool pe_memory_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct pe_memory *m = arg;
	if (!in_image(m->module, avma))
		return sw_memory_read(m->other, avma, buffer, length);
	if (sw_memory_read(sw_snapshot_memory(&m->image), avma, buffer, length))
		return true;
	m->image_failed = true;
	return false;
}

static struct sw_memory pe_memory(struct pe_memory *m)
{
	static const struct sw_memory_ops ops = {.read = pe_memory_read};
	return (struct sw_memory){&ops, m};
}

static void module_init(struct pe_module *m, const struct sw_snapshot *snap,
			const struct sw_place *place)
{
	struct sw_snapshot_memory memory = {.snap = snap};
	struct sw_pe_image image;
	m->base_avma = place->start_avma;
	m->end_avma = place->end_avma;
	m->runs_32bit = sw_known_file_runs_32bit(place->module);
	if (!sw_pe_image_read(sw_snapshot_memory(&memory), m->base_avma, &image)) {
		m->problem = sw_module_problem(place->module);
		if (m->problem == NULL)
			m->problem = "its headers are malformed or not for x86-64";
		return;
	}
	if (image.machine != SW_PE_MACHINE_X86_64) {
		m->problem = "it is not an image for Windows";
		return;
	}
	m->table_avma = m->base_avma + image.exception.rva;
	m->n_functions = image.exception.bytes / SW_PE_FUNCTION_BYTES;
}

/* NULL when there is no memory for it. */
static struct pe_module *module_get(struct pe_state *state, const struct sw_place *place)
{
	size_t index = (size_t) (place - state->snap->places);
	if (state->modules == NULL)
		state->modules = calloc(state->snap->n_places, sizeof(*state->modules));
	if (state->modules == NULL)
		return NULL;
	struct pe_module **slot = &state->modules[index];
	if (*slot == NULL) {
		*slot = calloc(1, sizeof(**slot));
		if (*slot != NULL)
			module_init(*slot, state->snap, place);
	}
	return *slot;
}

static bool pe_probe(const struct sw_snapshot *snap)
{
	return sw_snapshot_has_kind(snap, SW_MODULE_PE);
}

static int pe_attach(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	(void) found; /* it has no hooks */
	struct pe_state *state = calloc(1, sizeof(*state));
	if (state == NULL)
		return -SW_E_NOMEM;
	state->snap = snap;
	*ret_state = state;
	return 0;
}

static void pe_detach(void *arg)
{
	struct pe_state *state = arg;
	if (state == NULL)
		return;
	for (size_t i = 0; state->modules != NULL && i < state->snap->n_places; i++) {
		if (state->modules[i] != NULL)
			sw_pe_cache_deinit(&state->modules[i]->cache);
		free(state->modules[i]);
	}
	free(state->modules);
	free(state);
}

static bool table_find(void *arg, uint32_t rva, struct sw_pe_function *ret)
{
	struct pe_memory *m = arg;
	return sw_pe_table_search(pe_memory(m), m->module->table_avma, m->module->n_functions, rva,
				  ret);
}

static struct sw_pe_env env_make(struct pe_memory *m, bool exact_pc)
{
	return (struct sw_pe_env){.memory = pe_memory(m),
				  .stack = m->other,
				  .base_avma = m->module->base_avma,
				  .rules = SW_PE_WINDOWS,
				  .table = {table_find, m},
				  .exact_pc = exact_pc};
}

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

/* Small minidumps have no TEB, but each stack to its end. */
static bool is_stack_end(const struct sw_cursor *cursor, uint64_t sp_avma)
{
	enum { TOP_BYTES = 0x40 /* as below the end that a TEB tells */ };
	const struct sw_thread *t = cursor->thread;
	return t->gs_base != 0 && !sw_pe_is_teb(cursor->memory, t->gs_base) &&
	       sp_avma <= t->stack_end_avma && t->stack_end_avma - sp_avma <= TOP_BYTES;
}

/* The walker's step for a result of pe/unwind.h. */
static enum sw_step conclude(enum sw_pe_result result, bool leaf, const struct sw_cursor *cursor,
			     const struct sw_pe_env *env, const struct pe_memory *m,
			     struct sw_stepped *ret)
{
	if (result == SW_PE_UNREADABLE && m->image_failed && in_image(m->module, env->fault_avma))
		return fail(ret, SW_END_MEMORY, "the unwind information could not be read");
	enum sw_step step = sw_step_of_pe(result, env, cursor, ret);
	if (result != SW_PE_OK)
		return step;
	if (ret->regs.pc_avma == 0 &&
	    (sw_pe_is_stack_top(cursor->memory, cursor->thread->gs_base, ret->regs.sp_avma) ||
	     is_stack_end(cursor, ret->regs.sp_avma)))
		return SW_STEP_END;
	if (m->module->runs_32bit)
		ret->flags |= SW_FRAME_MAY_MISS;
	return leaf ? sw_step_leaf_check(cursor, ret) : SW_STEP_OK;
}

/* The entry for the code at lookup_avma, resolved; *ret_found when there is one. */
static enum sw_step function_find(const struct sw_cursor *cursor, struct sw_pe_env *env,
				  struct pe_memory *m, struct sw_pe_function *ret,
				  struct sw_stepped *ret_stepped, bool *ret_found)
{
	uint32_t rva = (uint32_t) (cursor->lookup_avma - m->module->base_avma);
	*ret_found = table_find(m, rva, ret);
	if (m->image_failed)
		return fail(ret_stepped, SW_END_MEMORY, "the function table could not be read");
	if (!*ret_found)
		return SW_STEP_OK;
	if (!sw_pe_function_resolve(env, ret))
		return conclude(env->why != NULL ? SW_PE_BAD : SW_PE_UNREADABLE, false, cursor, env,
				m, ret_stepped);
	if (ret->unwind_rva >= m->module->end_avma - m->module->base_avma)
		return fail(ret_stepped, SW_END_BAD_UNWIND_INFO,
			    "the unwind information is not in the image");
	return SW_STEP_OK;
}

/* Steps by what the tables say, and keeps it for the next time. */
static enum sw_pe_result step_by_tables(struct pe_module *module, struct sw_pe_env *env,
					const struct sw_pe_function *function,
					const struct sw_regs *regs, struct sw_regs *ret)
{
	if (env->exact_pc && sw_pe_is_fiber_jump(env->memory, regs->pc_avma))
		return sw_pe_fiber_jump_step(env, regs, ret);
	if (env->exact_pc && function != NULL &&
	    sw_pe_has_pushed_flags(env->memory, env->base_avma + function->begin_rva,
				   regs->pc_avma)) {
		struct sw_regs popped = *regs;
		sw_regs_set(&popped, SW_ARCH_SP, regs->sp_avma + SW_ARCH_WORD);
		return sw_pe_step(env, function, &popped, ret);
	}
	return sw_pe_cache_step(&module->cache, env, function, regs, ret);
}

static enum sw_step pe_step(void *arg, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct sw_place *place = cursor->place;
	if (place == NULL || place->resolved != 1)
		return SW_STEP_DECLINE;
	struct pe_module *module = module_get(arg, place);
	if (module == NULL)
		return fail(ret, SW_END_INTERNAL, "not enough memory");
	if (module->problem != NULL)
		return fail(ret, SW_END_NO_UNWIND_INFO, module->problem);

	struct pe_memory m = {.other = cursor->memory,
			      .image = {.snap = cursor->snap},
			      .module = module};
	struct sw_pe_env env = env_make(&m, cursor->exact_pc);
	uint32_t rva = (uint32_t) (cursor->regs.pc_avma - module->base_avma);
	const struct sw_pe_rule *rule = sw_pe_cache_find(&module->cache, rva, cursor->exact_pc);
	if (rule != NULL)
		return conclude(sw_pe_rule_apply(rule, &env, &cursor->regs, &ret->regs), rule->leaf,
				cursor, &env, &m, ret);
	struct sw_pe_function function;
	bool found;
	enum sw_step step = function_find(cursor, &env, &m, &function, ret, &found);
	if (step != SW_STEP_OK)
		return step;
	/* Only what calls nobody needs no entry, and a return address belongs to a caller. */
	if (!found && !cursor->exact_pc)
		return fail(ret, SW_END_NO_UNWIND_INFO,
			    "code that made a call and has no entry in the function table");
	if (found && sw_pe_has_own_handler(&env, &function, cursor->regs.pc_avma))
		return fail(ret, SW_END_NO_UNWIND_INFO,
			    "the function table leaves this code to a handler of the program");
	return conclude(step_by_tables(module, &env, found ? &function : NULL, &cursor->regs,
				       &ret->regs),
			!found, cursor, &env, &m, ret);
}

static void explain_entry(const struct sw_snapshot *snap, const struct pe_module *module,
			  uint64_t avma, struct sw_text *text)
{
	struct sw_snapshot_memory memory = {.snap = snap};
	struct pe_memory m = {.other = sw_snapshot_memory(&memory),
			      .image = {.snap = snap},
			      .module = module};
	struct sw_pe_env env = env_make(&m, true);
	struct sw_pe_function function;
	sw_text_printf(text, "table: %zu entries at 0x%" PRIx64 "\n", module->n_functions,
		       module->table_avma);
	bool found = table_find(&m, (uint32_t) (avma - module->base_avma), &function);
	if (m.image_failed)
		sw_text_printf(text, "entry: the table could not be read\n");
	else if (!found)
		sw_text_printf(text, "entry: none covers it: a leaf, if it calls nobody\n");
	else if (function.unwind_rva & 1)
		sw_text_printf(text,
			       "entry: indirect, for RVA 0x%" PRIx32 "..0x%" PRIx32
			       ", leads to that at RVA 0x%" PRIx32 "\n",
			       function.begin_rva, function.end_rva, function.unwind_rva - 1);
	if (!found)
		return;
	if (sw_pe_function_resolve(&env, &function))
		sw_pe_function_print(&env, &function, text);
	else
		sw_text_printf(text, "entry: %s\n",
			       env.why != NULL ? env.why : "it could not be read");
}

static void pe_explain(void *arg, const struct sw_snapshot *snap, uint64_t avma,
		       struct sw_text *text)
{
	const struct sw_place *place = sw_snapshot_place(snap, avma);
	struct pe_module *module =
		place != NULL && place->resolved == 1 ? module_get(arg, place) : NULL;
	if (module == NULL)
		sw_text_printf(text, "no PE image\n");
	else if (module->problem != NULL)
		sw_text_printf(text, "%s\n", module->problem);
	else
		explain_entry(snap, module, avma, text);
}

const struct sw_unwinder_ops sw_unwind_pe = {
	.name = "pe-unwind",
	.kind = "pe",
	.trust = SW_TRUST_UNWIND_INFO,
	.weak_trust = SW_TRUST_UNWIND_INFO,
	.kinds = SW_CODE_PE,
	.probe = pe_probe,
	.attach = pe_attach,
	.detach = pe_detach,
	.step = pe_step,
	.explain = pe_explain,
};
