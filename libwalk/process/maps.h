/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_MAPS_H
#define SW_PROCESS_MAPS_H

#include "arena.h"

#include <snapwalk/walk.h>

enum { SW_MAPS_MAX = 262144 };

/*
 * Parse the text of /proc/PID/maps (proc(5)). A line that cannot be read is skipped and counted.
 * Arrays and strings come from the arena. 0, -SW_E_NOMEM, -SW_E_LIMIT.
 */
int sw_maps_parse(struct sw_arena *arena, const char *text, size_t size, struct sw_map **ret_maps,
		  size_t *ret_n, size_t *ret_bad_lines);

/*
 * The mappings at two times in one list: all of newer, and those of older that overlap none of
 * newer. Both are sorted by address; the result is, too, and belongs to no places yet. Returns 0 or
 * -SW_E_NOMEM.
 */
int sw_maps_merge(struct sw_arena *arena, const struct sw_map *newer, size_t n_newer,
		  const struct sw_map *older, size_t n_older, struct sw_map **ret_maps,
		  size_t *ret_n);

/* Strips " (deleted)" as the kernel appends it (a file may really be named so: the opener finds
 * out by identity). True when it was there; *ret_length is the path without it. */
bool sw_map_path_deleted(const struct sw_map *map, size_t *ret_length);

/* Whether a mapping is of a memory file, memfd_create(). */
bool sw_map_is_memfd(const struct sw_map *map);

#endif
