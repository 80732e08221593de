/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef HOTSPOT_WORLD_H
#define HOTSPOT_WORLD_H

#include "fake.h"
#include "runtimes/hotspot/structures/hotspot.h"

/*
 * A small Java VM in one array: a code cache with a compiled method and the interpreter, and two
 * methods, A.outer() with A.inner() compiled into it. The layout is made up, too.
 */
enum {
	WORLD = 0x100000,     /* address of the array */
	WORLD_BYTES = 0x6000, /* of it */
	WORLD_HEAP_END = WORLD + 0x4000,
	WORLD_HEAP = WORLD + 0x1000, /* code cache, to WORLD_HEAP_END */
	WORLD_SEGMAP = WORLD + 0x100,
	WORLD_BLOCK = WORLD_HEAP, /* of the compiled method: 0x1000 bytes */
	WORLD_BLOB = WORLD_BLOCK + 16,
	WORLD_CODE = WORLD_BLOB + 0x100,
	WORLD_CALL = WORLD_CODE + 0x40, /* where a descriptor is */
	WORLD_OUTER = WORLD + 0x200,    /* Method */
	WORLD_INNER = WORLD + 0x240,
	WORLD_FRAME_WORDS = 4,
	/* Addresses of the thread. */
	WORLD_THREADS = WORLD + 0x3000,
	WORLD_THREAD = WORLD_THREADS + 0x100,        /* JavaThread */
	WORLD_THREAD_OBJECT = WORLD_THREADS + 0x200, /* java.lang.Thread */
	WORLD_STRING = WORLD_THREADS + 0x280,
	WORLD_STRING_BYTES = WORLD_THREADS + 0x2c0,
	WORLD_THREAD_CLASS = WORLD_THREADS + 0x400,
	WORLD_STRING_CLASS = WORLD_THREADS + 0x600,
	/* Addresses of locks. */
	WORLD_OTHER = WORLD_THREADS + 0x700, /* JavaThread, with the stack [0xa000, 0xb000) */
	WORLD_OTHER_OBJECT = WORLD_THREADS + 0x7a0,
	WORLD_MONITOR = WORLD_THREADS + 0x800,
	WORLD_LOCK = WORLD_THREADS + 0x860, /* an object, of a class p.Lock */
	WORLD_LOCK_CLASS = WORLD_THREADS + 0x880,
	WORLD_SYNC = WORLD_THREADS + 0x960, /* one that has an owner */
	WORLD_SYNC_CLASS = WORLD_THREADS + 0x980,
	WORLD_OWNABLE_CLASS = WORLD_THREADS + 0xa40,
	WORLD_COLLECTOR = WORLD_THREADS + 0xb60,
	WORLD_THREAD_NEXT = 0x98, /* offset in a JavaThread, after hotspot_world_chain() */
	/* For classes of a test's own, WORLD_CLASS_BYTES each, and their objects. */
	WORLD_MORE = WORLD_HEAP_END,
	WORLD_CLASS_BYTES = 0x400,
	/* Addresses of a pool. */
	WORLD_POOL_THREAD_CLASS = WORLD_MORE, /* java.lang.Thread, with "target" */
	WORLD_WORKER_CLASS = WORLD_POOL_THREAD_CLASS + WORLD_CLASS_BYTES,
	WORLD_EXECUTOR_CLASS = WORLD_WORKER_CLASS + WORLD_CLASS_BYTES,
	WORLD_INTEGER_CLASS = WORLD_EXECUTOR_CLASS + WORLD_CLASS_BYTES,
	WORLD_QUEUE_CLASS = WORLD_INTEGER_CLASS + WORLD_CLASS_BYTES,
	WORLD_OWN_CLASS = WORLD_QUEUE_CLASS + WORLD_CLASS_BYTES, /* not made */
	WORLD_WORKER = WORLD_OWN_CLASS + WORLD_CLASS_BYTES, /* 0x40 bytes, as those that follow */
	WORLD_EXECUTOR = WORLD_WORKER + 0x40,
	WORLD_CTL = WORLD_WORKER + 0x80,
	WORLD_QUEUE = WORLD_WORKER + 0xc0,
	WORLD_COUNT = WORLD_WORKER + 0x100,
	WORLD_ARRAY = WORLD_WORKER + 0x140, /* not made */
	/* Addresses of a virtual thread. */
	WORLD_VIRTUAL_CLASS = WORLD_MORE,
	WORLD_CONTINUATION_CLASS = WORLD_VIRTUAL_CLASS + WORLD_CLASS_BYTES,
	WORLD_CHUNK_CLASS = WORLD_CONTINUATION_CLASS + WORLD_CLASS_BYTES,
	WORLD_VIRTUAL = WORLD_CHUNK_CLASS + WORLD_CLASS_BYTES,
	WORLD_CONTINUATION = WORLD_VIRTUAL + 0x40,
	WORLD_CHUNK = WORLD_VIRTUAL + 0x80,
	WORLD_PARENT = WORLD_CHUNK + 0x200,
	WORLD_CHUNK_HEAD = 32, /* before its stack, which has 40 words */
	WORLD_CHUNK_WORDS = 40,
};

struct hotspot_world_field {
	const char *name, *signature;
	uint16_t offset;
};

struct hotspot_world {
	uint8_t data[WORLD_BYTES];
	struct fake_region region;
	struct fake_memory fake;
	struct sw_snapshot snap;
	struct sw_place place;
	struct sw_thread threads[2]; /* the snapshot's, after hotspot_world_locks() */
	struct sw_hotspot h;
};

void hotspot_world_init(struct hotspot_world *w);
void hotspot_world_deinit(struct hotspot_world *w);
/* Makes the compiled method the wrapper of a native one. */
void hotspot_world_native(struct hotspot_world *w);
/* ... or a stub of the runtime. */
void hotspot_world_stub(struct hotspot_world *w);
/* ... or those that have no frame in common. */
void hotspot_world_routines(struct hotspot_world *w);
/* Adds an interpreter whose only part is the entry of methods; the address of its code. */
uint64_t hotspot_world_interpreter(struct hotspot_world *w, const void *code, size_t n);
/* Adds a thread with number and name, a daemon, whose stack is [0x8000, 0x9000). */
void hotspot_world_thread(struct hotspot_world *w);
/* ... with a virtual thread on it: WORLD_OTHER_OBJECT, of WORLD_SYNC_CLASS. */
void hotspot_world_virtual(struct hotspot_world *w);
/* Adds another thread, a monitor and a lock; both threads are blocked, and captured as 100 and 101. */
void hotspot_world_locks(struct hotspot_world *w);
/* A class with a superclass, 0: none, and at most four fields. */
void hotspot_world_class(struct hotspot_world *w, uint64_t klass, uint64_t super, const char *name,
			 const struct hotspot_world_field *fields, unsigned n);
/* An object of it, which is not locked. */
void hotspot_world_object(struct hotspot_world *w, uint64_t avma, uint64_t klass);
/*
 * After hotspot_world_locks(): the first thread is one of two workers of a ThreadPoolExecutor of two to four threads, with seven
 * items in a LinkedBlockingQueue that takes everything.
 */
void hotspot_world_pool(struct hotspot_world *w);
/*
 * After hotspot_world_locks() and hotspot_world_interpreter(), which gave interpreter: a virtual thread that no thread
 * carries. Compiled code at word 4 of its chunk, which an interpreted method called, with fp at word 18; that was called by
 * compiled code, at word 22:
 *
 *	3 pc | 4 ... | 6 fp 7 pc | 8 ... 10 bytecode 11 variables 15 method 17 sender's sp 18 fp 19 pc | ... 22 ... 26
 */
void hotspot_world_chunk(struct hotspot_world *w, uint64_t interpreter);
void hotspot_world_chunk_word(struct hotspot_world *w, uint64_t chunk, unsigned index,
			      uint64_t value);
void hotspot_world_chunk_head(struct hotspot_world *w, uint64_t chunk, uint32_t sp, uint32_t bottom,
			      uint64_t parent);
/* Makes the threads lead to each other, instead of an array: as 8 and 11 publish them. */
void hotspot_world_chain(struct hotspot_world *w);
void hotspot_world_put(struct hotspot_world *w, uint64_t avma, const void *bytes, size_t n);
void hotspot_world_u64(struct hotspot_world *w, uint64_t avma, uint64_t value);
void hotspot_world_u32(struct hotspot_world *w, uint64_t avma, uint32_t value);

#endif
