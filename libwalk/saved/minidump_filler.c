/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mappings by modules and memory alone, and the warnings, for minidumps of both systems. */
#include "saved/minidump_filler.h"

enum { MISSING_SHOWN = 4 };

void sw_minidump_missing(struct sw_minidump_filler *f, const struct sw_minidump_module *m,
			 bool other)
{
	if (f->n_missing++ < MISSING_SHOWN)
		sw_text_printf(&f->missing, "%s%s%s", f->missing.size > 0 ? ", " : "",
			       sw_minidump_name(m->path),
			       other ? " (the file of that name is another one)" : "");
}

void sw_minidump_warn(struct sw_minidump_filler *f)
{
	struct sw_snapshot *snap = f->snap;
	if (f->md.damaged)
		sw_snapshot_warn(snap, SW_WARN_PARTIAL, 0, SW_E_FORMAT,
				 "the minidump is cut short or malformed: something is missing");
	if (f->md.limited)
		sw_snapshot_warn(snap, SW_WARN_PARTIAL, 0, SW_E_LIMIT,
				 "the minidump has more than is read of it");
	if (f->n_missing > 0 && f->missing.data != NULL)
		sw_snapshot_warn(
			snap, SW_WARN_MODULE, 0, SW_E_NOT_FOUND,
			"%zu image%s not in the minidump, nor in a directory that was named "
			"(--images DIR): %s%s",
			f->n_missing, f->n_missing == 1 ? " is" : "s are", f->missing.data,
			f->n_missing > MISSING_SHOWN ? " ..." : "");
}

void sw_minidump_map_add(struct sw_minidump_filler *f, const struct sw_map *map)
{
	struct sw_snapshot *snap = f->snap;
	if (map->start_avma < map->end_avma && snap->n_maps < f->maps_capacity)
		snap->maps[snap->n_maps++] = *map;
}

struct sw_minidump_module *sw_minidump_module_from(const struct sw_minidump *md, uint64_t avma)
{
	size_t low = 0, high = md->n_modules;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (md->modules[middle].end_avma <= avma)
			low = middle + 1;
		else
			high = middle;
	}
	return low < md->n_modules ? &md->modules[low] : NULL;
}

struct sw_minidump_module *sw_minidump_module_at(const struct sw_minidump *md, uint64_t avma)
{
	struct sw_minidump_module *m = sw_minidump_module_from(md, avma);
	return m != NULL && m->start_avma <= avma ? m : NULL;
}

void sw_minidump_outside_add(struct sw_minidump_filler *f, uint64_t start_avma, uint64_t end_avma,
			     uint32_t prot)
{
	/* Each turn adds a map, or is the last. */
	while (start_avma < end_avma && f->snap->n_maps < f->maps_capacity) {
		const struct sw_minidump_module *m = sw_minidump_module_from(&f->md, start_avma);
		uint64_t stop = m != NULL && m->start_avma < end_avma ? m->start_avma : end_avma;
		if (stop > start_avma)
			sw_minidump_map_add(f, &(struct sw_map){.start_avma = start_avma,
								.end_avma = stop,
								.prot = prot,
								.path = "",
								.place = -1});
		if (m == NULL || m->end_avma >= end_avma)
			return;
		start_avma = m->end_avma > start_avma ? m->end_avma : end_avma;
	}
}

void sw_minidump_copies_add(struct sw_minidump_filler *f)
{
	const struct sw_snapshot_priv *priv = f->snap->priv;
	for (size_t i = 0; i < priv->n_copies; i++)
		sw_minidump_outside_add(f, priv->copies[i].start_avma,
					priv->copies[i].start_avma + priv->copies[i].bytes,
					SW_MAP_READ | SW_MAP_WRITE);
}
