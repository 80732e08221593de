/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which mappings are of one file or image: the places of modules. */
#include "snapshot/places.h"
#include "snapshot/snapshot.h"
#include "errors.h"
#include "snapshot/pe_places.h"
#include "snapshot/place_module.h"

#include <string.h>

enum { IMAGE_PAGE = 4096 };

/* "[stack]", "[heap]", "[anon:name]" are no files. */
static bool has_file(const struct sw_map *map)
{
	return map->path[0] != '\0' && map->path[0] != '[';
}

static bool same_file(const struct sw_map *a, const struct sw_map *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && strcmp(a->path, b->path) == 0;
}

/*
 * Code that the program has copied to anonymous memory at the same address, for huge pages: node --use-largepages, PHP's
 * opcache.huge_code_pages, BOLT's --hugify. It lies between mappings of its file, without a gap.
 */
static bool is_moved_code(const struct sw_snapshot *snap, size_t i)
{
	if (i == 0 || i + 1 >= snap->n_maps)
		return false;
	const struct sw_map *map = &snap->maps[i], *before = map - 1, *behind = map + 1;
	return map->path[0] == '\0' && (map->prot & SW_MAP_EXEC) && has_file(before) &&
	       same_file(before, behind) && before->end_avma == map->start_avma &&
	       behind->start_avma == map->end_avma && behind->file_off > before->file_off;
}

/* The group that begins at maps[first]. The same file from its start again is a second copy of
 * the module (dlmopen, a file that is also read as data); so is the same code again (node maps the
 * text of its builtins a second time). Segments may share a page of the file. */
static struct sw_place_group group_at(const struct sw_snapshot *snap, size_t first)
{
	const struct sw_map *begin = &snap->maps[first];
	struct sw_place_group g = {.first = first, .last = first};
	uint64_t code_end_off = 0;
	for (size_t i = first; i < snap->n_maps; i++) {
		const struct sw_map *map = &snap->maps[i];
		if (map->place >= 0)
			break; /* a PE image */
		if (i > first && is_moved_code(snap, i) && g.exec == NULL)
			g.exec = begin; /* of its file */
		if (map->path[0] == '\0')
			continue;
		if (!same_file(map, begin) || (i > first && map->file_off == 0))
			break;
		bool exec = map->prot & SW_MAP_EXEC;
		uint64_t length = map->end_avma - map->start_avma;
		uint64_t again =
			exec && map->file_off < code_end_off ? code_end_off - map->file_off : 0;
		if (again > IMAGE_PAGE || (again != 0 && again >= length))
			break;
		g.last = i;
		if (exec)
			code_end_off = map->file_off + length;
		if (g.exec == NULL && exec)
			g.exec = map;
	}
	return g;
}

/* Finds the PE images whose headers are mapped; their maps get the image's number as their place,
 * for now. Files of data are not opened for that: a core file that lacks the header's page has it
 * found by sw_snapshot_add_loaded(). */
static int pe_mark(struct sw_place_finder *f, struct sw_pe_extent **ret, size_t *ret_n)
{
	struct sw_snapshot *snap = f->snap;
	const struct sw_memory_ops ops = {.read = f->opener->read,
					  .is_32bit = snap->process.elf_class == 32};
	struct sw_memory memory = {&ops, f->opener->arg};
	size_t may = 0, n = 0;
	for (size_t i = 0; i < snap->n_maps; i++)
		may += sw_pe_may_begin(&snap->maps[i]);
	struct sw_pe_extent *found = sw_arena_calloc(&snap->priv->arena, may, sizeof(*found));
	if (found == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *map = &snap->maps[i];
		if (sw_pe_may_begin(map) && (n == 0 || map->start_avma >= found[n - 1].end_avma) &&
		    sw_pe_extent_at(snap, memory, map->start_avma, &found[n]))
			n++;
	}
	if (sw_pe_maps_cut(snap, found, n) < 0)
		return -SW_E_NOMEM;
	for (size_t i = 0, k = 0; i < snap->n_maps && k < n; i++) {
		while (k < n && found[k].end_avma <= snap->maps[i].start_avma)
			k++;
		if (k < n && found[k].start_avma <= snap->maps[i].start_avma)
			snap->maps[i].place = (int32_t) k;
	}
	*ret = found;
	*ret_n = n;
	return 0;
}

/* All maps that were marked with the number of maps[first]. */
static struct sw_place_group pe_group_at(const struct sw_snapshot *snap, size_t first)
{
	const struct sw_map *begin = &snap->maps[first];
	struct sw_place_group g = {.first = first, .last = first, .exec = begin, .pe = true};
	while (g.last + 1 < snap->n_maps && snap->maps[g.last + 1].place == begin->place)
		g.last++;
	return g;
}

/* The group at maps[first]; false when no module begins there. */
static bool group_find(const struct sw_snapshot *snap, size_t first, struct sw_place_group *ret)
{
	const struct sw_map *map = &snap->maps[first];
	if (map->place < 0 && !has_file(map) && !sw_map_is_vdso(map))
		return false;
	*ret = map->place >= 0 ? pe_group_at(snap, first) : group_at(snap, first);
	return true;
}

/* Counts first, so that places never move while maps point to them by index. */
static size_t groups_count(const struct sw_snapshot *snap)
{
	size_t n = 0;
	for (size_t i = 0; i < snap->n_maps; i++) {
		struct sw_place_group g;
		if (!group_find(snap, i, &g))
			continue;
		n += g.exec != NULL;
		i = g.last;
	}
	return n;
}

/* The module of a group and its place; -1 as place of its maps when it cannot be had. */
static int place_add(struct sw_place_finder *f, const struct sw_place_group *g,
		     const struct sw_pe_extent *extents)
{
	struct sw_snapshot *snap = f->snap;
	struct sw_place *place = &snap->places[snap->n_places];
	*place = (struct sw_place){.start_avma = snap->maps[g->first].start_avma,
				   .end_avma = snap->maps[g->last].end_avma};
	if (g->pe)
		place->end_avma = extents[snap->maps[g->first].place].end_avma;
	int r = sw_place_group_module(f, g, &place->module);
	if (r == -SW_E_NOMEM)
		return r;
	if (r < 0)
		sw_snapshot_warn(snap, SW_WARN_MODULE, 0, -r, "%s: %s", g->exec->path,
				 sw_error_text(r));
	for (size_t k = g->first; k <= g->last; k++)
		if (g->pe || snap->maps[k].path[0] != '\0' || is_moved_code(snap, k))
			snap->maps[k].place = r < 0 ? -1 : (int32_t) snap->n_places;
	snap->n_places += r == 0;
	return 0;
}

int sw_snapshot_find_places(struct sw_snapshot *snap, const struct sw_opener *opener,
			    struct sw_error *err)
{
	struct sw_place_finder f = {.snap = snap, .opener = opener};
	struct sw_pe_extent *extents;
	size_t n_extents;
	if (pe_mark(&f, &extents, &n_extents) < 0)
		return sw_fail_nomem(err);
	snap->n_places = 0;
	snap->places =
		sw_arena_calloc(&snap->priv->arena, groups_count(snap), sizeof(*snap->places));
	if (snap->places == NULL)
		return sw_fail_nomem(err);
	for (size_t i = 0; i < snap->n_maps; i++) {
		struct sw_place_group g;
		if (!group_find(snap, i, &g))
			continue;
		i = g.last;
		if (g.exec != NULL && place_add(&f, &g, extents) < 0)
			return sw_fail_nomem(err);
	}
	return 0;
}

int sw_snapshot_pe_module(struct sw_snapshot *snap, const struct sw_opener *opener,
			  const struct sw_map *header, struct sw_module **ret)
{
	struct sw_place_finder f = {.snap = snap, .opener = opener};
	size_t first = (size_t) (header - snap->maps);
	struct sw_place_group g = {.first = first, .last = first, .exec = header, .pe = true};
	return sw_place_group_module(&f, &g, ret);
}
