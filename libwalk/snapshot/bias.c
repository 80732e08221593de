/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a module's own addresses are in the process. */
#include "snapshot/bias.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

enum { IMAGE_PAGE = 4096 };

/* The load segment that the mapping at file_off came from; its address for that offset.
 * Segments are mapped in whole pages. */
static bool segment_svma(const struct sw_elf *elf, const struct sw_map *map, uint64_t *ret)
{
	struct sw_elf_segment s;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++) {
		if (s.type != PT_LOAD || ((map->prot & SW_MAP_EXEC) && !(s.flags & PF_X)))
			continue;
		uint64_t begin = s.off & -(uint64_t) IMAGE_PAGE, end;
		if (__builtin_add_overflow(s.off, s.file_bytes, &end) || map->file_off < begin ||
		    map->file_off >= end)
			continue;
		*ret = s.svma + (map->file_off - s.off);
		return true;
	}
	return false;
}

static bool resolve_by(struct sw_place *place, const struct sw_snapshot *snap,
		       const struct sw_elf *elf, uint32_t prot)
{
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *map = &snap->maps[i];
		uint64_t svma;
		if (map->place < 0 || &snap->places[map->place] != place || map->path[0] == '\0' ||
		    (map->prot & prot) != prot || !segment_svma(elf, map, &svma))
			continue;
		place->bias = map->start_avma - svma;
		place->resolved = 1;
		return true;
	}
	return false;
}

bool sw_place_resolve(struct sw_place *place, const struct sw_snapshot *snap)
{
	if (place->resolved != 0)
		return place->resolved > 0;
	place->resolved = -1;
	if (place->module->kind == SW_MODULE_PE) {
		place->bias = place->start_avma; /* so that an svma is an RVA */
		place->resolved = 1;
		return true;
	}
	const struct sw_elf *elf =
		place->module->kind == SW_MODULE_ELF || place->module->kind == SW_MODULE_VDSO
			? sw_module_elf(place->module)
			: NULL;
	if (elf == NULL)
		return false;
	/* Other segments tell as much, where all code was moved to memory (snapshot/places.c). */
	return resolve_by(place, snap, elf, SW_MAP_EXEC) || resolve_by(place, snap, elf, 0);
}

bool sw_map_file_off(const struct sw_snapshot *snap, const struct sw_map *map, uint64_t avma,
		     uint64_t *ret)
{
	*ret = map->file_off + (avma - map->start_avma);
	if (map->place < 0 || map->path[0] != '\0')
		return true;
	/* Code that was moved to memory (snapshot/places.c): by the segment that it is of. */
	struct sw_place *place = &snap->places[map->place];
	const struct sw_elf *elf =
		place->module->kind == SW_MODULE_ELF ? sw_module_elf(place->module) : NULL;
	struct sw_elf_segment s;
	if (elf == NULL || !sw_place_resolve(place, snap))
		return false;
	uint64_t svma = avma - place->bias;
	for (uint32_t i = 0; sw_elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && (s.flags & PF_X) &&
		    svma >= (s.svma & -(uint64_t) IMAGE_PAGE) &&
		    (svma < s.svma || svma - s.svma < s.file_bytes)) {
			*ret = s.off + (svma - s.svma);
			return true;
		}
	return false;
}
