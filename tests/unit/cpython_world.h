/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CPYTHON_WORLD_H
#define CPYTHON_WORLD_H

#include "fake.h"
#include "runtimes/cpython/cpython.h"
#include "runtimes/cpython/touch.h"

/*
 * A small CPython in one array, of any version: an interpreter with one thread, whose native stack
 * has two activations of the loop. The outer one executes outer(), the inner one inner() and
 * leaf(); all are in "/srv/app.py", and begin at line 10. In versions up to 3.10 an activation
 * executes one, and inner() is not there.
 */
enum {
	WORLD = 0x100000, /* address of the array */
	WORLD_BYTES = 0x6400,
	WORLD_PAGE = 4096,
	WORLD_PAGES = WORLD_BYTES / WORLD_PAGE + 1,
	WORLD_RUNTIME = WORLD,
	WORLD_INTERP = WORLD + 0x800,
	WORLD_THREAD = WORLD + 0xc00,
	WORLD_FRAMES = WORLD + 0x1000, /* leaf, inner, outer: 0x80 each */
	WORLD_CODES = WORLD + 0x1800,  /* likewise: 0x200 each */
	WORLD_STRINGS = WORLD + 0x2000,
	WORLD_CODE_TYPE = WORLD + 0x2f00,
	WORLD_STACK = WORLD + 0x3000,   /* native frames: inner loop 0x100, outer loop 0x100 */
	WORLD_OBJECTS = WORLD + 0x4000, /* what leads to the thread's name */
	WORLD_TASKS = WORLD + 0x5000,   /* of asyncio: cpython_world_tasks() */
	WORLD_COPIES = WORLD + 0x6000,  /* of instructions, without the GIL */
	WORLD_WITHOUT_GIL = 2,          /* word of the offsets */
	WORLD_ID = 0x7f00aa00,          /* of the thread */
	WORLD_OFFSET = 6,               /* of the instructions: the second line, 12 */
};

struct cpython_world {
	_Alignas(8) uint8_t data[WORLD_BYTES];
	struct fake_region region;
	struct fake_memory fake;
	struct sw_snapshot snap;
	struct sw_snapshot_priv priv; /* its own */
	struct sw_module module;
	struct sw_place place;
	struct sw_cpython c;
	struct sw_cpython_asyncio asyncio; /* cpython_world_tasks() */
	struct sw_cpython_before before;
	/* The last cpython_world_touch() fetched these pages, and has read these bytes. */
	bool was_read[WORLD_BYTES];
	bool there[WORLD_PAGES], gathered[WORLD_PAGES]; /* pages */
	bool gathers, stuck;
	size_t n_turns;
};

void cpython_world_init(struct cpython_world *w, unsigned minor);
/* The same, or a build without the GIL: inner() executes a copy of its code. */
void cpython_world_init_of(struct cpython_world *w, unsigned minor, bool without_gil);
/* threading._active, with the thread by the name "worker-1". */
void cpython_world_name_thread(struct cpython_world *w);
/* A str; at most 14 with numbers from 0 on. */
uint64_t cpython_world_string(struct cpython_world *w, unsigned number, const char *text);
/* An int of two digits. */
void cpython_world_int(struct cpython_world *w, uint64_t avma, uint64_t value);
/*
 * An object with at most eight attributes, as its version has them; their names are str with numbers from
 * first_string on. What it needs beside itself is in WORLD_TYPE_BYTES at type.
 */
void cpython_world_object(struct cpython_world *w, uint64_t avma, uint64_t type,
			  const char *const *names, const uint64_t *values, unsigned n,
			  unsigned first_string);
enum { WORLD_TYPE_BYTES = 0x3a0 };
/*
 * Two tasks of asyncio, in a set of weak references, which is found. "first" waits for the other one, in
 * inner() for which outer() waits; "Task-7" has not begun, and is about to execute leaf().
 */
void cpython_world_tasks(struct cpython_world *w);
enum {
	WORLD_OUTER = WORLD_TASKS,         /* its coroutine */
	WORLD_INNER = WORLD_TASKS + 0x100, /* likewise */
	WORLD_OUTER_FRAME =
		WORLD_TASKS + 0x200, /* up to 3.10; the top of its stack is at + 0x190 */
	WORLD_INNER_FRAME = WORLD_TASKS + 0x400,
	WORLD_AWAITED = WORLD_TASKS + 0x600, /* what inner() awaits, of no class */
	WORLD_TASK_FIRST = WORLD_TASKS + 0x700,
	WORLD_TASK_SECOND = WORLD_TASKS + 0x800,
	WORLD_TASK_SET = WORLD_TASKS + 0xc00,
	WORLD_CORO_TYPE = WORLD_TASKS + 0xf00,
	WORLD_GEN_TYPE = WORLD_TASKS + 0xf08,
	WORLD_WRAPPER_TYPE = WORLD_TASKS + 0xf10,
};
/* Where a coroutine has its state, its frame the next instruction, and what it awaits. */
uint64_t cpython_world_state(const struct cpython_world *w, uint64_t coroutine);
uint64_t cpython_world_next(const struct cpython_world *w, uint64_t coroutine);
uint64_t cpython_world_awaited(const struct cpython_world *w, uint64_t coroutine);
/* Makes a coroutine wait for something, in a code object. */
void cpython_world_suspend(struct cpython_world *w, uint64_t coroutine, unsigned code,
			   uint64_t awaited);
/* Where it has a variable, or a place on its stack, counted from its first variable. */
uint64_t cpython_world_local(const struct cpython_world *w, uint64_t coroutine, unsigned n);
/* Where a task has its state. */
uint64_t cpython_world_task_state(const struct cpython_world *w, uint64_t task);

/* Reads as a capture does. From then on c->copied has what was read, and nothing else. */
void cpython_world_touch(struct cpython_world *w);
/* Whether it has read all of these bytes. */
bool cpython_world_has(const struct cpython_world *w, uint64_t avma, size_t bytes);

void cpython_world_deinit(struct cpython_world *w);
void cpython_world_u64(struct cpython_world *w, uint64_t avma, uint64_t value);
static inline uint64_t cpython_world_frame(unsigned i)
{
	return WORLD_FRAMES + 0x80 * (uint64_t) i;
}
static inline uint64_t cpython_world_copies(unsigned i)
{
	return WORLD_COPIES + 0x80 * (uint64_t) i;
}
static inline uint64_t cpython_world_code(unsigned i)
{
	return WORLD_CODES + 0x200 * (uint64_t) i;
}

#endif
