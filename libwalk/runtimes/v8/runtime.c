/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JavaScript: the frames of V8's interpreter, compilers and builtins in node, without any help of it.
 *
 *	find      which module has V8, and its builtins (numbers: what functions call them); objects/layout: what it publishes for debuggers
 *	instructions/flow   where a function's return address is at each of its instructions
 *	frame     what a pc is in; step: one frame further
 *	instructions/deopt  from a builtin that replaces a frame to the caller of that
 *	objects/, function, code   objects; names and lines; what was compiled into what
 *	wasm, wire               code of WebAssembly, which is no object; names of its functions
 *	names     which function a frame is in
 *	awaits    from an async function to those that await it; awaited: of those that threads run
 *	microtask what V8 runs of its queue
 *	before, touch            what is read while nothing moves
 *	recipe, copied           copies of threads at events: what the kernel copies, and what is read later
 *	entry                    where C++ code that JavaScript has called begins
 *	loop      since when libuv's loop has not looked for events
 */
#include "runtimes/v8/runtime.h"
#include "runtimes/v8/awaited.h"
#include "runtimes/v8/before.h"
#include "runtimes/v8/copied.h"
#include "runtimes/v8/find.h"
#include "runtimes/v8/loop.h"
#include "runtimes/v8/names.h"
#include "runtimes/v8/recipe.h"
#include "runtimes/v8/step.h"
#include "runtimes/v8/touch.h"
#include "snapshot/live.h"

#include <snapwalk/error.h>
#include <stdio.h>
#include <string.h>

static void v8_close(void *state)
{
	struct sw_v8 *v8 = state;
	if (v8 == NULL)
		return;
	if (v8->copies != NULL)
		sw_v8_copies_deinit(v8);
	free(v8->copies);
	sw_map64_deinit(&v8->by_frame);
	free(v8->frames);
	free(v8->resumed);
	free(v8);
}

/* Why functions may have no names; static. NULL: all that leads to them was read. */
static const char *short_why(const struct sw_snapshot *snap)
{
	if (snap->priv->hooks_cut)
		return "there was no time or no space to read all that leads to them";
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		const struct sw_map *map =
			t->captured ? sw_snapshot_map(snap, t->regs.sp_avma) : NULL;
		if (map != NULL && map->end_avma - t->regs.sp_avma > SW_V8_TOUCH_STACK_BYTES)
			return "of a stack 256 KiB are looked at";
	}
	return NULL;
}

static int v8_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	struct sw_v8 *v8 = calloc(1, sizeof(*v8));
	const struct sw_v8_before *before = found;
	if (v8 == NULL)
		return -SW_E_NOMEM;
	v8->snap = snap;
	v8->program = sw_v8_find(snap, &v8->place);
	if (v8->program == NULL) {
		v8_close(v8);
		return 0;
	}
	v8->by_copies = snap->priv->by_copies;
	v8->copies = calloc(1, sizeof(*v8->copies));
	if (v8->copies == NULL) {
		v8_close(v8);
		return -SW_E_NOMEM;
	}
	/* Memory that was not copied of a process that runs again may have moved: it is read, and proven, only by copies. */
	v8->copied_source = (struct sw_snapshot_memory){.snap = snap, .no_live = true};
	v8->copied = (struct sw_v8_heap){&v8->program->at, sw_snapshot_memory(&v8->copied_source)};
	v8->now = (struct sw_v8_heap){&v8->program->at, sw_live_memory(snap)};
	v8->source = (struct sw_snapshot_memory){.snap = snap, .no_live = !v8->by_copies};
	v8->heap = (struct sw_v8_heap){&v8->program->at, sw_snapshot_memory(&v8->source)};
	v8->wasm_state_avma = sw_v8_wasm_state(snap, v8->program, v8->place);
	v8->microtasks = sw_v8_microtasks_of(snap, v8->program, v8->place);
	if (before != NULL) {
		v8->short_why = short_why(snap);
		sw_v8_loop_read(v8->copied.memory, before->loop_avma, snap->priv->touched_ns,
				&v8->loop);
	}
	*ret_state = v8;
	return 0;
}

static bool v8_renew(void *state)
{
	return sw_v8_copies_renew(state);
}

static enum sw_step v8_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct sw_v8 *v8 = state;
	return v8->program->usable ? sw_v8_step(v8, cursor, ret) : SW_STEP_DECLINE;
}

static bool v8_owns(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	struct sw_v8 *v8 = state;
	return v8->program->usable && sw_v8_owns(v8, cursor, ret_cookie);
}

static bool v8_frames(void *state, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		      struct sw_frame_sink *sink)
{
	struct sw_v8 *v8 = state;
	uint64_t cookie = 0;
	(void) caller_sp_avma;
	if (!v8->program->usable)
		return false;
	sink->may_miss = sw_v8_is_doubtful(v8, callee);
	if (!v8->by_copies)
		sw_v8_resumed_note(v8, callee);
	return sw_v8_is_internal(v8, callee) &&
	       (!sw_v8_owns(v8, callee, &cookie) || sw_v8_is_wrapper(v8, cookie));
}

static size_t v8_awaited(void *state, const char **ret_why)
{
	const struct sw_v8 *v8 = state;
	*ret_why = NULL;
	return v8->by_copies ? 0 : sw_v8_awaited(state, ret_why);
}

static bool v8_task(void *state, size_t n, struct sw_runtime_task *ret, struct sw_frame_sink *sink)
{
	return sw_v8_awaited_show(state, n, ret, sink);
}

static int v8_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	return sw_v8_describe(state, frame, SW_V8_OUTERMOST, ret);
}

static int v8_inlined(void *state, const struct sw_frame *frame, size_t level,
		      struct sw_description *ret)
{
	return sw_v8_describe(state, frame, level, ret);
}

static const char *v8_code(void *state, uint64_t cookie)
{
	return sw_v8_is_wrapper(state, cookie) ? "jit"
	       : sw_v8_is_wasm(state, cookie)  ? "wasm"
					       : NULL;
}

static size_t v8_identify(void *state, struct sw_runtime *ret, size_t max)
{
	const struct sw_v8 *v8 = state;
	const struct sw_v8_program *p = v8->program;
	if (max == 0)
		return 0;
	*ret = (struct sw_runtime){.name = "v8", .entries = -1, .event_loop = v8->loop};
	(void) snprintf(ret->version, sizeof(ret->version), "%s", p->version);
	(void) snprintf(ret->where, sizeof(ret->where), "%s",
			sw_module_path(v8->place->module)); /* cut to fit */
	if (!p->usable)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"JavaScript functions have no names: %s", p->missing);
	else if (v8->short_why != NULL && v8->any_unnamed)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"some JavaScript functions have no names: %s", v8->short_why);
	return 1;
}

static void v8_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
		       struct sw_text *text)
{
	struct sw_v8 *v8 = state;
	(void) snap;
	if (v8->program->usable)
		sw_v8_explain(v8, avma, text);
	else
		sw_text_printf(text, "%s\n", v8->program->missing);
}

static void v8_explain_frame(void *state, const struct sw_frame *frame, struct sw_text *text)
{
	sw_v8_explain_frame(state, frame, text);
}

const struct sw_runtime_ops sw_runtime_v8 = {
	.name = "v8",
	.kind = "v8js",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ELF | SW_CODE_ANON | SW_CODE_JIT,
	.probe = sw_v8_probe,
	.before = sw_v8_before,
	.touch = sw_v8_touch,
	.recipe = sw_v8_recipe,
	.unpublished = true,
	.renew = v8_renew,
	.open = v8_open,
	.close = v8_close,
	.step = v8_step,
	.owns = v8_owns,
	.code = v8_code,
	.frames = v8_frames,
	.names = v8_names,
	.inlined = v8_inlined,
	.awaited = v8_awaited,
	.task = v8_task,
	.identify = v8_identify,
	.explain = v8_explain,
	.explain_frame = v8_explain_frame,
};
