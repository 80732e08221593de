/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Wine: Windows code on Unix code on Windows code, each on a stack of its own. Here are the steps from
 * one to the other; on either side the tables of PE and ELF are right.
 *
 *	Windows stack                                Unix stack
 *	main, Sleep, NtDelayExecution  ── system call ─► __wine_syscall_dispatcher, select, ...
 *	WndProc, KiUserCallbackDispatcher ◄─ callback ── NtUserCreateWindow, ..., dispatcher
 *
 * The dispatchers' own call frame information cannot be used: that of Wine 10 leads to the Unix
 * frames before the last callback and skips all of Windows, that of Wine 8 needs a register that is
 * lost (signal_x86_64.c, __wine_syscall_dispatcher, __wine_unix_call_dispatcher).
 */
#include "runtimes/wine/runtime.h"
#include "native/known_files.h"
#include "snapshot/snapshot.h"
#include "runtimes/wine/stacks.h"
#include "runtimes/wine/state.h"
#include "runtimes/wine/steps.h"
#include "snapshot/read.h"

#include <stdio.h>
#include <stdlib.h>

static bool wine_probe(const struct sw_snapshot *snap)
{
	return sw_snapshot_has_kind(snap, SW_MODULE_PE);
}

static int wine_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	(void) found; /* its hook adds stacks, and keeps nothing */
	struct sw_wine *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return -SW_E_NOMEM;
	if (!sw_wine_ntdll_find(snap, &w->ntdll)) {
		free(w);
		return 0;
	}
	sw_wine_state_find(w, snap);
	*ret_state = w;
	return 0;
}

static void wine_close(void *state)
{
	free(state);
}

static enum sw_step wine_step(void *state, struct sw_cursor *c, struct sw_stepped *ret)
{
	struct sw_wine *w = state;
	enum sw_wine_call kind;
	if (c->place == NULL)
		return SW_STEP_DECLINE;
	if (sw_wine_dispatcher_at(w, c->lookup_avma, &kind))
		return sw_wine_dispatcher_step(w, kind, c, ret);
	if (sw_wine_is_unknown_dispatcher(w, c))
		return sw_wine_conclude(SW_WINE_NONE, c, 0,
					"what called Wine's dispatcher is not known: see runtimes",
					ret);
	if (sw_wine_is_unix_start(w, c))
		return sw_wine_unix_start_step(w, c, ret);
	const struct sw_cfi_rule *rule = sw_wine_wrong_rule(w, c);
	if (rule != NULL)
		return sw_wine_caller_step(w, rule, c, ret);
	if (c->place != w->ntdll.place)
		return SW_STEP_DECLINE;
	if (sw_wine_inside(&w->callback, c->lookup_avma))
		return sw_wine_callback_step(w, c, ret);
	if (sw_wine_inside(&w->exception, c->lookup_avma) ||
	    sw_wine_inside(&w->apc, c->lookup_avma))
		return sw_wine_context_step(c, ret);
	/* Nothing calls the loader. */
	if (sw_wine_inside(&w->loader, c->lookup_avma) || sw_wine_is_thread_start(w, c))
		return SW_STEP_END;
	return SW_STEP_DECLINE;
}

/* ---- names ------------------------------------------------------------------------------------ */

/* Symbols of ntdll.so may be without those of the dispatchers, or begin inside. */
static bool wine_owns(void *state, const struct sw_cursor *c, uint64_t *ret_cookie)
{
	enum sw_wine_call kind;
	(void) ret_cookie;
	return sw_wine_dispatcher_at(state, c->lookup_avma, &kind);
}

static int wine_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	static const char *const names[SW_WINE_CALLS] = {"__wine_syscall_dispatcher",
							 "__wine_unix_call_dispatcher"};
	const struct sw_wine *w = state;
	enum sw_wine_call kind;
	if (!sw_wine_dispatcher_at(w, sw_frame_lookup_avma(frame), &kind))
		return 0;
	snprintf(ret->function, sizeof(ret->function), "%s", names[kind]);
	ret->start_avma = w->dispatchers[kind].start_avma;
	return 1;
}

static size_t wine_identify(void *state, struct sw_runtime *ret, size_t max)
{
	const struct sw_wine *w = state;
	if (max == 0)
		return 0;
	*ret = (struct sw_runtime){.name = "wine", .entries = -1};
	snprintf(ret->version, sizeof(ret->version), "%s", w->ntdll.version);
	snprintf(ret->where, sizeof(ret->where), "%s", sw_module_path(w->ntdll.place->module));
	const char *problem = w->ntdll.problem;
	for (size_t i = 0; i < w->snap->n_places && problem == NULL; i++)
		if (sw_known_file_runs_32bit(w->snap->places[i].module))
			problem = "frames of its 32-bit code, which runs in a 64-bit process (new "
				  "WoW64), "
				  "are not read";
	snprintf(ret->problem, sizeof(ret->problem), "%s", problem != NULL ? problem : "");
	return 1;
}

static bool wine_thread(void *state, const struct sw_thread *thread, struct sw_thread_info *ret)
{
	struct sw_wine *w = state;
	struct sw_snapshot_memory memory = {.snap = w->snap, .thread = thread};
	const struct sw_wine_teb *teb = sw_wine_teb_of(w, sw_snapshot_memory(&memory), thread);
	if (teb == NULL)
		return false;
	ret->runtime = "wine";
	ret->id = (int64_t) teb->thread_id;
	return true;
}

static void wine_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			 struct sw_text *text)
{
	const struct sw_wine *w = state;
	enum sw_wine_call kind;
	(void) snap;
	if (sw_wine_dispatcher_at(w, avma, &kind))
		sw_text_printf(text,
			       "dispatcher of %s: the caller's registers are in the thread's "
			       "syscall_frame\n",
			       kind == SW_WINE_SYSCALL ? "system calls" : "unix calls");
	else if (sw_wine_inside(&w->callback, avma))
		sw_text_printf(text, "entry of callbacks: the caller is Unix code, its registers "
				     "lie above the thread's syscall_frame\n");
	else if (sw_wine_inside(&w->exception, avma) || sw_wine_inside(&w->apc, avma))
		sw_text_printf(text, "entry of exceptions and APCs: what was interrupted is in a "
				     "CONTEXT at rsp\n");
}

const struct sw_runtime_ops sw_runtime_wine = {
	.name = "wine",
	.kind = "native", /* of what it owns: Unix code */
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ELF | SW_CODE_PE,
	.switches_max = 2 * (size_t) SW_WINE_CALLBACKS_MAX, /* there and back */
	.probe = wine_probe,
	.stacks = sw_wine_stacks,
	.open = wine_open,
	.close = wine_close,
	.step = wine_step,
	.owns = wine_owns,
	.names = wine_names,
	.identify = wine_identify,
	.thread = wine_thread,
	.explain = wine_explain,
};
