/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks of asyncio, as its C part makes them, and the sets that have them. Used in the window, too: every loop
 * has a limit, and no memory is needed.
 *
 * Source: Modules/_asynciomodule.c, Include/setobject.h, Include/object.h of 3.8.18, 3.9.18, 3.10.13, 3.11.7,
 * 3.12.1 and 3.13.0, offsets by the debug information of their builds.
 */
#include "runtimes/cpython/tasks.h"
#include "cleanup.h"
#include "runtimes/cpython/code.h"
#include "runtimes/cpython/objects.h"

#include <string.h>

enum {
	HEAD_TYPE = 8, /* of PyObject */
	TYPE_BASE = 256,
	BASES_MAX = 16,
	SET_USED = 24,
	SET_MASK = 32,
	SET_TABLE = 40,
	SET_SLOTS_MAX = 1 << 20,
	SET_PART = 64, /* slots that are read at once */
	REFERENCE_OBJECT = 16,
	INT_TAG = 16,
	INT_DIGIT = 24,
};

/* struct TaskObj; a FutureObj begins likewise. */
static const struct layout {
	unsigned minor;
	uint64_t bytes; /* the class says it, too: another number is another layout */
	unsigned state_off, waits_off, coroutine_off, name_off;
} layouts[] = {
	{8, 144, 72, 104, 112, 120},  {9, 184, 80, 144, 152, 160},  {10, 192, 88, 152, 160, 168},
	{11, 176, 88, 128, 136, 144}, {12, 176, 88, 128, 136, 144}, {13, 144, 96, 112, 120, 128},
};

static const struct layout *layout_of(unsigned minor)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

uint64_t sw_cpython_task_bytes(unsigned minor)
{
	const struct layout *l = layout_of(minor);
	return l != NULL ? l->bytes : 0;
}

/* ---- the sets -------------------------------------------------------------------------------- */

struct objects {
	const struct sw_cpython_asyncio *asyncio;
	struct sw_memory memory;
	bool (*each)(void *arg, const struct sw_cpython_task_set *set, uint64_t avma);
	void *arg;
	size_t n;
	uint64_t n_used; /* slots of one set */
	bool ended;      /* nobody wants more */
};

/* What one slot leads to. False when it cannot be read. */
static bool slot_use(struct objects *o, const struct sw_cpython_task_set *set, uint64_t key,
		     uint64_t hash)
{
	uint64_t object = key;
	if (key == 0 || hash == UINT64_MAX) /* of one that was taken out: -1 */
		return true;
	o->n_used++;
	if (set->weak && !sw_memory_u64(o->memory, key + REFERENCE_OBJECT, &object))
		return false;
	if (object == o->asyncio->none_avma) /* it is gone */
		return true;
	if (o->n == SW_CPYTHON_TASKS_MAX)
		return false;
	o->n++;
	o->ended = !o->each(o->arg, set, object);
	return true;
}

static bool set_each(struct objects *o, const struct sw_cpython_task_set *set)
{
	uint64_t mask, table, used;
	bool all = true;
	o->n_used = 0;
	if (!sw_memory_u64(o->memory, set->avma + SET_USED, &used) ||
	    !sw_memory_u64(o->memory, set->avma + SET_MASK, &mask) || mask >= SET_SLOTS_MAX ||
	    !sw_memory_u64(o->memory, set->avma + SET_TABLE, &table))
		return false;
	for (uint64_t from = 0; from <= mask && !o->ended; from += SET_PART) {
		uint64_t slots[SET_PART][2];
		uint64_t n = mask + 1 - from < SET_PART ? mask + 1 - from : SET_PART;
		if (!sw_memory_read(o->memory, table + from * sizeof(slots[0]), slots,
				    (size_t) n * sizeof(slots[0])))
			return false;
		for (uint64_t i = 0; i < n && !o->ended; i++)
			all &= slot_use(o, set, slots[i][0], slots[i][1]);
	}
	/* Less while it moves to a larger table. */
	return all && (o->ended || o->n_used == used);
}

bool sw_cpython_tasks_each(const struct sw_cpython_asyncio *asyncio, struct sw_memory memory,
			   bool (*each)(void *arg, const struct sw_cpython_task_set *set,
					uint64_t avma),
			   void *arg)
{
	struct objects o = {.asyncio = asyncio, .memory = memory, .each = each, .arg = arg};
	bool all = true;
	for (size_t i = 0; i < asyncio->n_sets && !o.ended; i++)
		all &= set_each(&o, &asyncio->sets[i]);
	return all;
}

/* ---- one of them ----------------------------------------------------------------------------- */

/* Whether an object is of a class, or of one that is derived from it. */
static bool is_a(struct sw_memory memory, uint64_t avma, uint64_t wanted)
{
	uint64_t type;
	if (avma == 0 || avma % 8 != 0 || !sw_memory_u64(memory, avma + HEAD_TYPE, &type))
		return false;
	for (size_t i = 0; i < BASES_MAX && type != 0; i++) {
		if (type == wanted)
			return true;
		if (type % 8 != 0 || !sw_memory_u64(memory, type + TYPE_BASE, &type))
			return false;
	}
	return false;
}

/* "Task-12". This runs in the window, too: without stdio. */
static void number_put(char ret[static SW_CPYTHON_TASK_NAME_BYTES], uint32_t number)
{
	static const char head[] = "Task-";
	char digits[10];
	size_t n = 0, at = sizeof(head) - 1;
	do
		digits[n++] = (char) ('0' + number % 10);
	while ((number /= 10) > 0);
	memcpy(ret, head, at);
	while (n > 0)
		ret[at++] = digits[--n];
	ret[at] = '\0';
}

/* From 3.12 on a name that nobody asked for yet is only its number. */
static bool name_read(const struct sw_cpython_at *at, const struct sw_cpython_asyncio *asyncio,
		      struct sw_memory memory, uint64_t avma,
		      char ret[static SW_CPYTHON_TASK_NAME_BYTES])
{
	uint64_t type, tag;
	uint32_t digit;
	if (avma == 0 || avma % 8 != 0 || !sw_memory_u64(memory, avma + HEAD_TYPE, &type))
		return false;
	ret[0] = '\0'; /* a name may be empty, too */
	if (type == asyncio->string_avma) {
		(void) sw_cpython_string(at, memory, avma, ret, SW_CPYTHON_TASK_NAME_BYTES);
		return true;
	}
	if (type != asyncio->int_avma || at->layout.minor < 12 ||
	    !sw_memory_u64(memory, avma + INT_TAG, &tag) || tag >> 3 != 1 || (tag & 3) != 0 ||
	    !sw_memory_read(memory, avma + INT_DIGIT, &digit, sizeof(digit)))
		return false;
	number_put(ret, digit);
	return true;
}

/* fut_state: 0 is pending. */
static bool is_pending(const struct layout *l, struct sw_memory memory, uint64_t avma, bool *ret)
{
	uint32_t state;
	if (!sw_memory_read(memory, avma + l->state_off, &state, sizeof(state)))
		return false;
	*ret = state == 0;
	return true;
}

static bool wait_read(const struct sw_cpython_at *at, const struct sw_cpython_asyncio *asyncio,
		      struct sw_memory memory, const struct sw_cpython_task_set *set,
		      struct sw_cpython_task *task)
{
	const struct layout *l = layout_of(at->layout.minor);
	uint64_t avma, name;
	if (!sw_memory_u64(memory, task->avma + l->waits_off, &avma))
		return false;
	if (avma == 0 || avma == asyncio->none_avma)
		return true;
	task->waits_for_avma = avma;
	task->waits = true; /* on a future of another make, of which that is not known */
	task->waits_for_task = is_a(memory, avma, set->task_avma);
	if (!task->waits_for_task && !is_a(memory, avma, set->future_avma))
		return true;
	if (!is_pending(l, memory, avma, &task->waits))
		return false;
	return !task->waits_for_task ||
	       (sw_memory_u64(memory, avma + l->name_off, &name) &&
		name_read(at, asyncio, memory, name, task->waits_for_name));
}

bool sw_cpython_task_read(const struct sw_cpython_at *at, const struct sw_cpython_asyncio *asyncio,
			  struct sw_memory memory, const struct sw_cpython_task_set *set,
			  uint64_t avma, struct sw_cpython_task *ret)
{
	const struct layout *l = layout_of(at->layout.minor);
	uint64_t name;
	*ret = (struct sw_cpython_task){.avma = avma};
	if (l == NULL || !is_a(memory, avma, set->task_avma) ||
	    !is_pending(l, memory, avma, &ret->pending))
		return false;
	if (!ret->pending)
		return true;
	return sw_memory_u64(memory, avma + l->coroutine_off, &ret->coroutine_avma) &&
	       sw_memory_u64(memory, avma + l->name_off, &name) &&
	       name_read(at, asyncio, memory, name, ret->name) &&
	       wait_read(at, asyncio, memory, set, ret);
}
