/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/go/find.h"
#include "snapshot/bias.h"
#include "snapshot/module.h"

#include <string.h>

enum {
	/* The heap's first arena is at the first of 0xc0 << 32, 1 << 40 | 0xc0 << 32 ... that is free:
	 * go1.18 to go1.27 src/runtime/malloc.go, mallocinit(). */
	HINTS_MAX = 128,
	/* Since 1.26 it is anywhere; it grows by chunks. */
	CHUNK_BYTES = 4 << 20,
};

static const char slot_key; /* of what is kept with a module */

static bool has_heap(const struct sw_snapshot *snap)
{
	for (uint64_t i = 0; i < HINTS_MAX; i++) {
		const struct sw_map *map = sw_snapshot_map(snap, i << 40 | UINT64_C(0xc0) << 32);
		if (map != NULL && map->path[0] != '/')
			return true;
	}
	return false;
}

bool sw_go_may_be_heap(const struct sw_map *map)
{
	return map->inode == 0 && map->path[0] == '\0' &&
	       map->prot == (SW_MAP_READ | SW_MAP_WRITE) && map->start_avma % CHUNK_BYTES == 0 &&
	       (map->end_avma - map->start_avma) % CHUNK_BYTES == 0;
}

static bool is_go_file(struct sw_module *module)
{
	const struct sw_elf *elf = sw_module_elf(module);
	return elf != NULL && elf->n_sections > 0 && sw_go_image_probe(elf);
}

/* A library in a program of another language. Its files are looked at only if there may be a heap of Go. */
static bool has_library(const struct sw_snapshot *snap)
{
	bool may = false;
	for (size_t i = 0; i < snap->n_maps && !may; i++)
		may = sw_go_may_be_heap(&snap->maps[i]);
	for (size_t i = 0; i < snap->n_places && may; i++)
		if (sw_module_kind(snap->places[i].module) == SW_MODULE_ELF &&
		    is_go_file(snap->places[i].module))
			return true;
	return false;
}

bool sw_go_probe(const struct sw_snapshot *snap)
{
	if (has_heap(snap))
		return true;
	/* Since 1.26 the heap is anywhere; a library's memory has a name where the kernel keeps names. */
	for (size_t i = 0; i < snap->n_maps; i++)
		if (strncmp(snap->maps[i].path, "[anon: Go:", 10) == 0)
			return true;
	const char *exe = snap->process.exe;
	for (size_t i = 0; i < snap->n_places; i++) {
		struct sw_module *module = snap->places[i].module;
		if (sw_module_kind(module) != SW_MODULE_ELF ||
		    (exe != NULL && exe[0] != '\0' && strcmp(sw_module_path(module), exe) != 0))
			continue;
		if (is_go_file(module))
			return true;
		break;
	}
	return has_library(snap);
}

/* The result for a module that was looked at, kept with it. */
struct kept {
	bool is_go;
	struct sw_go_image image;
};

static const struct kept *module_look(struct sw_module *module)
{
	void **slot = sw_slots_get(&module->slots, &slot_key, free);
	if (slot == NULL)
		return NULL;
	if (*slot == NULL) {
		struct kept *k = calloc(1, sizeof(*k));
		const struct sw_elf *elf = sw_module_elf(module);
		if (k != NULL)
			k->is_go = elf != NULL && sw_go_image_read(elf, &k->image);
		*slot = k;
	}
	return *slot;
}

void sw_go_find(const struct sw_snapshot *snap, struct sw_go_modules *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < snap->n_places && ret->n < SW_GO_MODULES_MAX; i++) {
		struct sw_place *place = &snap->places[i];
		if (sw_module_kind(place->module) != SW_MODULE_ELF)
			continue;
		const struct kept *k = module_look(place->module);
		if (k != NULL && k->is_go && sw_place_resolve(place, snap))
			ret->all[ret->n++] =
				(struct sw_go_module){.place = place, .image = k->image};
	}
}
