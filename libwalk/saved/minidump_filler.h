/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MINIDUMP_FILLER_H
#define SW_MINIDUMP_FILLER_H

#include "saved/minidump_file.h"
#include "saved/minidump_images.h"
#include "snapshot/snapshot.h"
#include "text.h"

/* The state while a snapshot is filled from a minidump. */
struct sw_minidump_filler {
	struct sw_snapshot *snap; /* borrowed, as images */
	const struct sw_minidump_images *images;
	struct sw_minidump md;
	size_t maps_capacity;   /* of snap->maps */
	struct sw_text missing; /* owned; names of the first images that are not here */
	size_t n_missing;
};

/* Note the image of a module that is not here. other: there is a file of its name, which is another one. */
void sw_minidump_missing(struct sw_minidump_filler *f, const struct sw_minidump_module *m,
			 bool other);

/* Make warnings of all that is missing. */
void sw_minidump_warn(struct sw_minidump_filler *f);

/* Add a mapping, unless it is empty or there are f->maps_capacity. */
void sw_minidump_map_add(struct sw_minidump_filler *f, const struct sw_map *map);

/* Add the parts of [start, end) that are in no module, as memory without a file. */
void sw_minidump_outside_add(struct sw_minidump_filler *f, uint64_t start_avma, uint64_t end_avma,
			     uint32_t prot);

/* Add all memory that the minidump has and that is in no module; memory whose protection nobody says is data. */
void sw_minidump_copies_add(struct sw_minidump_filler *f);

/* The module that holds an address, or the first one behind it; NULL: there is none. */
struct sw_minidump_module *sw_minidump_module_from(const struct sw_minidump *md, uint64_t avma);

/* The module that holds an address; NULL. */
struct sw_minidump_module *sw_minidump_module_at(const struct sw_minidump *md, uint64_t avma);

#endif
