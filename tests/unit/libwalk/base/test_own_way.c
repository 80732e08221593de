/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths that our user gave: links of others are not followed, whichever name of the path they are. */
#include "own_way.h"
#include "cleanup.h"
#include "test.h"

#include <sys/stat.h>

enum { ANOTHER = 65534 };

static char directory[64];

static int set_up(void **state)
{
	*state = directory;
	strcpy(directory, "/tmp/test_own_way.XXXXXX");
	return mkdtemp(directory) == NULL || chdir(directory) < 0 || mkdir("real", 0700) < 0 ||
	       mkdir("real/below", 0700) < 0 || symlink("real", "ours") < 0 ||
	       symlink("real", "theirs") < 0 || symlink("theirs/below", "ours_to_theirs") < 0 ||
	       symlink("nowhere", "real/dangling") < 0 ||
	       (geteuid() == 0 && lchown("theirs", ANOTHER, ANOTHER) < 0);
}

static int tear_down(void **state)
{
	static const char *const links[] = {"ours", "theirs", "ours_to_theirs", "real/dangling"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(links); i++)
		(void) unlink(links[i]);
	return rmdir("real/below") < 0 || rmdir("real") < 0 || chdir("/") < 0 ||
	       rmdir(directory) < 0;
}

/* As the kernel finds it, or refused with these words. */
static void check(const char *path, int flags, const char *words)
{
	struct stat st, wanted;
	struct sw_error err = {0};
	sw_cleanup(sw_close_p) int fd = -EBADF;
	int r = sw_own_way_open(path, flags, "there", &fd, &err);
	if (words != NULL) {
		assert_int_equal(r, -SW_E_IO);
		assert_string_equal(err.message, words);
		assert_int_equal(fd, -EBADF);
		return;
	}
	assert_int_equal(r, 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(stat(path, &wanted), 0);
	assert_int_equal(st.st_ino, wanted.st_ino);
	assert_int_equal(st.st_dev, wanted.st_dev);
}

TEST_WITH(test_open, set_up, tear_down)
{
	static const char refused[] = "there: the way there leads through a link of another user";
	const char *theirs = geteuid() == 0 ? refused : NULL;
	char whole[128];
	check("real/below", 0, NULL);
	check("ours/below", O_DIRECTORY, NULL);
	check("./real/../ours//below/", 0, NULL);
	(void) snprintf(whole, sizeof(whole), "%s/ours/below", directory);
	check(whole, 0, NULL);
	check("theirs/below", 0, theirs);
	check("theirs", 0, theirs);
	check("real/../theirs/below", 0, theirs);
	check("ours_to_theirs", 0, theirs);
	(void) snprintf(whole, sizeof(whole), "%s/theirs/below", directory);
	check(whole, 0, theirs);
	check("real/none", 0, "there: No such file or directory");
}

TEST_WITH(test_open_parent, set_up, tear_down)
{
	struct stat st, wanted;
	struct sw_error err = {0};
	static const char *const cases[][2] = {{"name", "."},
					       {"/name", "/"},
					       {"real/name", "real"},
					       {"ours/below/x", "real/below"}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		sw_cleanup(sw_close_p) int fd = -EBADF;
		assert_int_equal(sw_own_way_open_parent(cases[i][0], "x", &fd, &err), 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(stat(cases[i][1], &wanted), 0);
		assert_int_equal(st.st_ino, wanted.st_ino);
	}
	int fd = -EBADF;
	assert_int_equal(sw_own_way_open_parent("real/none/x", "y", &fd, &err), -SW_E_IO);
	assert_string_equal(err.message, "y: No such file or directory");
}

TEST_WITH(test_is_ours, set_up, tear_down)
{
	assert_true(sw_own_way_is_ours("real/below"));
	assert_true(sw_own_way_is_ours("ours/below")); /* /tmp is sticky */
	assert_false(sw_own_way_is_ours("real/none"));
	assert_int_equal(chmod("real", 0702), 0);
	assert_false(sw_own_way_is_ours("real/below"));
	assert_int_equal(chmod("real", 01777), 0);
	assert_true(sw_own_way_is_ours("real/below"));
	assert_int_equal(chmod("real", 0770), 0);
	assert_int_equal(sw_own_way_is_ours("real/below"), geteuid() != 0);
	assert_int_equal(chmod("real", 0700), 0);
	assert_int_equal(chmod("real/below", 0702), 0);
	assert_false(sw_own_way_is_ours("real/below"));
	if (geteuid() == 0) {
		assert_int_equal(chmod("real/below", 0700), 0);
		assert_false(sw_own_way_is_ours("theirs/below"));
		assert_int_equal(chown("real", ANOTHER, ANOTHER), 0);
		assert_false(sw_own_way_is_ours("real/below"));
	}
}

/* Refused with these words after the path, or not. */
static void check_parent(const char *path, const struct sw_own_way_other *other, const char *words)
{
	char wanted[512];
	struct sw_error err = {0};
	int r = sw_own_way_check_parent(path, other, &err);
	assert_int_equal(r, words != NULL ? -SW_E_IO : 0);
	if (words == NULL)
		return;
	(void) snprintf(wanted, sizeof(wanted), "%s: %s%s", path, words[0] == '/' ? directory : "",
			words);
	assert_string_equal(err.message, wanted);
}

TEST_WITH(test_check_parent, set_up, tear_down)
{
	static const struct sw_own_way_other daemons = {.uid = ANOTHER, .gid = ANOTHER};
	static const struct sw_own_way_other callers = {.uid = ANOTHER,
							.gid = ANOTHER,
							.group_has_others = true};
	static const char changed[] =
		"/real can be changed by other users, who could put something else there";
	static const char anothers[] =
		"/real belongs to another user, who could put something else there";
	check_parent("real/below/name", NULL, NULL);
	check_parent("ours/name", NULL, NULL);
	check_parent("name", NULL, NULL);
	check_parent("real/none/name", NULL, "No such file or directory");
	assert_int_equal(chmod("real", 0702), 0);
	check_parent("real/name", NULL, changed);
	check_parent("real/below/name", NULL, changed);
	assert_int_equal(chmod("real", 01777), 0);
	check_parent("real/below/name", NULL, NULL);
	assert_int_equal(chmod("real", 0770), 0);
	check_parent("real/name", NULL, geteuid() == 0 ? changed : NULL);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown("real", 0, ANOTHER), 0);
	check_parent("real/name", NULL, changed);
	check_parent("real/name", &daemons, NULL);
	check_parent("real/name", &callers, changed);
	assert_int_equal(chmod("real", 01770), 0);
	check_parent("real/name", &callers, NULL);
	assert_int_equal(chmod("real", 0770), 0);
	check_parent("theirs/name", NULL,
		     "/theirs belongs to another user, who could put something else there");
	check_parent("theirs/name", &daemons,
		     "/theirs belongs to another user, who could put something else there");
	assert_int_equal(chown("real", ANOTHER, ANOTHER), 0);
	check_parent("real/name", NULL, anothers);
	check_parent("real/name", &daemons, NULL);
	check_parent("real/name", &callers, changed);
	assert_int_equal(chmod("real", 0750), 0);
	check_parent("real/name", &callers, NULL);
	assert_int_equal(chmod("real", 0770), 0);
	check_parent("real/below/name", NULL, anothers);
	check_parent(
		"real/below/name", &daemons,
		"/real/below lies in a directory of the daemon's user, who could put something "
		"else there");
}

TEST_WITH(test_open_directory, set_up, tear_down)
{
	static const struct sw_own_way_other daemons = {.uid = ANOTHER, .gid = ANOTHER};
	struct sw_error err = {0};
	struct stat st, wanted;
	if (geteuid() == 0)
		assert_int_equal(chown("real", ANOTHER, ANOTHER), 0);
	sw_cleanup(sw_close_p) int fd = -EBADF, other_fd = -EBADF;
	assert_int_equal(sw_own_way_open_directory("ours/below", &daemons, &fd, &err), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(stat("real/below", &wanted), 0);
	assert_int_equal(st.st_ino, wanted.st_ino);
	assert_int_not_equal(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
	assert_int_equal(sw_own_way_open_directory("real/none", &daemons, &other_fd, &err),
			 -SW_E_IO);
	assert_string_equal(err.message, "real/none: No such file or directory");
	if (geteuid() != 0)
		return;
	assert_int_equal(sw_own_way_open_directory("real/below", NULL, &other_fd, &err), -SW_E_IO);
	assert_int_equal(sw_own_way_open_directory("theirs/below", &daemons, &other_fd, &err),
			 -SW_E_IO);
	assert_non_null(strstr(err.message, "/theirs belongs to another user"));
	assert_int_equal(chmod("real/below", 0707), 0);
	assert_int_equal(sw_own_way_open_directory("real/below", &daemons, &other_fd, &err),
			 -SW_E_IO);
	assert_non_null(strstr(err.message, "/real/below can be changed by other users"));
	assert_int_equal(other_fd, -EBADF);
}

TEST_WITH(test_make, set_up, tear_down)
{
	struct stat st;
	struct sw_error err = {0};
	mode_t before = umask(0);
	for (int again = 0; again < 2; again++)
		assert_int_equal(sw_own_way_make("ours/new//", 0710, &err), 0);
	(void) umask(before);
	assert_int_equal(stat("real/new", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0710);
	assert_int_equal(rmdir("real/new"), 0);
	/* A link under the name is no way to a place that is not there yet. */
	assert_int_equal(sw_own_way_make("real/dangling", 0700, &err), 0);
	assert_int_equal(access("real/nowhere", F_OK), -1);
	assert_int_equal(sw_own_way_make("real/none/new", 0700, &err), -SW_E_IO);
	assert_string_equal(err.message, "real/none/new: No such file or directory");
	if (geteuid() == 0) {
		assert_int_equal(sw_own_way_make("theirs/new", 0700, &err), -SW_E_IO);
		assert_int_equal(access("real/new", F_OK), -1);
	}
}
