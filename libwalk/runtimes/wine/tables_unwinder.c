/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Code that a Windows program made itself, by the function tables that it registered with Wine.
 *
 * A table may also be a function of the process, which is asked for each address. It cannot be
 * called from outside: such code is left to the frame pointer and the scan, with their trust.
 */
#include "runtimes/wine/tables_unwinder.h"
#include "range_index.h"
#include "native/rule_step.h"
#include "snapshot/snapshot.h"
#include "runtimes/wine/ntdll.h"
#include "runtimes/wine/tables.h"
#include "snapshot/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct tables {
	struct sw_wine_table *tables; /* owned */
	size_t n;
	struct sw_jit_ranges
		by_avma;     /* value: n - index, so that the first one has what it covers */
	const char *problem; /* static */
};

static void tables_detach(void *state)
{
	struct tables *t = state;
	if (t == NULL)
		return;
	sw_jit_ranges_deinit(&t->by_avma);
	free(t->tables);
	free(t);
}

/* A program may register thousands, and each frame is looked up in them. */
static int tables_index(struct tables *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct sw_wine_table *table = &t->tables[i];
		if (sw_jit_ranges_add(&t->by_avma, table->base_avma,
				      table->end_avma - table->base_avma,
				      (uint32_t) (t->n - i)) < 0)
			return -SW_E_NOMEM;
	}
	return sw_jit_ranges_finish(&t->by_avma);
}

static bool tables_probe(const struct sw_snapshot *snap)
{
	return sw_snapshot_has_kind(snap, SW_MODULE_PE);
}

static int tables_attach(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	(void) found; /* it has no hooks */
	struct sw_snapshot_memory snapshot_memory = {.snap = snap};
	struct sw_memory memory = sw_snapshot_memory(&snapshot_memory);
	struct sw_wine_ntdll ntdll;
	if (!sw_wine_ntdll_find(snap, &ntdll))
		return 0;
	struct tables *t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -SW_E_NOMEM;
	uint64_t head = sw_wine_tables_head(memory, ntdll.delete_table_avma);
	int r = 0;
	if (head != 0)
		r = sw_wine_tables_read(memory, head, &t->tables, &t->n, &t->problem);
	else
		t->problem =
			"the code of RtlDeleteFunctionTable does not lead to the list of tables";
	if (r < 0 || (r = tables_index(t)) < 0) {
		tables_detach(t);
		return r;
	}
	*ret_state = t;
	return 0;
}

static const struct sw_wine_table *table_at(const struct tables *t, uint64_t avma)
{
	const struct sw_jit_range *range = t != NULL ? sw_jit_ranges_find(&t->by_avma, avma) : NULL;
	return range != NULL ? &t->tables[t->n - range->value] : NULL;
}

struct lookup {
	struct sw_memory memory;
	const struct sw_wine_table *table;
};

static bool function_find(void *arg, uint32_t rva, struct sw_pe_function *ret)
{
	const struct lookup *l = arg;
	return sw_pe_table_search(l->memory, l->table->table_avma, l->table->n_functions, rva, ret);
}

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

static enum sw_step tables_step(void *state, struct sw_cursor *c, struct sw_stepped *ret)
{
	const struct sw_wine_table *table = table_at(state, c->lookup_avma);
	if (table == NULL)
		return SW_STEP_DECLINE;
	if (table->callback)
		return fail(ret, SW_END_NO_UNWIND_INFO,
			    "only a function of the process knows the code's unwind information");
	struct lookup lookup = {c->memory, table};
	struct sw_pe_env env = {.memory = c->memory,
				.base_avma = table->base_avma,
				.rules = SW_PE_WINDOWS,
				.table = {function_find, &lookup},
				.exact_pc = c->exact_pc};
	struct sw_pe_function function;
	uint64_t rva = c->lookup_avma - table->base_avma;
	if (rva > UINT32_MAX || !function_find(&lookup, (uint32_t) rva, &function)) {
		/* Only what calls nobody needs no entry. */
		if (!c->exact_pc)
			return fail(ret, SW_END_NO_UNWIND_INFO,
				    "code that made a call and has no entry in its table");
		enum sw_step step =
			sw_step_of_pe(sw_pe_step_leaf(&env, &c->regs, &ret->regs), &env, c, ret);
		return step == SW_STEP_OK ? sw_step_leaf_check(c, ret) : step;
	}
	if (!sw_pe_function_resolve(&env, &function))
		return fail(ret, SW_END_BAD_UNWIND_INFO,
			    env.why != NULL ? env.why : "the function's entry could not be read");
	return sw_step_of_pe(sw_pe_step(&env, &function, &c->regs, &ret->regs), &env, c, ret);
}

static bool tables_own(void *state, const struct sw_cursor *c, uint64_t *ret_cookie)
{
	(void) ret_cookie;
	return table_at(state, c->lookup_avma) != NULL;
}

static size_t tables_identify(void *state, struct sw_runtime *ret, size_t max)
{
	const struct tables *t = state;
	if (t == NULL || max == 0 || (t->n == 0 && t->problem == NULL))
		return 0;
	*ret = (struct sw_runtime){.name = "wine-function-tables", .entries = (int64_t) t->n};
	snprintf(ret->problem, sizeof(ret->problem), "%s", t->problem != NULL ? t->problem : "");
	return 1;
}

static void tables_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			   struct sw_text *text)
{
	const struct sw_wine_table *table = table_at(state, avma);
	if (table == NULL)
		return;
	sw_text_printf(text, "table: for [0x%" PRIx64 ", 0x%" PRIx64 "), ", table->base_avma,
		       table->end_avma);
	if (table->callback) {
		sw_text_printf(text, "a function of the process knows its entries\n");
		return;
	}
	sw_text_printf(text, "%" PRIu32 " entries at 0x%" PRIx64 "\n", table->n_functions,
		       table->table_avma);
	struct sw_snapshot_memory memory = {.snap = snap};
	struct lookup lookup = {sw_snapshot_memory(&memory), table};
	struct sw_pe_env env = {.memory = lookup.memory,
				.base_avma = table->base_avma,
				.rules = SW_PE_WINDOWS,
				.table = {function_find, &lookup},
				.exact_pc = true};
	struct sw_pe_function function;
	uint64_t rva = avma - table->base_avma;
	if (rva > UINT32_MAX || !function_find(&lookup, (uint32_t) rva, &function))
		sw_text_printf(text, "entry: none covers it: a leaf, if it calls nobody\n");
	else if (!sw_pe_function_resolve(&env, &function))
		sw_text_printf(text, "entry: %s\n",
			       env.why != NULL ? env.why : "it could not be read");
	else
		sw_pe_function_print(&env, &function, text);
}

const struct sw_unwinder_ops sw_unwind_wine_tables = {
	.name = "wine-function-tables",
	.kind = "jit",
	.trust = SW_TRUST_JIT,
	.weak_trust = SW_TRUST_JIT,
	.kinds = SW_CODE_ANON | SW_CODE_JIT,
	.probe = tables_probe,
	.attach = tables_attach,
	.detach = tables_detach,
	.step = tables_step,
	.owns = tables_own,
	.identify = tables_identify,
	.explain = tables_explain,
};
