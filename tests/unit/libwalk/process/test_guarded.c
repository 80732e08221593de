/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that the target names, with and without a file system that may not answer on the way. */
#include "process/guarded.h"
#include "arena.h"
#include "cleanup.h"
#include "skip.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct fixture {
	struct sw_arena arena;
	struct sw_pages pages;
	struct sw_fs_device device;
	char path[64];
};

/* A file on tmpfs, as others are known by their device number alone. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (f == NULL)
		return -1;
	(void) snprintf(f->path, sizeof(f->path), "/dev/shm/test_guarded.XXXXXX"); /* fits */
	sw_cleanup(sw_close_p) int fd = mkstemp(f->path);
	if (fd < 0 || write(fd, "bytes", 5) != 5 || fchmod(fd, 0644) < 0)
		return -1;
	sw_pages_init(&f->pages);
	f->pages.arena = &f->arena;
	f->pages.live_fd = f->pages.proc_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int fd = f->pages.live_fd;
	sw_pages_deinit(&f->pages);
	(void) close(fd); /* nothing was written */
	(void) unlink(f->path);
	sw_arena_deinit(&f->arena);
	free(f);
	return 0;
}

/* From now on its mount is one that a program serves. */
static void serve(struct fixture *f)
{
	struct sw_fs_file file;
	sw_cleanup(sw_close_p) int fd = open(f->path, O_PATH | O_CLOEXEC);
	assert_true(sw_filesystems_file(fd, &file));
	if (file.major != 0)
		SKIP("/dev/shm is on a disk", "a tmpfs that is mounted there");
	assert_int_not_equal(file.mount, 0);
	f->device = (struct sw_fs_device){file.mount, file.major, file.minor, SW_FS_USER};
	f->pages.fs = (struct sw_filesystems){.devices = &f->device, .n = 1};
	f->pages.fs_known = f->pages.our_fs_known = true;
}

static void holds_bytes(int fd)
{
	char bytes[8];
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 5);
	assert_memory_equal(bytes, "bytes", 5);
}

TEST_WITH(test_local, setup, teardown)
{
	struct fixture *f = *state;
	struct stat st, own;
	sw_cleanup(sw_close_p) int fd =
		sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_LOCAL, &st);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &own), 0);
	assert_int_equal(own.st_ino, st.st_ino);
	assert_int_equal(own.st_nlink, 1);
	holds_bytes(fd);
	assert_null(f->pages.opener);
}

TEST_WITH(test_nothing_there, setup, teardown)
{
	struct fixture *f = *state;
	struct stat st;
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_OURS, "/dev/shm", 0, SW_GUARDED_COPY,
					 &st),
			 -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_OURS, "/dev/null", 0, SW_GUARDED_COPY,
					 &st),
			 -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_OURS, "/not/there", 0, SW_GUARDED_COPY,
					 &st),
			 -1);
	assert_int_equal(errno, ENOENT);
}

/* A copy: its own owner and mode say nothing of the file's, which *st has. */
TEST_WITH(test_served, setup, teardown)
{
	struct fixture *f = *state;
	struct stat st, own;
	serve(f);
	assert_int_equal(sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_LOCAL,
					 &st),
			 -1);
	assert_int_equal(errno, EXDEV);
	sw_cleanup(sw_close_p) int fd =
		sw_guarded_open(&f->pages, SW_ROOT_TARGETS, f->path, 0, SW_GUARDED_COPY, &st);
	assert_true(fd >= 0);
	holds_bytes(fd);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_int_equal(st.st_size, 5);
	assert_int_equal(fstat(fd, &own), 0);
	assert_int_equal(own.st_nlink, 0);
	assert_int_equal(own.st_mode & 0777, 0600);
}

TEST_WITH(test_mounts, setup, teardown)
{
	struct fixture *f = *state;
	serve(f);
	assert_false(sw_pages_mounts_are_local(&f->pages, false));
	f->device.kind = SW_FS_LOCAL;
	assert_true(sw_pages_mounts_are_local(&f->pages, false));
	assert_false(sw_pages_mounts_are_local(&f->pages, true)); /* not known */
}
