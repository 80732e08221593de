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
#include "arch.h"
#include "capture.h"
#include "elf_cfi.h"
#include "elf_function.h"
#include "pe_image.h"
#include "pe_unwind.h"
#include "snapshot.h"
#include "unwinder.h"
#include "wine_frames.h"
#include "wine_ntdll.h"
#include "wine_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum dispatcher_kind { SYSCALL, UNIX_CALL, N_DISPATCHERS };

/* Code of ntdll.so, [start, end). */
struct dispatcher {
	struct sw_place *place; /* NULL: not known */
	uint64_t start_avma, end_avma;
};

/* A function of ntdll.dll, whose table tells where it ends. */
struct function {
	uint64_t start_avma, end_avma;
};

struct wine {
	const struct sw_snapshot *snap;
	struct sw_wine_ntdll ntdll;
	struct dispatcher dispatchers[N_DISPATCHERS];
	struct function callback, exception, apc, loader;
	/* Of the thread that was asked for last. */
	const struct sw_thread *thread;
	struct sw_wine_teb teb;
	bool has_teb;
};

/* ---- once per snapshot -------------------------------------------------------------------- */

static void dispatcher_find(const struct sw_snapshot *snap, uint64_t avma, struct dispatcher *ret)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	if (map == NULL || map->place < 0 || (size_t) map->place >= snap->n_places)
		return;
	struct sw_place *place = &snap->places[map->place];
	if (place->resolved == 0)
		(void) sw_place_resolve(place, snap);
	struct sw_elf_entry entry;
	struct sw_elf_cfi *cfi =
		place->resolved == 1 && sw_module_kind(place->module) == SW_MODULE_ELF
			? sw_elf_cfi_get(place->module)
			: NULL;
	if (cfi == NULL || !sw_elf_entry_find(cfi, avma - place->bias, &entry))
		return;
	*ret = (struct dispatcher){place, entry.start_svma + place->bias,
				   entry.end_svma + place->bias};
}

static struct function function_find(const struct sw_pe_image *image, struct sw_memory memory,
				     uint64_t base_avma, uint64_t avma)
{
	enum { FUNCTION_BYTES = 12 };
	struct sw_pe_function entry;
	if (avma == 0 || !sw_pe_table_search(memory, base_avma + image->exception.rva,
					     image->exception.bytes / FUNCTION_BYTES,
					     (uint32_t) (avma - base_avma), &entry))
		return (struct function){0};
	return (struct function){base_avma + entry.begin_rva, base_avma + entry.end_rva};
}

static void functions_find(struct wine *w)
{
	struct sw_snapshot_memory memory = {.snap = w->snap};
	struct sw_memory m = sw_snapshot_memory(&memory);
	uint64_t base = w->ntdll.place->start_avma;
	struct sw_pe_image image;
	if (!sw_pe_image_read(m, base, &image))
		return;
	w->callback = function_find(&image, m, base, w->ntdll.callback_avma);
	w->exception = function_find(&image, m, base, w->ntdll.exception_avma);
	w->apc = function_find(&image, m, base, w->ntdll.apc_avma);
	w->loader = function_find(&image, m, base, w->ntdll.loader_avma);
}

static int wine_attach(const struct sw_snapshot *snap, void **ret_state)
{
	struct wine *w = calloc(1, sizeof(*w));
	if (w == NULL)
		return -SW_E_NOMEM;
	if (!sw_wine_ntdll_find(snap, &w->ntdll)) {
		free(w);
		return 0;
	}
	w->snap = snap;
	dispatcher_find(snap, w->ntdll.syscall_avma, &w->dispatchers[SYSCALL]);
	dispatcher_find(snap, w->ntdll.unix_call_avma, &w->dispatchers[UNIX_CALL]);
	functions_find(w);
	if (w->ntdll.problem == NULL &&
	    (w->dispatchers[SYSCALL].place == NULL || w->dispatchers[UNIX_CALL].place == NULL))
		w->ntdll.problem = "ntdll.so has no call frame information for its dispatchers";
	*ret_state = w;
	return 0;
}

static void wine_detach(void *state)
{
	free(state);
}

/* ---- one step ------------------------------------------------------------------------------- */

static const struct sw_wine_teb *teb_get(struct wine *w, struct sw_memory memory,
					 const struct sw_thread *thread)
{
	if (w->thread != thread) {
		w->thread = thread;
		w->has_teb = sw_wine_teb_read(memory, thread->gs_base, &w->teb);
	}
	return w->has_teb ? &w->teb : NULL;
}

static enum sw_step fail(struct sw_stepped *ret, enum sw_end end, const char *why)
{
	ret->end = end;
	ret->why = why;
	return SW_STEP_FAIL;
}

static enum sw_step conclude(enum sw_wine_result result, const struct sw_cursor *c,
			     uint64_t fault_avma, const char *none, struct sw_stepped *ret)
{
	switch (result) {
	case SW_WINE_OK: break;
	case SW_WINE_NONE: return fail(ret, SW_END_BAD_UNWIND_INFO, none);
	case SW_WINE_UNREADABLE:
		return fail(ret, sw_cursor_memory_end(c, fault_avma),
			    "registers that Wine saved could not be read");
	}
	ret->other_stack = true;
	return SW_STEP_OK;
}

/* The dispatcher before it has changed to the Unix stack, or after it has changed back: its call
 * frame information is right there, if what it does not mention is as it was. */
static enum sw_step dispatcher_edge(const struct dispatcher *d, const struct sw_cursor *c,
				    struct sw_stepped *ret)
{
	const struct sw_cfi_rule *rule;
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(d->place->module);
	struct sw_cfi_env env = {.regs = &c->regs, .memory = c->memory, .bias = d->place->bias};
	struct sw_regs regs;
	if (cfi == NULL ||
	    sw_elf_cfi_row(cfi, c->lookup_avma - d->place->bias, &rule) != SW_ELF_ROW_FOUND ||
	    sw_cfi_rule_apply(rule, &env, &regs) != SW_CFI_OK)
		return SW_STEP_DECLINE;
	ret->regs = c->regs;
	for (unsigned i = 0; i < SW_REGS_MAX; i++)
		if (regs.known & (UINT32_C(1) << i))
			sw_regs_set(&ret->regs, i, regs.val[i]);
	sw_regs_set(&ret->regs, SW_ARCH_SP, regs.sp_avma);
	sw_regs_set(&ret->regs, SW_ARCH_RA, regs.pc_avma);
	return SW_STEP_OK;
}

/*
 * From Unix code back to the Windows code that called it. A system call's caller is a thunk without
 * an entry of its own, whose pc in the frame was moved back to a RET; a unix call's is a plain
 * return address.
 */
static enum sw_step dispatcher_step(struct wine *w, enum dispatcher_kind kind, struct sw_cursor *c,
				    struct sw_stepped *ret)
{
	const struct sw_wine_teb *teb = teb_get(w, c->memory, c->thread);
	uint64_t frame, fault = 0;
	if (teb == NULL)
		return SW_STEP_DECLINE;
	if (kind == SYSCALL)
		ret->flags = SW_FRAME_EXACT_PC;
	if (sw_wine_on_windows_stack(teb, c->regs.sp_avma))
		return dispatcher_edge(&w->dispatchers[kind], c, ret);
	enum sw_wine_result r =
		sw_wine_syscall_frame(c->memory, teb, c->regs.sp_avma, &frame, &fault);
	if (r == SW_WINE_OK)
		r = sw_wine_syscall_regs(c->memory, frame, &ret->regs, &fault);
	return conclude(r, c, fault, "no frame of a system call encloses the dispatcher's", ret);
}

static enum sw_step callback_step(struct wine *w, struct sw_cursor *c, struct sw_stepped *ret)
{
	const struct sw_wine_teb *teb = teb_get(w, c->memory, c->thread);
	uint64_t fault = 0;
	if (teb == NULL)
		return SW_STEP_DECLINE;
	enum sw_wine_result r =
		sw_wine_callback_regs(c->memory, teb, c->regs.sp_avma, &ret->regs, &fault);
	return conclude(r, c, fault, "no system call is there that could have called back", ret);
}

/* What was interrupted may have been anywhere, also at an address that is no code. */
static enum sw_step context_step(struct sw_cursor *c, struct sw_stepped *ret)
{
	uint64_t fault = 0;
	enum sw_wine_result r =
		sw_wine_context_regs(c->memory, c->regs.sp_avma, &ret->regs, &fault);
	if (r == SW_WINE_NONE)
		return SW_STEP_DECLINE;
	ret->flags = SW_FRAME_EXACT_PC;
	ret->callee_signal = true;
	return conclude(r, c, fault, NULL, ret);
}

/* A thread that has not begun its program's code: nothing called the loader. */
static enum sw_step loader_step(struct wine *w, struct sw_cursor *c, struct sw_stepped *ret)
{
	const struct sw_wine_teb *teb = teb_get(w, c->memory, c->thread);
	(void) ret;
	/* The thread's first CONTEXT lies at the end of the stack, LdrInitializeThunk is entered
	 * right below with nothing to return to (Wine 8.0 and 10.0, call_init_thunk()). */
	enum { CONTEXT_BYTES = 0x4d0, ENTRY_BYTES = 0x28 };
	uint64_t first;
	if (teb == NULL ||
	    __builtin_sub_overflow(teb->stack_base_avma, CONTEXT_BYTES + ENTRY_BYTES + 16,
				   &first) ||
	    c->regs.sp_avma > first)
		return SW_STEP_DECLINE;
	return SW_STEP_END;
}

static bool inside(const struct function *f, uint64_t avma)
{
	return avma >= f->start_avma && avma < f->end_avma;
}

static bool dispatcher_at(const struct wine *w, uint64_t avma, enum dispatcher_kind *ret)
{
	for (int i = 0; i < N_DISPATCHERS; i++) {
		const struct dispatcher *d = &w->dispatchers[i];
		if (avma >= d->start_avma && avma < d->end_avma) {
			*ret = (enum dispatcher_kind) i;
			return true;
		}
	}
	return false;
}

static enum sw_step wine_step(void *state, struct sw_cursor *c, struct sw_stepped *ret)
{
	struct wine *w = state;
	enum dispatcher_kind kind;
	if (w == NULL || c->place == NULL)
		return SW_STEP_DECLINE;
	if (dispatcher_at(w, c->lookup_avma, &kind))
		return dispatcher_step(w, kind, c, ret);
	if (c->place != w->ntdll.place)
		return SW_STEP_DECLINE;
	if (inside(&w->callback, c->lookup_avma))
		return callback_step(w, c, ret);
	if (inside(&w->exception, c->lookup_avma) || inside(&w->apc, c->lookup_avma))
		return context_step(c, ret);
	if (inside(&w->loader, c->lookup_avma))
		return loader_step(w, c, ret);
	return SW_STEP_DECLINE;
}

/* ---- names ------------------------------------------------------------------------------------ */

/* Symbols of ntdll.so may be without those of the dispatchers, or begin inside. */
static bool wine_owns(void *state, const struct sw_cursor *c, uint64_t *ret_cookie)
{
	enum dispatcher_kind kind;
	(void) ret_cookie;
	return state != NULL && dispatcher_at(state, c->lookup_avma, &kind);
}

static int wine_describe(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	static const char *const names[N_DISPATCHERS] = {"__wine_syscall_dispatcher",
							 "__wine_unix_call_dispatcher"};
	const struct wine *w = state;
	enum dispatcher_kind kind;
	if (w == NULL || !dispatcher_at(w, sw_frame_lookup_avma(frame), &kind))
		return 0;
	snprintf(ret->function, sizeof(ret->function), "%s", names[kind]);
	ret->start_avma = w->dispatchers[kind].start_avma;
	return 1;
}

static size_t wine_recognise(void *state, struct sw_runtime *ret, size_t max)
{
	const struct wine *w = state;
	if (w == NULL || max == 0)
		return 0;
	*ret = (struct sw_runtime){.name = "wine", .entries = -1};
	snprintf(ret->version, sizeof(ret->version), "%s", w->ntdll.version);
	snprintf(ret->where, sizeof(ret->where), "%s", sw_module_path(w->ntdll.place->module));
	snprintf(ret->problem, sizeof(ret->problem), "%s",
		 w->ntdll.problem != NULL ? w->ntdll.problem : "");
	return 1;
}

static bool wine_thread_note(void *state, const struct sw_thread *thread,
			     struct sw_thread_note *ret)
{
	struct wine *w = state;
	if (w == NULL)
		return false;
	struct sw_snapshot_memory memory = {.snap = w->snap, .thread = thread};
	const struct sw_wine_teb *teb = teb_get(w, sw_snapshot_memory(&memory), thread);
	if (teb == NULL)
		return false;
	ret->runtime = "wine";
	ret->id = (int64_t) teb->thread_id;
	return true;
}

static void wine_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			 struct sw_text *text)
{
	const struct wine *w = state;
	enum dispatcher_kind kind;
	(void) snap;
	if (w == NULL)
		sw_text_printf(text, "no Wine process\n");
	else if (dispatcher_at(w, avma, &kind))
		sw_text_printf(text,
			       "dispatcher of %s: the caller's registers are in the thread's "
			       "syscall_frame\n",
			       kind == SYSCALL ? "system calls" : "unix calls");
	else if (inside(&w->callback, avma))
		sw_text_printf(text, "entry of callbacks: the caller is Unix code, its registers "
				     "lie above the thread's syscall_frame\n");
	else if (inside(&w->exception, avma) || inside(&w->apc, avma))
		sw_text_printf(text, "entry of exceptions and APCs: what was interrupted is in a "
				     "CONTEXT at rsp\n");
	else
		sw_text_printf(text, "no boundary between Windows and Unix code\n");
}

const struct sw_unwinder_ops sw_runtime_wine = {
	.name = "wine",
	.kind = "native", /* of what it owns: Unix code */
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ELF | SW_CODE_PE,
	.stacks = sw_wine_stacks,
	.attach = wine_attach,
	.detach = wine_detach,
	.step = wine_step,
	.owns = wine_owns,
	.describe = wine_describe,
	.recognise = wine_recognise,
	.thread_note = wine_thread_note,
	.explain = wine_explain,
};
