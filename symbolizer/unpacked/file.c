/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unpacked/file.h"
#include "cleanup.h"
#include "errors.h"
#include "own_way.h"
#include "parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>

enum {
	NAME_BYTES = 2 * SW_UNPACKED_ID_BYTES_MAX + 16,
	ENTRIES_MAX = 4096, /* of a directory */
	NEW_SECONDS = 60,   /* older ones were left by a maker that was killed */
	UNUSED_SECONDS = 30 * 24 * 3600,
	SPACE_FACTOR = 8, /* so many times as much as a file must be free on the disk */
};
static const uint64_t DIRECTORY_BYTES_MAX = UINT64_C(512) << 20;
static const char suffix[] = ".sections", beginning[] = ".new-";

/* The first page. */
struct head {
	char magic[8];
	char boot_id[40];
	uint64_t dev, inode, size, mtime_s, mtime_ns, ctime_s, ctime_ns;
	uint64_t layout, bytes;
};

static struct head head_of(const struct sw_unpacked_key *key, const char *boot_id)
{
	struct head head = {
		.magic = "swunpk1",
		.dev = key->of.st_dev,
		.inode = key->of.st_ino,
		.size = (uint64_t) key->of.st_size,
		.mtime_s = (uint64_t) key->of.st_mtim.tv_sec,
		.mtime_ns = (uint64_t) key->of.st_mtim.tv_nsec,
		.ctime_s = (uint64_t) key->of.st_ctim.tv_sec,
		.ctime_ns = (uint64_t) key->of.st_ctim.tv_nsec,
		.layout = key->layout,
		.bytes = key->bytes,
	};
	(void) snprintf(head.boot_id, sizeof(head.boot_id), "%s", boot_id); /* fits */
	return head;
}

static void name_of(struct sw_bytes id, char ret[static NAME_BYTES])
{
	size_t n = 0;
	for (uint64_t i = 0; i < id.size; i++)
		n += (size_t) snprintf(ret + n, NAME_BYTES - n, "%02x", id.data[i]);
	(void) snprintf(ret + n, NAME_BYTES - n, "%s", suffix); /* fits */
}

/* A file is believed if it belongs to root or the owner, and nobody else may write it. */
static bool is_believed(const struct sw_unpacked *unpacked, const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == unpacked->owner) &&
	       (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool sw_unpacked_may(const struct sw_unpacked *unpacked, const struct sw_unpacked_key *key)
{
	return S_ISREG(key->of.st_mode) && is_believed(unpacked, &key->of) &&
	       key->bytes >= SW_UNPACKED_WORTH_BYTES && key->bytes <= SW_UNPACKED_BYTES_MAX &&
	       key->build_id.size >= SW_UNPACKED_ID_BYTES_MIN &&
	       key->build_id.size <= SW_UNPACKED_ID_BYTES_MAX;
}

bool sw_unpacked_init(struct sw_unpacked *ret)
{
	sw_cleanup(sw_close_p) int fd =
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	*ret = (struct sw_unpacked){.ask_fd = -EBADF, .owner = geteuid()};
	/* A UUID: 36 characters. */
	return fd >= 0 && sw_pread(fd, ret->boot_id, sizeof(ret->boot_id) - 1, 0) >= 36;
}

bool sw_unpacked_add(struct sw_unpacked *unpacked, const char *directory)
{
	struct stat st;
	/* The directory is opened by its name again, also by a process that writes there. */
	if (directory == NULL || !sw_own_way_is_ours(directory) || lstat(directory, &st) < 0 ||
	    !S_ISDIR(st.st_mode) || !is_believed(unpacked, &st))
		return false;
	for (size_t i = 0; i < SW_ARRAY_SIZE(unpacked->directories); i++) {
		if (unpacked->directories[i] == NULL) {
			unpacked->directories[i] = directory;
			return true;
		}
	}
	return false;
}

/* ---- read ----------------------------------------------------------------------------------- */

/* A descriptor of the file, if it is what the key says. */
static int file_open(const char *directory, const struct sw_unpacked *unpacked,
		     const struct sw_unpacked_key *key)
{
	char path[4096], name[NAME_BYTES];
	struct stat st;
	struct head is, wanted = head_of(key, unpacked->boot_id);
	name_of(key->build_id, name);
	int n = snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (n < 0 || (size_t) n >= sizeof(path))
		return -1;
	/* O_NONBLOCK: should it not be a file. */
	sw_cleanup(sw_close_p) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !is_believed(unpacked, &st) ||
	    (uint64_t) st.st_size != SW_UNPACKED_PAGE_BYTES + key->bytes ||
	    sw_pread(fd, &is, sizeof(is), 0) != sizeof(is) || memcmp(&is, &wanted, sizeof(is)) != 0)
		return -1;
	return sw_take_fd(fd);
}

bool sw_unpacked_map(const struct sw_unpacked *unpacked, const struct sw_unpacked_key *key,
		     void *at)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(unpacked->directories); i++) {
		const char *directory = unpacked->directories[i];
		sw_cleanup(sw_close_p) int fd =
			directory != NULL ? file_open(directory, unpacked, key) : -1;
		if (fd >= 0 && mmap(at, key->bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
				    SW_UNPACKED_PAGE_BYTES) == at)
			return true;
	}
	return false;
}

void sw_unpacked_ask(struct sw_unpacked *unpacked, const struct sw_unpacked_key *key)
{
	struct sw_unpacked_request request = {.n_bytes = (uint8_t) key->build_id.size};
	memcpy(request.build_id, key->build_id.data, key->build_id.size);
	/* In one piece: it is shorter than PIPE_BUF. */
	if (unpacked->ask_fd >= 0 &&
	    write(unpacked->ask_fd, &request, sizeof(request)) == sizeof(request))
		unpacked->n_asked++;
}

/* ---- write ---------------------------------------------------------------------------------- */

/* A file of the directory. */
struct found {
	char name[NAME_BYTES];
	uint64_t bytes;
	time_t used_s;
};

static bool is_over(const struct found *f, time_t now_s)
{
	if (strncmp(f->name, beginning, sizeof(beginning) - 1) == 0)
		return f->used_s + NEW_SECONDS < now_s;
	return sw_ends_with(f->name, suffix) && f->used_s + UNUSED_SECONDS < now_s;
}

/* Lists files of ours, and removes those that nobody needs. Returns how many. */
static size_t files_list(int dir_fd, DIR *dir, struct found *list)
{
	struct dirent *entry;
	struct stat st;
	size_t n = 0;
	while (n < ENTRIES_MAX && (entry = readdir(dir)) != NULL) {
		struct found *f = &list[n];
		if (strlen(entry->d_name) >= sizeof(f->name) ||
		    fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		strcpy(f->name, entry->d_name);
		f->bytes = (uint64_t) st.st_size;
		f->used_s = st.st_atim.tv_sec > st.st_mtim.tv_sec ? st.st_atim.tv_sec
								  : st.st_mtim.tv_sec;
		if (is_over(f, time(NULL)))
			(void) unlinkat(dir_fd, f->name, 0); /* the next one tries again */
		else if (sw_ends_with(f->name, suffix))
			n++;
	}
	return n;
}

static int by_use(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	return (x->used_s > y->used_s) - (x->used_s < y->used_s);
}

/* Space is made by removing the files that were not used for longest. */
static int space_make(int dir_fd, uint64_t bytes, struct sw_error *err)
{
	struct statvfs disk;
	sw_cleanup(sw_free_p) struct found *list = calloc(ENTRIES_MAX, sizeof(*list));
	sw_cleanup(sw_close_p) int list_fd =
		openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sw_cleanup(sw_closedir_p) DIR *dir = list_fd >= 0 ? fdopendir(list_fd) : NULL;
	if (list == NULL || dir == NULL)
		return sw_fail_nomem(err);
	(void) sw_take_fd(list_fd); /* dir's */
	size_t n = files_list(dir_fd, dir, list);
	uint64_t sum = bytes;
	qsort(list, n, sizeof(*list), by_use);
	for (size_t i = 0; i < n; i++)
		sum += list[i].bytes;
	for (size_t i = 0; i < n && sum > DIRECTORY_BYTES_MAX; i++)
		if (unlinkat(dir_fd, list[i].name, 0) == 0)
			sum -= list[i].bytes;
	if (fstatvfs(dir_fd, &disk) < 0 ||
	    disk.f_bavail < SPACE_FACTOR * bytes / (disk.f_frsize != 0 ? disk.f_frsize : 1))
		return sw_fail(err, SW_E_LIMIT, "too little space is free");
	return 0;
}

static int file_fill(int fd, const struct sw_unpacked_key *key, const char *boot_id,
		     const void *sections, struct sw_error *err)
{
	union {
		struct head head;
		uint8_t page[SW_UNPACKED_PAGE_BYTES];
	} first = {.page = {0}};
	first.head = head_of(key, boot_id);
	if (!sw_write_all(fd, &first, sizeof(first)) || !sw_write_all(fd, sections, key->bytes))
		return sw_fail_errno(err, SW_E_IO, "cannot write unpacked debug sections");
	return 0;
}

int sw_unpacked_write(const struct sw_unpacked *unpacked, const struct sw_unpacked_key *key,
		      const void *sections, struct sw_error *err)
{
	const char *directory = unpacked->directories[0];
	char name[NAME_BYTES], new_name[NAME_BYTES];
	sw_cleanup(sw_close_p) int dir_fd =
		open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", directory);
	int r = space_make(dir_fd, key->bytes, err);
	if (r < 0)
		return r;
	name_of(key->build_id, name);
	(void) snprintf(new_name, sizeof(new_name), "%s%d", beginning, (int) getpid()); /* fits */
	sw_cleanup(sw_close_p) int fd =
		openat(dir_fd, new_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       0644);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s/%s", directory, new_name);
	r = file_fill(fd, key, unpacked->boot_id, sections, err);
	if (r == 0 && renameat(dir_fd, new_name, dir_fd, name) < 0)
		r = sw_fail_errno(err, SW_E_IO, "%s/%s", directory, name);
	if (r < 0)
		(void) unlinkat(dir_fd, new_name, 0); /* the next maker removes it, else */
	return r;
}
