/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks of asyncio, as its C part makes them. The module asyncio.tasks has them in a set of weak references;
 * those that are in their first step and have not waited yet (eager ones, 3.12 on) are in a second one.
 *
 *	module asyncio.tasks -> _all_tasks (3.12 on: _scheduled_tasks) -> data: a set of weak references
 *	                     -> _eager_tasks: a set of tasks
 *
 * Source: Modules/_asynciomodule.c, Include/setobject.h, Include/object.h of 3.8.18, 3.9.18, 3.10.13, 3.11.7,
 * 3.12.1 and 3.13.0, offsets by the debug information of their builds.
 */
#include "runtimes/cpython/tasks.h"
#include "cleanup.h"
#include "formats/elf_symbol.h"
#include "runtimes/cpython/code.h"
#include "runtimes/cpython/objects.h"
#include "snapshot/module.h"

#include <stdio.h>
#include <string.h>

enum {
	HEAD_TYPE = 8, /* of PyObject */
	TYPE_BASIC_SIZE = 32,
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

/* ---- where they are -------------------------------------------------------------------------- */

static uint64_t symbol_of(const struct sw_cpython_at *at, const struct sw_elf_symbols *symbols,
			  const char *name)
{
	struct sw_elf_symbol symbol;
	return sw_elf_symbols_find(symbols, name, &symbol) ? symbol.svma + at->place->bias : 0;
}

static bool types_find(const struct sw_cpython_at *at, struct sw_cpython_asyncio *ret)
{
	struct sw_elf_symbols symbols;
	if (!sw_elf_symbols_open(sw_module_elf(at->place->module), &symbols))
		return false;
	ret->types = (struct sw_cpython_awaitables){
		.coroutine_avma = symbol_of(at, &symbols, "PyCoro_Type"),
		.generator_avma = symbol_of(at, &symbols, "PyGen_Type"),
		.async_generator_avma = symbol_of(at, &symbols, "PyAsyncGen_Type"),
		/* From 3.13 on only one is exported: what is behind others is not shown, and the frame
		 * before says so. */
		.wrappers = {symbol_of(at, &symbols, "_PyCoroWrapper_Type"),
			     symbol_of(at, &symbols, "_PyAsyncGenASend_Type"),
			     symbol_of(at, &symbols, "_PyAsyncGenAThrow_Type")},
	};
	ret->int_avma = symbol_of(at, &symbols, "PyLong_Type");
	ret->string_avma = symbol_of(at, &symbols, "PyUnicode_Type");
	ret->none_avma = symbol_of(at, &symbols, "_Py_NoneStruct");
	return ret->types.coroutine_avma != 0 && ret->types.generator_avma != 0 &&
	       ret->types.async_generator_avma != 0 && ret->int_avma != 0 &&
	       ret->string_avma != 0 && ret->none_avma != 0;
}

static void set_add(struct sw_cpython_asyncio *asyncio, struct sw_cpython_task_set set)
{
	for (size_t i = 0; i < asyncio->n_sets; i++)
		if (asyncio->sets[i].avma == set.avma)
			return; /* up to 3.11 interpreters may have it in common */
	if (asyncio->n_sets < SW_CPYTHON_TASK_SETS_MAX)
		asyncio->sets[asyncio->n_sets++] = set;
}

/* False: asyncio is loaded, but not as it must be. */
static bool sets_find(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t interp,
		      struct sw_cpython_asyncio *asyncio)
{
	const struct layout *l = layout_of(at->layout.minor);
	const char *name = at->layout.minor >= 12 ? "_scheduled_tasks" : "_all_tasks";
	struct sw_cpython_task_set set = {.weak = true}, eager;
	uint64_t all, bytes;
	if (!sw_cpython_global_get(at, memory, interp, "asyncio.tasks", name, &all))
		return true;
	if (!sw_cpython_global_get(at, memory, interp, "asyncio.tasks", "_CTask", &set.task_avma) ||
	    !sw_cpython_global_get(at, memory, interp, "asyncio.futures", "_CFuture",
				   &set.future_avma) ||
	    !sw_cpython_attribute_get(at, memory, all, "data", &set.avma) ||
	    !sw_memory_u64(memory, set.task_avma + TYPE_BASIC_SIZE, &bytes) || bytes != l->bytes)
		return false;
	set_add(asyncio, set);
	eager = set;
	eager.weak = false;
	if (at->layout.minor >= 12 &&
	    sw_cpython_global_get(at, memory, interp, "asyncio.tasks", "_eager_tasks", &eager.avma))
		set_add(asyncio, eager);
	return true;
}

void sw_cpython_asyncio_find(const struct sw_cpython_at *at, struct sw_memory memory,
			     struct sw_cpython_asyncio *ret)
{
	uint64_t interp;
	*ret = (struct sw_cpython_asyncio){0};
	ret->why = "tasks of this version are not read";
	if (layout_of(at->layout.minor) == NULL)
		return;
	ret->why = "the classes of coroutines were not found in the file of the interpreter";
	if (!types_find(at, ret))
		return;
	ret->why = NULL;
	if (!sw_memory_u64(memory, at->runtime_avma + at->layout.runtime_head, &interp))
		return;
	for (size_t i = 0; i < SW_CPYTHON_INTERPRETERS_MAX && interp != 0; i++) {
		if (!sets_find(at, memory, interp, ret))
			ret->why = "asyncio is loaded, but its tasks are not what is known of "
				   "this version";
		if (!sw_memory_u64(memory, interp + at->layout.interp_next, &interp))
			break;
	}
	if (ret->n_sets == 0 && ret->why == NULL)
		ret->why = "asyncio is not loaded";
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
	(void) snprintf(ret, SW_CPYTHON_TASK_NAME_BYTES, "Task-%u", digit); /* fits */
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
