/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * toy_runtime -> threads -> entries, each in the native frame of one toy_eval() -> its frames. Stacks
 * are copied anyhow; what lies in the heap is copied in the window.
 */
#include "toy/runtime.h"
#include "formats/elf_symbol.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"
#include "unwind/capture.h"
#include "snapshot/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 64, ENTRIES_MAX = 64, FRAMES_MAX = 64, NAME_BYTES = 16 };

struct toy_thread {
	uint64_t tid, entry_avma, next_avma;
};
struct toy_entry {
	uint64_t previous_avma, innermost_avma;
};
struct toy_frame {
	uint64_t caller_avma, function_avma, line;
};

struct toy {
	const struct sw_snapshot *snap;
	struct sw_snapshot_memory source;
	struct sw_memory memory;
	uint64_t runtime_avma;
};

static uint64_t runtime_find(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++) {
		struct sw_place *place = &snap->places[i];
		struct sw_elf_symbols symbols;
		struct sw_elf_symbol symbol;
		if (strcmp(sw_module_path(place->module), snap->process.exe) != 0)
			continue;
		if (sw_elf_symbols_open(sw_module_elf(place->module), &symbols) &&
		    sw_elf_symbols_find(&symbols, "toy_runtime", &symbol) &&
		    sw_place_resolve(place, snap))
			return symbol.svma + place->bias;
	}
	return 0;
}

static bool toy_probe(const struct sw_snapshot *snap)
{
	return strstr(snap->process.exe, "toy") != NULL;
}

static int toy_before(struct sw_capture *capture)
{
	uint64_t *runtime_avma = sw_arena_alloc(&capture->snap->priv->arena, sizeof(*runtime_avma));
	if (runtime_avma == NULL)
		return -SW_E_NOMEM;
	*runtime_avma = runtime_find(capture->snap);
	*capture->found = runtime_avma;
	return *runtime_avma != 0 ? sw_capture_want(capture, *runtime_avma, 16) : 0;
}

static void anchor_copy(struct sw_capture *capture, uint64_t entry_avma)
{
	struct toy_entry entry;
	const uint8_t *data;
	for (int i = 0; i < ENTRIES_MAX && entry_avma != 0; i++) {
		if (!sw_capture_read(capture, entry_avma, &entry, sizeof(entry)))
			return;
		uint64_t at = entry.innermost_avma;
		for (int k = 0; k < FRAMES_MAX && at != 0; k++) {
			struct toy_frame frame;
			if (!sw_capture_copy(capture, at, sizeof(frame), &data))
				return;
			memcpy(&frame, data, sizeof(frame));
			at = frame.caller_avma;
		}
		entry_avma = entry.previous_avma;
	}
}

static int toy_in_window(struct sw_capture *capture)
{
	const uint64_t *runtime_avma = *capture->found;
	struct toy_thread thread = {0};
	if (runtime_avma == NULL || *runtime_avma == 0)
		return 0;
	(void) sw_capture_wanted(capture, *runtime_avma + 8, &thread.next_avma, 8); /* else 0 */
	for (int i = 0; i < THREADS_MAX && thread.next_avma != 0; i++) {
		if (!sw_capture_read(capture, thread.next_avma, &thread, sizeof(thread)))
			break;
		anchor_copy(capture, thread.entry_avma);
	}
	return 0;
}

static int toy_open(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	uint64_t runtime_avma = found != NULL ? *(const uint64_t *) found : runtime_find(snap);
	if (runtime_avma == 0)
		return 0;
	struct toy *toy = calloc(1, sizeof(*toy));
	if (toy == NULL)
		return -SW_E_NOMEM;
	toy->snap = toy->source.snap = snap;
	toy->memory = sw_snapshot_memory(&toy->source);
	toy->runtime_avma = runtime_avma;
	*ret_state = toy;
	return 0;
}

static bool thread_find(struct toy *toy, pid_t tid, struct toy_thread *ret)
{
	if (!sw_memory_u64(toy->memory, toy->runtime_avma + 8, &ret->next_avma))
		return false;
	for (int i = 0; i < THREADS_MAX && ret->next_avma != 0; i++) {
		if (!sw_memory_read(toy->memory, ret->next_avma, ret, sizeof(*ret)))
			return false;
		if (ret->tid == (uint64_t) tid)
			return true;
	}
	return false;
}

static bool toy_frames(void *state, const struct sw_cursor *callee, uint64_t caller_sp_avma,
		       struct sw_frame_sink *sink)
{
	struct toy *toy = state;
	struct toy_thread thread;
	struct toy_entry entry;
	struct toy_frame frame;
	if (!thread_find(toy, callee->thread->tid, &thread))
		return false;
	uint64_t at = thread.entry_avma;
	for (int i = 0; i < ENTRIES_MAX && at != 0; i++, at = entry.previous_avma) {
		if (!sw_memory_read(callee->memory, at, &entry, sizeof(entry)))
			return false;
		if (at < callee->regs.sp_avma || at >= caller_sp_avma)
			continue;
		uint64_t next = entry.innermost_avma;
		for (int k = 0; k < FRAMES_MAX && next != 0 && sink->add(sink, next, next); k++) {
			if (!sw_memory_read(toy->memory, next, &frame, sizeof(frame)))
				break;
			next = frame.caller_avma;
		}
		return true;
	}
	return false;
}

static int toy_names(void *state, const struct sw_frame *frame, struct sw_description *ret)
{
	struct toy *toy = state;
	struct toy_frame own;
	char name[NAME_BYTES];
	if (!sw_memory_read(toy->memory, frame->cookie, &own, sizeof(own)) ||
	    !sw_memory_read(toy->memory, own.function_avma, name, sizeof(name)))
		return 0;
	(void) snprintf(ret->function, sizeof(ret->function), "%.*s", NAME_BYTES, name); /* fits */
	(void) snprintf(ret->file, sizeof(ret->file), "program.toy");
	ret->line = (uint32_t) own.line;
	return 1;
}

static bool toy_thread_note(void *state, const struct sw_thread *thread, struct sw_thread_info *ret)
{
	struct toy_thread own;
	ret->runtime = "toy";
	return thread_find(state, thread->tid, &own);
}

static size_t toy_identify(void *state, struct sw_runtime *ret, size_t max)
{
	if (max > 0)
		*ret = (struct sw_runtime){.name = "toy", .version = "1", .entries = -1};
	return max > 0;
}

const struct sw_runtime_ops sw_runtime_toy = {
	.name = "toy",
	.kind = "toy",
	.trust = SW_TRUST_RUNTIME,
	.weak_trust = SW_TRUST_RUNTIME,
	.kinds = SW_CODE_ELF,
	.probe = toy_probe,
	.before = toy_before,
	.in_window = toy_in_window,
	.open = toy_open,
	.close = free,
	.frames = toy_frames,
	.names = toy_names,
	.thread = toy_thread_note,
	.identify = toy_identify,
};
