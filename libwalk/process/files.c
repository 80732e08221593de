/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bytes.h"
#include "cleanup.h"
#include "process/files.h"
#include "process/guarded.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	COMPARE_BYTES = 4096,
	COMPARE_MAPS_MAX = 16,
	COPY_PATIENCE_MS = 1000, /* for the whole of it */
	LOOK_PATIENCE_MS = 250,  /* for its first bytes */
};

static const int64_t NS_PER_MS = 1000000;

static bool mem_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	struct sw_live *live = arg;
	int mem_fd = live->pages->mem_fd;
	if (mem_fd < 0)
		return false;
	if (!live->direct)
		return sw_pages_read(live->pages, mem_fd, buffer, length, avma) == length;
	return sw_pages_present(live->pages, avma, length) == length &&
	       sw_pread(mem_fd, buffer, length, avma) == length;
}

static bool same_inode(const struct stat *st, const struct sw_map *map)
{
	return st->st_ino == map->inode && st->st_dev == makedev(map->dev_major, map->dev_minor);
}

/*
 * On overlayfs and btrfs stat() and maps disagree about device or inode. Then the contents decide:
 * the first page of every mapping of the file that is not writable, which has the build-id among
 * them. (A file that was replaced is not tried: the kernel marks it as deleted.)
 */
static bool same_contents(struct sw_live *live, int fd, const struct sw_map *exec)
{
	const struct sw_map *map = exec;
	while (map > live->snap->maps && strcmp(map[-1].path, exec->path) == 0)
		map--;
	int compared = 0;
	const struct sw_map *end = live->snap->maps + live->snap->n_maps;
	for (; map < end && map <= exec && compared < COMPARE_MAPS_MAX; map++) {
		uint8_t file[COMPARE_BYTES], memory[COMPARE_BYTES];
		if ((map->prot & SW_MAP_WRITE) || !(map->prot & SW_MAP_READ))
			continue;
		ssize_t n = pread(fd, file, sizeof(file), (off_t) map->file_off);
		if (n <= 0 || !mem_read(live, map->start_avma, memory, (size_t) n) ||
		    memcmp(file, memory, (size_t) n) != 0)
			return false;
		compared++;
	}
	return compared > 0;
}

/* A file is opened by its path. The path to a file on a disk may lead to a server that does not
 * answer: without direct it is opened in a guarded way. With direct we are in a process for which
 * that is no harm. */
static int name_open(struct sw_live *live, enum sw_root root, const char *path, struct stat *st)
{
	if (!live->direct)
		return sw_guarded_open(live->pages, root, path, 0, SW_GUARDED_LOCAL, st);
	return sw_unguarded_open(root == SW_ROOT_OURS ? live->own_root_fd : live->root_fd, path, 0,
				 st);
}

/* A link is compared with a mapping by what the kernel has at hand of the file. Direct calls may
 * ask its file system for more without harm; other calls do not need to. */
static bool link_is(int dirfd, const char *name, bool direct, const struct sw_map *map)
{
	struct statx stx;
	return statx(dirfd, name, direct ? 0 : AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &stx) ==
		       0 &&
	       S_ISREG(stx.stx_mode) && stx.stx_ino == map->inode &&
	       stx.stx_dev_major == map->dev_major && stx.stx_dev_minor == map->dev_minor;
}

/* A link of /proc whose target need not have a name any more. */
static int open_link(int dirfd, const char *name, bool direct, const struct sw_map *map)
{
	struct stat st;
	if (!link_is(dirfd, name, direct, map))
		return -1;
	sw_cleanup(sw_close_p) int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !same_inode(&st, map))
		return -1;
	return sw_take_fd(fd);
}

/* The path below the target's root directory, where it has another one than we and maps names files from ours on; NULL: it
 * has not. */
static const char *below_root(const struct sw_live *live, const char *path)
{
	char root[PATH_MAX];
	ssize_t n = readlinkat(live->live_fd, "root", root, sizeof(root));
	bool is_below = n > 1 && (size_t) n < sizeof(root) &&
			strncmp(path, root, (size_t) n) == 0 && path[n] == '/';
	return is_below ? path + n : NULL;
}

/* Waits for the file's file system, whether it answers or not. */
static int file_open(struct sw_live *live, const struct sw_map *map, const char *path,
		     bool *ret_deleted)
{
	struct stat st;
	/* A file may really be named "x (deleted)": its identity tells. */
	sw_cleanup(sw_close_p) int fd = name_open(live, SW_ROOT_TARGETS, map->path, &st);
	if (fd >= 0 && (same_inode(&st, map) || same_contents(live, fd, map))) {
		*ret_deleted = false;
		return sw_take_fd(fd);
	}
	/* The name leads elsewhere or nowhere; else it is we who could not open it. */
	bool gone = fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == EXDEV;
	/* A process that changed its root directory has names in maps as we see them: proc(5)
	 * "maps", d_path() starts from the reader's root. */
	sw_close_p(&fd);
	fd = name_open(live, SW_ROOT_OURS, map->path, &st);
	if (fd >= 0 && same_inode(&st, map)) {
		*ret_deleted = false;
		return sw_take_fd(fd);
	}
	sw_close_p(&fd);
	/* In another mount namespace our root directory has other files: its own one leads there. */
	const char *below = below_root(live, map->path);
	if (below != NULL) {
		fd = name_open(live, SW_ROOT_TARGETS, below, &st);
		if (fd >= 0 && (same_inode(&st, map) || same_contents(live, fd, map))) {
			*ret_deleted = false;
			return sw_take_fd(fd);
		}
		sw_close_p(&fd);
	}
	if (strcmp(path, map->path) != 0) {
		/* Deleted and made again by a hard link, perhaps: only the same inode will do. */
		fd = name_open(live, SW_ROOT_TARGETS, path, &st);
		if (fd >= 0 && same_inode(&st, map))
			return sw_take_fd(fd);
	}
	int linked = open_link(live->live_fd, "exe", live->direct, map);
	if (linked < 0) {
		/* Needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; exact for every mapped file. */
		char name[64];
		(void) snprintf(name, sizeof(name), "map_files/%lx-%lx",
				(unsigned long) map->start_avma,
				(unsigned long) map->end_avma); /* fits */
		linked = open_link(live->proc_fd, name, live->direct, map);
	}
	if (linked >= 0)
		*ret_deleted |= gone;
	return linked;
}

/* A file whose file system may never answer is read by an expendable process. */
struct file_job {
	struct sw_live live;
	const struct sw_map *map;
	const char *path;
	int copy_fd; /* where its bytes are to go; negative: only the first are looked at */
	struct stat st;
	bool deleted, ok;
};

static void file_job(void *arg)
{
	struct file_job *job = arg;
	uint8_t byte;
	sw_cleanup(sw_close_p) int fd = file_open(&job->live, job->map, job->path, &job->deleted);
	if (fd < 0)
		return;
	job->ok = job->copy_fd >= 0 ? sw_guarded_copy(fd, job->copy_fd, &job->st)
				    : pread(fd, &byte, 1, 0) >= 0;
}

static bool file_run(struct sw_pages *pages, struct sw_expendable *e, struct file_job *job,
		     int copy_fd, int patience_ms)
{
	int64_t begin_ns = sw_clock_ns();
	job->copy_fd = copy_fd;
	job->ok = false;
	int64_t end_ns = copy_fd < 0 ? sw_pages_deadline_ns(pages, begin_ns, patience_ms)
				     : begin_ns + patience_ms * NS_PER_MS;
	bool came = sw_expendable_run(e, file_job, job, end_ns);
	if (copy_fd < 0)
		sw_pages_waited(pages, begin_ns);
	else
		sw_pages_copied(pages, begin_ns);
	return came;
}

/* False: it does not answer, or another reason; errno says which. */
static bool file_try(struct sw_live *live, struct file_job *job, int copy_fd)
{
	const int fds[] = {live->live_fd,
			   live->proc_fd,
			   live->pages->mem_fd,
			   live->pages->pagemap_fd,
			   live->root_fd,
			   live->own_root_fd,
			   copy_fd};
	struct sw_expendable *e = NULL;
	errno = ETIMEDOUT; /* the server is not to blame: it is asked for pages as before */
	if (!sw_pages_may_copy(live->pages))
		return false;
	errno = EIO;
	if (live->pages->n_lost >= SW_PAGES_LOST_MAX ||
	    sw_expendable_start(fds, SW_ARRAY_SIZE(fds), &e, NULL) < 0)
		return false;
	job->live = *live;
	job->live.direct = true;
	/* A reader that delivered at least one byte gets more time. */
	bool came = file_run(live->pages, e, job, -EBADF, LOOK_PATIENCE_MS);
	if (came && job->ok)
		came = file_run(live->pages, e, job, copy_fd, COPY_PATIENCE_MS);
	/* Lost, it executes nothing more: what it was told stays ours. */
	(void) sw_expendable_end(e);
	if (!came) {
		live->pages->n_lost++;
		sw_pages_file_stalled(live->pages, job->map);
	}
	errno = came ? ENOENT : ETIMEDOUT;
	return came && job->ok;
}

static int live_open(void *arg, const struct sw_map *map, const char *path, bool *ret_deleted)
{
	struct sw_live *live = arg;
	bool stalled;
	enum sw_fs_kind kind = sw_pages_file_kind(live->pages, map, &stalled);
	live->copy_fd = -EBADF; /* whoever has it may have closed it */
	if (kind == SW_FS_LOCAL)
		return file_open(live, map, path, ret_deleted);
	if (stalled) {
		errno = ETIMEDOUT;
		return -1;
	}
	/* The file system may cease to answer at any page: the file is looked at in a copy only. */
	struct file_job job = {.map = map,
			       .path = path,
			       .copy_fd = -EBADF,
			       .deleted = *ret_deleted};
	sw_cleanup(sw_close_p) int copy_fd = memfd_create("snapwalk-file", MFD_CLOEXEC);
	if (copy_fd < 0 || !file_try(live, &job, copy_fd))
		return -1;
	*ret_deleted = job.deleted;
	live->copy_fd = copy_fd;
	live->copied = job.st;
	return sw_take_fd(copy_fd);
}

/* A copy is the same file in the next capture. */
static int live_stat(void *arg, int fd, struct stat *st)
{
	const struct sw_live *live = arg;
	if (fd != live->copy_fd)
		return fstat(fd, st);
	*st = live->copied;
	return 0;
}

static bool live_stalled(void *arg, const struct sw_map *map)
{
	struct sw_live *live = arg;
	bool stalled;
	(void) sw_pages_file_kind(live->pages, map, &stalled);
	return stalled;
}

void sw_live_init(struct sw_live *live, const struct sw_target *target, int live_fd,
		  struct sw_pages *pages, const struct sw_snapshot *snap)
{
	*live = (struct sw_live){.live_fd = live_fd,
				 .proc_fd = target->proc_fd,
				 .pages = pages,
				 .copy_fd = -EBADF,
				 .root_fd =
					 openat(live_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC),
				 .own_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
				 .snap = snap};
}

void sw_live_deinit(struct sw_live *live)
{
	sw_close_p(&live->root_fd);
	sw_close_p(&live->own_root_fd);
}

struct sw_opener sw_live_opener(struct sw_live *live)
{
	return (struct sw_opener){.open = live_open,
				  .read = mem_read,
				  .arg = live,
				  .stalled = live_stalled,
				  .stat = live_stat};
}
