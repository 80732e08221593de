/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake.h"
#include "arch/arch.h"
#include "cleanup.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

enum { FAKE_MAX = 256 }; /* elements of each kind: the arrays never move */

static bool fake_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct fake_memory *fake = arg;
	fake->reads++;
	for (size_t i = 0; i < fake->n_regions; i++) {
		const struct fake_region *r = &fake->regions[i];
		if (avma < r->start_avma || avma - r->start_avma > r->size ||
		    length > r->size - (avma - r->start_avma))
			continue;
		if (length > 0) /* nothing may be NULL, which memcpy() may not be given */
			memcpy(buffer, (const uint8_t *) r->bytes + (avma - r->start_avma), length);
		return true;
	}
	return false;
}

struct sw_memory fake_memory(struct fake_memory *fake)
{
	static const struct sw_memory_ops ops = {.read = fake_read};
	return (struct sw_memory){&ops, fake};
}

struct sw_memory fake_memory_32(struct fake_memory *fake)
{
	static const struct sw_memory_ops ops = {.read = fake_read, .is_32bit = true};
	return (struct sw_memory){&ops, fake};
}

static void *keep(struct sw_snapshot *snap, const void *bytes, size_t size)
{
	void *copy = sw_arena_alloc(&snap->priv->arena, size);
	assert_non_null(copy);
	if (size > 0)
		memcpy(copy, bytes, size);
	return copy;
}

struct sw_snapshot *fake_snapshot_create(void)
{
	struct sw_context *ctx = NULL;
	struct sw_snapshot *snap = NULL;
	assert_int_equal(sw_context_create(&ctx, NULL), 0);
	assert_int_equal(sw_snapshot_create(ctx, &snap, NULL), 0);
	struct sw_arena *arena = &snap->priv->arena;
	snap->threads = sw_arena_calloc(arena, FAKE_MAX, sizeof(*snap->threads));
	snap->maps = sw_arena_calloc(arena, FAKE_MAX, sizeof(*snap->maps));
	snap->places = sw_arena_calloc(arena, FAKE_MAX, sizeof(*snap->places));
	snap->ranges = sw_arena_calloc(arena, FAKE_MAX, sizeof(*snap->ranges));
	assert_true(snap->threads && snap->maps && snap->places && snap->ranges);
	snap->process.pid = 1;
	snap->process.elf_class = 64;
	return snap;
}

void fake_snapshot_destroy(struct sw_snapshot *snap)
{
	struct sw_context *ctx = snap->ctx;
	sw_snapshot_destroy(snap);
	sw_context_destroy(ctx);
}

struct sw_map *fake_snapshot_map(struct sw_snapshot *snap, uint64_t start, uint64_t end,
				 const char *prot, const char *path)
{
	assert_true(snap->n_maps < FAKE_MAX);
	struct sw_map *map = &snap->maps[snap->n_maps++];
	*map = (struct sw_map){.start_avma = start,
			       .end_avma = end,
			       .prot = (prot[0] == 'r' ? SW_MAP_READ : 0u) |
				       (prot[1] == 'w' ? SW_MAP_WRITE : 0u) |
				       (prot[2] == 'x' ? SW_MAP_EXEC : 0u) |
				       (prot[3] == 's' ? SW_MAP_SHARED : 0u),
			       .place = -1,
			       .path = keep(snap, path, strlen(path) + 1)};
	return map;
}

struct sw_place *fake_snapshot_module(struct sw_snapshot *snap, enum sw_module_kind kind,
				      const char *path, uint64_t bias, uint64_t start, uint64_t end,
				      const void *image, size_t bytes)
{
	assert_true(snap->n_places < FAKE_MAX);
	uint8_t *copy = NULL;
	if (image != NULL) {
		copy = malloc(bytes + 1);
		assert_non_null(copy);
		memcpy(copy, image, bytes);
	}
	struct sw_module *module = NULL;
	assert_int_equal(sw_context_module_memory(snap->ctx, kind, path, false, copy, bytes,
						  "it has no image", &module),
			 0);
	struct sw_map *map = fake_snapshot_map(snap, start, end, "r-xp", path);
	map->place = (int32_t) snap->n_places;
	struct sw_place *place = &snap->places[snap->n_places++];
	*place = (struct sw_place){.module = module,
				   .start_avma = start,
				   .end_avma = end,
				   .bias = bias,
				   .resolved = 1};
	return place;
}

struct sw_thread *fake_snapshot_thread(struct sw_snapshot *snap, pid_t tid, uint64_t pc,
				       uint64_t sp, const uint64_t *words, size_t n_words)
{
	assert_true(snap->n_threads < FAKE_MAX);
	size_t bytes = n_words * sizeof(*words);
	struct sw_thread *thread = &snap->threads[snap->n_threads++];
	*thread = (struct sw_thread){.tid = tid,
				     .comm = "fake",
				     .state = 'S',
				     .captured = true,
				     .syscall = -1,
				     .cpu_ns = -1,
				     .stack_avma = sp,
				     .stack_end_avma = sp + bytes,
				     .stack_bytes = bytes,
				     .stack = keep(snap, words, bytes)};
	sw_regs_set(&thread->regs, SW_ARCH_RA, pc);
	sw_regs_set(&thread->regs, SW_ARCH_SP, sp);
	(void) fake_snapshot_map(snap, (sp & -(uint64_t) FAKE_PAGE) - FAKE_PAGE, sp + bytes, "rw-p",
				 ""); /* the map is for lookups only */
	return thread;
}

struct sw_thread *fake_snapshot_stack(struct sw_snapshot *snap, pid_t tid, uint64_t pc,
				      const uint64_t *words, size_t n_words)
{
	uint64_t sp = FAKE_STACK_AVMA + (uint64_t) tid * FAKE_STACK_BYTES;
	return fake_snapshot_thread(snap, tid, pc, sp, words, n_words);
}

void fake_snapshot_range(struct sw_snapshot *snap, uint64_t avma, const void *bytes, size_t n)
{
	assert_true(snap->n_ranges < FAKE_MAX);
	snap->ranges[snap->n_ranges++] =
		(struct sw_range){.start_avma = avma, .bytes = n, .data = keep(snap, bytes, n)};
}

void fake_snapshot_finish(struct sw_snapshot *snap)
{
	sw_snapshot_index(snap);
}
