/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PLACES_H
#define SW_PLACES_H

#include "snapshot/snapshot.h"

/*
 * Find the modules of snap->maps and where they lie: fills snap->places and maps[].place; cuts maps in
 * two where a PE image ends inside. Opens but does not parse, but for headers of PE images, which
 * alone say how long they are. A file that cannot be opened is a warning and a module without image.
 */
int sw_snapshot_find_places(struct sw_snapshot *snap, const struct sw_opener *opener,
			    struct sw_error *err);

/* The module of a PE image by the mapping of a file that holds its header. */
int sw_snapshot_pe_module(struct sw_snapshot *snap, const struct sw_opener *opener,
			  const struct sw_map *header, struct sw_module **ret);

#endif
