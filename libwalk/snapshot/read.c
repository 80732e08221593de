/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "copies/record.h"
#include "snapshot/bias.h"
#include "snapshot/read.h"
#include "snapshot/live.h"
#include "snapshot/read_log.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"

#include <stdlib.h>
#include <string.h>

static int compare_ranges(const void *a, const void *b)
{
	const struct sw_range *x = a, *y = b;
	return (x->start_avma > y->start_avma) - (x->start_avma < y->start_avma);
}

/* Parts of a copy are few, and most of them in order. */
static void ranges_sort(struct sw_range *all, size_t n)
{
	enum { FEW = 64 };
	if (n > FEW) {
		qsort(all, n, sizeof(*all), compare_ranges);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct sw_range r = all[i];
		size_t k = i;
		for (; k > 0 && all[k - 1].start_avma > r.start_avma; k--)
			all[k] = all[k - 1];
		all[k] = r;
	}
}

/* Threads may share a stack mapping (coroutines), so copies overlap: they are cut until they do
 * not. All were taken while nothing ran, so it does not matter which one stays. */
static size_t overlaps_cut(struct sw_range *copies, size_t n)
{
	size_t kept = 0;
	uint64_t covered = 0;
	for (size_t i = 0; i < n; i++) {
		struct sw_range r = copies[i];
		uint64_t end;
		if (r.bytes == 0 || __builtin_add_overflow(r.start_avma, r.bytes, &end))
			continue;
		if (kept > 0 && r.start_avma < covered) {
			if (end <= covered)
				continue;
			r.data += covered - r.start_avma;
			r.bytes = (size_t) (end - covered);
			r.start_avma = covered;
		}
		covered = end;
		copies[kept++] = r;
	}
	return kept;
}

void sw_snapshot_index_copies(struct sw_snapshot *snap)
{
	struct sw_snapshot_priv *priv = snap->priv;
	size_t wanted = snap->n_threads + snap->n_ranges;
	priv->n_copies = 0;
	if (priv->copies == NULL || wanted > priv->copies_max) {
		priv->copies = sw_arena_calloc(&priv->arena, wanted * 2, sizeof(*priv->copies));
		priv->copies_max = wanted * 2;
	}
	if (priv->copies == NULL)
		return; /* reads of other threads' stacks then go to the process, and say so */
	size_t n = 0;
	for (size_t i = 0; i < snap->n_threads; i++) {
		const struct sw_thread *t = &snap->threads[i];
		if (t->stack_bytes > 0)
			priv->copies[n++] =
				(struct sw_range){t->stack_avma, t->stack_bytes, t->stack};
	}
	for (size_t i = 0; i < snap->n_ranges; i++)
		priv->copies[n++] = snap->ranges[i];
	ranges_sort(priv->copies, n);
	priv->n_copies = overlaps_cut(priv->copies, n);
}

void sw_snapshot_index_copy(const struct sw_snapshot *snap, const struct sw_thread *thread)
{
	struct sw_snapshot_priv *priv = snap->priv;
	if (thread == NULL) {
		/* The function changes only priv. */
		sw_snapshot_index_copies((struct sw_snapshot *) snap);
		return;
	}
	/* The index of all has space for those of one. */
	size_t n = 0, wanted = 1 + priv->n_shared + thread->copy->n_parts;
	priv->n_copies = 0;
	if (priv->copies == NULL || wanted > priv->copies_max)
		return; /* nothing can be read, and that is said */
	priv->copies[n++] =
		(struct sw_range){thread->stack_avma, thread->stack_bytes, thread->stack};
	for (size_t i = 0; i < priv->n_shared; i++)
		priv->copies[n++] = priv->shared[i];
	for (size_t i = 0; i < thread->copy->n_parts; i++) {
		const struct sw_copy_part *part = &thread->copy->parts[i];
		priv->copies[n++] = (struct sw_range){part->avma, part->bytes, part->data};
	}
	ranges_sort(priv->copies, n);
	priv->n_copies = overlaps_cut(priv->copies, n);
}

size_t sw_snapshot_copy_find(const struct sw_snapshot *snap, uint64_t avma)
{
	const struct sw_snapshot_priv *priv = snap->priv;
	size_t low = 0, high = priv->n_copies;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sw_range *r = &priv->copies[middle];
		if (avma >= r->start_avma && avma - r->start_avma >= r->bytes)
			low = middle + 1;
		else if (avma >= r->start_avma)
			return middle;
		else
			high = middle;
	}
	return low;
}

/* A mapping without write permission may still have been written to: RELRO is made read-only
 * after relocation. Only segments that were never writable are what the file says. */
static bool segment_constant(struct sw_module *module, uint64_t file_off)
{
	const struct sw_elf *elf = sw_module_elf(module);
	struct sw_elf_segment s;
	for (uint32_t i = 0; elf != NULL && sw_elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && file_off >= s.off && file_off - s.off < s.file_bytes)
			return !(s.flags & PF_W);
	return false;
}

/*
 * Whether a mapping inside a PE image, which nothing writes to now, is what the file says. Most are
 * anonymous. The loader writes to those of the file, too, where an image is relocated; a core file
 * leaves out only what was never written to (fs/coredump.c v6.1, vma_dump_size()).
 */
static bool pe_map_constant(const struct sw_snapshot *snap, const struct sw_map *map,
			    const struct sw_module *module)
{
	size_t length;
	(void) sw_map_path_deleted(map, &length); /* wanted for the length */
	return length > 0 && strncmp(map->path, module->path, length) == 0 &&
	       module->path[length] == '\0' && (!snap->live || (map->prot & SW_MAP_EXEC));
}

static struct sw_module *module_at(const struct sw_snapshot *snap, const struct sw_map *map)
{
	if (map == NULL || map->place < 0 || (size_t) map->place >= snap->n_places)
		return NULL;
	return snap->places[map->place].module;
}

/* Bytes at avma that the module's file holds; how many, at most length. */
static size_t image_read(const struct sw_snapshot *snap, const struct sw_map *map, uint64_t avma,
			 uint8_t *to, size_t length)
{
	struct sw_module *module = module_at(snap, map);
	/* Code that was moved to memory is that of its file where there is no process to read it from. */
	bool moved = module != NULL && module->kind == SW_MODULE_ELF && map->path[0] == '\0';
	if (module == NULL || (moved && snap->live) || (map->prot & SW_MAP_WRITE) ||
	    (module->kind == SW_MODULE_PE && !pe_map_constant(snap, map, module)))
		return 0;
	size_t size;
	const uint8_t *image = sw_module_image(module, &size);
	uint64_t off;
	if (image == NULL ||
	    (moved ? !sw_map_file_off(snap, map, avma, &off)
		   : __builtin_add_overflow(map->file_off, avma - map->start_avma, &off)) ||
	    off >= size)
		return 0;
	if (!(map->prot & SW_MAP_EXEC) && module->kind != SW_MODULE_PE &&
	    !segment_constant(module, off))
		return 0;
	if (length > size - off)
		length = (size_t) (size - off);
	if (length > map->end_avma - avma)
		length = (size_t) (map->end_avma - avma);
	memcpy(to, image + off, length);
	return length;
}

/* Code and tables of a PE image, which do not change. Most of them are no mapping of the file. */
static bool is_image(const struct sw_map *map, const struct sw_module *module, uint64_t avma,
		     size_t length)
{
	return module != NULL && module->kind == SW_MODULE_PE && !(map->prot & SW_MAP_WRITE) &&
	       length <= map->end_avma - avma;
}

/* Executable memory that no file has. */
static bool is_made_code(const struct sw_map *map, const struct sw_module *module)
{
	return map != NULL && (map->prot & SW_MAP_EXEC) &&
	       (module == NULL || module->kind == SW_MODULE_ANON || sw_map_is_memfd(map));
}

/* How much of it may be read from the running process. */
static size_t live_part(const struct sw_snapshot_memory *m, const struct sw_map *map,
			const struct sw_module *module, uint64_t avma, size_t length)
{
	if (!m->snap->live)
		return 0;
	if (!m->no_live)
		return length;
	if (!m->live_code || !is_made_code(map, module))
		return 0;
	return length < map->end_avma - avma ? length : (size_t) (map->end_avma - avma);
}

/* How many bytes at avma were read from the running process. */
static size_t live_read(struct sw_snapshot_memory *m, const struct sw_map *map,
			const struct sw_module *module, uint64_t avma, uint8_t *to, size_t length)
{
	size_t n = live_part(m, map, module, avma, length);
	if (n == 0 || !sw_live_read(m->snap, avma, to, n))
		return 0;
	m->live_reads += !is_image(map, module, avma, n);
	return n;
}

/* Bytes at avma that were copied; how many. Else 0, and *length is cut to where copies begin. */
static size_t copies_read(const struct sw_snapshot *snap, uint64_t avma, uint8_t *to,
			  size_t *length)
{
	const struct sw_snapshot_priv *priv = snap->priv;
	size_t i = sw_snapshot_copy_find(snap, avma);
	if (i == priv->n_copies)
		return 0;
	const struct sw_range *r = &priv->copies[i];
	if (avma < r->start_avma) {
		if (*length > r->start_avma - avma)
			*length = (size_t) (r->start_avma - avma);
		return 0;
	}
	uint64_t skip = avma - r->start_avma;
	size_t n = *length < r->bytes - skip ? *length : (size_t) (r->bytes - skip);
	memcpy(to, r->data + skip, n);
	return n;
}

/* Part by part, as a read may begin in copied memory and end in memory that was not copied. */
static bool parts_read(struct sw_snapshot_memory *m, uint64_t avma, uint8_t *to, size_t length,
		       bool *from_copies)
{
	while (length > 0) {
		size_t part = length;
		size_t n = copies_read(m->snap, avma, to, &part);
		const struct sw_map *map = n == 0 ? sw_snapshot_map(m->snap, avma) : NULL;
		const struct sw_module *module = module_at(m->snap, map);
		/* Memory is what a PE image is, its file only nearly. */
		bool memory_first = module != NULL && module->kind == SW_MODULE_PE;
		*from_copies |= n > 0;
		if (n == 0 && !memory_first)
			n = image_read(m->snap, map, avma, to, part);
		if (n == 0)
			n = live_read(m, map, module, avma, to, part);
		if (n == 0 && memory_first)
			n = image_read(m->snap, map, avma, to, part);
		if (n == 0)
			return false;
		avma += n;
		to += n;
		length -= n;
	}
	return true;
}

static bool snapshot_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_snapshot_memory *m = arg;
	const struct sw_thread *t = m->thread;
	struct sw_read_log *log = m->snap->priv->read_log;
	uint64_t end;
	/* Nearly every read of a walk is a word of the thread's own stack. */
	if (t != NULL && avma >= t->stack_avma && avma - t->stack_avma < t->stack_bytes &&
	    length <= t->stack_bytes - (avma - t->stack_avma)) {
		memcpy(buffer, t->stack + (avma - t->stack_avma), length);
		if (log != NULL)
			sw_read_log_note(log, avma, buffer, length);
		return true;
	}
	if (__builtin_add_overflow(avma, length, &end))
		return false;
	bool from_copies = false;
	bool ok = parts_read(m, avma, buffer, length, &from_copies);
	if (log != NULL && (from_copies || !ok))
		sw_read_log_note(log, avma, ok ? buffer : NULL, length);
	return ok;
}

struct sw_memory sw_snapshot_memory(struct sw_snapshot_memory *memory)
{
	static const struct sw_memory_ops ops[2] = {{.read = snapshot_read},
						    {.read = snapshot_read, .is_32bit = true}};
	return (struct sw_memory){&ops[memory->snap->process.elf_class == 32], memory};
}
