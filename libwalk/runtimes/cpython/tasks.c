/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks of asyncio, as its C part makes them, and the sets that have them.
 *
 * Tasks that the library itself makes, in Python, have the same in attributes.
 *
 * Source: Modules/_asynciomodule.c, Include/setobject.h, Include/object.h of 3.8.18, 3.9.18, 3.10.13, 3.11.7,
 * 3.12.1 and 3.13.0, offsets by the debug information of their builds; for 3.14 struct
 * _Py_AsyncioModuleDebugOffsets of Modules/_asynciomodule.c. Lib/asyncio/{tasks,futures}.py of all of them.
 */
#include "runtimes/cpython/tasks.h"
#include "cleanup.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/objects.h"

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

/* struct TaskObj. */
static const struct {
	unsigned minor;
	struct sw_cpython_task_layout of;
} layouts[] = {
	{8, {144, 72, 104, 112, 120, 0, 0, 0}},  {9, {184, 80, 144, 152, 160, 0, 0, 0}},
	{10, {192, 88, 152, 160, 168, 0, 0, 0}}, {11, {176, 88, 128, 136, 144, 0, 0, 0}},
	{12, {176, 88, 128, 136, 144, 0, 0, 0}}, {13, {144, 96, 112, 120, 128, 0, 0, 0}},
};

bool sw_cpython_task_layout_of(const struct sw_cpython_layout *l,
			       struct sw_cpython_task_layout *ret)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(layouts); i++) {
		if (layouts[i].minor != l->minor)
			continue;
		*ret = layouts[i].of;
		ret->bytes += l->head_more;
		ret->state_off += l->head_more;
		ret->waits_off += l->head_more;
		ret->coroutine_off += l->head_more;
		ret->name_off += l->head_more;
		return true;
	}
	return false;
}

/* 64-bit words of struct _Py_AsyncioModuleDebugOffsets. */
enum {
	WORD_TASK_BYTES,
	WORD_NAME,
	WORD_IS_TASK = 3,
	WORD_COROUTINE = 5,
	WORD_NODE,
	WORD_INTERP_LIST = 8,
	WORD_THREAD_LIST = 12,
	SECTION_WORDS,
	TASK_BYTES_MAX = 1024,
	STATE_BEFORE = 4, /* of what says that it is a task: an enum */
	WAITS_BEFORE = 8, /* of the coroutine */
	LIST_FAR = 1 << 20,
};

bool sw_cpython_task_layout_read(const struct sw_cpython_layout *l, struct sw_bytes section,
				 struct sw_cpython_task_layout *ret)
{
	uint64_t w[SECTION_WORDS], first = 16U + l->head_more;
	for (size_t i = 0; i < SECTION_WORDS; i++)
		if (!sw_bytes_u64(section, 8 * i, &w[i]))
			return false;
	*ret = (struct sw_cpython_task_layout){
		.bytes = w[WORD_TASK_BYTES],
		.state_off = w[WORD_IS_TASK] - STATE_BEFORE,
		.waits_off = w[WORD_COROUTINE] - WAITS_BEFORE,
		.coroutine_off = w[WORD_COROUTINE],
		.name_off = w[WORD_NAME],
		.node_off = w[WORD_NODE],
		.interp_off = w[WORD_INTERP_LIST],
		.thread_off = w[WORD_THREAD_LIST],
	};
	const uint64_t offs[] = {ret->state_off, ret->waits_off, ret->coroutine_off, ret->name_off,
				 ret->node_off};
	for (size_t i = 0; i < SW_ARRAY_SIZE(offs); i++)
		if (offs[i] < first || offs[i] >= ret->bytes)
			return false;
	return ret->bytes <= TASK_BYTES_MAX && ret->interp_off < LIST_FAR &&
	       ret->thread_off < LIST_FAR;
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

/* False when there are too many. */
static bool object_use(struct objects *o, const struct sw_cpython_task_set *set, uint64_t avma)
{
	if (o->n == SW_CPYTHON_TASKS_MAX)
		return false;
	o->n++;
	o->ended = !o->each(o->arg, set, avma);
	return true;
}

/* The task to which one slot of the set leads is used. Returns false if the slot cannot be read. */
static bool slot_use(struct objects *o, const struct sw_cpython_task_set *set, uint64_t key,
		     uint64_t hash)
{
	uint64_t object = key;
	if (key == 0 || hash == UINT64_MAX) /* of one that was taken out: -1 */
		return true;
	o->n_used++;
	if (set->weak &&
	    !sw_memory_u64(o->memory, key + REFERENCE_OBJECT + o->asyncio->at->layout.head_more,
			   &object))
		return false;
	return object == o->asyncio->none_avma /* it is gone */ || object_use(o, set, object);
}

static bool set_each(struct objects *o, const struct sw_cpython_task_set *set)
{
	uint64_t mask, table, used, avma = set->avma + o->asyncio->at->layout.head_more;
	bool all = true;
	o->n_used = 0;
	if (!sw_memory_u64(o->memory, avma + SET_USED, &used) ||
	    !sw_memory_u64(o->memory, avma + SET_MASK, &mask) || mask >= SET_SLOTS_MAX ||
	    !sw_memory_u64(o->memory, avma + SET_TABLE, &table))
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

/* A list, from its head on. Each links to the one before it, too; where one does not, it is no list. */
static bool list_each(struct objects *o, const struct sw_cpython_task_set *set, uint64_t head)
{
	uint64_t node, next[2], before = head;
	if (!sw_memory_u64(o->memory, head, &node))
		return false;
	for (; node != head && !o->ended; before = node, node = next[0]) {
		if (node % 8 != 0 || !sw_memory_read(o->memory, node, next, sizeof(next)) ||
		    next[1] != before || !object_use(o, set, node - o->asyncio->layout.node_off))
			return false;
	}
	return true;
}

struct lists {
	struct objects *objects;
	const struct sw_cpython_task_set *set;
	bool all;
};

static bool thread_lists(void *arg, const struct sw_cpython_thread *thread)
{
	struct lists *l = arg;
	if (thread->interp_avma == l->set->avma)
		l->all &= list_each(l->objects, l->set,
				    thread->avma + l->objects->asyncio->layout.thread_off);
	return !l->objects->ended;
}

/* The interpreter's own has those of threads that have ended. */
static bool lists_each(struct objects *o, const struct sw_cpython_task_set *set)
{
	struct lists l = {.objects = o, .set = set};
	l.all = list_each(o, set, set->avma + o->asyncio->layout.interp_off);
	bool all = sw_cpython_threads_each(o->asyncio->at, o->memory, thread_lists, &l);
	return all && l.all;
}

bool sw_cpython_tasks_each(const struct sw_cpython_asyncio *asyncio, struct sw_memory memory,
			   bool (*each)(void *arg, const struct sw_cpython_task_set *set,
					uint64_t avma),
			   void *arg)
{
	struct objects o = {.asyncio = asyncio, .memory = memory, .each = each, .arg = arg};
	bool all = true;
	for (size_t i = 0; i < asyncio->n_sets && !o.ended; i++)
		all &= asyncio->sets[i].lists ? lists_each(&o, &asyncio->sets[i])
					      : set_each(&o, &asyncio->sets[i]);
	return all;
}

/* ---- one of them ----------------------------------------------------------------------------- */

/* Whether an object is of a class, or of one that is derived from it. False: it could not be read. */
static bool is_a(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
		 uint64_t wanted, bool *ret)
{
	uint64_t type, more = at->layout.head_more;
	*ret = false;
	if (wanted == 0)
		return true;
	if (avma == 0 || avma % 8 != 0 || !sw_memory_u64(memory, avma + HEAD_TYPE + more, &type))
		return false;
	for (size_t i = 0; i < BASES_MAX && type != 0 && type != wanted; i++)
		if (type % 8 != 0 || !sw_memory_u64(memory, type + TYPE_BASE + more, &type))
			return false;
	*ret = type == wanted;
	return true;
}

/* "Task-12". */
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
	uint64_t type, tag, more = at->layout.head_more;
	uint32_t digit;
	if (avma == 0 || avma % 8 != 0 || !sw_memory_u64(memory, avma + HEAD_TYPE + more, &type))
		return false;
	ret[0] = '\0'; /* a name may be empty, too */
	if (type == asyncio->string_avma) {
		(void) sw_cpython_string(at, memory, avma, ret, SW_CPYTHON_TASK_NAME_BYTES);
		return true;
	}
	if (type != asyncio->int_avma || at->layout.minor < 12 ||
	    !sw_memory_u64(memory, avma + INT_TAG + more, &tag) || tag >> 3 != 1 ||
	    (tag & 3) != 0 ||
	    !sw_memory_read(memory, avma + INT_DIGIT + more, &digit, sizeof(digit)))
		return false;
	number_put(ret, digit);
	return true;
}

/* The kind of an asyncio task: made by the C part, or by the library's own Python code. */
enum make { NONE, IN_C, ITS_OWN, UNREADABLE };

static enum make make_of(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			 uint64_t in_c, uint64_t its_own)
{
	bool is;
	if (!is_a(at, memory, avma, in_c, &is))
		return UNREADABLE;
	if (is)
		return IN_C;
	if (!is_a(at, memory, avma, its_own, &is))
		return UNREADABLE;
	return is ? ITS_OWN : NONE;
}

static bool field_read(const struct sw_cpython_at *at, struct sw_memory memory, enum make make,
		       uint64_t avma, uint64_t off, const char *name, uint64_t *ret)
{
	return make == IN_C ? sw_memory_u64(memory, avma + off, ret)
			    : sw_cpython_attribute_get(at, memory, avma, name, ret);
}

/* fut_state: 0 is pending; in Python it is a str. */
static bool is_pending(const struct sw_cpython_at *at, const struct sw_cpython_asyncio *asyncio,
		       struct sw_memory memory, enum make make, uint64_t avma, bool *ret)
{
	uint32_t state;
	uint64_t object;
	char text[16];
	if (make == IN_C) {
		if (!sw_memory_read(memory, avma + asyncio->layout.state_off, &state,
				    sizeof(state)))
			return false;
		*ret = state == 0;
		return true;
	}
	/* As long as it is pending it may be the class that says so. */
	*ret = true;
	enum sw_cpython_found found =
		sw_cpython_attribute_find(at, memory, avma, "_state", &object);
	if (found != SW_CPYTHON_FOUND)
		return found == SW_CPYTHON_ABSENT;
	if (!sw_cpython_string(at, memory, object, text, sizeof(text)))
		return false;
	*ret = strcmp(text, "PENDING") == 0;
	return true;
}

/* The future that a task waits for. Returns false if it could not be read. */
static bool waiter_read(const struct sw_cpython_at *at, const struct sw_cpython_asyncio *asyncio,
			struct sw_memory memory, enum make make, const struct sw_cpython_task *task,
			uint64_t *ret)
{
	enum sw_cpython_found found;
	*ret = 0;
	if (make == IN_C)
		return sw_memory_u64(memory, task->avma + asyncio->layout.waits_off, ret);
	found = sw_cpython_attribute_find(at, memory, task->avma, "_fut_waiter", ret);
	return found != SW_CPYTHON_UNREADABLE; /* absent: before it has begun */
}

static bool wait_read(const struct sw_cpython_at *at, const struct sw_cpython_asyncio *asyncio,
		      struct sw_memory memory, const struct sw_cpython_task_set *set,
		      enum make make, struct sw_cpython_task *task)
{
	const struct sw_cpython_task_layout *l = &asyncio->layout;
	uint64_t avma, name;
	if (!waiter_read(at, asyncio, memory, make, task, &avma))
		return false;
	if (avma == 0 || avma == asyncio->none_avma)
		return true;
	task->waits_for_avma = avma;
	task->waits = true; /* on a future of another make, of which that is not known */
	make = make_of(at, memory, avma, set->task_avma, set->own_task_avma);
	task->waits_for_task = make == IN_C || make == ITS_OWN;
	if (make == NONE)
		make = make_of(at, memory, avma, set->future_avma, set->own_future_avma);
	if (make == NONE)
		return true;
	if (make == UNREADABLE || !is_pending(at, asyncio, memory, make, avma, &task->waits))
		return false;
	return !task->waits_for_task ||
	       (field_read(at, memory, make, avma, l->name_off, "_name", &name) &&
		name_read(at, asyncio, memory, name, task->waits_for_name));
}

bool sw_cpython_task_read(const struct sw_cpython_at *at, const struct sw_cpython_asyncio *asyncio,
			  struct sw_memory memory, const struct sw_cpython_task_set *set,
			  uint64_t avma, struct sw_cpython_task *ret)
{
	const struct sw_cpython_task_layout *l = &asyncio->layout;
	enum make make = make_of(at, memory, avma, set->task_avma, set->own_task_avma);
	uint64_t name;
	*ret = (struct sw_cpython_task){.avma = avma};
	if (make == NONE || make == UNREADABLE ||
	    !is_pending(at, asyncio, memory, make, avma, &ret->pending))
		return false;
	if (!ret->pending)
		return true;
	if (!field_read(at, memory, make, avma, l->coroutine_off, "_coro", &ret->coroutine_avma) ||
	    !field_read(at, memory, make, avma, l->name_off, "_name", &name) ||
	    !name_read(at, asyncio, memory, name, ret->name))
		return false;
	ret->wait_is_unknown = !wait_read(at, asyncio, memory, set, make, ret);
	if (ret->wait_is_unknown)
		ret->waits = ret->waits_for_task = false;
	return true;
}
