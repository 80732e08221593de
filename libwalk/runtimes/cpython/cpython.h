/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CPYTHON_CPYTHON_H
#define SW_CPYTHON_CPYTHON_H

#include "arena.h"
#include "map.h"
#include "runtimes/cpython/copied_names.h"
#include "runtimes/cpython/structures/chain.h"
#include "runtimes/cpython/structures/pool.h"
#include "runtimes/cpython/extensions/greenlet.h"
#include "snapshot/read.h"

#include <snapwalk/walk.h>

struct sw_cpython_functions;
struct sw_cpython_named;
struct sw_cpython_all_tasks;
struct sw_cpython_bodies;
struct sw_cpython_task_waits;
struct sw_cpython_asyncio;

enum { SW_CPYTHON_KNOWN = 256 /* power of two */ };

/* The place in the code that a frame executes; cookies of frames are 1 + index. */
struct sw_cpython_position {
	uint64_t code_avma;
	uint64_t
		code_identity; /* another code object may be there later: sw_cpython_code_identity() */
	int64_t offset;        /* in bytes, of the instruction; negative: not begun */
};

/* The interpreter of a process. */
struct sw_cpython {
	const struct sw_snapshot *snap;   /* borrowed */
	bool by_copies;                   /* of sw_snapshot_priv */
	struct sw_snapshot_memory source; /* of memory */
	struct sw_memory memory;
	struct sw_snapshot_memory copied_source; /* of copied */
	struct sw_memory copied; /* of the instant of the registers; the rest cannot be read */
	struct sw_cpython_at at;
	bool usable;
	struct sw_arena arena;
	/* Borrowed from the snapshot: what files say of it. NULL: not opened, or asyncio is not there. */
	const struct sw_cpython_asyncio *asyncio;
	struct sw_cpython_all_tasks *tasks;  /* owned; NULL: not asked for */
	struct sw_cpython_task_waits *waits; /* owned; NULL: not asked for */
	struct sw_cpython_bodies *bodies;    /* owned; NULL: not needed yet */
	struct sw_cpython_pools pools;
	const struct sw_cpython_functions *functions; /* the module's; NULL: none */
	/* The kinds of functions at addresses: names are compared once for each. */
	struct {
		uint64_t svma; /* 0: none */
		uint8_t what;  /* enum sw_cpython_function */
	} known[SW_CPYTHON_KNOWN];
	struct sw_greenlet greenlet;

	struct sw_cpython_thread *threads; /* owned */
	size_t n_threads, threads_capacity;

	/* threading._active of an interpreter: thread's id -> its Thread; the same as read a second time,
	 * when it had to be read from the running process. */
	uint64_t active_interp_avma;
	struct sw_map64 active, active_again;
	bool active_is_live;

	/* The chain of one thread at a time. */
	const struct sw_thread *thread; /* whose it is; borrowed */
	struct sw_cpython_chain chain;  /* arrays owned */
	size_t next;                    /* 3.8 to 3.10: the frame that comes next */
	bool met_loop;                  /* 3.8 to 3.10: with frames or not */
	uint64_t cframe_depth; /* 3.11, 3.12: below its activation's caller; 0: not known */
	bool in_loop;          /* its loop was met already, further in */

	struct sw_cpython_position *positions; /* owned */
	size_t n_positions, positions_capacity;
	struct sw_map64 by_spot;                     /* -> index */
	struct sw_cpython_copied_names copied_names; /* owned */
	int64_t active_ns;                           /* when threading._active was read for these */
	struct sw_map64
		named; /* code object and identity -> struct sw_cpython_named, 0: not to be read */
};

#endif
