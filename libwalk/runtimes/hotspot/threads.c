/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * JavaThreads are matched to threads by their stacks: the ids that they keep are those of the process's
 * own pid namespace. Source: src/hotspot/share/runtime/thread.hpp, jdk-17.0.15.
 */
#include "runtimes/hotspot/threads.h"
#include "runtimes/hotspot/published/thread_list.h"
#include "runtimes/hotspot/structures/thread_object.h"

#include <snapwalk/clock.h>
#include <string.h>

enum {
	NOTES_MAX = 65536,
	NOTE_NS = 2000000000,    /* for so long a name of a thread is believed */
	THREADS_NS = 1000000000, /* so rarely all threads are looked for again */
};

_Static_assert(sizeof(((struct sw_hotspot_thread_object *) NULL)->name) ==
		       sizeof(((struct sw_thread_info *) NULL)->name),
	       "a name fits");

static void threads_read(struct sw_hotspot *h)
{
	const struct sw_hotspot_layout *at = &h->at;
	struct sw_hotspot_thread_list list;
	struct sw_hotspot_thread t;
	uint64_t size;
	h->threads_tried = true;
	if (!sw_hotspot_thread_list_begin(at, h->place->bias, h->memory, &list))
		return;
	if (list.left > SW_HOTSPOT_THREADS_MAX) {
		sw_snapshot_note_limit(h->snap, "hotspot: Java threads are not known, as there "
						"are more than 65536");
		return;
	}
	for (size_t i = 0; i < SW_HOTSPOT_THREADS_MAX; i++) {
		if (!sw_hotspot_thread_list_next(&list, &t.avma))
			return;
		if (!sw_hotspot_u64(h->memory, t.avma, at->thread_stack_base, &t.end_avma) ||
		    !sw_hotspot_u64(h->memory, t.avma, at->thread_stack_size, &size) ||
		    size > t.end_avma)
			continue;
		t.start_avma = t.end_avma - size;
		struct sw_hotspot_thread *grown =
			sw_grow(h->threads, h->n_threads, &h->threads_capacity, 64, sizeof(*grown));
		if (grown == NULL)
			return;
		h->threads = grown;
		h->threads[h->n_threads++] = t;
	}
}

bool sw_hotspot_thread_find(struct sw_hotspot *h, const struct sw_thread *thread, uint64_t *ret)
{
	if (!h->threads_tried && h->usable)
		threads_read(h);
	for (size_t i = 0; i < h->n_threads; i++) {
		const struct sw_hotspot_thread *t = &h->threads[i];
		if (thread->regs.sp_avma >= t->start_avma && thread->regs.sp_avma < t->end_avma) {
			*ret = t->avma;
			return true;
		}
	}
	return false;
}

/* States have odd numbers while they change to the next. */
static const char *state_name(const struct sw_hotspot_layout *at, int64_t state)
{
	state &= ~INT64_C(1);
	if (state == at->state_java)
		return "in_java";
	if (state == at->state_native)
		return "in_native";
	if (state == at->state_vm)
		return "in_vm";
	if (state == at->state_blocked)
		return "blocked";
	return state == at->state_new ? "new" : NULL;
}

bool sw_hotspot_thread_note(struct sw_hotspot *h, const struct sw_thread *thread,
			    struct sw_thread_info *ret)
{
	uint64_t avma;
	uint32_t state;
	struct sw_hotspot_thread_object object;
	if (!sw_hotspot_thread_find(h, thread, &avma))
		return false;
	sw_hotspot_thread_object_read(h, thread, avma, &object);
	*ret = (struct sw_thread_info){.runtime = "hotspot", .id = object.id};
	if (object.carrier != SW_HOTSPOT_CARRIER_NONE)
		ret->role = object.carrier == SW_HOTSPOT_CARRIER_IDLE ? "idle-carrier" : "carrier";
	else if (object.daemon)
		ret->role = "daemon";
	memcpy(ret->name, object.name, sizeof(ret->name));
	if (sw_hotspot_u32(h->memory, avma, h->at.thread_state, &state))
		ret->mode = state_name(&h->at, (int32_t) state);
	return true;
}

/* ---- by copies ------------------------------------------------------------------------------- */

/* The facts that were read of a thread when the VM went on. */
struct note {
	int64_t read_ns;
	bool known;
	struct sw_thread_info info;
};

static void note_read(struct sw_hotspot *h, const struct sw_thread *thread, struct note *note)
{
	int64_t now_ns = sw_clock_ns();
	note->read_ns = now_ns;
	if (now_ns - h->threads_ns > THREADS_NS) {
		h->threads_ns = now_ns;
		h->threads_tried = false;
		h->n_threads = 0;
	}
	note->info = (struct sw_thread_info){0};
	note->known = sw_hotspot_thread_note(h, thread, &note->info);
	note->info.mode = NULL; /* it is another one by now */
}

bool sw_hotspot_thread_note_copied(struct sw_hotspot *h, const struct sw_thread *thread,
				   struct sw_thread_info *ret)
{
	uint64_t kept;
	struct note *note = NULL;
	if (sw_map64_get(&h->notes, (uint64_t) thread->tid, &kept)) {
		note = (struct note *) (uintptr_t) kept;
	} else if (h->notes.count < NOTES_MAX) {
		note = sw_arena_calloc(&h->arena, 1, sizeof(*note));
		if (note == NULL ||
		    sw_map64_put(&h->notes, (uint64_t) thread->tid, (uintptr_t) note) < 0)
			return false;
	}
	if (note == NULL)
		return false;
	if (note->read_ns == 0 || sw_clock_ns() - note->read_ns > NOTE_NS)
		note_read(h, thread, note);
	*ret = note->info;
	return note->known;
}
