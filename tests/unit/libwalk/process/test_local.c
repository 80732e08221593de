/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files whose way is known to answer: what is refused, and how it is said. That a server is asked for nothing is looked at
 * in tests/live/test_hangs.py. */
#include "bytes.h"
#include "cleanup.h"
#include "skip.h"

#include <snapwalk/local.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 128, OTHER_USER = 65534 };

struct fixture {
	struct sw_local *local;
	char directory[PATH_BYTES / 2], path[PATH_BYTES];
};

static const char *path_of(struct fixture *f, const char *name)
{
	(void) snprintf(f->path, sizeof(f->path), "%s/%s", f->directory, name); /* fits */
	return f->path;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (f == NULL)
		return -1;
	(void) snprintf(f->directory, sizeof(f->directory), "/tmp/test_local.XXXXXX"); /* fits */
	if (mkdtemp(f->directory) == NULL || mkdir(path_of(f, "d"), 0755) < 0)
		return -1;
	sw_cleanup(sw_close_p) int fd =
		open(path_of(f, "d/file"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	return fd >= 0 && sw_local_create(&f->local, NULL) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[2 * PATH_BYTES];
	sw_local_destroy(f->local);
	(void) umount2(path_of(f, "d"), MNT_DETACH); /* or nothing is mounted there */
	(void) snprintf(command, sizeof(command), "rm -rf %s", f->directory); /* fits */
	free(f);
	return system(command);
}

/* 0, or the errno of what must be opened. */
static int open_errno(struct fixture *f, const char *name, int flags)
{
	sw_cleanup(sw_close_p) int fd = sw_local_open(f->local, path_of(f, name), flags);
	return fd >= 0 ? 0 : errno;
}

static void files_on_disks_are_opened(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	assert_int_equal(symlink("d/file", path_of(f, "link")), 0);
	assert_int_equal(symlink(f->directory, path_of(f, "d/up")), 0);
	sw_cleanup(sw_close_p) int fd = sw_local_open(f->local, path_of(f, "d/up/link"), 0);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
	sw_cleanup(sw_close_p) int link_fd =
		sw_local_open(f->local, path_of(f, "link"), O_NOFOLLOW);
	assert_true(link_fd >= 0);
	assert_int_equal(fstat(link_fd, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(open_errno(f, "nothing", 0), ENOENT);
	assert_int_equal(open_errno(f, "d/file/below", 0), ENOTDIR);
}

/* As open(2) finds them: links and ".." lead out of the working directory. */
static void relative_paths_lead_out_of_the_directory(void **state)
{
	static const char *const names[] = {
		"file", "./link", "up/d/file", "../d/file", "../d/up/d/../d/link", "link"};
	struct fixture *f = *state;
	struct stat st, wanted;
	char target[PATH_BYTES];
	(void) snprintf(target, sizeof(target), "%s", path_of(f, "d/file"));
	assert_int_equal(symlink(target, path_of(f, "d/link")), 0);
	assert_int_equal(symlink(f->directory, path_of(f, "d/up")), 0);
	sw_cleanup(sw_close_p) int before_fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(before_fd >= 0);
	assert_int_equal(chdir(path_of(f, "d")), 0);
	sw_local_destroy(f->local);
	f->local = NULL;
	assert_int_equal(sw_local_create(&f->local, NULL), 0);
	assert_int_equal(stat(target, &wanted), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sw_cleanup(sw_close_p) int fd = sw_local_open(f->local, names[i], 0);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_ino, wanted.st_ino);
	}
	assert_int_equal(fchdir(before_fd), 0);
}

static void names_in_an_open_directory_are_opened(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(symlink("file", path_of(f, "d/link")), 0);
	sw_cleanup(sw_close_p) int d_fd = sw_local_open(f->local, path_of(f, "d"), 0);
	assert_true(d_fd >= 0);
	sw_cleanup(sw_close_p) int file_fd = sw_local_open_at(f->local, d_fd, "file", O_NOFOLLOW);
	assert_true(file_fd >= 0);
	assert_int_equal(fcntl(file_fd, F_GETFL) & O_PATH, O_PATH);
	assert_int_equal(sw_local_open_at(f->local, d_fd, "nothing", O_NOFOLLOW), -1);
	assert_int_equal(errno, ENOENT);
	if (lchown(path_of(f, "d/link"), OTHER_USER, OTHER_USER) < 0)
		SKIP("not root", "root (sudo make check)");
	assert_int_equal(sw_local_open_at(f->local, d_fd, "link", 0), -1);
	assert_int_equal(errno, ELOOP);
}

static void links_of_other_users_are_refused(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(symlink("d/file", path_of(f, "link")), 0);
	assert_int_equal(symlink("d", path_of(f, "directory")), 0);
	if (lchown(path_of(f, "link"), OTHER_USER, OTHER_USER) < 0 ||
	    lchown(path_of(f, "directory"), OTHER_USER, OTHER_USER) < 0)
		SKIP("not root", "root (sudo make check)");
	assert_int_equal(open_errno(f, "link", 0), ELOOP);
	assert_int_equal(open_errno(f, "directory/file", 0), ELOOP);
}

/* The mount was made after those of the machine were read: nothing says who answers there. */
static void mounts_that_are_not_known_are_refused(void **state)
{
	struct fixture *f = *state;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		SKIP("no mount namespace",
		     "root in a root directory that is a mount point (no plain chroot)");
	sw_local_destroy(f->local);
	f->local = NULL;
	assert_int_equal(sw_local_create(&f->local, NULL), 0);
	assert_int_equal(open_errno(f, "d/file", 0), 0);
	assert_int_equal(mount("tmpfs", path_of(f, "d"), "tmpfs", 0, NULL), 0);
	assert_int_equal(open_errno(f, "d", 0), EXDEV);
	assert_int_equal(open_errno(f, "d/file", 0), EXDEV);
	sw_local_destroy(f->local);
	f->local = NULL;
	assert_int_equal(sw_local_create(&f->local, NULL), 0);
	assert_int_equal(open_errno(f, "d", 0), 0);
}

/* An automount is not mounted for us: the automounter, which is not there, would be waited for. */
static void automounts_are_not_triggered(void **state)
{
	enum { HANGS_S = 5, AUTOMOUNTER = 1 };
	struct fixture *f = *state;
	char options[PATH_BYTES];
	int ends[2];
	struct pollfd asked = {.events = POLLIN};
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		SKIP("no mount namespace",
		     "root in a root directory that is a mount point (no plain chroot)");
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	(void) snprintf(options, sizeof(options),
			"fd=%d,pgrp=%d,minproto=5,maxproto=5,direct", /* fits */
			ends[1], AUTOMOUNTER);
	if (mount("test", path_of(f, "d"), "autofs", 0, options) < 0) {
		(void) close(ends[0]); /* nothing was written */
		(void) close(ends[1]);
		SKIP("autofs cannot be mounted", "a kernel with CONFIG_AUTOFS_FS");
	}
	(void) close(ends[1]); /* the mount has its own */
	sw_local_destroy(f->local);
	f->local = NULL;
	assert_int_equal(sw_local_create(&f->local, NULL), 0);
	(void) alarm(HANGS_S); /* ends the test, where it waits */
	assert_int_equal(open_errno(f, "d/file", 0), EXDEV);
	assert_int_equal(open_errno(f, "d", 0), EXDEV);
	(void) alarm(0);
	asked.fd = ends[0];
	assert_int_equal(poll(&asked, 1, 0), 0);
	(void) close(ends[0]); /* nothing was written */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_on_disks_are_opened, setup, teardown),
		cmocka_unit_test_setup_teardown(relative_paths_lead_out_of_the_directory, setup,
						teardown),
		cmocka_unit_test_setup_teardown(names_in_an_open_directory_are_opened, setup,
						teardown),
		cmocka_unit_test_setup_teardown(links_of_other_users_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(mounts_that_are_not_known_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(automounts_are_not_triggered, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
