/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which tasks another task waits for, and for how long.
 *
 *	wait_for(fut, timeout)      up to 3.11: fut is a task of its own, which is cancelled at the time limit
 *	_wait(fs, timeout, ...)     fs is a set of futures
 *	TaskGroup.__aexit__(self)   and _aexit(self): _tasks is a set of tasks
 *	_GatheringFuture            _children is a list of futures
 *
 * Source: Lib/asyncio/tasks.py and taskgroups.py of 3.8.18 to 3.13.0; Include/setobject.h and Include/cpython/listobject.h of
 * these.
 */
#include "runtimes/cpython/structures/limit.h"
#include "cleanup.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/objects.h"
#include "runtimes/cpython/structures/self.h"

#include <string.h>

enum {
	LIST_SIZE = 16,
	LIST_ITEMS = 24,
	SET_MASK = 32,
	SET_TABLE = 40,
	PART = 64,     /* members that are read at once */
	DEPTH_MAX = 8, /* gather() of gather(), each a future and its list */
};

struct members {
	const struct sw_cpython_at *at;
	struct sw_memory memory;
	size_t *budget;
	bool (*each)(void *arg, uint64_t avma);
	void *arg;
};

bool sw_cpython_limit_read(const struct sw_cpython_at *at, struct sw_memory memory,
			   const struct sw_cpython_frame *frame, uint64_t none_avma,
			   struct sw_cpython_limit *ret)
{
	static const struct {
		const char *name;
		bool limits;
	} functions[] = {{"wait_for", true},
			 {"_wait", true},
			 {"__aexit__", false},
			 {"_aexit", false}};
	struct sw_cpython_code code;
	uint64_t timeout;
	char name[64];
	*ret = (struct sw_cpython_limit){0};
	if (!sw_cpython_code_read(at, memory, frame->code_avma, &code) ||
	    !sw_cpython_string(at, memory, code.function_avma, name, sizeof(name)))
		return false;
	/* From 3.11 on a function's name has its class in front. */
	const char *dot = strrchr(name, '.'), *last = dot != NULL ? dot + 1 : name;
	for (size_t i = 0; i < SW_ARRAY_SIZE(functions); i++) {
		if (strcmp(functions[i].name, last) != 0)
			continue;
		if (functions[i].limits) {
			if (!sw_cpython_local_read(at, memory, frame, 1, &timeout))
				return false;
			ret->limited = timeout != none_avma;
		}
		return sw_cpython_self_read(at, memory, frame, &ret->awaited_avma);
	}
	return true;
}

static bool object_each(struct members *m, uint64_t avma, size_t depth);

/* An array of objects: stride words each, 0 where there is none; hash: -1 beside what was taken out of a set. */
static bool array_each(struct members *m, uint64_t avma, uint64_t n, size_t stride, size_t depth)
{
	uint64_t words[2 * PART];
	for (uint64_t from = 0; from < n; from += PART) {
		size_t part = n - from < PART ? (size_t) (n - from) : (size_t) PART;
		if (*m->budget < part)
			return false;
		*m->budget -= part;
		if (!sw_memory_read(m->memory, avma + from * stride * 8, words, part * stride * 8))
			return false;
		for (size_t i = 0; i < part; i++) {
			uint64_t object = words[i * stride];
			bool removed = stride == 2 && words[i * stride + 1] == UINT64_MAX;
			if (object != 0 && !removed && !object_each(m, object, depth))
				return false;
		}
	}
	return true;
}

static bool list_each(struct members *m, uint64_t avma, size_t depth)
{
	uint64_t n, items;
	avma += m->at->layout.head_more;
	return sw_memory_u64(m->memory, avma + LIST_SIZE, &n) &&
	       sw_memory_u64(m->memory, avma + LIST_ITEMS, &items) && n <= INT32_MAX &&
	       array_each(m, items, n, 1, depth);
}

static bool set_each(struct members *m, uint64_t avma, size_t depth)
{
	uint64_t mask, table;
	avma += m->at->layout.head_more;
	return sw_memory_u64(m->memory, avma + SET_MASK, &mask) &&
	       sw_memory_u64(m->memory, avma + SET_TABLE, &table) && mask < INT32_MAX &&
	       array_each(m, table, mask + 1, 2, depth);
}

static bool attribute_each(struct members *m, uint64_t avma, const char *name, size_t depth)
{
	uint64_t value;
	return sw_cpython_attribute_get(m->at, m->memory, avma, name, &value) &&
	       object_each(m, value, depth);
}

static bool object_each(struct members *m, uint64_t avma, size_t depth)
{
	char class[256];
	if (depth == DEPTH_MAX ||
	    !sw_cpython_class_name(m->at, m->memory, avma, class, sizeof(class)))
		return false;
	if (strcmp(class, "list") == 0)
		return list_each(m, avma, depth + 1);
	if (strcmp(class, "set") == 0)
		return set_each(m, avma, depth + 1);
	if (strcmp(class, "_GatheringFuture") == 0)
		return attribute_each(m, avma, "_children", depth + 1);
	if (strcmp(class, "TaskGroup") == 0)
		return attribute_each(m, avma, "_tasks", depth + 1);
	return m->each(m->arg, avma);
}

bool sw_cpython_awaited_each(const struct sw_cpython_at *at, struct sw_memory memory, uint64_t avma,
			     size_t *budget, bool (*each)(void *arg, uint64_t avma), void *arg)
{
	struct members m = {.at = at, .memory = memory, .budget = budget, .each = each, .arg = arg};
	return object_each(&m, avma, 0);
}
