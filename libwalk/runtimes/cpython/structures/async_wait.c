/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: Lib/asyncio/locks.py (Lock.acquire(), Semaphore.acquire(), Event.wait(), Condition.wait()), Lib/asyncio/queues.py
 * (Queue.get(), put(), join()) and Lib/asyncio/timeouts.py (Timeout) of 3.8.18 to 3.13.0; anyio 4 (CancelScope).
 */
#include "runtimes/cpython/structures/async_wait.h"
#include "cleanup.h"
#include "runtimes/cpython/structures/code.h"
#include "runtimes/cpython/structures/objects.h"
#include "runtimes/cpython/structures/self.h"

#include <string.h>

enum { BOOL_DIGIT = 24 }; /* True is an int */

static bool is_waiting(const char *function)
{
	static const char *const names[] = {"acquire", "wait", "get", "put", "join"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		if (strcmp(names[i], function) == 0)
			return true;
	return false;
}

/* From 3.11 on a function's name has its class in front. */
static bool function_read(const struct sw_cpython_at *at, struct sw_memory memory,
			  const struct sw_cpython_frame *frame, char ret[static 32])
{
	struct sw_cpython_code code;
	char name[64];
	if (!sw_cpython_code_read(at, memory, frame->code_avma, &code) ||
	    !sw_cpython_string(at, memory, code.function_avma, name, sizeof(name)))
		return false;
	const char *dot = strrchr(name, '.'), *last = dot != NULL ? dot + 1 : name;
	if (!is_waiting(last))
		return false;
	memcpy(ret, last, strlen(last) + 1); /* fits: it is one of those */
	return true;
}

bool sw_cpython_async_wait_read(const struct sw_cpython_at *at, struct sw_memory memory,
				const struct sw_cpython_frame *frame,
				struct sw_cpython_async_wait *ret)
{
	uint64_t value;
	uint32_t digit;
	*ret = (struct sw_cpython_async_wait){0};
	if (!function_read(at, memory, frame, ret->function) ||
	    !sw_cpython_self_read(at, memory, frame, &ret->avma))
		return false;
	if (!sw_cpython_class_name(at, memory, ret->avma, ret->class, sizeof(ret->class)))
		ret->class[0] = '\0';
	if (strcmp(ret->function, "acquire") != 0)
		return true;
	ret->has_lock = sw_cpython_attribute_get(at, memory, ret->avma, "_locked", &value) &&
			sw_memory_read(memory, value + BOOL_DIGIT + at->layout.head_more, &digit,
				       sizeof(digit));
	ret->locked = ret->has_lock && digit == 1;
	return true;
}

bool sw_cpython_is_time_limit(const struct sw_cpython_at *at, struct sw_memory memory,
			      uint64_t object_avma)
{
	char class[32];
	uint64_t when;
	if (!sw_cpython_class_name(at, memory, object_avma, class, sizeof(class)))
		return false;
	/* timeout(None), as wait_for() without a limit has it from 3.12 on */
	if (strcmp(class, "Timeout") == 0)
		return !sw_cpython_attribute_get(at, memory, object_avma, "_when", &when) ||
		       !sw_cpython_is_class(at, memory, when, "NoneType");
	return strcmp(class, "CancelScope") == 0;
}
