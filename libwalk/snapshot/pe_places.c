/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "snapshot/pe_places.h"
#include "cleanup.h"
#include "errors.h"

enum {
	PAGE = 4096,
	EXTENT_MAPS_MAX = 16384, /* an image that has more of them ends there */
	SECTION_MAPS_MAX = 64,   /* of a section, looked at for code */
};

static bool has_file(const struct sw_map *map)
{
	return map->path[0] != '\0' && map->path[0] != '[';
}

bool sw_pe_may_begin(const struct sw_map *map)
{
	return has_file(map) && map->file_off == 0 && (map->prot & SW_MAP_READ) &&
	       !(map->prot & SW_MAP_SHARED);
}

/* Index of the map that holds avma; n_maps when none does. */
static size_t map_index(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_map *map = sw_snapshot_map(snap, avma);
	return map != NULL ? (size_t) (map - snap->maps) : snap->n_maps;
}

/* Sections that are shared and written to are mapped from a file of the Wine server: shared. */
static bool is_foreign(const struct sw_map *map, const struct sw_map *begin)
{
	if (map->place >= 0 || (map->path[0] == '[' && strncmp(map->path, "[anon:", 6) != 0))
		return true;
	return has_file(map) && !(map->prot & SW_MAP_SHARED) && strcmp(map->path, begin->path) != 0;
}

static uint64_t extent_end(const struct sw_snapshot *snap, size_t first, uint64_t end_avma)
{
	const struct sw_map *begin = &snap->maps[first];
	for (size_t i = first + 1; i < snap->n_maps && snap->maps[i].start_avma < end_avma; i++)
		if (is_foreign(&snap->maps[i], begin) || sw_pe_may_begin(&snap->maps[i]) ||
		    i - first == EXTENT_MAPS_MAX)
			return snap->maps[i].start_avma;
	return end_avma;
}

/* An executable section of the header, with executable memory where it should be. */
static bool code_is_mapped(const struct sw_snapshot *snap, const struct sw_pe_image *image,
			   const struct sw_pe_extent *extent)
{
	for (size_t i = 0; i < image->n_sections; i++) {
		const struct sw_pe_section *s = &image->sections[i];
		uint64_t start = extent->start_avma + s->rva, end = start + s->bytes;
		if (!(s->flags & SW_PE_SECTION_EXECUTE))
			continue;
		if (end > extent->end_avma)
			end = extent->end_avma;
		/* A section may be code only in part: pages that were made writable meanwhile. */
		size_t k = map_index(snap, start);
		for (size_t n = 0;
		     n < SECTION_MAPS_MAX && k < snap->n_maps && snap->maps[k].start_avma < end;
		     n++, k++)
			if (snap->maps[k].prot & SW_MAP_EXEC)
				return true;
	}
	return false;
}

bool sw_pe_extent_at(const struct sw_snapshot *snap, struct sw_memory memory, uint64_t base_avma,
		     struct sw_pe_extent *ret)
{
	struct sw_pe_image image;
	size_t first = map_index(snap, base_avma);
	uint64_t end;
	if (base_avma % PAGE != 0 || first == snap->n_maps || snap->maps[first].place >= 0 ||
	    !sw_pe_image_read(memory, base_avma, &image) ||
	    __builtin_add_overflow(base_avma, (uint64_t) image.image_bytes + PAGE - 1, &end))
		return false;
	end = extent_end(snap, first, end & -(uint64_t) PAGE);
	struct sw_pe_extent extent = {base_avma, end};
	if (!code_is_mapped(snap, &image, &extent))
		return false;
	*ret = extent;
	return true;
}

static bool cuts(uint64_t at_avma, const struct sw_map *map)
{
	return at_avma > map->start_avma && at_avma < map->end_avma;
}

/* Appends the part of map up to at_avma, and moves its start there. */
static void part_put(struct sw_map *to, size_t *n, struct sw_map *map, uint64_t at_avma)
{
	to[*n] = *map;
	to[(*n)++].end_avma = at_avma;
	if (has_file(map))
		map->file_off += at_avma - map->start_avma;
	map->start_avma = at_avma;
}

int sw_pe_maps_cut(struct sw_snapshot *snap, const struct sw_pe_extent *extents, size_t n_extents)
{
	size_t cut = 0;
	for (size_t i = 0; i < n_extents; i++) {
		const struct sw_map *a = sw_snapshot_map(snap, extents[i].start_avma);
		const struct sw_map *b = sw_snapshot_map(snap, extents[i].end_avma);
		cut += a != NULL && cuts(extents[i].start_avma, a);
		cut += b != NULL && cuts(extents[i].end_avma, b);
	}
	if (cut == 0)
		return 0;
	struct sw_map *maps =
		sw_arena_calloc(&snap->priv->arena, snap->n_maps + cut, sizeof(*maps));
	if (maps == NULL)
		return -SW_E_NOMEM;
	size_t n = 0, k = 0;
	for (size_t i = 0; i < snap->n_maps; i++) {
		struct sw_map map = snap->maps[i];
		while (k < n_extents && extents[k].end_avma <= map.start_avma)
			k++;
		for (size_t e = k; e < n_extents && extents[e].start_avma < map.end_avma; e++) {
			if (cuts(extents[e].start_avma, &map))
				part_put(maps, &n, &map, extents[e].start_avma);
			if (cuts(extents[e].end_avma, &map))
				part_put(maps, &n, &map, extents[e].end_avma);
		}
		maps[n++] = map;
	}
	snap->maps = maps;
	snap->n_maps = n;
	return 0;
}

/* Bytes of a section that are both in the file and in memory. */
static uint32_t section_common(const struct sw_pe_section *s)
{
	return s->bytes < s->file_bytes ? s->bytes : s->file_bytes;
}

/* Page by page: parts may have been made unreadable. */
static void copy_tolerant(struct sw_memory memory, uint64_t avma, uint8_t *to, size_t length)
{
	while (length > 0) {
		size_t n = PAGE - avma % PAGE;
		if (n > length)
			n = length;
		if (!sw_memory_read(memory, avma, to, n))
			memset(to, 0, n);
		avma += n;
		to += n;
		length -= n;
	}
}

uint8_t *sw_pe_image_from_memory(struct sw_memory memory, uint64_t base_avma, uint64_t max,
				 size_t *ret_size)
{
	struct sw_pe_image image;
	if (!sw_pe_image_read(memory, base_avma, &image))
		return NULL;
	/* All sections may lie on one another in a hostile image: what is copied is limited, too. */
	uint64_t size = image.header_bytes, copied = image.header_bytes;
	for (size_t i = 0; i < image.n_sections; i++) {
		const struct sw_pe_section *s = &image.sections[i];
		uint64_t end = (uint64_t) s->file_off + section_common(s);
		copied += section_common(s);
		if (end > size)
			size = end;
	}
	uint8_t *bytes = size > 0 && size <= max && copied <= max ? calloc(1, size) : NULL;
	if (bytes == NULL)
		return NULL;
	copy_tolerant(memory, base_avma, bytes, image.header_bytes);
	for (size_t i = 0; i < image.n_sections; i++) {
		const struct sw_pe_section *s = &image.sections[i];
		copy_tolerant(memory, base_avma + s->rva, bytes + s->file_off, section_common(s));
	}
	*ret_size = size;
	return bytes;
}
