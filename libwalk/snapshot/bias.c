/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a module's own addresses are in the process. */
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <gelf.h>

enum {
	IMAGE_PHDRS_MAX = 4096,
	IMAGE_PAGE = 4096,
};

/* The load segment that the mapping at file_off came from; its address for that offset.
 * Segments are mapped in whole pages. */
static bool segment_svma(Elf *elf, const struct sw_map *map, uint64_t *ret)
{
	size_t n;
	if (elf_getphdrnum(elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n && i < IMAGE_PHDRS_MAX; i++) {
		GElf_Phdr phdr;
		if (gelf_getphdr(elf, (int) i, &phdr) == NULL)
			return false;
		if (phdr.p_type != PT_LOAD)
			continue;
		if ((map->prot & SW_MAP_EXEC) && !(phdr.p_flags & PF_X))
			continue;
		uint64_t begin = phdr.p_offset & -(uint64_t) IMAGE_PAGE, end;
		if (__builtin_add_overflow(phdr.p_offset, phdr.p_filesz, &end) ||
		    map->file_off < begin || map->file_off >= end)
			continue;
		*ret = phdr.p_vaddr + (map->file_off - phdr.p_offset);
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
	Elf *elf = place->module->kind == SW_MODULE_ELF || place->module->kind == SW_MODULE_VDSO
			   ? sw_module_elf(place->module)
			   : NULL;
	if (elf == NULL)
		return false;
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *map = &snap->maps[i];
		uint64_t svma;
		if (map->place < 0 || &snap->places[map->place] != place ||
		    !(map->prot & SW_MAP_EXEC) || !segment_svma(elf, map, &svma))
			continue;
		place->bias = map->start_avma - svma;
		place->resolved = 1;
		return true;
	}
	return false;
}
