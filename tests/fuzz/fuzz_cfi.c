/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An ELF file whose bytes are the input is mapped, and threads stopped at addresses all over it are
 * walked with a hostile stack: everything from ELF headers to expressions is the input's.
 */
#include "fuzz.h"
#include "arch/arch.h"
#include "cfi/function.h"
#include "snapshot/snapshot.h"
#include "walk/walker.h"

#include <string.h>

enum {
	BASE = 0x10000000,
	STACK = 0x20000000,
	STACK_WORDS = 128,
	STARTS = 12, /* threads in one walk */
	INPUT_MAX = 1 << 17,
};

/* A stack full of plausible return addresses and frame pointers. */
static void stack_fill(uint64_t *words, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < STACK_WORDS; i++) {
		uint64_t mixed = sw_mix64(i + 1 + (size > 0 ? data[(i * 31) % size] : 0));
		words[i] =
			i % 3 == 0 ? STACK + (mixed % STACK_WORDS) * 8 : BASE + mixed % (size + 1);
	}
}

static bool snapshot_fill(struct sw_snapshot *snap, struct sw_module *module, const uint64_t *words,
			  size_t size)
{
	struct sw_arena *arena = &snap->priv->arena;
	snap->maps = sw_arena_calloc(arena, 2, sizeof(*snap->maps));
	snap->places = sw_arena_calloc(arena, 1, sizeof(*snap->places));
	snap->threads = sw_arena_calloc(arena, STARTS, sizeof(*snap->threads));
	if (snap->maps == NULL || snap->places == NULL || snap->threads == NULL)
		return false;
	uint64_t end = BASE + ((size + 4095) & ~(uint64_t) 4095) + 4096;
	snap->maps[0] = (struct sw_map){.start_avma = BASE,
					.end_avma = end,
					.prot = SW_MAP_READ | SW_MAP_EXEC,
					.path = "/bin/fuzz"};
	snap->maps[1] = (struct sw_map){.start_avma = STACK,
					.end_avma = STACK + STACK_WORDS * 8,
					.prot = SW_MAP_READ | SW_MAP_WRITE,
					.place = -1,
					.path = ""};
	snap->n_maps = 2;
	/* Half of the inputs are placed as their own headers say, half at a fixed bias. */
	snap->places[0] = (struct sw_place){.module = module,
					    .start_avma = BASE,
					    .end_avma = end,
					    .bias = BASE,
					    .resolved = size % 2};
	snap->n_places = 1;
	for (size_t i = 0; i < STARTS; i++) {
		struct sw_thread *t = &snap->threads[snap->n_threads++];
		t->tid = (pid_t) i + 1;
		t->captured = true;
		t->stack_avma = STACK;
		t->stack_end_avma = STACK + STACK_WORDS * 8;
		t->stack_bytes = STACK_WORDS * 8;
		t->stack = (const uint8_t *) words;
		for (unsigned r = 0; r < SW_ARCH_RA; r++)
			sw_regs_set(&t->regs, r, STACK + 8 * r * (i + 1));
		sw_regs_set(&t->regs, SW_ARCH_SP, STACK + 16 * i);
		sw_regs_set(&t->regs, SW_ARCH_RA, BASE + i * (size / STARTS) + i % 7);
	}
	return true;
}

static void look_up(struct sw_snapshot *snap, struct sw_module *module, size_t size)
{
	struct sw_elf_cfi *cfi = sw_elf_cfi_get(module);
	struct sw_elf_entry entry;
	uint64_t start;
	for (size_t i = 0; cfi != NULL && i < STARTS; i++) {
		(void) sw_elf_entry_find(cfi, i * (size / STARTS), &entry);
		(void) sw_elf_function_start(cfi, i * (size / STARTS), &start);
	}
	char *text = NULL;
	if (sw_explain(snap, BASE + size / 2, &text, NULL) == 0)
		free(text);
	size_t n;
	(void) sw_module_build_id(module, &n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > INPUT_MAX)
		return 0;
	struct sw_context *ctx = NULL;
	struct sw_snapshot *snap = NULL;
	struct sw_walks *walks = NULL;
	struct sw_module *module;
	uint64_t words[STACK_WORDS];
	uint8_t *image = malloc(size > 0 ? size : 1);
	if (image == NULL || sw_context_create(&ctx, NULL) < 0 ||
	    sw_snapshot_create(ctx, &snap, NULL) < 0)
		abort();
	memcpy(image, data, size);
	stack_fill(words, data, size);
	static const struct sw_walk_options options = {.max_frames = 16};
	if (sw_context_module_memory(ctx, SW_MODULE_ELF, "/bin/fuzz", false, image, size, NULL,
				     &module) < 0 ||
	    !snapshot_fill(snap, module, words, size))
		abort();
	sw_snapshot_index(snap);
	if (sw_walk_all(snap, &options, &walks, NULL) < 0)
		abort();
	look_up(snap, module, size);
	sw_walks_destroy(walks);
	sw_snapshot_destroy(snap);
	sw_context_destroy(ctx);
	return 0;
}
