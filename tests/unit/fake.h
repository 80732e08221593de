/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FAKE_H
#define FAKE_H

#include "memory.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

/*
 * Targets made of literals, for unit tests.
 *
 * Memory alone:
 *	static const uint64_t stack[] = {0, 0x401136};
 *	struct fake_memory fake = FAKE_MEMORY({0x7000, stack, sizeof(stack)});
 *	struct sw_memory memory = fake_memory(&fake);
 *
 * A whole snapshot (fails the test when there is no memory; nothing to check):
 *	struct sw_snapshot *snap = fake_snapshot_create();	makes its own context
 *	fake_snapshot_map(snap, start, end, "r-xp", "/bin/x");	one line of maps
 *	fake_snapshot_module(snap, kind, path, bias, start, end, image, bytes);
 *						a map r-xp + place + module; image is copied,
 *						NULL: a module without one
 *	fake_snapshot_stack(snap, tid, pc, words, n);	a captured thread: sp is FAKE_STACK_AVMA +
 *						tid * FAKE_STACK_BYTES, words lie there, its map
 *						"rw-p" begins a page below and ends with the words
 *	fake_snapshot_thread(snap, tid, pc, sp, words, n);	the same with sp of your choice
 *	fake_snapshot_range(snap, avma, bytes, n);	memory copied beside the stacks
 *	fake_snapshot_finish(snap);			sorts; call it once, last
 *	fake_snapshot_destroy(snap);			also the context
 * Threads returned by pointer stay valid until the next fake_snapshot_ call that adds one. Set
 * registers with sw_regs_set(&thread->regs, ...) before fake_snapshot_finish().
 */

struct fake_region {
	uint64_t start_avma;
	const void *bytes; /* borrowed */
	size_t size;
};

struct fake_memory {
	const struct fake_region *regions; /* borrowed */
	size_t n_regions;
	size_t reads; /* how often it was asked, also in vain */
};

#define FAKE_MEMORY(...)                                                         \
	{                                                                        \
		.regions = (const struct fake_region[]){__VA_ARGS__},            \
		.n_regions = sizeof((const struct fake_region[]){__VA_ARGS__}) / \
			     sizeof(struct fake_region),                         \
	}

/* A read must lie wholly in one region. */
struct sw_memory fake_memory(struct fake_memory *fake);
/* The memory of a program for i386. */
struct sw_memory fake_memory_32(struct fake_memory *fake);

enum { FAKE_STACK_AVMA = 0x10000000, FAKE_STACK_BYTES = 0x100000, FAKE_PAGE = 4096 };

struct sw_snapshot *fake_snapshot_create(void);
void fake_snapshot_destroy(struct sw_snapshot *snap);

struct sw_map *fake_snapshot_map(struct sw_snapshot *snap, uint64_t start, uint64_t end,
				 const char *prot, const char *path);
struct sw_place *fake_snapshot_module(struct sw_snapshot *snap, enum sw_module_kind kind,
				      const char *path, uint64_t bias, uint64_t start, uint64_t end,
				      const void *image, size_t bytes);
struct sw_thread *fake_snapshot_thread(struct sw_snapshot *snap, pid_t tid, uint64_t pc,
				       uint64_t sp, const uint64_t *words, size_t n_words);
struct sw_thread *fake_snapshot_stack(struct sw_snapshot *snap, pid_t tid, uint64_t pc,
				      const uint64_t *words, size_t n_words);
void fake_snapshot_range(struct sw_snapshot *snap, uint64_t avma, const void *bytes, size_t n);
void fake_snapshot_finish(struct sw_snapshot *snap);

#endif
