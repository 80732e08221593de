/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Erlang's machine, BEAM, with its JIT: the stacks of the processes that its schedulers run.
 *
 *	find        which module is the machine, its version; layout: where things are in it
 *	window      what is copied while nothing changes
 *	schedulers  which thread is which, and what it runs
 *	step        one frame further; flow: by the instructions, where the top frame is not complete
 *	processes   the machine's own, by its table; all_processes: what is shown of them
 *	functions   which function an address belongs to; names: its name, and those of threads; lines: where
 */
#include "runtimes/beam/runtime.h"
#include "runtimes/beam/all_processes.h"
#include "runtimes/beam/functions.h"
#include "runtimes/beam/names.h"
#include "runtimes/beam/step.h"
#include "runtimes/beam/window.h"

#include <snapwalk/error.h>
#include <stdio.h>
#include <stdlib.h>

enum { SWITCHES_MAX = 64 /* of one walk */ };

static void beam_close(void *state)
{
	struct sw_beam *beam = state;
	if (beam == NULL)
		return;
	sw_beam_all_processes_destroy(beam->processes);
	free(beam);
}

static int beam_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	struct sw_beam *beam = calloc(1, sizeof(*beam));
	if (beam == NULL)
		return -SW_E_NOMEM;
	beam->snap = snap;
	beam->window = found;
	beam->source = (struct sw_snapshot_memory){.snap = snap, .no_live = true};
	beam->memory = sw_snapshot_memory(&beam->source);
	beam->live_source = (struct sw_snapshot_memory){.snap = snap};
	beam->live = sw_snapshot_memory(&beam->live_source);
	if (!sw_beam_find(snap, &beam->found)) {
		beam_close(beam);
		return 0;
	}
	if (beam->found.layout != NULL &&
	    !sw_memory_u64(beam->memory, beam->found.exit_svma + beam->found.place->bias,
			   &beam->exit_avma))
		beam->exit_avma = 0;
	if (beam->found.layout != NULL)
		sw_beam_ids_read(beam->memory, &beam->found, &beam->ids);
	if (beam->found.layout != NULL)
		beam->main_avma = sw_beam_main_find(beam->live, beam->found.layout, snap);
	*ret_state = beam;
	return 0;
}

static enum sw_step beam_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	return sw_beam_step(state, cursor, ret);
}

static bool beam_owns(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	const struct sw_beam *beam = state;
	if (beam->found.layout == NULL || !sw_beam_is_code(cursor->snap, cursor->lookup_avma))
		return false;
	*ret_cookie = sw_beam_is_waiting(beam, cursor) ? SW_BEAM_AT_CALL : 0;
	return true;
}

static int beam_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	return sw_beam_names(state, frame, ret);
}

static bool beam_thread(void *state, const struct sw_thread *thread, struct sw_thread_info *ret)
{
	return sw_beam_thread(state, thread, ret);
}

static size_t beam_tasks(void *state, const char **ret_why)
{
	return sw_beam_all_processes(state, ret_why);
}

static bool beam_task(void *state, size_t n, struct sw_runtime_task *ret,
		      struct sw_frame_sink *sink)
{
	return sw_beam_process_show(state, n, ret, sink);
}

static size_t beam_identify(void *state, struct sw_runtime *ret, size_t max)
{
	const struct sw_beam *beam = state;
	const struct sw_beam_found *f = &beam->found;
	if (max == 0)
		return 0;
	*ret = (struct sw_runtime){.name = "erlang", .entries = -1};
	(void) snprintf(ret->version, sizeof(ret->version), "%s", f->release);
	(void) snprintf(ret->where, sizeof(ret->where), "%s",
			sw_module_path(f->place->module)); /* cut to fit */
	/* The runtime has names of generated code. */
	ret->map_useless = f->interprets || f->layout != NULL;
	if (f->interprets)
		(void) snprintf(
			ret->problem, sizeof(ret->problem),
			"the emulator without JIT (erts %s) is not read: Erlang's own frames are "
			"missing",
			f->erts); /* fits, as those below */
	else if (f->layout == NULL && f->missing != NULL)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"%s could not be found: Erlang's own frames are missing",
				f->missing);
	else if (f->layout != NULL && beam->main_avma == 0)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"its process_main() could not be found: schedulers that look for "
				"work may be cut");
	else if (f->layout == NULL)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"how Erlang/OTP %s (erts %s) is built is not known: its own "
				"frames are missing",
				f->release, f->erts);
	return 1;
}

const struct sw_runtime_ops sw_runtime_beam = {
	.name = "beam",
	.kind = "beam",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ANON | SW_CODE_JIT,
	.switches_max = SWITCHES_MAX,
	.probe = sw_beam_probe,
	.before = sw_beam_before,
	.stacks = sw_beam_stacks,
	.in_window = sw_beam_in_window,
	.open = beam_open,
	.close = beam_close,
	.step = beam_step,
	.owns = beam_owns,
	.names = beam_names,
	.thread = beam_thread,
	.tasks = beam_tasks,
	.task = beam_task,
	.identify = beam_identify,
};
