/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * .NET: managed code of CoreCLR processes, without any help of the runtime. The other files do the work:
 *
 *	find           which modules are a runtime; published/: what it says of itself, or is known of it
 *	code/          ranges: address -> method (r2r: code of ReadyToRun images)
 *	               names: method -> name (types, modules, entry_points, metadata/)
 *	               lines: its file and line (r2r_debug, pdb_files, metadata/)
 *	               collectible: code that may be freed right after the stop; dynamic: between copies
 *	unwind         one frame further; hijack where the garbage collector interferes, stub
 *	locks          what threads wait for, and who has it; locks_window: what is copied for that
 *	library_locks  the same of locks that the library makes: objects/awaits_window copies them
 *	threads        what is copied in the stop; recipe: at an event
 *	tasks/         async methods that wait, and those that threads run, with who awaits them: by
 *	               objects/
 *	pool           the thread pool: how many have work, since when none was taken
 *	thread_infos   what Thread objects say of threads
 */
#include "runtimes/clr/runtime.h"
#include "runtimes/clr/tasks/all_tasks.h"
#include "runtimes/clr/code/dynamic.h"
#include "runtimes/clr/code/lines.h"
#include "runtimes/clr/library_locks.h"
#include "runtimes/clr/locks.h"
#include "runtimes/clr/locks_window.h"
#include "runtimes/clr/metadata/pdb_files.h"
#include "runtimes/clr/recipe.h"
#include "runtimes/clr/thread_infos.h"
#include "runtimes/clr/threads.h"
#include "runtimes/clr/unwind.h"

#include "cleanup.h"
#include "runtimes/clr/find.h"
#include "runtimes/clr/code/ranges.h"
#include "snapshot/read.h"

#include <inttypes.h>
#include <snapwalk/error.h>
#include <stdio.h>

static void clr_close(void *state)
{
	struct sw_clr *clr = state;
	if (clr == NULL)
		return;
	sw_clr_all_tasks_destroy(clr->tasks);
	sw_clr_names_destroy(clr->names);
	sw_clr_thread_infos_destroy(clr->infos);
	sw_clr_runtimes_deinit(clr->runtimes, clr->n_runtimes);
	free(clr->dynamic);
	sw_map64_deinit(&clr->by_start);
	sw_map64_deinit(&clr->by_pc);
	sw_map64_deinit(&clr->rules);
	sw_map64_deinit(&clr->hijacks);
	sw_map64_deinit(&clr->replaced);
	sw_arena_deinit(&clr->arena);
	free(clr);
}

static int clr_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	/* Runtimes are found anew: a recorded snapshot needs what is read for that, and what was read before the
	 * stop is not kept. */
	const struct sw_clr_locks_plan *plan = found;
	struct sw_clr *clr = calloc(1, sizeof(*clr));
	if (clr == NULL)
		return -SW_E_NOMEM;
	clr->snap = snap;
	clr->by_copies = snap->priv->by_copies;
	clr->window = plan != NULL ? plan->tasks : NULL;
	if (plan != NULL)
		sw_clr_pool_tell(&plan->pool, &clr->pool);
	clr->source.snap = snap;
	clr->double_mapped = sw_clr_is_double_mapped(snap);
	clr->memory = sw_snapshot_memory(&clr->source);
	int r = sw_clr_runtimes_find(snap, clr->memory, false, clr->runtimes, &clr->n_runtimes);
	if (r < 0 || clr->n_runtimes == 0)
		clr_close(clr);
	else
		*ret_state = clr;
	return r;
}

/* Code, methods and their metadata are constant. */
static bool clr_renew(void *state)
{
	enum {
		CODES_MAX = 1 << 18,
		COPIES_MAX = 1 << 16
	}; /* what is not kept is looked up each time, and lies about */
	struct sw_clr *clr = state;
	sw_clr_dynamic_renew(clr);
	return clr->n_copies < COPIES_MAX && clr->by_pc.count < CODES_MAX &&
	       clr->rules.count < CODES_MAX;
}

static enum sw_step clr_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	return sw_clr_step(state, cursor, ret);
}

static bool clr_owns(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	struct sw_clr *clr = state;
	if (sw_clr_is_native(cursor->place))
		return false;
	const struct sw_clr_code *code = sw_clr_code_find(clr, cursor->regs.pc_avma);
	/* The pc tells all of other code. */
	return (code != NULL && (sw_clr_dynamic_find(clr, cursor, code, ret_cookie), true)) ||
	       sw_clr_is_helper(clr, cursor);
}

/* The runtime's module, and what it makes to get from there to methods and back. */
static bool clr_internal(void *state, const struct sw_frame *frame)
{
	struct sw_clr *clr = state;
	for (size_t i = 0; i < clr->n_runtimes; i++)
		if (frame->place != NULL && frame->place == clr->runtimes[i].place)
			return true;
	if (frame->owner == 0 || (frame->cookie != 0 && !clr->by_copies) ||
	    strcmp(frame->kind, "clr") != 0)
		return false;
	const struct sw_clr_code *code = sw_clr_code_find(clr, frame->pc_avma);
	return code == NULL || code->kind == SW_CLR_CODE_STUB;
}

static int clr_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	const struct sw_clr *clr = state;
	if (clr->by_copies && frame->cookie != 0) {
		const char *name = sw_clr_dynamic_name(clr, frame->cookie);
		(void) snprintf(ret->function, sizeof(ret->function), "%s",
				name != NULL ? name : "");
		return name != NULL;
	}
	if (frame->cookie != 0) { /* of a task: there is no code */
		sw_clr_task_frame_describe(state, frame->cookie, ret);
		return ret->function[0] != '\0';
	}
	const struct sw_clr_code *code = sw_clr_code_find(state, frame->pc_avma);
	if (code == NULL) { /* see clr_owns() */
		(void) snprintf(ret->function, sizeof(ret->function), "[runtime helper]");
		return 1;
	}
	if (code->kind == SW_CLR_CODE_STUB) {
		ret->start_avma = code->start_avma;
		(void) snprintf(ret->function, sizeof(ret->function), "[%s]", code->stub);
	} else if (sw_clr_is_doubtful(clr, code)) {
		(void) snprintf(ret->function, sizeof(ret->function), "[dynamic method]");
	} else {
		sw_clr_describe(state, code, ret);
		sw_clr_line_describe(state, code, sw_frame_lookup_avma(frame), ret);
	}
	return 1;
}

static bool clr_thread(void *state, const struct sw_thread *thread, struct sw_thread_info *ret)
{
	const struct sw_clr *clr = state;
	return !clr->by_copies && sw_clr_thread_info(state, thread, ret);
}

static bool clr_wait(void *state, const struct sw_thread *thread, struct sw_runtime_wait *ret)
{
	const struct sw_clr *clr = state;
	return !clr->by_copies && sw_clr_wait_read(state, thread, ret);
}

static bool clr_wait_within(void *state, const struct sw_walk *walk, struct sw_runtime_wait *ret)
{
	const struct sw_clr *clr = state;
	return !clr->by_copies && sw_clr_library_wait(state, walk, ret);
}

static size_t clr_tasks(void *state, const char **ret_why)
{
	return sw_clr_all_tasks(state, ret_why);
}

static size_t clr_awaited(void *state, const char **ret_why)
{
	const struct sw_clr *clr = state;
	*ret_why = NULL;
	return clr->by_copies ? 0 : sw_clr_awaited_tasks(state, ret_why);
}

static bool clr_task(void *state, size_t n, struct sw_runtime_task *ret, struct sw_frame_sink *sink)
{
	return sw_clr_task_show(state, n, ret, sink);
}

static size_t clr_identify(void *state, struct sw_runtime *ret, size_t max)
{
	const struct sw_clr *clr = state;
	size_t n = clr->n_runtimes < max ? clr->n_runtimes : max;
	const char *lines = sw_clr_pdb_files_problem(clr->snap);
	for (size_t i = 0; i < n; i++) {
		const struct sw_clr_runtime *r = &clr->runtimes[i];
		ret[i] = (struct sw_runtime){.name = "clr", .entries = -1};
		if (i == 0)
			ret[i].pool = clr->pool;
		(void) snprintf(ret[i].version, sizeof(ret[i].version), "%s", r->version);
		(void) snprintf(ret[i].where, sizeof(ret[i].where), "%s",
				sw_module_path(r->place->module)); /* cut to fit */
		(void) snprintf(ret[i].problem, sizeof(ret[i].problem), "%s",
				r->problem[0] != '\0' || lines == NULL ? r->problem : lines);
	}
	return n;
}

static void clr_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			struct sw_text *text)
{
	struct sw_clr *clr = state;
	const struct sw_clr_code *code = sw_clr_code_find(clr, avma);
	if (code == NULL) {
		const char *why = sw_clr_unread_why(clr, sw_snapshot_place(snap, avma));
		sw_text_printf(text, "%s\n", why != NULL ? why : "no managed code");
		return;
	}
	if (code->kind == SW_CLR_CODE_STUB) {
		sw_text_printf(text, "a helper without unwind information: %s\n", code->stub);
		return;
	}
	struct sw_description name = {0};
	sw_clr_describe(clr, code, &name);
	sw_text_printf(text, "%s\n", name.function);
	sw_clr_il_explain(clr, code, avma, text);
	sw_text_printf(text, "%s, method 0x%" PRIx64 ", code starts at 0x%" PRIx64 "%s\n",
		       code->kind == SW_CLR_CODE_JIT ? "compiled at run time" : "ReadyToRun",
		       code->method_avma, code->start_avma,
		       code->index > 0 ? ", in a funclet" : "");
	struct sw_pe_env env = {.memory = clr->memory,
				.base_avma = code->base_avma,
				.rules = sw_clr_rules(code->runtime)};
	sw_pe_function_print(&env, &code->function, text);
}

const struct sw_runtime_ops sw_runtime_clr = {
	.name = "clr",
	.kind = "clr",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_SCAN_VERIFIED,
	.kinds = SW_CODE_ELF | SW_CODE_PE | SW_CODE_ANON | SW_CODE_JIT,
	.probe = sw_clr_probe,
	.before = sw_clr_before,
	.in_window = sw_clr_in_window,
	.recipe = sw_clr_recipe,
	.unpublished = true,
	.renew = clr_renew,
	.open = clr_open,
	.close = clr_close,
	.step = clr_step,
	.owns = clr_owns,
	.internal = clr_internal,
	.names = clr_names,
	.identify = clr_identify,
	.thread = clr_thread,
	.wait = clr_wait,
	.wait_within = clr_wait_within,
	.tasks = clr_tasks,
	.awaited = clr_awaited,
	.task = clr_task,
	.explain = clr_explain,
};
