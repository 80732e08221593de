/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "module.h"
#include "pe_places.h"

#include <gelf.h>
#include <string.h>

enum {
	IMAGE_PHDRS_MAX = 4096,
	IMAGE_PAGE = 4096,
};

/* Mappings of one file in a row: maps[first..last], with anonymous ones (bss) maybe between; or all
 * mappings in a PE image. */
struct group {
	size_t first, last;
	/* The first executable one, NULL when there is none; of a PE image the one of its header. */
	const struct sw_map *exec;
	bool pe;
};

struct finder {
	struct sw_snapshot *snap;
	const struct sw_opener *opener;
	uint64_t copy_max; /* bytes the next image from memory may have */
};

static bool is_vdso(const struct sw_map *map)
{
	return strcmp(map->path, "[vdso]") == 0;
}

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

/* The group that begins at maps[first]. The same file from its start again is a second copy of
 * the module (dlmopen, a file that is also read as data); so is the same code again (node maps the
 * text of its builtins a second time). Segments may share a page of the file. */
static struct group group_at(const struct sw_snapshot *snap, size_t first)
{
	const struct sw_map *begin = &snap->maps[first];
	struct group g = {.first = first, .last = first};
	uint64_t code_end_off = 0;
	for (size_t i = first; i < snap->n_maps; i++) {
		const struct sw_map *map = &snap->maps[i];
		if (map->place >= 0)
			break; /* a PE image */
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

/* An image in file layout from the mappings of a group; holes stay zero. */
static uint8_t *image_from_memory(const struct finder *f, const struct group *g, size_t *ret_size,
				  const char **ret_problem)
{
	const struct sw_snapshot *snap = f->snap;
	uint64_t size = 0;
	for (size_t i = g->first; i <= g->last; i++) {
		const struct sw_map *map = &snap->maps[i];
		uint64_t end;
		if (map->path[0] == '\0')
			continue;
		uint64_t length = map->end_avma - map->start_avma;
		if (__builtin_add_overflow(map->file_off, length, &end) || end > f->copy_max) {
			*ret_problem = "its file is gone and it is too large to copy from memory";
			return NULL;
		}
		if (end > size)
			size = end;
	}
	uint8_t *image = calloc(1, size);
	bool any = false;
	for (size_t i = g->first; image != NULL && i <= g->last; i++) {
		const struct sw_map *map = &snap->maps[i];
		if (map->path[0] == '\0' || !(map->prot & SW_MAP_READ))
			continue;
		any |= f->opener->read(f->opener->arg, map->start_avma, image + map->file_off,
				       map->end_avma - map->start_avma);
	}
	if (!any) {
		free(image);
		*ret_problem = "its file is gone and its memory could not be read";
		return NULL;
	}
	*ret_size = size;
	return image;
}

static uint8_t *pe_image_from_memory(const struct finder *f, const struct group *g,
				     size_t *ret_size, const char **ret_problem)
{
	const struct sw_memory_ops ops = {.read = f->opener->read};
	struct sw_memory memory = {&ops, f->opener->arg};
	uint8_t *image = sw_pe_image_from_memory(memory, f->snap->maps[g->first].start_avma,
						 f->copy_max, ret_size);
	if (image == NULL)
		*ret_problem = "its file is gone and its memory could not be copied";
	return image;
}

/* What the first bytes say; nothing more is looked at. */
static enum sw_module_kind kind_of(const uint8_t *magic, size_t size)
{
	if (size >= 4 && memcmp(magic, ELFMAG, SELFMAG) == 0)
		return SW_MODULE_ELF;
	if (size >= 2 && magic[0] == 'M' && magic[1] == 'Z')
		return SW_MODULE_PE;
	return SW_MODULE_ANON;
}

static int module_of_file(struct sw_snapshot *snap, const char *path, bool deleted, int fd,
			  struct sw_module **ret)
{
	struct stat st;
	uint8_t magic[4];
	ssize_t n = pread(fd, magic, sizeof(magic), 0);
	if (fstat(fd, &st) < 0) {
		(void) close(fd); /* read only */
		return -SW_E_IO;
	}
	return sw_context_module_file(snap->ctx, kind_of(magic, n > 0 ? (size_t) n : 0), path,
				      deleted, fd, &st, ret);
}

static int module_of_memory(struct finder *f, const struct group *g, const char *path, bool deleted,
			    struct sw_module **ret)
{
	const struct sw_map *first = &f->snap->maps[g->first];
	const char *problem = "its file could not be opened";
	size_t size = 0;
	uint8_t magic[4], *image = NULL;
	/* A file that is gone is taken for an image; a memory file only if it says that it is one. It may
	 * have been unmapped meanwhile: that is how JIT compilers give memory back. */
	enum sw_module_kind kind = sw_map_is_memfd(first) ? SW_MODULE_ANON : SW_MODULE_ELF;
	if (first->file_off == 0 &&
	    f->opener->read(f->opener->arg, first->start_avma, magic, sizeof(magic)))
		kind = is_vdso(first) ? SW_MODULE_VDSO : kind_of(magic, sizeof(magic));
	/* What a JIT compiler maps from a file without a name is code, but no image. */
	if (kind != SW_MODULE_ANON) {
		f->copy_max = sw_snapshot_image_max(f->snap);
		image = g->pe ? pe_image_from_memory(f, g, &size, &problem)
			      : image_from_memory(f, g, &size, &problem);
		f->snap->priv->image_bytes += size;
		if (image == NULL)
			sw_snapshot_warn(f->snap, SW_WARN_MODULE, 0, SW_E_NOT_FOUND, "%s: %s", path,
					 problem);
	}
	return sw_context_module_memory(f->snap->ctx, kind, path, deleted, image, size, problem,
					ret);
}

/* The kernel writes "\\012" for a newline in a name, but leaves a backslash alone: fs/proc/task_mmu.c
 * v6.1, show_map_vma(). A copy with newlines; NULL when there are none to put in. */
static char *newlines_back(const char *path)
{
	static const char escape[] = "\\012";
	if (strstr(path, escape) == NULL)
		return NULL;
	char *copy = strdup(path);
	if (copy == NULL)
		return NULL;
	char *to = copy;
	for (const char *from = copy; *from != '\0'; to++) {
		bool newline = strncmp(from, escape, sizeof(escape) - 1) == 0;
		*to = newline ? '\n' : *from;
		from += newline ? sizeof(escape) - 1 : 1;
	}
	*to = '\0';
	return copy;
}

/* The file under its name with newlines, or -1 when that is not the mapped one. */
static int open_with_newlines(const struct finder *f, const struct sw_map *map, char **path)
{
	bool deleted = false;
	char *name = newlines_back(*path);
	if (name == NULL)
		return -1;
	int fd = f->opener->open(f->opener->arg, map, name, &deleted);
	if (fd >= 0 && !deleted) {
		free(*path);
		*path = name;
		return fd;
	}
	if (fd >= 0)
		(void) close(fd); /* read only */
	free(name);
	return -1;
}

static int group_module(struct finder *f, const struct group *g, struct sw_module **ret)
{
	size_t length;
	bool deleted = sw_map_path_deleted(g->exec, &length);
	sw_cleanup(sw_free_p) char *path = strndup(g->exec->path, length);
	if (path == NULL)
		return -SW_E_NOMEM;
	if (is_vdso(g->exec))
		return module_of_memory(f, g, path, deleted, ret);
	sw_cleanup(sw_close_p) int fd = f->opener->open(f->opener->arg, g->exec, path, &deleted);
	if (fd >= 0 && !deleted) /* a file may really be named "x (deleted)" */
		return module_of_file(f->snap, g->exec->path, false, sw_take_fd(fd), ret);
	int named_fd = open_with_newlines(f, g->exec, &path);
	if (named_fd >= 0)
		return module_of_file(f->snap, path, false, named_fd, ret);
	if (fd >= 0)
		return module_of_file(f->snap, path, deleted, sw_take_fd(fd), ret);
	return module_of_memory(f, g, path, deleted, ret);
}

/* Finds the PE images whose headers are mapped; their maps get the image's number as their place,
 * for now. Files of data are not opened for that: a core file that lacks the header's page has it
 * found by sw_snapshot_add_loaded(). */
static int pe_mark(struct finder *f, struct sw_pe_extent **ret, size_t *ret_n)
{
	struct sw_snapshot *snap = f->snap;
	const struct sw_memory_ops ops = {.read = f->opener->read};
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
static struct group pe_group_at(const struct sw_snapshot *snap, size_t first)
{
	const struct sw_map *begin = &snap->maps[first];
	struct group g = {.first = first, .last = first, .exec = begin, .pe = true};
	while (g.last + 1 < snap->n_maps && snap->maps[g.last + 1].place == begin->place)
		g.last++;
	return g;
}

/* The group at maps[first]; false when no module begins there. */
static bool group_find(const struct sw_snapshot *snap, size_t first, struct group *ret)
{
	const struct sw_map *map = &snap->maps[first];
	if (map->place < 0 && !has_file(map) && !is_vdso(map))
		return false;
	*ret = map->place >= 0 ? pe_group_at(snap, first) : group_at(snap, first);
	return true;
}

/* Counts first, so that places never move while maps point to them by index. */
static size_t groups_count(const struct sw_snapshot *snap)
{
	size_t n = 0;
	for (size_t i = 0; i < snap->n_maps; i++) {
		struct group g;
		if (!group_find(snap, i, &g))
			continue;
		n += g.exec != NULL;
		i = g.last;
	}
	return n;
}

/* The module of a group and its place; -1 as place of its maps when it cannot be had. */
static int place_add(struct finder *f, const struct group *g, const struct sw_pe_extent *extents)
{
	struct sw_snapshot *snap = f->snap;
	struct sw_place *place = &snap->places[snap->n_places];
	*place = (struct sw_place){.start_avma = snap->maps[g->first].start_avma,
				   .end_avma = snap->maps[g->last].end_avma};
	if (g->pe)
		place->end_avma = extents[snap->maps[g->first].place].end_avma;
	int r = group_module(f, g, &place->module);
	if (r == -SW_E_NOMEM)
		return r;
	if (r < 0)
		sw_snapshot_warn(snap, SW_WARN_MODULE, 0, -r, "%s: %s", g->exec->path,
				 sw_error_text(r));
	for (size_t k = g->first; k <= g->last; k++)
		if (g->pe || snap->maps[k].path[0] != '\0')
			snap->maps[k].place = r < 0 ? -1 : (int32_t) snap->n_places;
	snap->n_places += r == 0;
	return 0;
}

int sw_snapshot_find_places(struct sw_snapshot *snap, const struct sw_opener *opener,
			    struct sw_error *err)
{
	struct finder f = {.snap = snap, .opener = opener};
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
		struct group g;
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
	struct finder f = {.snap = snap, .opener = opener};
	size_t first = (size_t) (header - snap->maps);
	struct group g = {.first = first, .last = first, .exec = header, .pe = true};
	return group_module(&f, &g, ret);
}

/* The load segment that the mapping at file_off came from; its address for that offset.
 * Segments are mapped in whole pages. */
static bool segment_svma(Elf *elf, const struct sw_map *map, uint64_t *ret)
{
	size_t n;
	if (elf_getphdrnum(elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n && i < IMAGE_PHDRS_MAX; i++) {
		GElf_Phdr phdr;
		if (gelf_getphdr(elf, (int) i, &phdr) == NULL)
			return false;
		if (phdr.p_type != PT_LOAD)
			continue;
		if ((map->prot & SW_MAP_EXEC) && !(phdr.p_flags & PF_X))
			continue;
		uint64_t begin = phdr.p_offset & -(uint64_t) IMAGE_PAGE, end;
		if (__builtin_add_overflow(phdr.p_offset, phdr.p_filesz, &end) ||
		    map->file_off < begin || map->file_off >= end)
			continue;
		*ret = phdr.p_vaddr + (map->file_off - phdr.p_offset);
		return true;
	}
	return false;
}

bool sw_place_resolve(struct sw_place *place, const struct sw_snapshot *snap)
{
	if (place->resolved != 0)
		return place->resolved > 0;
	place->resolved = -1;
	if (place->module->kind == SW_MODULE_PE) {
		place->bias = place->start_avma; /* so that an svma is an RVA */
		place->resolved = 1;
		return true;
	}
	Elf *elf = place->module->kind == SW_MODULE_ELF || place->module->kind == SW_MODULE_VDSO
			   ? sw_module_elf(place->module)
			   : NULL;
	if (elf == NULL)
		return false;
	for (size_t i = 0; i < snap->n_maps; i++) {
		const struct sw_map *map = &snap->maps[i];
		uint64_t svma;
		if (map->place < 0 || &snap->places[map->place] != place ||
		    !(map->prot & SW_MAP_EXEC) || !segment_svma(elf, map, &svma))
			continue;
		place->bias = map->start_avma - svma;
		place->resolved = 1;
		return true;
	}
	return false;
}
