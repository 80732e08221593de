/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"
#include "skip.h"

#include "errors.h"
#include "fake_syscall.h"

#include <confine/landlock.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The actions of a confined process, as bits of its exit status. */
enum { READ = 1, LIST = 2, CHANGE = 4, MAKE = 8, MAKE_DIR = 16, REMOVE = 32, REMOVE_DIR = 64 };
enum { EVERYTHING = 127, NO_LANDLOCK = 200, REFUSED = 201 };

struct place {
	char dir[64], file[80], made[80], made_dir[80], old[80], old_dir[80];
};

static int opened(const char *path, int flags)
{
	int fd = open(path, flags, 0600);
	if (fd < 0)
		return 0;
	(void) close(fd);
	return 1;
}

static int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	assert_non_null(p);
	(void) snprintf(p->dir, sizeof(p->dir), "/tmp/snapwalk-landlock-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	(void) snprintf(p->file, sizeof(p->file), "%s/file", p->dir);
	(void) snprintf(p->made, sizeof(p->made), "%s/made", p->dir);
	(void) snprintf(p->made_dir, sizeof(p->made_dir), "%s/made_dir", p->dir);
	(void) snprintf(p->old, sizeof(p->old), "%s/old", p->dir);
	(void) snprintf(p->old_dir, sizeof(p->old_dir), "%s/old_dir", p->dir);
	assert_true(opened(p->file, O_CREAT | O_WRONLY) && opened(p->old, O_CREAT | O_WRONLY));
	assert_int_equal(mkdir(p->old_dir, 0700), 0);
	*state = p;
	return 0;
}

static int place_remove(void **state)
{
	struct place *p = *state;
	(void) unlink(p->file);
	(void) unlink(p->made);
	(void) unlink(p->old);
	(void) rmdir(p->made_dir);
	(void) rmdir(p->old_dir);
	int r = rmdir(p->dir);
	free(p);
	return r;
}

static int done_by(const struct place *p, const struct sw_landlock_path *paths, size_t n)
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct sw_error err;
		int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		r = r < 0 ? r : sw_landlock_enter(paths, n, &err);
		if (r != 0)
			_exit(r > 0 ? NO_LANDLOCK : REFUSED);
		int done = (opened(p->file, O_RDONLY) ? READ : 0) |
			   (opened(p->dir, O_RDONLY | O_DIRECTORY) ? LIST : 0) |
			   (opened(p->file, O_WRONLY | O_TRUNC) ? CHANGE : 0) |
			   (opened(p->made, O_CREAT | O_WRONLY) ? MAKE : 0) |
			   (mkdir(p->made_dir, 0700) == 0 ? MAKE_DIR : 0) |
			   (unlink(p->old) == 0 ? REMOVE : 0) |
			   (rmdir(p->old_dir) == 0 ? REMOVE_DIR : 0);
		_exit(done);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_LANDLOCK)
		SKIP("the kernel has no Landlock", "a kernel with Landlock");
	return WEXITSTATUS(status);
}

#define DONE_BY(p, name, may) done_by(p, &(struct sw_landlock_path){.path = name, .access = may}, 1)

TEST_WITH(test_nothing, place_make, place_remove)
{
	const struct place *p = *state;
	assert_int_equal(done_by(p, NULL, 0), 0);
	assert_int_equal(DONE_BY(p, p->made, SW_LANDLOCK_WRITE), 0); /* not there: left out */
}

TEST_WITH(test_directory_read, place_make, place_remove)
{
	const struct place *p = *state;
	assert_int_equal(DONE_BY(p, p->dir, SW_LANDLOCK_READ), READ);
}

TEST_WITH(test_directory_list, place_make, place_remove)
{
	const struct place *p = *state;
	assert_int_equal(DONE_BY(p, p->dir, SW_LANDLOCK_LIST), READ | LIST);
}

TEST_WITH(test_directory_write, place_make, place_remove)
{
	const struct place *p = *state;
	assert_int_equal(DONE_BY(p, p->dir, SW_LANDLOCK_WRITE), EVERYTHING);
}

TEST_WITH(test_file, place_make, place_remove)
{
	const struct place *p = *state;
	assert_int_equal(DONE_BY(p, p->file, SW_LANDLOCK_READ), READ);
	assert_int_equal(DONE_BY(p, p->file, SW_LANDLOCK_LIST), READ);
	assert_int_equal(DONE_BY(p, p->file, SW_LANDLOCK_WRITE), READ | CHANGE);
}

TEST_WITH(test_several, place_make, place_remove)
{
	const struct place *p = *state;
	const struct sw_landlock_path paths[] = {{.path = p->made, .access = SW_LANDLOCK_WRITE},
						 {.path = p->file, .access = SW_LANDLOCK_READ},
						 {.path = p->dir, .access = SW_LANDLOCK_LIST}};
	assert_int_equal(done_by(p, paths, 3), READ | LIST);
	assert_int_equal(done_by(p, paths, 2), READ);
}

/* A kernel with Landlock of a version: what it was asked for. */
static long version, size_given;
static uint64_t ruleset[3], allowed;
static int n_rules, n_entered;

static long create(const long a[6])
{
	if (a[2] != 0)
		return version;
	size_given = a[1];
	memset(ruleset, 0, sizeof(ruleset));
	memcpy(ruleset, (const void *) a[0], (size_t) a[1]);
	return dup(STDERR_FILENO);
}

static long rule_add(const long a[6])
{
	memcpy(&allowed, (const void *) a[2], sizeof(allowed));
	n_rules++;
	return 0;
}

static long enter(const long a[6])
{
	n_entered++;
	return 0;
}

/* Each version is asked for all that it knows, and for nothing that it does not know: it would refuse everything. */
TEST(test_versions)
{
	enum { BASE = (1 << 13) - 1, REFER = 1 << 13, TRUNCATE = 1 << 14, IOCTL = 1 << 15 };
	enum { READ_FILE = 1 << 2, READ_DIR = 1 << 3 };
	static const struct {
		uint64_t fs, net, scope;
		long size;
	} wanted[] = {
		{BASE, 0, 0, 8},
		{BASE | REFER, 0, 0, 8},
		{BASE | REFER | TRUNCATE, 0, 0, 8},
		{BASE | REFER | TRUNCATE, 3, 0, 16},
		{BASE | REFER | TRUNCATE | IOCTL, 3, 0, 16},
		{BASE | REFER | TRUNCATE | IOCTL, 3, 3, 24},
		{BASE | REFER | TRUNCATE | IOCTL, 3, 3, 24},
	};
	const struct sw_landlock_path path = {.path = "/tmp", .access = SW_LANDLOCK_LIST};
	struct sw_error err;
	fake_syscalls[0] = (struct fake_syscall){SYS_landlock_create_ruleset, create};
	fake_syscalls[1] = (struct fake_syscall){SYS_landlock_add_rule, rule_add};
	fake_syscalls[2] = (struct fake_syscall){SYS_landlock_restrict_self, enter};
	for (version = 1; version <= 7; version++) {
		n_rules = n_entered = 0;
		assert_int_equal(sw_landlock_enter(&path, 1, &err), 0);
		assert_int_equal(ruleset[0], wanted[version - 1].fs);
		assert_int_equal(ruleset[1], wanted[version - 1].net);
		assert_int_equal(ruleset[2], wanted[version - 1].scope);
		assert_int_equal(size_given, wanted[version - 1].size);
		assert_int_equal(n_rules, 1);
		assert_int_equal(allowed, READ_FILE | READ_DIR);
		assert_int_equal(n_entered, 1);
	}
	version = 0;
	n_entered = 0;
	assert_int_equal(sw_landlock_enter(&path, 1, &err), 1);
	assert_int_equal(n_entered, 0);
	memset(fake_syscalls, 0, sizeof(fake_syscalls));
}
