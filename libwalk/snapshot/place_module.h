/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PLACE_MODULE_H
#define SW_PLACE_MODULE_H

#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <string.h>

/* For snapshot/places.c: from mappings to the module that they are of. */

/* Mappings of one file in a row: maps[first..last], with anonymous ones (bss) maybe between; or all
 * mappings in a PE image. */
struct sw_place_group {
	size_t first, last;
	/* The first executable one, NULL when there is none; of a PE image the one of its header. */
	const struct sw_map *exec;
	bool pe;
};

struct sw_place_finder {
	struct sw_snapshot *snap;
	const struct sw_opener *opener;
	uint64_t copy_max; /* bytes the next image from memory may have */
};

static inline bool sw_map_is_vdso(const struct sw_map *map)
{
	return strcmp(map->path, "[vdso]") == 0;
}

/* The module of a group: of its file, or of what is mapped when that cannot be had. */
int sw_place_group_module(struct sw_place_finder *f, const struct sw_place_group *g,
			  struct sw_module **ret);

#endif
