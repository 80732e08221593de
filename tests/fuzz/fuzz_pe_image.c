/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory of a Windows process is the input: headers, function tables, unwind information, TEB and
 * the loader's list are hostile. By pages of 4096 bytes at BASE:
 *
 *	0	an image: its header's mapping has a file's name
 *	1	TEB at its start; the second half is a stack
 *	2...	anonymous code: images there are in the loader's list alone
 *
 * It is found, its modules are identified, threads all over it are walked and addresses explained;
 * what was found must be in order. Then the input is parsed as a file.
 */
#include "fuzz.h"
#include "arch/arch.h"
#include "formats/pe_image.h"
#include "snapshot/snapshot.h"
#include "snapshot/places.h"
#include "snapshot/module.h"

#include <string.h>

enum {
	BASE = 0x10000000,
	PAGE = 4096,
	TEB = BASE + PAGE,
	STACK = BASE + PAGE + PAGE / 2,
	STACK_END = BASE + 2 * PAGE,
	THREADS = 16,
	INPUT_MAX = 1 << 17,
	MAPS = 3,
};

static bool input_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_bytes *input = arg;
	return avma >= BASE && sw_bytes_copy(*input, avma - BASE, buffer, length);
}

static int no_file(void *arg, const struct sw_map *map, const char *path, bool *ret_deleted)
{
	return -1;
}

static void add_map(struct sw_snapshot *snap, uint64_t start, uint64_t end, uint32_t prot,
		    const char *path)
{
	if (start < end)
		snap->maps[snap->n_maps++] = (struct sw_map){.start_avma = start,
							     .end_avma = end,
							     .prot = prot,
							     .place = -1,
							     .path = path};
}

static struct sw_snapshot *snapshot_make(struct sw_context *ctx, struct sw_bytes input)
{
	struct sw_snapshot *snap;
	check(sw_snapshot_create(ctx, &snap, NULL) == 0);
	struct sw_arena *arena = &snap->priv->arena;
	snap->maps = sw_arena_calloc(arena, MAPS, sizeof(*snap->maps));
	snap->threads = sw_arena_calloc(arena, THREADS, sizeof(*snap->threads));
	snap->ranges = sw_arena_calloc(arena, 1, sizeof(*snap->ranges));
	check(snap->maps && snap->threads && snap->ranges);
	uint64_t end = BASE + (input.size + PAGE - 1) / PAGE * PAGE;
	add_map(snap, BASE, BASE + PAGE, SW_MAP_READ | SW_MAP_EXEC, "/w/x.exe");
	add_map(snap, BASE + PAGE, STACK_END, SW_MAP_READ | SW_MAP_WRITE, "");
	add_map(snap, STACK_END, end, SW_MAP_READ | SW_MAP_EXEC, "");
	snap->ranges[snap->n_ranges++] = (struct sw_range){BASE, input.size, input.data};
	for (size_t i = 0; i < THREADS; i++) {
		struct sw_thread *t = &snap->threads[snap->n_threads++];
		*t = (struct sw_thread){.tid = (pid_t) i + 1,
					.captured = true,
					.gs_base = TEB,
					.stack_end_avma = STACK_END};
		for (unsigned r = 0; r < SW_ARCH_RA; r++)
			sw_regs_set(&t->regs, r, STACK + 8 * r * (i + 1));
		sw_regs_set(&t->regs, SW_ARCH_SP, STACK + 16 * i);
		sw_regs_set(&t->regs, SW_ARCH_RA, (i % 2 == 0 ? BASE : STACK_END) + 0x400 + i * 9);
	}
	sw_snapshot_index(snap);
	return snap;
}

static void check_places(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_places; i++) {
		const struct sw_place *p = &snap->places[i];
		check(p->module != NULL && p->start_avma < p->end_avma);
		check(i == 0 || snap->places[i - 1].end_avma <= p->start_avma);
	}
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *m = &snap->maps[i];
		check(m->start_avma < m->end_avma && m->place < (int64_t) snap->n_places);
		check(i == 0 || snap->maps[i - 1].end_avma <= m->start_avma);
		if (m->place >= 0)
			check(m->start_avma >= snap->places[m->place].start_avma &&
			      m->end_avma <= snap->places[m->place].end_avma);
	}
}

static void look(struct sw_snapshot *snap)
{
	static const struct sw_walk_options options = {.max_frames = 64};
	struct sw_walks *walks;
	check(sw_walk_all(snap, &options, &walks, NULL) == 0);
	for (size_t i = 0; i < walks->n_walks; i++)
		check(walks->walks[i].end == SW_END_COMPLETE || walks->walks[i].why != NULL);
	sw_walks_destroy(walks);
	for (size_t i = 0; i < snap->n_places; i++) {
		size_t n;
		(void) sw_module_build_id(snap->places[i].module, &n);
		check(n <= SW_BUILD_ID_MAX);
	}
	for (size_t i = 0; i < THREADS; i += 5) {
		char *text = NULL;
		if (sw_explain(snap, snap->threads[i].regs.pc_avma, &text, NULL) == 0)
			free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sw_bytes input = {data, size};
	struct sw_context *ctx;
	struct sw_pe_image image;
	uint8_t id[SW_BUILD_ID_MAX];
	uint32_t off;
	if (size > INPUT_MAX)
		return 0;
	check(sw_context_create(&ctx, NULL) == 0);
	struct sw_snapshot *snap = snapshot_make(ctx, input);
	const struct sw_opener opener = {.open = no_file, .read = input_read, .arg = &input};
	check(sw_snapshot_find_places(snap, &opener, NULL) == 0);
	check_places(snap);
	check(sw_snapshot_add_loaded(snap, &opener, NULL) == 0);
	sw_snapshot_index(snap);
	check_places(snap);
	look(snap);
	sw_snapshot_destroy(snap);
	sw_context_destroy(ctx);
	if (sw_pe_image_parse(input, &image)) {
		check(sw_pe_image_build_id(&image, input, id) <= sizeof(id));
		(void) sw_pe_image_file_off(&image, image.exports.rva, 4, &off);
	}
	return 0;
}
