/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "finder/plain.h"
#include "cleanup.h"
#include "debugfile.h"
#include "dwarf/deadline.h"
#include "map.h"
#include "own_fd.h"
#include "pe_image.h"
#include "parts.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
	DEPTH_MAX = 24,
	FILES_MAX = 1 << 17,    /* with a build-id */
	ENTRIES_MAX = 1 << 20,  /* of all directories */
	DEADLINE_EVERY = 1 << 6 /* files */
};

static const char PE_MAGIC[] = "MZ";

struct sw_plain_file {
	uint8_t id[SW_ID_BYTES_MOST];
	size_t id_bytes;
	enum sw_plain_kind kind;
	const char *path; /* the arena's; below the directory */
};

/* A reading of a directory. path is that of the entry that is looked at. */
struct scan {
	struct sw_plain_index *index;
	int64_t deadline_ns;
	size_t root_bytes, n_entries;
	bool ended;
	char path[PATH_MAX];
};

void sw_plain_index_deinit(struct sw_plain_index *index)
{
	sw_arena_deinit(&index->arena);
	free(index->files);
	*index = (struct sw_plain_index){0};
}

static void file_add(struct scan *s, enum sw_plain_kind kind, struct sw_bytes id)
{
	struct sw_plain_index *index = s->index;
	struct sw_plain_file *grown =
		sw_grow(index->files, index->n, &index->capacity, 64, sizeof(*grown));
	if (grown == NULL) {
		s->ended = true;
		return;
	}
	index->files = grown;
	struct sw_plain_file *file = &index->files[index->n];
	*file = (struct sw_plain_file){.id_bytes = id.size,
				       .kind = kind,
				       .path = sw_arena_strdup(&index->arena,
							       s->path + s->root_bytes + 1)};
	memcpy(file->id, id.data, id.size);
	s->ended = file->path == NULL;
	index->n += !s->ended;
}

static bool has_magic(int fd)
{
	char magic[SELFMAG];
	return pread(fd, magic, sizeof(magic), 0) == (ssize_t) sizeof(magic) &&
	       (memcmp(magic, ELFMAG, SELFMAG) == 0 || memcmp(magic, PE_MAGIC, 2) == 0);
}

/* O_PATH opens nothing: what is no regular file is left alone. */
static int image_open(const char *path, struct stat *st)
{
	sw_cleanup(sw_close_p) int path_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path_fd < 0 || fstat(path_fd, st) < 0 || !S_ISREG(st->st_mode) ||
	    st->st_size < (off_t) sizeof(Elf32_Ehdr))
		return -1;
	sw_cleanup(sw_close_p) int fd = sw_own_fd_open_to_read(path_fd);
	return fd >= 0 && has_magic(fd) ? sw_take_fd(fd) : -1;
}

static void image_look(struct scan *s, struct sw_bytes file)
{
	struct sw_elf elf;
	struct sw_pe_image pe;
	struct sw_bytes id;
	uint8_t pe_id[SW_BUILD_ID_MAX];
	if (sw_elf_init(&elf, file)) {
		if (sw_elf_build_id(&elf, &id) && id.size >= SW_ID_BYTES_LEAST &&
		    id.size <= SW_ID_BYTES_MOST)
			file_add(s, sw_elf_is_debug_file(&elf) ? SW_PLAIN_DEBUG : SW_PLAIN_CODE,
				 id);
	} else if (sw_pe_image_parse(file, &pe)) {
		id = (struct sw_bytes){pe_id, sw_pe_image_build_id(&pe, file, pe_id)};
		if (id.size > 0)
			file_add(s, SW_PLAIN_PE, id);
	}
}

static void file_look(struct scan *s)
{
	struct stat st;
	sw_cleanup(sw_close_p) int fd = image_open(s->path, &st);
	if (fd < 0)
		return;
	void *p = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return;
	image_look(s, (struct sw_bytes){p, (size_t) st.st_size});
	(void) munmap(p, (size_t) st.st_size); /* ours */
}

static void directory_read(struct scan *s, size_t length, size_t depth);

static void entry_look(struct scan *s, const struct dirent *entry, size_t length, size_t depth)
{
	size_t n = strlen(entry->d_name);
	struct stat st;
	if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
	    n >= sizeof(s->path) - length - 1)
		return;
	s->path[length] = '/';
	memcpy(s->path + length + 1, entry->d_name, n + 1);
	s->ended = ++s->n_entries > ENTRIES_MAX || s->index->n == FILES_MAX ||
		   (s->n_entries % DEADLINE_EVERY == 0 && sw_deadline_passed(s->deadline_ns));
	bool is_directory = entry->d_type == DT_DIR;
	if (entry->d_type == DT_UNKNOWN)
		is_directory = lstat(s->path, &st) == 0 && S_ISDIR(st.st_mode);
	if (is_directory && depth < DEPTH_MAX)
		directory_read(s, length + 1 + n, depth + 1);
	else if (entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN)
		file_look(s);
	s->path[length] = '\0';
}

static void directory_read(struct scan *s, size_t length, size_t depth)
{
	DIR *directory = opendir(s->path);
	const struct dirent *entry;
	if (directory == NULL)
		return;
	while (!s->ended && (entry = readdir(directory)) != NULL)
		entry_look(s, entry, length, depth);
	(void) closedir(directory); /* was read */
}

void sw_plain_index_build(struct sw_plain_index *index, const char *directory, int64_t deadline_ns)
{
	struct scan s = {.index = index, .deadline_ns = deadline_ns};
	int n = snprintf(s.path, sizeof(s.path), "%s", directory);
	if (index->built || n < 0 || (size_t) n >= sizeof(s.path))
		return;
	index->built = true;
	s.root_bytes = (size_t) n;
	directory_read(&s, (size_t) n, 0);
}

const char *sw_plain_index_find(const struct sw_plain_index *index, struct sw_bytes id,
				enum sw_plain_kind kind)
{
	for (size_t i = 0; i < index->n; i++) {
		const struct sw_plain_file *file = &index->files[i];
		if (file->kind == kind && file->id_bytes == id.size &&
		    memcmp(file->id, id.data, id.size) == 0)
			return file->path;
	}
	return NULL;
}

static bool is_named(const struct sw_plain_file *file, const char *name)
{
	const char *own = sw_path_name(file->path);
	size_t n = strlen(name);
	return strncmp(own, name, n) == 0 && (own[n] == '\0' || strcmp(own + n, ".debug") == 0);
}

bool sw_plain_index_named(const struct sw_plain_index *index, const char *name,
			  struct sw_bytes *ret)
{
	bool found = false;
	for (size_t i = 0; i < index->n; i++) {
		const struct sw_plain_file *file = &index->files[i];
		if (file->kind == SW_PLAIN_PE || !is_named(file, name))
			continue;
		if (found &&
		    (ret->size != file->id_bytes || memcmp(ret->data, file->id, ret->size) != 0))
			return false;
		*ret = (struct sw_bytes){file->id, file->id_bytes};
		found = true;
	}
	return found;
}
