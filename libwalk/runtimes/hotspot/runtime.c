/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Java: the frames of HotSpot's interpreter, compilers and stubs, without any help of the VM.
 *
 *	find       which module is a VM; tables, layout: what it publishes for debuggers
 *	code       address -> blob of the code cache
 *	step       one frame further; top: where code was interrupted anywhere; codelets
 *	onward     where the instructions of stubs lead
 *	continuation  where frames of a virtual thread end
 *	assembly   out of routines of libjvm.so that no table covers
 *	method     names and lines; scopes: what was compiled into what
 *	threads    JavaThreads
 *	locks      what they wait for, and who has it; owners: virtual threads that have it
 *	pools      those of java.util.concurrent that they work for
 *	window     what is copied while nothing changes
 *	recipe     what is copied at an event, by the kernel; copies: how it is proven what the copy had
 *	counters   collections of garbage, as the VM counts them
 *	virtual    virtual threads: how many there are; frames of one that no thread carries
 */
#include "runtimes/hotspot/runtime.h"
#include "runtimes/hotspot/assembly.h"
#include "runtimes/hotspot/before.h"
#include "runtimes/hotspot/counters.h"
#include "runtimes/hotspot/published/find.h"
#include "runtimes/hotspot/locks.h"
#include "runtimes/hotspot/names.h"
#include "runtimes/hotspot/owners.h"
#include "runtimes/hotspot/pools.h"
#include "runtimes/hotspot/recipe.h"
#include "runtimes/hotspot/step.h"
#include "runtimes/hotspot/structures/code.h"
#include "runtimes/hotspot/structures/copies.h"
#include "runtimes/hotspot/threads.h"
#include "runtimes/hotspot/virtual/number.h"
#include "runtimes/hotspot/window.h"

#include <inttypes.h>
#include <snapwalk/error.h>
#include <stdio.h>
#include <string.h>

static void hotspot_close(void *state)
{
	struct sw_hotspot *h = state;
	if (h == NULL)
		return;
	sw_map64_deinit(&h->blobs);
	sw_map64_deinit(&h->by_pc);
	sw_map64_deinit(&h->takes);
	sw_map64_deinit(&h->told);
	sw_map64_deinit(&h->methods);
	sw_map64_deinit(&h->interpreted);
	sw_map64_deinit(&h->notes);
	sw_map64_deinit(&h->pending);
	sw_hotspot_locks_destroy(h);
	sw_map64_deinit(&h->pool_kinds);
	sw_map64_deinit(&h->pool_rows);
	sw_arena_deinit(&h->arena);
	free(h->frames);
	free(h->threads);
	free(h);
}

static void version_read(struct sw_hotspot *h)
{
	uint64_t release;
	struct sw_memory m = h->memory;
	h->version = sw_hotspot_version(&h->at, h->place->bias, m);
	if (!sw_hotspot_u64(m, h->place->bias, h->at.release, &release) ||
	    !sw_memory_read(m, release, h->release, sizeof(h->release) - 1))
		(void) snprintf(h->release, sizeof(h->release), "%d", h->version);
	for (char *c = h->release; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '\0';
	if (h->version == 8) { /* "25.504-b01": HotSpot had versions of its own */
		char own[sizeof(h->release)];
		memcpy(own, h->release, sizeof(own));
		(void) snprintf(h->release, sizeof(h->release), "8 (HotSpot %.40s)", own);
	}
}

static int hotspot_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	struct sw_hotspot *h = calloc(1, sizeof(*h));
	struct sw_hotspot_vm vm;
	if (h == NULL)
		return -SW_E_NOMEM;
	const struct sw_hotspot_window *window =
		found; /* else: all that was copied is in the snapshot */
	h->snap = snap;
	h->window = window != NULL ? &window->virtual_threads : NULL;
	h->source.snap = snap;
	h->memory = sw_snapshot_memory(&h->source);
	h->by_copies = snap->priv->by_copies;
	if (!sw_hotspot_find(snap, h->memory, &vm)) {
		hotspot_close(h);
		return 0;
	}
	h->place = vm.place;
	h->name = vm.name;
	h->missing = vm.missing;
	h->at = vm.at;
	if (vm.usable) {
		version_read(h);
		h->usable = sw_hotspot_cache_read(&h->at, h->place->bias, h->memory, &h->cache);
		if (!h->usable)
			h->missing = "its code cache";
		(void) sw_hotspot_u64(h->memory, h->place->bias, h->at.call_stub_return,
				      &h->call_stub_return_avma); /* stays 0 */
		(void) sw_hotspot_u64(h->memory, h->place->bias, h->at.continuation_return,
				      &h->continuation_return_avma); /* stays 0 */
	}
	if (h->usable && h->by_copies) {
		h->copies.n_counted = sw_hotspot_counted_find(h, h->copies.counted);
		sw_hotspot_copies_renew(h);
		sw_hotspot_cache_known(h);
	}
	*ret_state = h;
	return 0;
}

static bool hotspot_renew(void *state)
{
	enum { FRAMES_MAX = 1 << 17, METHODS_MAX = 1 << 17, BLOBS_MAX = 1 << 18 };
	struct sw_hotspot *h = state;
	sw_hotspot_copies_renew(h);
	return h->n_frames < FRAMES_MAX && h->methods.count < METHODS_MAX &&
	       h->by_pc.count < BLOBS_MAX && h->pending.count < BLOBS_MAX;
}

static enum sw_step hotspot_step(void *state, struct sw_cursor *cursor, struct sw_stepped *ret)
{
	enum sw_step step = sw_hotspot_step(state, cursor, ret);
	return step == SW_STEP_DECLINE ? sw_hotspot_assembly_step(state, cursor, ret) : step;
}

static bool hotspot_owns(void *state, const struct sw_cursor *cursor, uint64_t *ret_cookie)
{
	return sw_hotspot_owns(state, cursor, ret_cookie);
}

static bool hotspot_internal(void *state, const struct sw_frame *frame)
{
	return sw_hotspot_is_internal(state, frame);
}

static int hotspot_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	return sw_hotspot_describe(state, frame, SW_HOTSPOT_OUTERMOST, ret);
}

static int hotspot_inlined(void *state, const struct sw_frame *frame, size_t level,
			   struct sw_description *ret)
{
	return sw_hotspot_describe(state, frame, level, ret);
}

static bool hotspot_thread(void *state, const struct sw_thread *thread, struct sw_thread_info *ret)
{
	const struct sw_hotspot *h = state;
	return h->by_copies ? sw_hotspot_thread_note_copied(state, thread, ret)
			    : sw_hotspot_thread_note(state, thread, ret);
}

static bool hotspot_wait(void *state, const struct sw_thread *thread, struct sw_runtime_wait *ret)
{
	const struct sw_hotspot *h = state;
	return !h->by_copies && sw_hotspot_wait_read(state, thread, ret);
}

static bool hotspot_pool(void *state, const struct sw_thread *thread, struct sw_worker_pool *ret)
{
	return sw_hotspot_pool_read(state, thread, ret);
}

/* Virtual threads that no thread carries, which have locks that threads wait for. */
static size_t hotspot_awaited(void *state, const char **ret_why)
{
	(void) ret_why; /* their owners are told by name in any case */
	return sw_hotspot_owners(state);
}

static bool hotspot_task(void *state, size_t n, struct sw_runtime_task *ret,
			 struct sw_frame_sink *sink)
{
	return sw_hotspot_owner_show(state, n, ret, sink);
}

static size_t hotspot_identify(void *state, struct sw_runtime *ret, size_t max)
{
	struct sw_hotspot *h = state;
	if (max == 0)
		return 0;
	*ret = (struct sw_runtime){.name = h->name, .entries = -1};
	if (h->usable && !h->by_copies) {
		sw_hotspot_virtual_threads(h, &ret->virtual_threads);
		sw_hotspot_collecting(h, &ret->collecting);
	}
	const char *untold = !h->by_copies ? sw_hotspot_locks_untold(h) : NULL;
	if (untold != NULL)
		(void) snprintf(ret->untold, sizeof(ret->untold), "%s", untold);
	(void) snprintf(ret->version, sizeof(ret->version), "%s", h->release);
	(void) snprintf(ret->where, sizeof(ret->where), "%s",
			sw_module_path(h->place->module)); /* cut to fit */
	if (strcmp(h->name, "hotspot") != 0)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"it is a Java VM, but not HotSpot: its frames have no names");
	else if (!h->usable)
		(void) snprintf(ret->problem, sizeof(ret->problem),
				"%s could not be found: its frames have no names", h->missing);
	return 1;
}

static void hotspot_explain(void *state, const struct sw_snapshot *snap, uint64_t avma,
			    struct sw_text *text)
{
	const struct sw_place *place = sw_snapshot_place(snap, avma);
	if (place == NULL || sw_module_kind(place->module) != SW_MODULE_ELF)
		sw_hotspot_explain(state, avma, text);
}

static void hotspot_explain_frame(void *state, const struct sw_frame *frame, struct sw_text *text)
{
	sw_hotspot_explain_frame(state, frame, text);
}

const struct sw_runtime_ops sw_runtime_hotspot = {
	.name = "hotspot",
	.kind = "jvm",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ANON | SW_CODE_JIT | SW_CODE_ELF, /* libjvm.so's own assembly */
	.probe = sw_hotspot_probe,
	.before = sw_hotspot_before,
	.in_window = sw_hotspot_in_window,
	.recipe = sw_hotspot_recipe,
	.unpublished = true,
	.renew = hotspot_renew,
	.open = hotspot_open,
	.close = hotspot_close,
	.step = hotspot_step,
	.owns = hotspot_owns,
	.internal = hotspot_internal,
	.names = hotspot_names,
	.inlined = hotspot_inlined,
	.thread = hotspot_thread,
	.wait = hotspot_wait,
	.pool = hotspot_pool,
	.awaited = hotspot_awaited,
	.task = hotspot_task,
	.identify = hotspot_identify,
	.explain = hotspot_explain,
	.explain_frame = hotspot_explain_frame,
};
