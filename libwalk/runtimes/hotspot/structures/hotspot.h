/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_H
#define SW_HOTSPOT_H

#include "arena.h"
#include "map.h"
#include "runtimes/hotspot/published/layout.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"

enum {
	SW_HOTSPOT_HEAPS_MAX = 8,       /* there are one or three */
	SW_HOTSPOT_BLOB_BYTES = 512,    /* of a header that are read; the largest has 352 */
	SW_HOTSPOT_HOPS_MAX = 4096,     /* in a segment map */
	SW_HOTSPOT_CODE_MAX = 64 << 20, /* bytes of one blob */
	SW_HOTSPOT_FRAME_WORDS_MAX = 1 << 20,
	SW_HOTSPOT_KNOWN_MAX = 1 << 16, /* blobs that are looked at before they are met */
};

/* A part of the code cache. */
struct sw_hotspot_heap {
	uint64_t start_avma, end_avma; /* [start, end), constant */
	uint64_t segmap_avma;          /* a byte for each segment */
	unsigned shift;                /* of a segment's size */
};

/* The code cache of a process: constant but for what is in it. */
struct sw_hotspot_cache {
	struct sw_hotspot_heap heaps[SW_HOTSPOT_HEAPS_MAX];
	size_t n_heaps;
	uint64_t low_avma, high_avma; /* [low, high) holds all of them */
};

enum sw_hotspot_kind {
	SW_HOTSPOT_STUB, /* of the runtime, with a frame */
	SW_HOTSPOT_COMPILED,
	SW_HOTSPOT_NATIVE, /* a wrapper of a native method */
	SW_HOTSPOT_INTERPRETER,
	SW_HOTSPOT_FRAMELESS, /* vtable stubs, adapters of method handles: the return address is at sp */
	SW_HOTSPOT_ADAPTER,  /* between interpreted and compiled code */
	SW_HOTSPOT_ROUTINES, /* StubRoutines: many stubs, one of them the call stub */
};

/* The proof for something that was read while the VM goes on: structures/copies.h. */
struct sw_hotspot_proof {
	int64_t first_ns, last_ns; /* when it was read, and found to be the same */
	uint64_t collections;      /* as of the last copy that has it on its stack; 0: none */
	bool numbered;             /* nothing else that is read there ever looks the same */
	bool doubtful;             /* of the copy that is looked at, it may have had another one */
};

/* A part of the code cache that is in use. */
struct sw_hotspot_blob {
	uint64_t avma, end_avma;
	uint64_t code_avma, code_end_avma; /* [code, code_end) */
	enum sw_hotspot_kind kind;
	char name[64];
	bool live; /* read when the process ran again */
	bool gone; /* looked at again: it was another one */
	uint64_t frame_bytes;
	int64_t frame_complete; /* offset in the code from which on the frame is set up; -1: never */
	/* Fields of compiled methods. */
	uint64_t method_avma; /* Method */
	int32_t compile_id;
	int8_t level;
	bool osr;
	int64_t orig_pc_off; /* of the slot in the frame; SW_HOTSPOT_NONE: not known */
	uint64_t deopt_avma, deopt_mh_avma; /* 0: none; the second is for calls of method handles */
	struct sw_hotspot_proof proof;
	uint64_t pcs_avma, pcs_end_avma;
	uint64_t scopes_avma, scopes_end_avma;
	uint64_t metadata_avma;
};

/* A frame that is to be left for the interpreter is returned to here. */
static inline bool sw_hotspot_is_deopt_handler(const struct sw_hotspot_blob *b, uint64_t pc)
{
	return pc != 0 && (pc == b->deopt_avma || pc == b->deopt_mh_avma);
}

struct sw_hotspot_method;
struct sw_hotspot_told;

/* The place in the bytecode that an interpreted frame executes. */
struct sw_hotspot_interpreted {
	uint64_t method_avma, bcp_avma;
	/* By copies alone: what was told of it when it was met first, as the addresses may mean something else later. */
	const struct sw_hotspot_method *method; /* the arena's; NULL: compiled code, or nothing */
	uint32_t line;
	const struct sw_hotspot_blob *blob; /* the arena's; NULL: an interpreted frame */
	const struct sw_hotspot_told *told; /* likewise; NULL: nothing that could be told */
};

/* Where the VM counts the collections of a collector. */
struct sw_hotspot_counted {
	uint64_t invocations_avma, entry_avma, exit_avma;
};

enum { SW_HOTSPOT_COUNTED_MAX = 3 };

/* The thread that frees compiled code: structures/sweeper.h. */
struct sw_hotspot_sweeper {
	pid_t tid; /* 0: none, or not known */
	uint64_t runs;
	int64_t since_ns; /* it has not run since then; 0: not known */
};

/* The copy that is looked at: structures/copies.h. */
struct sw_hotspot_copies {
	struct sw_hotspot_counted counted[SW_HOTSPOT_COUNTED_MAX];
	size_t n_counted;
	int64_t renewed_ns, made_ns; /* made then or later */
	int64_t looked_ns; /* later than it was made, and before anything was read for it */
	const struct sw_thread *thread; /* of which it is; NULL: not known yet */
	struct sw_hotspot_sweeper sweeper;
	uint64_t collections; /* that had begun, + 1; 0: not known, or one went on */
	bool doubtful;        /* so is the method of the frame that was looked at last */
};

struct sw_hotspot_codelets;
struct sw_hotspot_virtual_plan;

/* A VM; a process has one. */
struct sw_hotspot {
	const struct sw_snapshot *snap;   /* borrowed */
	struct sw_snapshot_memory source; /* of memory */
	struct sw_memory memory;
	const struct sw_place *place; /* of libjvm.so; borrowed from the snapshot */
	struct sw_hotspot_layout at;
	struct sw_hotspot_cache cache;
	bool usable;
	bool by_copies; /* the snapshot has copies of the kernel's, one after another: */
	struct sw_hotspot_copies copies;
	const char *name;    /* static: wire name */
	const char *missing; /* static; why it is not usable */
	int version;         /* 17, 25; 8 is 25 in its own tables and comes as 8 */
	char release[64];
	uint64_t call_stub_return_avma, continuation_return_avma;
	struct sw_arena arena;
	struct sw_map64 blobs;   /* address -> struct sw_hotspot_blob, 0: not in use */
	struct sw_map64 by_pc;   /* -> the same */
	struct sw_map64 takes;   /* place in the interpreter -> whether it takes an exception on */
	struct sw_map64 told;    /* pc -> struct sw_hotspot_told, 0: nothing */
	struct sw_map64 methods; /* Method -> struct sw_hotspot_method, 0: not to be read */
	struct sw_map64 interpreted;           /* mix of both words -> 1 + index */
	struct sw_hotspot_interpreted *frames; /* owned; cookies are 1 + index */
	size_t n_frames, frames_capacity;
	struct sw_hotspot_codelets *codelets; /* the arena's; NULL: not asked for yet */
	struct sw_hotspot_thread *threads;    /* owned */
	size_t n_threads, threads_capacity;
	bool threads_tried;
	int64_t threads_ns;      /* by copies: when */
	struct sw_map64 pending; /* by copies: mix of pc and blob -> words that code has pushed */
	struct sw_map64 notes;   /* tid -> what is known of a thread; the arena's */
	struct sw_hotspot_thread_layout *thread_layout; /* the arena's; NULL: not asked for yet */
	unsigned layouts_tried;
	struct sw_memory instant;       /* what was copied in the window; no ops: the snapshot's */
	struct sw_hotspot_locks *locks; /* the arena's; NULL: not asked for yet, or unknown */
	bool locks_tried;
	struct sw_hotspot_pools *pools;  /* the arena's; NULL: not asked for yet */
	struct sw_map64 pool_kinds;      /* of pools.c: class -> which one of the library's it is */
	struct sw_map64 pool_rows;       /* likewise: JavaThread -> 1 + its number */
	struct sw_hotspot_owner *owners; /* the arena's: virtual threads that others wait for */
	size_t n_owners;
	bool owners_colored; /* an owner stands only on a stack whose pointers may be old ones: ZGC */
	bool locks_too_many; /* JavaThreads for what they wait for to be told */
	const struct sw_hotspot_virtual_plan *window; /* borrowed; NULL: nothing was copied */
};

static inline bool sw_hotspot_u64(struct sw_memory m, uint64_t avma, int64_t offset, uint64_t *ret)
{
	return offset >= 0 && sw_memory_u64(m, avma + (uint64_t) offset, ret);
}

static inline bool sw_hotspot_u32(struct sw_memory m, uint64_t avma, int64_t offset, uint32_t *ret)
{
	return offset >= 0 && sw_memory_read(m, avma + (uint64_t) offset, ret, sizeof(*ret));
}

static inline bool sw_hotspot_u16(struct sw_memory m, uint64_t avma, int64_t offset, uint16_t *ret)
{
	return offset >= 0 && sw_memory_read(m, avma + (uint64_t) offset, ret, sizeof(*ret));
}

static inline bool sw_hotspot_u8(struct sw_memory m, uint64_t avma, int64_t offset, uint8_t *ret)
{
	return offset >= 0 && sw_memory_read(m, avma + (uint64_t) offset, ret, sizeof(*ret));
}

#endif
