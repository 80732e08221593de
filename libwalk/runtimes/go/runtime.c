/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Go: frames of its code, by the tables that its linker puts into every program, stripped or not.
 *
 *	find       which modules have Go code; image: where its tables are in a file
 *	pclntab    functions, frame sizes, lines; inlined: what was compiled into what
 *	stacks     the stacks of a thread, by its g and m
 *	step       one frame further; switch: from one stack to another; entry: where C begins it
 *	linked     out of C code that Go's linker has put into the program
 *	names      names and lines
 *	before     what is found out before the window; window: what is copied in it
 *	recipe     what is copied at an event, by the kernel
 *	layout     where all goroutines are; list: those copied in the window; goroutines: each of them
 */
#include "runtimes/go/runtime.h"
#include "runtimes/go/before.h"
#include "runtimes/go/find.h"
#include "runtimes/go/goroutines.h"
#include "runtimes/go/names.h"
#include "runtimes/go/recipe.h"
#include "runtimes/go/step.h"
#include "runtimes/go/window.h"

#include <snapwalk/error.h>
#include <stdio.h>

enum { SWITCHES_MAX = 8192 }; /* of one walk: Go and C that call each other */

static void go_close(void *state)
{
	struct sw_go *go = state;
	sw_go_goroutines_destroy(go->goroutines);
	free(go);
}

static int go_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	struct sw_go *go = calloc(1, sizeof(*go));
	if (go == NULL)
		return -SW_E_NOMEM;
	go->snap = snap;
	const struct sw_go_window *window = found;
	go->window = window != NULL && window->copied ? window : NULL;
	/* Memory that was not copied at the event is of another time. */
	go->source = (struct sw_snapshot_memory){.snap = snap, .no_live = snap->priv->by_copies};
	go->memory = sw_snapshot_memory(&go->source);
	sw_go_find(snap, &go->modules);
	if (go->modules.n == 0) {
		go_close(go);
		return 0;
	}
	*ret_state = go;
	return 0;
}

static bool go_renew(void *state)
{
	struct sw_go *go = state;
	go->thread = NULL;
	go->of = NULL;
	return true;
}

static enum sw_step go_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	return sw_go_step(state, cursor, ret);
}

static bool go_owns(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	(void) ret_cookie; /* the pc tells all */
	return sw_go_owns(state, cursor);
}

static int go_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	return sw_go_describe(state, frame, SW_GO_OUTERMOST, ret);
}

static int go_inlined(void *state, const struct sw_frame *frame, size_t level,
		      struct sw_description *ret)
{
	return level < SW_GO_INLINED_MAX ? sw_go_describe(state, frame, level, ret) : 0;
}

static size_t go_goroutines(void *state, const char **ret_why)
{
	return sw_go_goroutines(state, ret_why);
}

static bool go_goroutine(void *state, size_t n, struct sw_runtime_goroutine *ret)
{
	return sw_go_goroutine(state, n, ret);
}

static size_t go_identify(void *state, struct sw_runtime *ret, size_t max)
{
	const struct sw_go *go = state;
	size_t n = 0;
	for (; n < go->modules.n && n < max; n++) {
		const struct sw_go_module *m = &go->modules.all[n];
		ret[n] = (struct sw_runtime){.name = "go", .entries = -1};
		(void) snprintf(ret[n].version, sizeof(ret[n].version), "%s", m->image.version);
		(void) snprintf(ret[n].where, sizeof(ret[n].where), "%s",
				sw_module_path(m->place->module)); /* cut to fit */
	}
	return n;
}

static void go_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
		       struct sw_text *text)
{
	(void) snap;
	sw_go_explain(state, avma, text);
}

const struct sw_runtime_ops sw_runtime_go = {
	.name = "go",
	.kind = "go",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ELF,
	.switches_max = SWITCHES_MAX,
	.probe = sw_go_probe,
	.before = sw_go_before,
	.stacks = sw_go_window_stacks,
	.in_window = sw_go_in_window,
	.recipe = sw_go_recipe,
	.renew = go_renew,
	.open = go_open,
	.close = go_close,
	.step = go_step,
	.owns = go_owns,
	.names = go_names,
	.inlined = go_inlined,
	.goroutines = go_goroutines,
	.goroutine = go_goroutine,
	.identify = go_identify,
	.explain = go_explain,
};
