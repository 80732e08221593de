/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "saved/core_open.h"
#include "cleanup.h"
#include "formats/elf_file.h"
#include "own_fd.h"

#include <snapwalk/local.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { SEGMENTS_MAX = 256, NOTE_BYTES_MAX = 4096, PAGE_BYTES = 4096 };

/* Consumes handle, which is of O_PATH. */
static int reopen_regular(int path_fd)
{
	sw_cleanup(sw_close_p) int handle = path_fd;
	struct stat st;
	if (handle < 0 || fstat(handle, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		return -1;
	}
	return sw_own_fd_open_to_read(handle);
}

int sw_core_open_regular(const char *path)
{
	return reopen_regular(open(path, O_PATH | O_CLOEXEC));
}

int sw_core_open_named(const struct sw_snapshot *snap, const char *path)
{
	return reopen_regular(sw_local_open(sw_context_local(snap->ctx), path, 0));
}

/* A file as memory: addresses are offsets. */
static bool file_read(void *arg, uint64_t off, void *buffer, size_t length)
{
	const int *fd = arg;
	return sw_pread(*fd, buffer, length, off) == length;
}

struct sw_memory sw_core_file_memory(int *fd)
{
	static const struct sw_memory_ops ops = {.read = file_read};
	return (struct sw_memory){&ops, fd};
}

size_t sw_core_build_id(struct sw_memory memory, uint64_t base, uint64_t limit,
			uint8_t id[SW_BUILD_ID_MAX])
{
	struct sw_elf_segment segments[SEGMENTS_MAX];
	size_t n = sw_elf_segments_read(memory, base, segments, SEGMENTS_MAX);
	for (size_t i = 0; i < n; i++) {
		uint8_t notes[NOTE_BYTES_MAX];
		const struct sw_elf_segment *s = &segments[i];
		size_t size =
			s->file_bytes < sizeof(notes) ? (size_t) s->file_bytes : sizeof(notes);
		uint64_t at;
		struct sw_bytes found;
		if (s->type != PT_NOTE || s->off > limit || size > limit - s->off ||
		    __builtin_add_overflow(base, s->off, &at) ||
		    !sw_memory_read(memory, at, notes, size) ||
		    !sw_elf_notes_build_id((struct sw_bytes){notes, size}, s->align, &found) ||
		    found.size > SW_BUILD_ID_MAX)
			continue;
		memcpy(id, found.data, found.size);
		return found.size;
	}
	return 0;
}

/* Whether the file has that build-id. */
static bool has_build_id(int fd, const uint8_t *id, size_t id_bytes)
{
	uint8_t found[SW_BUILD_ID_MAX];
	return sw_core_build_id(sw_core_file_memory(&fd), 0, UINT64_MAX, found) == id_bytes &&
	       memcmp(found, id, id_bytes) == 0;
}

int sw_core_open_build_id(const struct sw_snapshot *snap, const uint8_t *id, size_t id_bytes,
			  char path[SW_CORE_ID_PATH_MAX])
{
	/* Fedora has links to programs and libraries in the first; debug packages of both kinds of
	 * distributions in the second, beside those to debug files, which end in .debug. */
	static const char *const directories[] = {"/usr/lib/.build-id", "/usr/lib/debug/.build-id"};
	char hex[2 * SW_BUILD_ID_MAX + 1] = "";
	if (id_bytes < 2)
		return -1;
	for (size_t i = 0; i < id_bytes; i++)
		(void) snprintf(hex + 2 * i, sizeof(hex) - 2 * i, "%02x", id[i]); /* fits */
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		(void) snprintf(path, SW_CORE_ID_PATH_MAX, "%s/%.2s/%s", directories[i], hex,
				hex + 2); /* fits */
		sw_cleanup(sw_close_p) int fd = sw_core_open_named(snap, path);
		if (fd >= 0 && has_build_id(fd, id, id_bytes))
			return sw_take_fd(fd);
	}
	return -1;
}

static uint64_t page_of(const struct sw_elf_segment *segment)
{
	return segment->off & ~(uint64_t) (PAGE_BYTES - 1);
}

uint32_t sw_core_file_prot(int fd, uint64_t file_off)
{
	struct sw_elf_segment segments[SEGMENTS_MAX];
	const struct sw_elf_segment *found = NULL;
	size_t n = sw_elf_segments_read(sw_core_file_memory(&fd), 0, segments, SEGMENTS_MAX);
	for (size_t i = 0; i < n; i++) {
		const struct sw_elf_segment *s = &segments[i];
		/* Mappings begin at the page that holds the segment's first byte. Where a segment
		 * ends in the page in which the next one begins (lld), the mapping is the next. Where
		 * both begin in it (small read-only data before data, GNU ld) there are two mappings
		 * of the page, and that of the data, which is written to, is not left out. */
		uint64_t begin = page_of(s);
		if (s->type == PT_LOAD && file_off >= begin &&
		    file_off - begin < s->file_bytes + (s->off - begin) &&
		    (found == NULL || s->off > found->off) &&
		    (found == NULL || page_of(found) != begin || !(s->flags & PF_W)))
			found = s;
	}
	if (found == NULL)
		return 0;
	return (found->flags & PF_R ? SW_MAP_READ : 0u) |
	       (found->flags & PF_W ? SW_MAP_WRITE : 0u) | (found->flags & PF_X ? SW_MAP_EXEC : 0u);
}

static bool core_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	const struct sw_core_opener *o = arg;
	return sw_core_elf_read(o->core, avma, buffer, length);
}

/* The build-id that the process had in memory for the file of a mapping. */
static size_t build_id_mapped(const struct sw_core_opener *o, const struct sw_map *map,
			      uint8_t id[SW_BUILD_ID_MAX])
{
	static const struct sw_memory_ops ops = {.read = core_read};
	const struct sw_map *first = map;
	/* Bounded by the number of maps; ends at another file's. */
	while (first->file_off != 0 && first > o->snap->maps && first[-1].inode == map->inode &&
	       strcmp(first[-1].path, map->path) == 0)
		first--;
	if (first->file_off != 0)
		return 0;
	return sw_core_build_id((struct sw_memory){&ops, (void *) o}, first->start_avma,
				first->end_avma - first->start_avma, id);
}

/* A file whose contents nothing proves. False: it is not the one that was mapped. */
static bool may_be_the_file(const struct sw_core_opener *o, int fd, const char *name, bool deleted)
{
	struct stat st;
	if (deleted)
		return false; /* what took its name */
	if (fstat(fd, &st) == 0 &&
	    (int64_t) st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec > o->core_mtime_ns)
		sw_snapshot_warn(
			o->snap, SW_WARN_MODULE, 0, SW_E_CHANGED,
			"%s: newer than the core file, which holds no build-id to check it", name);
	return true;
}

static int core_open(void *arg, const struct sw_map *map, const char *path, bool *ret_deleted)
{
	struct sw_core_opener *o = arg;
	size_t length;
	bool deleted = sw_map_path_deleted(map, &length);
	bool is_program = o->program != NULL && strcmp(map->path, o->program) == 0;
	bool given = is_program && o->exe_path != NULL;
	const char *name = given ? o->exe_path : path;
	uint8_t id[SW_BUILD_ID_MAX];
	char id_path[SW_CORE_ID_PATH_MAX];
	*ret_deleted = deleted;
	o->not_asked = false;
	if (name == path && path[0] == '[')
		return -1; /* "[heap]" and the like */
	size_t id_bytes = build_id_mapped(o, map, id);
	/* A relative name would be one of the directory in which we are, and of a hostile core. */
	sw_cleanup(sw_close_p) int fd = -EBADF;
	if (given)
		fd = sw_core_open_regular(name);
	else if (path[0] == '/')
		fd = sw_core_open_named(o->snap, name);
	const bool not_asked = fd == -1 && !given && (errno == EXDEV || errno == ELOOP);
	if (fd >= 0 && (id_bytes > 0 ? has_build_id(fd, id, id_bytes)
				     : may_be_the_file(o, fd, name, deleted && !given)))
		return sw_take_fd(fd);
	sw_cleanup(sw_close_p) int other =
		given ? -EBADF : sw_core_open_build_id(o->snap, id, id_bytes, id_path);
	if (other >= 0) {
		*ret_deleted = false;
		return sw_take_fd(other);
	}
	*ret_deleted |= fd >= 0;
	o->not_asked = not_asked;
	if (not_asked)
		sw_snapshot_warn(o->snap, SW_WARN_MODULE, 0, SW_E_IO,
				 "%s: not opened, as the way there leads to a file system whose "
				 "server may not "
				 "answer, or through a link of another user",
				 name);
	if (fd >= 0 && id_bytes > 0)
		sw_snapshot_warn(o->snap, SW_WARN_MODULE, 0, SW_E_CHANGED,
				 "%s: not the file that the process had mapped (build-id differs)",
				 name);
	return -1;
}

/* Whether a warning has said why the file that was opened last was not. */
static bool core_told(void *arg)
{
	const struct sw_core_opener *o = arg;
	return o->not_asked;
}

struct sw_opener sw_core_opener(struct sw_core_opener *o)
{
	return (struct sw_opener){.open = core_open,
				  .told = core_told,
				  .read = core_read,
				  .arg = o};
}
