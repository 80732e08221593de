/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_TASKS_H
#define SW_CPYTHON_TASKS_H

#include "runtimes/cpython/awaits.h"

enum {
	SW_CPYTHON_TASKS_MAX = 1 << 16, /* of one process that are looked at */
	SW_CPYTHON_TASK_SETS_MAX = 16,  /* two of each interpreter */
	SW_CPYTHON_TASK_NAME_BYTES = 128,
};

/* A set in which asyncio of an interpreter has its tasks, and the classes of what it makes. */
struct sw_cpython_task_set {
	uint64_t avma;
	bool weak; /* it has weak references to them */
	uint64_t task_avma, future_avma;
};

/* What asyncio of a process has. */
struct sw_cpython_asyncio {
	struct sw_cpython_awaitables types;
	uint64_t int_avma, string_avma, none_avma; /* classes, and None */
	struct sw_cpython_task_set sets[SW_CPYTHON_TASK_SETS_MAX];
	size_t n_sets;
	const char *why; /* static; why it is not read; NULL */
};

/* Of one in this version; 0: not known. */
uint64_t sw_cpython_task_bytes(unsigned minor);

/* Reads the file's symbols, and the modules of all interpreters. Target running. */
void sw_cpython_asyncio_find(const struct sw_cpython_at *at, struct sw_memory memory,
			     struct sw_cpython_asyncio *ret);

/*
 * Calls each for every object in the sets, until it answers false, for SW_CPYTHON_TASKS_MAX at most. False
 * when there are more, or not all could be read.
 */
bool sw_cpython_tasks_each(const struct sw_cpython_asyncio *asyncio, struct sw_memory memory,
			   bool (*each)(void *arg, const struct sw_cpython_task_set *set,
					uint64_t avma),
			   void *arg);

struct sw_cpython_task {
	uint64_t avma;
	bool pending; /* not done */
	uint64_t coroutine_avma;
	char name[SW_CPYTHON_TASK_NAME_BYTES]; /* UTF-8 */
	uint64_t waits_for_avma;               /* a future; 0: none */
	bool waits;                            /* that is not done; else it is about to go on */
	bool waits_for_task;
	char waits_for_name[SW_CPYTHON_TASK_NAME_BYTES]; /* of the task */
};

/* False when it is no task of asyncio's own, or cannot be read. */
bool sw_cpython_task_read(const struct sw_cpython_at *at, const struct sw_cpython_asyncio *asyncio,
			  struct sw_memory memory, const struct sw_cpython_task_set *set,
			  uint64_t avma, struct sw_cpython_task *ret);

#endif
