/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ruby 3: the frames that its native frames of rb_vm_exec() execute, and the way out of YJIT's code.
 *
 *	find       which module is Ruby, its version; layout: where things are in it
 *	unexported what its library does not say by symbols
 *	vm         its structures: stacks, frames, names
 *	touch      what of them is read while nothing changes
 *	recipe     what is copied at an event, by the kernel; copied: what frames of such copies execute
 *	chain      the frames of a thread; frames: which of them lie on which native frame
 *	yjit       generated code
 *	fibers     stacks of fibers; fiber_pool: where these come from; created: those that have
 *	           none yet; all_fibers: what is shown of those that no thread runs; fiber_root:
 *	           where the native stack of one ends
 *	locks      who has the GVL or a Mutex; waits: who wants it
 */
#include "runtimes/ruby/runtime.h"
#include "runtimes/ruby/all_fibers.h"
#include "runtimes/ruby/before.h"
#include "runtimes/ruby/chain.h"
#include "runtimes/ruby/fiber_root.h"
#include "runtimes/ruby/frames.h"
#include "runtimes/ruby/recipe.h"
#include "runtimes/ruby/touch.h"
#include "runtimes/ruby/waits.h"
#include "runtimes/ruby/yjit.h"
#include "snapshot/live.h"

#include <snapwalk/error.h>
#include <stdio.h>
#include <stdlib.h>

static void ruby_close(void *state)
{
	struct sw_ruby *ruby = state;
	if (ruby == NULL)
		return;
	free(ruby->chain.frames);
	free(ruby->known);
	sw_ruby_all_fibers_destroy(ruby->fibers);
	sw_ruby_copied_deinit(&ruby->copied);
	free(ruby);
}

static int ruby_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	struct sw_ruby *ruby = calloc(1, sizeof(*ruby));
	const struct sw_ruby_before *before = found;
	if (ruby == NULL)
		return -SW_E_NOMEM;
	ruby->snap = snap;
	ruby->source = (struct sw_snapshot_memory){.snap = snap, .no_live = true};
	ruby->vm = (struct sw_ruby_vm){.memory = sw_snapshot_memory(&ruby->source),
				       .found = &ruby->found};
	if (!sw_ruby_find(snap, &ruby->found)) {
		ruby_close(ruby);
		return 0;
	}
	ruby->by_copies = snap->priv->by_copies;
	ruby->later_source = (struct sw_snapshot_memory){.snap = snap};
	ruby->later = ruby->now = ruby->vm;
	ruby->later.memory = sw_snapshot_memory(&ruby->later_source);
	ruby->now.memory = sw_live_memory(snap);
	if (ruby->by_copies && ruby->found.layout != NULL)
		(void) sw_ruby_pool_find(ruby->now.memory, ruby->found.place, true,
					 &ruby->vm.pool); /* else: as nobody has set it */
	else if (before != NULL)
		ruby->vm.pool = before->pool;
	else if (ruby->found.layout != NULL)
		(void) sw_ruby_pool_find(ruby->vm.memory, ruby->found.place, true,
					 &ruby->vm.pool); /* else: as nobody has set it */
	*ret_state = ruby;
	return 0;
}

/* rb_vm_exec() is looked for when the first stack is walked, as a sampler opens the state with its privileges. */
static struct sw_ruby *with_exec(void *state)
{
	struct sw_ruby *ruby = state;
	if (!ruby->exec_known && ruby->found.layout != NULL &&
	    !sw_ruby_exec_find(ruby->found.place, &ruby->exec)) {
		ruby->found.layout = NULL;
		ruby->found.missing = "rb_vm_exec";
	}
	ruby->exec_known = true;
	return ruby;
}

static bool ruby_renew(void *state)
{
	struct sw_ruby *ruby = state;
	ruby->stack_of = NULL;
	ruby->chain.tid = 0;
	ruby->chain.n = ruby->chain.next = 0;
	return sw_ruby_copied_has_space(&ruby->copied);
}

static enum sw_step ruby_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	struct sw_ruby *ruby = with_exec(state);
	enum sw_step step = sw_ruby_yjit_step(ruby, cursor, ret);
	return step == SW_STEP_DECLINE ? sw_ruby_fiber_root_step(ruby, cursor, ret) : step;
}

static bool ruby_writes_code(void *state, uint64_t avma)
{
	return sw_ruby_yjit_at(with_exec(state), avma);
}

static bool ruby_frames(void *state, const struct sw_cursor *callee, uint64_t caller_sp_avma,
			struct sw_frame_sink *sink)
{
	return sw_ruby_frames(with_exec(state), callee, caller_sp_avma, sink);
}

static int ruby_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	struct sw_ruby *ruby = state;
	return ruby->by_copies ? sw_ruby_copied_names(&ruby->copied, frame, ret)
			       : sw_ruby_names(ruby, frame, ret);
}

static bool ruby_thread(void *state, const struct sw_thread *thread, struct sw_thread_info *ret)
{
	return sw_ruby_thread_note(with_exec(state), thread, ret);
}

static size_t ruby_tasks(void *state, const char **ret_why)
{
	return sw_ruby_all_fibers(with_exec(state), ret_why);
}

static bool ruby_task(void *state, size_t n, struct sw_runtime_task *ret,
		      struct sw_frame_sink *sink)
{
	return sw_ruby_fiber_show(state, n, ret, sink);
}

static bool ruby_wait(void *state, const struct sw_thread *thread, struct sw_runtime_wait *ret)
{
	return sw_ruby_wait(with_exec(state), thread, ret);
}

static size_t ruby_identify(void *state, struct sw_runtime *ret, size_t max)
{
	struct sw_ruby *ruby = with_exec(state);
	const struct sw_ruby_found *f = &ruby->found;
	if (max == 0)
		return 0;
	*ret = (struct sw_runtime){.name = "ruby", .entries = -1};
	(void) snprintf(ret->version, sizeof(ret->version), "%s", f->version);
	(void) snprintf(ret->where, sizeof(ret->where), "%s",
			sw_module_path(f->place->module)); /* cut to fit */
	sw_ruby_chain_end(ruby);
	if (f->layout == NULL && f->missing != NULL)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"%s could not be found: Ruby's own frames are missing", f->missing);
	else if (f->layout == NULL)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"how Ruby %s is built is not known: its own frames are missing",
				f->version);
	else if (ruby->cut)
		(void) snprintf(
			ret->problem, sizeof(ret->problem),
			"not all of Ruby's own frames could be copied, or shown on the native "
			"frames that they belong to");
	return 1;
}

const struct sw_runtime_ops sw_runtime_ruby = {
	.name = "ruby",
	.kind = "ruby",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ELF | SW_CODE_ANON | SW_CODE_JIT,
	.probe = sw_ruby_probe,
	.before = sw_ruby_before,
	.touch = sw_ruby_touch,
	.recipe = sw_ruby_recipe,
	.renew = ruby_renew,
	.open = ruby_open,
	.close = ruby_close,
	.step = ruby_step,
	.writes_code = ruby_writes_code,
	.frames = ruby_frames,
	.names = ruby_names,
	.thread = ruby_thread,
	.tasks = ruby_tasks,
	.task = ruby_task,
	.wait = ruby_wait,
	.identify = ruby_identify,
};
