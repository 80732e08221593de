/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Java VM whose structures anybody wrote. The input is laid over a small one that is right, in
 * parts: u16 offset / 4 | u8 length | bytes. Its threads are in an array, or each leads to the next. Then they
 * and locks are asked for, and addresses all over its code cache are looked up, named, explained and stepped out of.
 */
#include "fuzz.h"
#include "hotspot_world.h"
#include "lay_over.h"

#include "arch/arch.h"
#include "bytes.h"
#include "runtimes/hotspot/counters.h"
#include "runtimes/hotspot/locks.h"
#include "runtimes/hotspot/names.h"
#include "runtimes/hotspot/pools.h"
#include "runtimes/hotspot/step.h"
#include "runtimes/hotspot/threads.h"
#include "runtimes/hotspot/virtual/chunk.h"

#include <string.h>

enum { READS_MAX = 300000 };

static void look_at(struct hotspot_world *w, uint64_t pc)
{
	static struct sw_description d;
	struct sw_frame frame = {.pc_avma = pc};
	struct sw_text text = {0};
	for (size_t level = 0; level < 4; level++)
		(void) sw_hotspot_describe(&w->h, &frame, level, &d);
	sw_hotspot_explain(&w->h, pc, &text);
	sw_text_deinit(&text);
	for (unsigned exact = 0; exact < 2; exact++) {
		struct sw_cursor c = {.snap = &w->snap,
				      .memory = w->h.memory,
				      .regs = {.pc_avma = pc, .sp_avma = WORLD + 0x3800},
				      .exact_pc = exact};
		struct sw_stepped s = {0};
		uint64_t cookie = 0;
		sw_regs_set(&c.regs, SW_ARCH_FP, WORLD + 0x3880);
		sw_regs_set(&c.regs, SW_X86_64_R13, WORLD + 0x3900);
		sw_regs_set(&c.regs, SW_X86_64_RBX, WORLD_OUTER);
		(void) sw_hotspot_owns(&w->h, &c, &cookie);
		(void) sw_hotspot_step(&w->h, &c, &s);
	}
}

/* Counters for jstat, behind a prologue that is one. */
static void counters_look_at(const uint8_t *data, size_t size)
{
	static const uint8_t prologue[32] = {0xca, 0xfe, 0xc0, 0xc0,      1,
					     2,    0,    1,    [24] = 32, [28] = 64};
	uint8_t all[4096];
	struct sw_collecting collecting = {0};
	size = size < sizeof(all) - sizeof(prologue) ? size : sizeof(all) - sizeof(prologue);
	memcpy(all, prologue, sizeof(prologue));
	memcpy(all + sizeof(prologue), data, size);
	sw_hotspot_counters_read((struct sw_bytes){all, sizeof(prologue) + size}, &collecting);
}

static bool frame_count(void *arg, uint64_t pc, uint64_t method_avma, uint64_t bcp_avma)
{
	size_t *n = arg;
	(void) pc;
	(void) method_avma;
	(void) bcp_avma;
	return ++*n > 0;
}

/* Pools of threads, and frames of virtual threads. */
static void objects_look_at(struct hotspot_world *w)
{
	struct sw_worker_pool pool;
	size_t n = 0;
	for (size_t i = 0; i < 2; i++)
		if (sw_hotspot_pool_read(&w->h, &w->threads[i], &pool) &&
		    (pool.queued < -1 || pool.threads < 0))
			__builtin_trap();
	const struct sw_hotspot_thread_layout *layout =
		sw_hotspot_thread_layout(&w->h, WORLD_THREAD);
	if (layout != NULL)
		(void) sw_hotspot_chunk_frames(&w->h, layout, w->h.memory, WORLD_VIRTUAL,
					       frame_count, &n);
	if (w->fake.reads > READS_MAX)
		__builtin_trap();
	w->fake.reads = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	counters_look_at(data, size);
	static struct hotspot_world w;
	static const struct sw_thread thread = {.comm = "worker", .regs.sp_avma = 0x8100};
	static const uint8_t entry[] = {0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8, 0x50,
					0x55, 0x48, 0x8b, 0xec, 0x41, 0x55};
	struct sw_thread_info note;
	struct sw_runtime_wait wait;
	hotspot_world_init(&w);
	uint64_t interpreter = hotspot_world_interpreter(&w, entry, sizeof(entry));
	hotspot_world_locks(&w);
	hotspot_world_u64(&w, WORLD_THREAD + 32, WORLD_MONITOR);
	hotspot_world_u32(&w, WORLD_OTHER_OBJECT + 32, WORLD_SYNC);
	if (size % 2 == 1) { /* as 8 has them, and bytecodes */
		hotspot_world_chain(&w);
		w.h.version = 8;
		hotspot_world_u64(&w, WORLD_THREAD + 24, WORLD_THREAD_OBJECT);
		hotspot_world_u64(&w, WORLD_OTHER + 24, WORLD_OTHER_OBJECT);
	}
	if (size % 4 == 0)
		hotspot_world_pool(&w);
	if (size % 4 == 2)
		hotspot_world_chunk(&w, interpreter);
	lay_over(w.data, sizeof(w.data), data, size);
	objects_look_at(&w);
	(void) sw_hotspot_thread_note(&w.h, &thread, &note);
	for (size_t i = 0; i < 2; i++)
		(void) sw_hotspot_wait_read(&w.h, &w.threads[i], &wait);
	if (w.fake.reads > READS_MAX)
		__builtin_trap();
	for (uint64_t i = 0; i < 32; i++) {
		w.fake.reads = 0;
		look_at(&w, i < 24 ? WORLD_CODE - 0x40 + i * 0x20 : WORLD_HEAP + 0x1100 + i);
		if (w.fake.reads > READS_MAX)
			__builtin_trap(); /* every loop has a limit */
	}
	hotspot_world_deinit(&w);
	return 0;
}
