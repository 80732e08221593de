/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/path.h"
#include "cleanup.h"
#include "test.h"

#include <limits.h>

TEST(canonical)
{
	static const struct {
		const char *path, *written;
	} cases[] = {
		{"/", "/"},
		{"/a", "/a"},
		{"/a/b.c/..d/...", "/a/b.c/..d/..."},
		{"/a/*", "/a/*"},
		{"//", "/"},
		{"/a/", "/a"},
		{"//a", "/a"},
		{"/a///b", "/a/b"},
		{"/./a/.", "/a"},
		{"/a/b/../c", "/a/c"},
		{"/a/..", "/"},
		{"/../../a", "/a"},
	};
	char written[64], short_one[4];
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		bool same = strcmp(cases[i].path, cases[i].written) == 0;
		assert_int_equal(sw_path_canonical(cases[i].path, written, sizeof(written)), same);
		assert_string_equal(written, cases[i].written);
	}
	assert_false(sw_path_canonical("/abcdef", short_one, sizeof(short_one)));
	assert_string_equal(short_one, "/ab");
}

/* The part of a path that is a pattern, or is not there, stays behind the directory that is. */
TEST(resolve)
{
	char directory[] = "/tmp/snapwalk-path-XXXXXX", link[64], path[128], wanted[PATH_MAX + 64];
	char resolved[PATH_MAX], real[PATH_MAX];
	static const char *const rest[] = {"", "/a", "/a/b", "/*", "/a?/b*", "/[", "/a[bc]/d"};
	assert_non_null(mkdtemp(directory));
	assert_non_null(realpath(directory, real));
	(void) snprintf(link, sizeof(link), "%s/link", directory);
	assert_int_equal(symlink(".", link), 0);
	for (size_t i = 0; i < SW_ARRAY_SIZE(rest); i++) {
		(void) snprintf(path, sizeof(path), "%s%s", link, rest[i]);
		(void) snprintf(wanted, sizeof(wanted), "%s%s", real, rest[i]);
		assert_true(sw_path_resolve(path, resolved, sizeof(resolved)));
		assert_string_equal(resolved, wanted);
	}
	assert_true(sw_path_resolve("/no-such-directory/a", resolved, sizeof(resolved)));
	assert_string_equal(resolved, "/no-such-directory/a");
	assert_true(sw_path_resolve("/*", resolved, sizeof(resolved)));
	assert_string_equal(resolved, "/*");
	assert_false(sw_path_resolve("/dev/null/a", resolved, sizeof(resolved)));
	assert_int_equal(errno, ENOTDIR);
	assert_false(sw_path_resolve(link, resolved, 4));
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("link", link), 0); /* to itself */
	assert_false(sw_path_resolve(link, resolved, sizeof(resolved)));
	assert_int_equal(errno, ELOOP);
	assert_non_null(sw_path_no_program(link));
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(directory), 0);
}

TEST(no_program)
{
	assert_null(sw_path_no_program("/bin/sleep"));
	assert_null(sw_path_no_program("/no/such/program"));
	assert_non_null(sw_path_no_program("/"));
	assert_non_null(sw_path_no_program("/dev/zero"));
	assert_non_null(sw_path_no_program("/bin/sleep/x"));
}
