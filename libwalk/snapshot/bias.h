/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BIAS_H
#define SW_BIAS_H

#include "snapshot/snapshot.h"

/*
 * The bias of a place, computed on first use from the image's program headers (parses: before the
 * stop, while privileges may be held, only for what an unwinder's prepare() cannot do without). False
 * when the image is missing or does not fit.
 */
bool sw_place_resolve(struct sw_place *place, const struct sw_snapshot *snap);

/* The offset in its file of avma, which lies in map. That of code that was moved to memory follows from its segment, for which
 * the program headers are parsed as by sw_place_resolve(). False: it is not known. */
bool sw_map_file_off(const struct sw_snapshot *snap, const struct sw_map *map, uint64_t avma,
		     uint64_t *ret);

#endif
