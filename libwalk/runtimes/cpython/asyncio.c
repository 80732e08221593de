/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where asyncio has its tasks: in a set of weak references; those that are in their first step and have not
 * waited yet (eager ones, 3.12 on) are in a second one.
 *
 *	module asyncio.tasks -> _all_tasks (3.12 on: _scheduled_tasks) -> data: a set of weak references
 *	                     -> _eager_tasks: a set of tasks
 *
 * Source: Lib/asyncio/tasks.py of 3.8.18 to 3.13.0.
 */
#include "runtimes/cpython/tasks.h"
#include "formats/elf_symbol.h"
#include "runtimes/cpython/objects.h"
#include "snapshot/module.h"

enum { TYPE_BASIC_SIZE = 32 }; /* of PyTypeObject */

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
	const char *name = at->layout.minor >= 12 ? "_scheduled_tasks" : "_all_tasks";
	struct sw_cpython_task_set set = {.weak = true}, eager;
	uint64_t all, bytes;
	if (!sw_cpython_global_get(at, memory, interp, "asyncio.tasks", name, &all))
		return true;
	if (!sw_cpython_global_get(at, memory, interp, "asyncio.tasks", "_CTask", &set.task_avma) ||
	    !sw_cpython_global_get(at, memory, interp, "asyncio.futures", "_CFuture",
				   &set.future_avma) ||
	    !sw_cpython_attribute_get(at, memory, all, "data", &set.avma) ||
	    !sw_memory_u64(memory, set.task_avma + TYPE_BASIC_SIZE, &bytes) ||
	    bytes != sw_cpython_task_bytes(at->layout.minor))
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
	if (sw_cpython_task_bytes(at->layout.minor) == 0)
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
