/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * PHP 8: the calls that its frames of execute_ex() execute, and the way out of what the JIT made.
 *
 *	find       which module is PHP, its version; layout: where things are in it
 *	touch      what the walk will read, for the copy
 *	recipe     what is copied at an event, by the kernel; copied: functions of such copies
 *	chain      the calls of a thread; frames: which of them lie on which native frame
 *	generators those that yield from others, or are about to be resumed
 *	engine     execute_ex() and generated code
 *	names      class, function, file and line
 *	request    which request a thread serves
 */
#include "runtimes/php/runtime.h"
#include "runtimes/php/before.h"
#include "runtimes/php/fpm.h"
#include "runtimes/php/frames.h"
#include "runtimes/php/names.h"
#include "runtimes/php/recipe.h"
#include "runtimes/php/request.h"
#include "runtimes/php/touch.h"
#include "snapshot/live.h"

#include <snapwalk/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void php_close(void *state)
{
	struct sw_php *php = state;
	if (php == NULL)
		return;
	sw_php_chain_deinit(&php->chain);
	sw_php_copied_deinit(&php->copied);
	free(php);
}

static int php_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	struct sw_php *php = calloc(1, sizeof(*php));
	(void) found; /* all that was copied is in the snapshot */
	if (php == NULL)
		return -SW_E_NOMEM;
	php->snap = snap;
	php->source = (struct sw_snapshot_memory){.snap = snap, .no_live = true};
	php->memory = sw_snapshot_memory(&php->source);
	php->by_copies = snap->priv->by_copies;
	php->later_source = (struct sw_snapshot_memory){.snap = snap};
	php->later = sw_snapshot_memory(&php->later_source);
	if (!sw_php_find(snap, &php->found)) {
		php_close(php);
		return 0;
	}
	*ret_state = php;
	return 0;
}

/* execute_ex() is looked for when the first stack is walked, as a sampler opens the state with its privileges. */
static struct sw_php *with_engine(void *state)
{
	struct sw_php *php = state;
	if (!php->engine_known && php->found.layout != NULL)
		sw_php_engine_read(php->snap, &php->found, &php->engine);
	php->engine_known = true;
	return php;
}

static bool php_renew(void *state)
{
	struct sw_php *php = state;
	php->chain.tid = 0;
	return sw_php_copied_has_space(&php->copied);
}

static enum sw_step php_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	const struct sw_php *php = with_engine(state);
	return sw_php_engine_step(&php->engine, &php->found, cursor, ret);
}

static bool php_writes_code(void *state, uint64_t avma)
{
	const struct sw_php *php = with_engine(state);
	struct sw_snapshot_memory source = {.snap = php->snap}; /* code stays where it is */
	return sw_php_jit_returns(&php->engine, php->snap, sw_snapshot_memory(&source), avma + 1);
}

static bool php_frames(void *state, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		       struct sw_frame_sink *sink)
{
	return sw_php_frames(with_engine(state), callee, caller_sp_avma, sink);
}

static int php_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	struct sw_php *php = state;
	return php->by_copies ? sw_php_copied_names(&php->copied, frame, ret)
			      : sw_php_names(php, frame, ret);
}

static bool php_request(void *state, const struct sw_thread *thread, struct sw_served *ret)
{
	struct sw_php *php = state;
	php->asked = true;
	return sw_php_request(php, thread, ret);
}

static void problem_say(const struct sw_php *php, char *ret, size_t size)
{
	const struct sw_php_found *f = &php->found;
	if (f->layout == NULL && f->missing != NULL)
		(void) snprintf(ret, size, "%s could not be found: PHP's own frames are missing",
				f->missing); /* fits, as those below */
	else if (f->layout == NULL)
		(void) snprintf(ret, size,
				"how PHP %s is built is not known: its own frames are missing",
				f->version);
	else if (php->engine.start_svma == 0)
		(void) snprintf(ret, size,
				"execute_ex could not be found: PHP's own frames are missing");
	else if (php->asked && f->sapi_svma == 0)
		(void) snprintf(
			ret, size,
			"sapi_globals could not be found: which requests it serves is not known");
	else if (php->cut)
		(void) snprintf(ret, size, "not all of PHP's own frames could be copied");
	else if (php->engine.has_jit && !sw_php_jit_frames(&php->engine))
		(void) snprintf(ret, size,
				"it was built so that frames of compiled code are not known");
}

/* "/usr/sbin/php-fpm8.2" */
static bool is_fpm(const struct sw_php *php)
{
	const char *path = sw_module_path(php->found.place->module), *slash = strrchr(path, '/');
	return strncmp(slash != NULL ? slash + 1 : path, "php-fpm", strlen("php-fpm")) == 0;
}

static size_t php_identify(void *state, struct sw_runtime *ret, size_t max)
{
	const struct sw_php *php = with_engine(state);
	if (max == 0)
		return 0;
	*ret = (struct sw_runtime){.name = "php", .entries = -1};
	(void) snprintf(ret->version, sizeof(ret->version), "%s", php->found.version);
	(void) snprintf(ret->where, sizeof(ret->where), "%s",
			sw_module_path(php->found.place->module)); /* cut to fit */
	problem_say(php, ret->problem, sizeof(ret->problem));
	if (!php->by_copies && is_fpm(php))
		sw_php_fpm_pool(php->snap,
				php->snap->live ? sw_live_memory(php->snap) : php->memory,
				&ret->pool);
	return 1;
}

const struct sw_runtime_ops sw_runtime_php = {
	.name = "php",
	.kind = "php",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ELF | SW_CODE_ANON | SW_CODE_JIT,
	.probe = sw_php_probe,
	.before = sw_php_before,
	.touch = sw_php_touch,
	.recipe = sw_php_recipe,
	.unpublished = true,
	.renew = php_renew,
	.open = php_open,
	.close = php_close,
	.step = php_step,
	.writes_code = php_writes_code,
	.frames = php_frames,
	.names = php_names,
	.request = php_request,
	.identify = php_identify,
};
