/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where asyncio has its tasks: in a set of weak references; those that are in their first step and have not
 * waited yet (eager ones, 3.12 on) are in a second one.
 *
 *	module asyncio.tasks -> _all_tasks (3.12 on: _scheduled_tasks) -> data: a set of weak references
 *	                     -> _eager_tasks: a set of tasks
 *
 * From 3.14 on the C part has its own in lists, one of each thread and one of each interpreter, and others in
 * such sets of its own. Where the lists are is said by a section of its file.
 *
 *	module _asyncio -> state   FutureType  TaskType  ...  tasks in Python  eager ones
 *	                           16          24             48               56
 *
 * Source: Lib/asyncio/tasks.py of 3.8.18 to 3.14.10; Modules/_asynciomodule.c (asyncio_state, and struct
 * _Py_AsyncioModuleDebugOffsets) of 3.15 before its release, the section and what is found by it of 3.14.10;
 * Include/internal/pycore_moduleobject.h of 3.14.10.
 */
#include "runtimes/cpython/asyncio.h"
#include "formats/elf_symbol.h"
#include "runtimes/cpython/structures/objects.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <string.h>

enum {
	TYPE_BASIC_SIZE = 32, /* of PyTypeObject */
	MODULE_STATE = 32,    /* of PyModuleObject */
	STATE_FUTURE = 16,
	STATE_TASK = 24,
	STATE_TASKS = 48,
	STATE_EAGER = 56,
	LISTS_MINOR = 14,
	SECTION_BYTES = 13 * 8,
};

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
		if (asyncio->sets[i].avma == set.avma && asyncio->sets[i].lists == set.lists)
			return; /* up to 3.11 interpreters may have it in common */
	if (asyncio->n_sets < SW_CPYTHON_TASK_SETS_MAX)
		asyncio->sets[asyncio->n_sets++] = set;
}

/* A weak set's, and that of eager tasks. False when the first one is not as it must be. */
static bool pair_add(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t weak,
		     uint64_t eager, struct sw_cpython_task_set set,
		     struct sw_cpython_asyncio *asyncio)
{
	set.weak = true;
	if (!sw_cpython_attribute_get(at, memory, weak, "data", &set.avma))
		return false;
	set_add(asyncio, set);
	set.weak = false;
	set.avma = eager;
	if (eager != 0)
		set_add(asyncio, set);
	return true;
}

/* 3.14 on: what the C part has. */
static bool lists_find(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t interp,
		       struct sw_cpython_task_set set, struct sw_cpython_asyncio *asyncio)
{
	uint64_t module, state, future, task, weak, eager;
	if (!sw_cpython_module_get(at, memory, interp, "_asyncio", &module) ||
	    !sw_memory_u64(memory, module + MODULE_STATE + at->layout.head_more, &state) ||
	    !sw_memory_u64(memory, state + STATE_FUTURE, &future) ||
	    !sw_memory_u64(memory, state + STATE_TASK, &task) || task != set.task_avma ||
	    future != set.future_avma || !sw_memory_u64(memory, state + STATE_TASKS, &weak) ||
	    !sw_memory_u64(memory, state + STATE_EAGER, &eager) ||
	    !pair_add(at, memory, weak, eager, set, asyncio))
		return false;
	set.lists = true;
	set.avma = interp;
	set_add(asyncio, set);
	return true;
}

/* False: asyncio is loaded, but not as it must be. */
static bool sets_find(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t interp,
		      struct sw_cpython_asyncio *asyncio)
{
	static const char tasks[] = "asyncio.tasks", futures[] = "asyncio.futures";
	const char *name = at->layout.minor >= 12 ? "_scheduled_tasks" : "_all_tasks";
	struct sw_cpython_task_set set = {0};
	uint64_t all, bytes, eager = 0;
	if (!sw_cpython_global_get(at, memory, interp, tasks, name, &all))
		return true;
	if (at->layout.minor >= 12) /* none: before it is loaded whole */
		(void) sw_cpython_global_get(at, memory, interp, tasks, "_eager_tasks", &eager);
	if (!sw_cpython_global_get(at, memory, interp, tasks, "_PyTask", &set.own_task_avma) ||
	    !sw_cpython_global_get(at, memory, interp, futures, "_PyFuture", &set.own_future_avma))
		return false;
	/* Not there: all are made in Python. */
	if (sw_cpython_global_get(at, memory, interp, tasks, "_CTask", &set.task_avma) &&
	    (!sw_cpython_global_get(at, memory, interp, futures, "_CFuture", &set.future_avma) ||
	     !sw_memory_u64(memory, set.task_avma + TYPE_BASIC_SIZE + at->layout.head_more,
			    &bytes) ||
	     bytes != asyncio->layout.bytes ||
	     (at->layout.minor >= LISTS_MINOR && !lists_find(at, memory, interp, set, asyncio))))
		return false;
	return pair_add(at, memory, all, eager, set, asyncio);
}

/* The C part of asyncio is a file of its own, or in that of the interpreter. */
static bool is_asyncio(const struct sw_cpython_at *at, const struct sw_place *place)
{
	const char *path = sw_module_path(place->module), *slash = strrchr(path, '/');
	return place->module == at->place->module ||
	       strncmp(slash != NULL ? slash + 1 : path, "_asyncio.", 9) == 0;
}

static bool section_find(const struct sw_cpython_at *at, const struct sw_snapshot *snap,
			 struct sw_cpython_task_layout *ret)
{
	for (size_t i = 0; i < snap->n_places; i++) {
		const struct sw_elf *elf;
		struct sw_elf_section section;
		struct sw_bytes bytes;
		if (!is_asyncio(at, &snap->places[i]) ||
		    (elf = sw_module_elf(snap->places[i].module)) == NULL ||
		    !sw_elf_section_named(elf, ".AsyncioDebug", &section) ||
		    !sw_elf_loaded(elf, section.svma, &bytes) || bytes.size < SECTION_BYTES)
			continue;
		return sw_cpython_task_layout_read(&at->layout, bytes, ret);
	}
	return false;
}

static bool has_file(const struct sw_cpython_at *at, const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++)
		if (snap->places[i].module != at->place->module && is_asyncio(at, &snap->places[i]))
			return true;
	return false;
}

void sw_cpython_asyncio_open(const struct sw_cpython_at *at, const struct sw_snapshot *snap,
			     bool of_file, struct sw_cpython_asyncio *ret)
{
	*ret = (struct sw_cpython_asyncio){.at = at, .why = "asyncio is not loaded"};
	if (of_file && !has_file(at, snap))
		return;
	ret->why = "the classes of coroutines were not found in the file of the interpreter";
	if (!types_find(at, ret))
		return;
	/* The section is missing if asyncio is not loaded, or all tasks are made in Python. */
	if (!sw_cpython_task_layout_of(&at->layout, &ret->layout))
		(void) section_find(at, snap, &ret->layout);
	ret->why = NULL;
}

void sw_cpython_asyncio_find(struct sw_cpython_asyncio *ret, struct sw_memory memory)
{
	const struct sw_cpython_at *at = ret->at;
	uint64_t interp;
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
