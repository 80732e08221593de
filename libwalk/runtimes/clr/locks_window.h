/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLR_LOCKS_WINDOW_H
#define SW_CLR_LOCKS_WINDOW_H

#include "runtimes/clr/pool.h"
#include "runtimes/clr/threads.h"
#include "unwind/capture.h"

enum {
	SW_CLR_LOCK_THREADS_MAX = 2048, /* Thread objects; with more, no locks are told */
	SW_CLR_LOCK_RANGES_MAX = 3500,  /* of SW_CAPTURE_RANGES */
	SW_CLR_FIRST_MAX = 1200,
	SW_CLR_LOCK_SLOTS = 4096, /* power of two; half of them are used at most */
	/* The length of the last range that is copied, which begins at the variable of the thread store: that
	 * it is there says that the others are, and that all are of one instant. */
	SW_CLR_LOCKS_MARK = 11,

	/* class AwareLock, with which a SyncBlock begins */
	SW_CLR_MONITOR_STATE = 0,  /* u32 */
	SW_CLR_MONITOR_HOLDER = 8, /* see holder_is_id */
	SW_CLR_MONITOR_OSID = 16,
	SW_CLR_MONITOR_INDEX = 28, /* u32 */
	SW_CLR_MONITOR_BYTES = 32,
	SW_CLR_INDEX_MASK = (1 << 26) - 1,
	/* class SyncTableEntry */
	SW_CLR_ENTRY_BLOCK = 0,
	SW_CLR_ENTRY_OBJECT = 8,
	SW_CLR_ENTRY_BYTES = 16,
	SW_CLR_ENTRIES_MAX = 4096, /* that are copied as one: one range more costs as much */
	/* Before an object. */
	SW_CLR_HEADER_BYTES = 8,
	/* System.Threading.Lock */
	SW_CLR_LOCK_OWNER = 16, /* u32 */
	SW_CLR_LOCK_STATE = 20, /* u32 */
	SW_CLR_LOCK_BYTES = 24,
	/* struct ThreadLocalData, from its pointer to the Thread on */
	SW_CLR_LOCAL_THREAD = 24,
	SW_CLR_LOCAL_FIRST = 40,
	SW_CLR_LOCAL_END = 48,
	SW_CLR_LOCAL_BYTES = SW_CLR_LOCAL_END - SW_CLR_LOCAL_THREAD,
	/* The structure that says what a thread waits for: ThreadBlockingInfo, in .NET 8
	 * DebugBlockingItem. */
	SW_CLR_BLOCKING_BYTES = 24,
	/* class DeadlockAwareLock, a part of the ListLockEntry of a class that is being initialised */
	SW_CLR_CLASS_HOLDER = 0,
	SW_CLR_CLASS_TABLE = 16, /* MethodTable: of the entry */
	SW_CLR_CLASS_BYTES = 24,
};

enum sw_clr_blocking {
	SW_CLR_BLOCKING_MONITOR = 0,
	SW_CLR_BLOCKING_WAIT = 1,
	SW_CLR_BLOCKING_LOCK = 2,
};

/* Where threads say what they wait for. */
struct sw_clr_locks_at {
	bool usable;
	bool direct;         /* Thread has the address, not its ThreadLocalData */
	bool holder_is_id;   /* an AwareLock has the number of a Thread, u32, not its address */
	uint32_t first;      /* in Thread: that address, or that of ThreadLocalData; less than
				    SW_CLR_FIRST_MAX */
	uint32_t kind;       /* in what is there: enum sw_clr_blocking; the lock is at 0 */
	uint32_t class_lock; /* in Thread: the DeadlockAwareLock that it waits for, while it does */
	uint32_t next, osid, id;  /* in Thread */
	uint32_t state;           /* the same */
	uint32_t store_first;     /* in the thread store */
	uint64_t store_avma;      /* of the variable */
	uint64_t sync_table_avma; /* the same */
	uint64_t
		suspender_avma; /* the same: the thread that has stopped the others; 0: not known */
};

enum sw_clr_waited_kind {
	SW_CLR_WAITED_MONITOR,
	SW_CLR_WAITED_LOCK,
	SW_CLR_WAITED_CLASS,
};

/* A lock that somebody waits for. */
struct sw_clr_waited {
	uint64_t avma;
	uint64_t object; /* a monitor's */
	uint32_t index;  /* its number in the table; 0: it has none */
	enum sw_clr_waited_kind kind;
};

/* The plan for the window, made before it, with space for what is found in it. */
struct sw_clr_locks_plan {
	struct sw_clr_locks_at at;
	/* The address of each thread's ThreadLocalData, which is replaced by that of what it waits
	 * for; 0: it waits for nothing. */
	uint64_t threads[SW_CLR_LOCK_THREADS_MAX];
	size_t n_threads;
	struct sw_clr_waited locks[SW_CLR_LOCK_THREADS_MAX]; /* each once */
	size_t n_locks;
	uint64_t seen[SW_CLR_LOCK_SLOTS]; /* addresses of these */
	size_t n_ranges;
	uint64_t table_avma;               /* of SyncTableEntries */
	struct sw_clr_tasks_window *tasks; /* NULL: not asked for */
	bool has_our_clock;
	struct sw_clr_pool_seen pool;
};

/* From a Thread's beginning on, all that is told of it: one range costs less than two. */
static inline size_t sw_clr_lock_thread_bytes(const struct sw_clr_locks_at *at)
{
	size_t bytes = at->first + sizeof(uint64_t);
	return bytes > SW_CLR_THREAD_BYTES ? bytes : SW_CLR_THREAD_BYTES;
}

/* The hook of the same name: the threads, what they wait for, and what says who has it. */
int sw_clr_in_window(struct sw_capture *capture);

#endif
