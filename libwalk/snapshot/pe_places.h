/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PE_PLACES_H
#define SW_PE_PLACES_H

#include "formats/pe_image.h"
#include "snapshot/snapshot.h"

/*
 * Where PE images lie. Maps alone do not say it: the loader maps a section from the file only when
 * the section begins at a page of it, and reads all others into anonymous memory, in ordinary
 * programs .text and .pdata, too (Wine 8.0 and 10.0, dlls/ntdll/unix/virtual.c,
 * map_image_into_view()). So the header says how long the image is, and every mapping inside belongs
 * to it.
 */
struct sw_pe_extent {
	uint64_t start_avma, end_avma; /* whole pages; start is the image base */
};

/*
 * The image whose header lies at base_avma. False when there is none, when not its code is
 * mapped executable (a file that is read as data, or an image of resources), or when base is in
 * another module. It ends early where a mapping of something else begins.
 */
bool sw_pe_extent_at(const struct sw_snapshot *snap, struct sw_memory memory, uint64_t base_avma,
		     struct sw_pe_extent *ret);

/* Whether a header of an image may be here: a private mapping of a file's first page. A file that is
 * read as data may be mapped so, too; code and headers then do not match. */
bool sw_pe_may_begin(const struct sw_map *map);

/*
 * Cuts maps in two at the ends of the extents (sorted, without overlaps), so that each belongs to
 * one module or none: the kernel merges neighbours of anonymous memory. 0, -SW_E_NOMEM.
 */
int sw_pe_maps_cut(struct sw_snapshot *snap, const struct sw_pe_extent *extents, size_t n);

/*
 * The image of maps [first, last] in file layout, put together from memory for want of a file. What
 * cannot be read stays zero. NULL: there is no header, it would be larger than max, or no memory.
 */
uint8_t *sw_pe_image_from_memory(struct sw_memory memory, uint64_t base_avma, uint64_t max,
				 size_t *ret_size);

#endif
