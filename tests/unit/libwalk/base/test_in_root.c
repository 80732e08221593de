/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths below a directory that is taken for the root: what leads out of it, and what the kernel does. */
#include "in_root.h"
#include "cleanup.h"
#include "test.h"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { FLAGS = O_PATH | O_CLOEXEC };

/* root/file, root/dir/file, root/dir/sub, and links; beside the root a file that none of them is to find. */
static const char *const links[][2] = {
	{"/dir", "root/absolute"},
	{"../../secret", "root/out"},
	{"../../../dir/file", "root/up"},
	{"absolute/file", "root/through"},
	{"../file", "root/dir/back"},
	{"sub/../../file", "root/dir/far"},
	{"loop", "root/loop"},
	{"none", "root/none_link"},
	{"file/", "root/slash"},
	{"/", "root/dir/top"},
};

struct tree {
	char path[64];
	int root_fd;
};

static void file_make(const char *name)
{
	sw_cleanup(sw_close_p) int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
}

static int set_up(void **state)
{
	static struct tree t;
	strcpy(t.path, "/tmp/snapwalk-XXXXXX");
	if (mkdtemp(t.path) == NULL || chdir(t.path) < 0 || mkdir("root", 0700) < 0 ||
	    mkdir("root/dir", 0700) < 0 || mkdir("root/dir/sub", 0700) < 0)
		return -1;
	file_make("secret");
	file_make("root/file");
	file_make("root/dir/file");
	for (size_t i = 0; i < SW_ARRAY_SIZE(links); i++)
		if (symlink(links[i][0], links[i][1]) < 0)
			return -1;
	t.root_fd = open("root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = &t;
	return t.root_fd < 0;
}

static int tear_down(void **state)
{
	struct tree *t = *state;
	for (size_t i = 0; i < SW_ARRAY_SIZE(links); i++)
		(void) unlink(links[i][1]);
	(void) unlink("secret");
	(void) unlink("root/file");
	(void) unlink("root/dir/file");
	(void) rmdir("root/dir/sub");
	(void) rmdir("root/dir");
	(void) close(t->root_fd);
	return rmdir("root") < 0 || chdir("/") < 0 || rmdir(t->path) < 0;
}

/* Check that the path leads to that file; NULL: to none, with that error. */
static void check(const struct tree *t, const char *path, int more, const char *file, int error)
{
	struct stat got, wanted;
	sw_cleanup(sw_close_p) int fd = sw_in_root_open(t->root_fd, path, FLAGS | more);
	if (file == NULL) {
		if (fd >= 0 || errno != error)
			fail_msg("%s: %d, errno %d, not %d", path, fd, errno, error);
		return;
	}
	if (fd < 0)
		fail_msg("%s: errno %d", path, errno);
	assert_int_equal(fstat(fd, &got), 0);
	assert_int_equal(lstat(file, &wanted), 0);
	if (got.st_ino != wanted.st_ino || got.st_dev != wanted.st_dev)
		fail_msg("%s is not %s", path, file);
}

TEST_WITH(test_found, set_up, tear_down)
{
	const struct tree *t = *state;
	check(t, "/file", 0, "root/file", 0);
	check(t, "file", 0, "root/file", 0);
	check(t, "//dir/./sub/..//file", 0, "root/dir/file", 0);
	check(t, "/", 0, "root", 0);
	check(t, "/dir/", 0, "root/dir", 0);
	check(t, "/absolute/file", 0, "root/dir/file", 0);
	check(t, "/absolute", 0, "root/dir", 0);
	check(t, "/through", 0, "root/dir/file", 0);
	check(t, "/dir/back", 0, "root/file", 0);
	check(t, "/dir/far", 0, "root/file", 0);
	check(t, "/dir/top/dir/top/file", 0, "root/file", 0);
}

TEST_WITH(test_stays_inside, set_up, tear_down)
{
	const struct tree *t = *state;
	check(t, "../secret", 0, NULL, ENOENT);
	check(t, "/dir/../../../secret", 0, NULL, ENOENT);
	check(t, "/out", 0, NULL, ENOENT);
	check(t, "/up", 0, "root/dir/file", 0);
	check(t, "../file", 0, "root/file", 0);
	check(t, "..", 0, "root", 0);
}

TEST_WITH(test_not_found, set_up, tear_down)
{
	const struct tree *t = *state;
	char name[300];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check(t, "/none", 0, NULL, ENOENT);
	check(t, "/none_link", 0, NULL, ENOENT);
	check(t, "/none/file", 0, NULL, ENOENT);
	check(t, "/file/file", 0, NULL, ENOTDIR);
	check(t, "/loop", 0, NULL, ELOOP);
	check(t, "/loop/file", 0, NULL, ELOOP);
	check(t, name, 0, NULL, ENAMETOOLONG);
}

TEST_WITH(test_last_link, set_up, tear_down)
{
	const struct tree *t = *state;
	check(t, "/through", O_NOFOLLOW, "root/through", 0);
	check(t, "/absolute/file", O_NOFOLLOW, "root/dir/file", 0);
}

/* Where the kernel can do it, it finds the same. */
TEST_WITH(test_as_kernel, set_up, tear_down)
{
	static const char *const paths[] = {"/file",     "/absolute/file", "/out",
					    "/up",       "/through",       "/dir/back",
					    "/dir/far",  "/none_link",     "/dir/top",
					    "/loop",     "../secret",      "/file/file",
					    "/dir/./..", "/absolute/..",   "/slash/none"};
	const struct tree *t = *state;
	const struct open_how how = {.flags = FLAGS, .resolve = RESOLVE_IN_ROOT};
	for (size_t i = 0; i < SW_ARRAY_SIZE(paths); i++) {
		struct stat a = {0}, b = {0};
		sw_cleanup(sw_close_p) int theirs =
			(int) syscall(SYS_openat2, t->root_fd, paths[i], &how, sizeof(how));
		int error = theirs < 0 ? errno : 0;
		if (error == ENOSYS || error == EPERM)
			skip();
		sw_cleanup(sw_close_p) int ours = sw_in_root_open(t->root_fd, paths[i], FLAGS);
		if ((ours < 0 ? errno : 0) != error)
			fail_msg("%s: errno %d, not %d", paths[i], errno, error);
		if (ours < 0)
			continue;
		assert_int_equal(fstat(ours, &a), 0);
		assert_int_equal(fstat(theirs, &b), 0);
		assert_int_equal(a.st_ino, b.st_ino);
	}
}
