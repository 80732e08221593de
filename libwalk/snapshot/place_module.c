/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "snapshot/place_module.h"
#include "cleanup.h"
#include "errors.h"
#include "snapshot/pe_places.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An image in file layout from the mappings of a group; holes stay zero. A problem may also be set for an image
 * without its code. */
static uint8_t *image_from_memory(const struct sw_place_finder *f, const struct sw_place_group *g,
				  size_t *ret_size, const char **ret_problem)
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
	bool any = false, all = true;
	for (size_t i = g->first; image != NULL && i <= g->last; i++) {
		const struct sw_map *map = &snap->maps[i];
		if (map->path[0] == '\0' || !(map->prot & SW_MAP_READ))
			continue;
		bool got = f->opener->read(f->opener->arg, map->start_avma, image + map->file_off,
					   map->end_avma - map->start_avma);
		any |= got;
		all &= got || !(map->prot & SW_MAP_EXEC);
	}
	if (!any) {
		free(image);
		*ret_problem = "its file is gone and its memory could not be read";
		return NULL;
	}
	if (!all)
		*ret_problem = "its file is gone and its code could not be read from memory";
	*ret_size = size;
	return image;
}

static uint8_t *pe_image_from_memory(const struct sw_place_finder *f,
				     const struct sw_place_group *g, size_t *ret_size,
				     const char **ret_problem)
{
	const struct sw_memory_ops ops = {.read = f->opener->read,
					  .is_32bit = f->snap->process.elf_class == 32};
	struct sw_memory memory = {&ops, f->opener->arg};
	uint8_t *image = sw_pe_image_from_memory(memory, f->snap->maps[g->first].start_avma,
						 f->copy_max, ret_size);
	if (image == NULL)
		*ret_problem = "its file is gone and its memory could not be copied";
	return image;
}

/* The kind of a file by its first bytes alone. */
static enum sw_module_kind kind_of(const uint8_t *magic, size_t size)
{
	if (size >= 4 && memcmp(magic, ELFMAG, SELFMAG) == 0)
		return SW_MODULE_ELF;
	if (size >= 2 && magic[0] == 'M' && magic[1] == 'Z')
		return SW_MODULE_PE;
	return SW_MODULE_ANON;
}

static int module_of_file(const struct sw_place_finder *f, const char *path, bool deleted, int fd,
			  struct sw_module **ret)
{
	struct stat st;
	uint8_t magic[4];
	ssize_t n = pread(fd, magic, sizeof(magic), 0);
	const struct sw_opener *opener = f->opener;
	if ((opener->stat != NULL ? opener->stat(opener->arg, fd, &st) : fstat(fd, &st)) < 0) {
		(void) close(fd); /* read only */
		return -SW_E_IO;
	}
	return sw_context_module_file(f->snap->ctx, kind_of(magic, n > 0 ? (size_t) n : 0), path,
				      deleted, fd, &st, ret);
}

static int module_of_memory(struct sw_place_finder *f, const struct sw_place_group *g,
			    const char *path, bool deleted, struct sw_module **ret)
{
	const struct sw_map *first = &f->snap->maps[g->first];
	const char *problem = NULL;
	size_t size = 0;
	uint8_t magic[4], *image = NULL;
	/* A file that is gone is taken for an image; a memory file only if it says that it is one. It may
	 * have been unmapped meanwhile: that is how JIT compilers give memory back. */
	enum sw_module_kind kind = sw_map_is_memfd(first) ? SW_MODULE_ANON : SW_MODULE_ELF;
	if (f->opener->stalled != NULL && f->opener->stalled(f->opener->arg, first)) {
		problem = "its file system does not answer";
		sw_snapshot_warn(f->snap, SW_WARN_MODULE, 0, SW_E_IO, "%s: %s", path, problem);
		return sw_context_module_memory(f->snap->ctx, kind, path, deleted, NULL, 0, problem,
						ret);
	}
	if (first->file_off == 0 &&
	    f->opener->read(f->opener->arg, first->start_avma, magic, sizeof(magic)))
		kind = sw_map_is_vdso(first) ? SW_MODULE_VDSO : kind_of(magic, sizeof(magic));
	/* Memory that a JIT compiler maps from a file without a name is code, but no image. */
	if (kind != SW_MODULE_ANON) {
		f->copy_max = sw_snapshot_image_max(f->snap);
		image = g->pe ? pe_image_from_memory(f, g, &size, &problem)
			      : image_from_memory(f, g, &size, &problem);
		f->snap->priv->image_bytes += size;
		if (problem != NULL && f->opener->told != NULL && f->opener->told(f->opener->arg))
			problem = "its file was not opened, and its memory is not here";
		else if (problem != NULL)
			sw_snapshot_warn(f->snap, SW_WARN_MODULE, 0, SW_E_NOT_FOUND, "%s: %s", path,
					 problem);
	}
	return sw_context_module_memory(f->snap->ctx, kind, path, deleted, image, size,
					problem != NULL ? problem : "its file could not be opened",
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
static int open_with_newlines(const struct sw_place_finder *f, const struct sw_map *map,
			      char **path)
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

int sw_place_group_module(struct sw_place_finder *f, const struct sw_place_group *g,
			  struct sw_module **ret)
{
	size_t length;
	bool deleted = sw_map_path_deleted(g->exec, &length);
	sw_cleanup(sw_free_p) char *path = strndup(g->exec->path, length);
	if (path == NULL)
		return -SW_E_NOMEM;
	if (sw_map_is_vdso(g->exec))
		return module_of_memory(f, g, path, deleted, ret);
	sw_cleanup(sw_close_p) int fd = f->opener->open(f->opener->arg, g->exec, path, &deleted);
	if (fd >= 0 && !deleted) /* a file may really be named "x (deleted)" */
		return module_of_file(f, g->exec->path, false, sw_take_fd(fd), ret);
	int named_fd = open_with_newlines(f, g->exec, &path);
	if (named_fd >= 0)
		return module_of_file(f, path, false, named_fd, ret);
	if (fd >= 0)
		return module_of_file(f, path, deleted, sw_take_fd(fd), ret);
	return module_of_memory(f, g, path, deleted, ret);
}
