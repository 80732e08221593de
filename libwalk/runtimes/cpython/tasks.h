/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_TASKS_H
#define SW_CPYTHON_TASKS_H

#include "bytes.h"
#include "runtimes/cpython/structures/awaits.h"

enum {
	SW_CPYTHON_TASKS_MAX = 1 << 16, /* of one process that are looked at */
	SW_CPYTHON_TASK_SETS_MAX = 24,  /* up to three of each interpreter */
	SW_CPYTHON_TASK_NAME_BYTES = 128,
	SW_CPYTHON_WAITS_TASKS_MAX =
		500, /* where nobody asked for the tasks: with more, nothing is said of waits */
	SW_CPYTHON_MEMBERS_MAX = 1 << 17, /* of what all tasks wait for */
};

/* A set in which asyncio of an interpreter has its tasks, and the classes of what it makes: in C, and those
 * of the library itself; 0: there is none. */
struct sw_cpython_task_set {
	uint64_t avma; /* of the interpreter, if it has lists instead */
	bool weak;     /* it has weak references to them */
	bool lists;    /* an interpreter has one, and each of its threads */
	uint64_t task_avma, future_avma;
	uint64_t own_task_avma, own_future_avma;
};

/* Offsets in bytes of a task that is made in C; a future begins likewise. */
struct sw_cpython_task_layout {
	uint64_t bytes; /* the class says it, too: another number is another layout */
	uint64_t state_off, waits_off, coroutine_off, name_off;
	/* Offsets for the lists of 3.14 and later: the link in a task, and the heads of the
	 * lists. */
	uint64_t node_off, interp_off, thread_off;
};

/* The asyncio module of a process. */
struct sw_cpython_asyncio {
	const struct sw_cpython_at *at; /* borrowed */
	struct sw_cpython_task_layout layout;
	struct sw_cpython_awaitables types;
	uint64_t int_avma, string_avma, none_avma; /* classes, and None */
	struct sw_cpython_task_set sets[SW_CPYTHON_TASK_SETS_MAX];
	size_t n_sets;
	const char *why; /* static; why it is not read; NULL */
};

/* The layout of tasks in this version, up to 3.13. Returns false for other versions. */
bool sw_cpython_task_layout_of(const struct sw_cpython_layout *l,
			       struct sw_cpython_task_layout *ret);

/* From 3.14 on _asyncio has them in a section. False when they are not as they must be. */
bool sw_cpython_task_layout_read(const struct sw_cpython_layout *l, struct sw_bytes section,
				 struct sw_cpython_task_layout *ret);

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
	bool wait_is_unknown; /* whether it waits, and for what, could not be read */
	bool waits_for_task;
	char waits_for_name[SW_CPYTHON_TASK_NAME_BYTES]; /* of the task */
};

/* False when it is no task of asyncio's own, or cannot be read. */
bool sw_cpython_task_read(const struct sw_cpython_at *at, const struct sw_cpython_asyncio *asyncio,
			  struct sw_memory memory, const struct sw_cpython_task_set *set,
			  uint64_t avma, struct sw_cpython_task *ret);

#endif
