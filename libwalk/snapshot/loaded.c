/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * PE images that only the process itself knows of: see sw_snapshot_add_loaded(). Also those of a core
 * file that does not hold their headers, because the kernel keeps only the first pages of ELF files
 * (fs/coredump.c v6.1, vma_dump_size()): then the header is read from the file.
 */
#include "snapshot/snapshot.h"
#include "snapshot/places.h"
#include "cleanup.h"
#include "errors.h"
#include "snapshot/module.h"
#include "snapshot/pe_loader.h"
#include "snapshot/pe_places.h"

#include <string.h>

enum {
	TEB_THREADS_MAX = 64, /* asked for their TEB: the first that has one tells all */
	ADDED_MAX = 1024,     /* images that maps do not show */
};

struct added {
	struct sw_pe_extent extent;
	struct sw_module *module;
};

struct adder {
	struct sw_snapshot *snap;
	const struct sw_opener *opener;
	struct sw_memory memory;
	struct added *added; /* the arena's, space for ADDED_MAX */
	size_t n;
	bool limited, nomem;
};

static bool teb_find(const struct sw_snapshot *snap, struct sw_memory memory, uint64_t *ret_avma)
{
	size_t asked = 0;
	for (size_t i = 0; i < snap->n_threads && asked < TEB_THREADS_MAX; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if (!t->captured || t->gs_base == 0)
			continue;
		asked++;
		if (sw_pe_is_teb(memory, t->gs_base)) {
			*ret_avma = t->gs_base;
			return true;
		}
	}
	return false;
}

static bool overlaps(const struct adder *a, const struct sw_pe_extent *extent)
{
	for (size_t i = 0; i < a->n; i++)
		if (extent->start_avma < a->added[i].extent.end_avma &&
		    a->added[i].extent.start_avma < extent->end_avma)
			return true;
	return false;
}

/* Memory that begins with the mapping of a file, of which the opener may have only the file. */
struct header {
	const struct sw_opener *opener;
	const struct sw_map *map;
	int fd; /* owned */
};

static bool header_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct header *h = arg;
	if (h->opener->read(h->opener->arg, avma, buffer, length))
		return true;
	return h->fd >= 0 && avma >= h->map->start_avma && avma < h->map->end_avma &&
	       pread(h->fd, buffer, length, (off_t) (avma - h->map->start_avma)) ==
		       (ssize_t) length;
}

/* The image at base_avma; *ret_file: the mapping of a file that begins there, or NULL. */
static bool extent_find(const struct adder *a, uint64_t base_avma, struct sw_pe_extent *ret,
			const struct sw_map **ret_file)
{
	const struct sw_memory_ops ops = {.read = header_read,
					  .is_32bit = sw_memory_is_32bit(a->memory)};
	const struct sw_map *map = sw_snapshot_map(a->snap, base_avma);
	bool file = map != NULL && map->start_avma == base_avma && sw_pe_may_begin(map);
	size_t length, n_warnings = a->snap->n_warnings;
	char byte;
	struct header h = {.opener = a->opener, .map = map, .fd = -EBADF};
	if (file && !a->opener->read(a->opener->arg, base_avma, &byte, 1)) {
		bool deleted = sw_map_path_deleted(map, &length);
		sw_cleanup(sw_free_p) char *path = strndup(map->path, length);
		if (path != NULL)
			h.fd = a->opener->open(a->opener->arg, map, path, &deleted);
		a->snap->n_warnings = n_warnings; /* they come again when it becomes a module */
	}
	*ret_file = file ? map : NULL;
	bool found = sw_pe_extent_at(a->snap, (struct sw_memory){&ops, &h}, base_avma, ret);
	sw_close_p(&h.fd);
	return found;
}

static int module_make(struct adder *a, const struct sw_pe_loaded *loaded, struct sw_module **ret)
{
	size_t size = 0;
	uint8_t *image = sw_pe_image_from_memory(a->memory, loaded->base_avma,
						 sw_snapshot_image_max(a->snap), &size);
	a->snap->priv->image_bytes += size;
	return sw_context_module_memory(a->snap->ctx, SW_MODULE_PE, loaded->name, false, image,
					size, "it was not mapped from a file, nor could be copied",
					ret);
}

static bool loaded_add(void *arg, const struct sw_pe_loaded *loaded)
{
	struct adder *a = arg;
	const struct sw_map *file;
	struct added new;
	if (sw_snapshot_place(a->snap, loaded->base_avma) != NULL ||
	    !extent_find(a, loaded->base_avma, &new.extent, &file) || overlaps(a, &new.extent))
		return true;
	if (a->n == ADDED_MAX) {
		a->limited = true;
		return false;
	}
	if (a->added == NULL)
		a->added = sw_arena_calloc(&a->snap->priv->arena, ADDED_MAX, sizeof(*a->added));
	int r = -SW_E_NOMEM;
	if (a->added != NULL)
		r = file != NULL ? sw_snapshot_pe_module(a->snap, a->opener, file, &new.module)
				 : module_make(a, loaded, &new.module);
	if (r == 0)
		a->added[a->n++] = new;
	a->nomem = r == -SW_E_NOMEM;
	return !a->nomem;
}

static int compare_added(const void *x, const void *y)
{
	const struct added *a = x, *b = y;
	return (a->extent.start_avma > b->extent.start_avma) -
	       (a->extent.start_avma < b->extent.start_avma);
}

/* Puts the new places among the old ones: by start, and maps point to them by index. */
static int places_merge(struct adder *a)
{
	struct sw_snapshot *snap = a->snap;
	struct sw_arena *arena = &snap->priv->arena;
	struct sw_place *places = sw_arena_calloc(arena, snap->n_places + a->n, sizeof(*places));
	int32_t *moved = sw_arena_calloc(arena, snap->n_places, sizeof(*moved));
	int32_t *put = sw_arena_calloc(arena, a->n, sizeof(*put));
	if (places == NULL || moved == NULL || put == NULL)
		return -SW_E_NOMEM;
	size_t n = 0, k = 0;
	for (size_t i = 0; i <= snap->n_places; i++) {
		for (; k < a->n && (i == snap->n_places ||
				    a->added[k].extent.start_avma < snap->places[i].start_avma);
		     k++) {
			put[k] = (int32_t) n;
			places[n++] = (struct sw_place){.module = a->added[k].module,
							.start_avma = a->added[k].extent.start_avma,
							.end_avma = a->added[k].extent.end_avma};
		}
		if (i == snap->n_places)
			break;
		moved[i] = (int32_t) n;
		places[n++] = snap->places[i];
	}
	for (size_t i = 0, e = 0; i < snap->n_maps; i++) {
		struct sw_map *map = &snap->maps[i];
		while (e < a->n && a->added[e].extent.end_avma <= map->start_avma)
			e++;
		if (e < a->n && a->added[e].extent.start_avma <= map->start_avma)
			map->place = put[e];
		else if (map->place >= 0)
			map->place = moved[map->place];
	}
	snap->places = places;
	snap->n_places = n;
	return 0;
}

static int added_take(struct adder *a)
{
	qsort(a->added, a->n, sizeof(*a->added), compare_added);
	struct sw_pe_extent *extents =
		sw_arena_calloc(&a->snap->priv->arena, a->n, sizeof(*extents));
	if (extents == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < a->n; i++)
		extents[i] = a->added[i].extent;
	int r = sw_pe_maps_cut(a->snap, extents, a->n);
	return r < 0 ? r : places_merge(a);
}

int sw_snapshot_add_loaded(struct sw_snapshot *snap, const struct sw_opener *opener,
			   struct sw_error *err)
{
	const struct sw_memory_ops ops = {.read = opener->read,
					  .is_32bit = snap->process.elf_class == 32};
	struct adder a = {.snap = snap, .opener = opener, .memory = {&ops, opener->arg}};
	uint64_t teb_avma;
	if (!teb_find(snap, a.memory, &teb_avma))
		return 0;
	bool whole = sw_pe_loaded_each(a.memory, teb_avma, loaded_add, &a);
	if (a.nomem)
		return sw_fail_nomem(err);
	if (!whole || a.limited)
		sw_snapshot_warn(snap, SW_WARN_MODULE, 0, a.limited ? SW_E_LIMIT : SW_E_FORMAT,
				 "the process's list of its Windows modules is %s",
				 a.limited ? "too long: some are missing"
					   : "damaged: some may be missing");
	if (a.n > 0 && added_take(&a) < 0)
		return sw_fail_nomem(err);
	return 0;
}
