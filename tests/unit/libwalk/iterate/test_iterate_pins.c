/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs that stay in the kernel: which of those that lie there are used. Each case begins with what sw_pins_make() made
 * and changes one thing. */
#include "bytes.h"
#include "cleanup.h"
#include "iterate/pins.h"
#include "iterate/programs.h"
#include "iterate/read.h"
#include "skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OTHER_USER = 65534, NAME_BYTES = 96, PATH_BYTES = 256 };

struct fixture {
	char mount[NAME_BYTES], directory[NAME_BYTES + 8];
	char tasks[PATH_BYTES], files[PATH_BYTES]; /* paths of two pins */
};

static void pins_find(struct fixture *f)
{
	DIR *directory = opendir(f->directory);
	const struct dirent *entry;
	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL) {
		char *to = strncmp(entry->d_name, "tasks-", 6) == 0   ? f->tasks
			   : strncmp(entry->d_name, "files-", 6) == 0 ? f->files
								      : NULL;
		if (to != NULL)
			(void) snprintf(to, PATH_BYTES, "%s/%.*s", f->directory, NAME_BYTES,
					entry->d_name); /* fits */
	}
	(void) closedir(directory); /* nothing was written */
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	if (f == NULL)
		return -1;
	(void) snprintf(f->mount, sizeof(f->mount), "/tmp/test_pins.XXXXXX"); /* fits */
	if (mkdtemp(f->mount) == NULL)
		return -1;
	(void) snprintf(f->directory, sizeof(f->directory), "%s/pins", f->mount); /* fits */
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	(void) umount2(f->mount, MNT_DETACH); /* or nothing is mounted there */
	int r = rmdir(f->mount);
	free(f);
	return r;
}

/* False: it is skipped. */
static bool begin(struct fixture *f)
{
	int fd;
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("bpf", f->mount, "bpf", 0, NULL) < 0)
		return false;
	if (sw_iterate_program_load(SW_ITERATE_THREADS, &fd) < 0)
		return false;
	(void) close(fd); /* a program's */
	assert_int_equal(sw_pins_make(f->directory, NULL), 0);
	pins_find(f);
	return true;
}

#define BEGIN(f)                                                                               \
	do {                                                                                   \
		if (!begin(f))                                                                 \
			SKIP("no program can be pinned here",                                  \
			     "root, a mount namespace, and a kernel with BTF that gives root " \
			     "the task iterator");                                             \
	} while (0)

static int open_result(const struct fixture *f, enum sw_iterate_program program)
{
	int fd = -EBADF;
	int r = sw_pins_open(f->directory, program, &fd);
	assert_int_equal(fd >= 0, r == 0);
	sw_close_p(&fd);
	return r;
}

/* tasks is named as that of another build, or with another tag. */
static void tasks_rename(struct fixture *f, size_t digit_from_end, char *ret)
{
	(void) snprintf(ret, PATH_BYTES, "%s", f->tasks); /* fits */
	char *digit = ret + strlen(ret) - 1 - digit_from_end;
	*digit = *digit == '0' ? '1' : '0';
	assert_int_equal(rename(f->tasks, ret), 0);
}

static void pinned_programs_are_used(void **state)
{
	struct fixture *f = *state;
	struct sw_iterate_record record;
	struct sw_iterate_pass pass;
	BEGIN(f);
	sw_cleanup(sw_close_p) int program_fd = -EBADF, link_fd = -EBADF, fd = -EBADF;
	assert_int_equal(sw_pins_open(f->directory, SW_ITERATE_THREADS, &program_fd), 0);
	assert_int_equal(sw_iterate_link_pid(program_fd, getpid(), &link_fd, NULL), 0);
	assert_int_equal(sw_iterate_open(link_fd, &fd, NULL), 0);
	assert_int_equal(sw_iterate_read(fd, &record, 1, &pass), 0);
	assert_int_equal(pass.n, 1);
	assert_int_equal(record.tid, getpid());
	assert_int_equal(open_result(f, SW_ITERATE_RETURNS), 0);
	assert_int_equal(open_result(f, SW_ITERATE_FILES), 0);
}

static void directory_has_to_be_roots_alone(void **state)
{
	static const mode_t wrong[] = {0750, 0701, 0770, 0777};
	struct fixture *f = *state;
	struct sw_error err = {0};
	BEGIN(f);
	for (size_t i = 0; i < SW_ARRAY_SIZE(wrong); i++) {
		assert_int_equal(chmod(f->directory, wrong[i]), 0);
		assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
		assert_int_equal(sw_pins_make(f->directory, &err), -SW_E_NOT_PERMITTED);
	}
	assert_int_equal(chmod(f->directory, 0700), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), 0);
	assert_int_equal(chown(f->directory, OTHER_USER, 0), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
	assert_int_equal(sw_pins_make(f->directory, &err), -SW_E_NOT_PERMITTED);
}

static void file_has_to_be_roots_alone(void **state)
{
	struct fixture *f = *state;
	BEGIN(f);
	assert_int_equal(chmod(f->tasks, 0660), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
	assert_int_equal(chmod(f->tasks, 0600), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), 0);
	assert_int_equal(chown(f->tasks, OTHER_USER, 0), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
}

static void program_of_another_build_is_not_used(void **state)
{
	enum { TAG_DIGITS = 16 };
	struct fixture *f = *state;
	char other[PATH_BYTES];
	BEGIN(f);
	tasks_rename(f, TAG_DIGITS + 1, other);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
	assert_int_equal(open_result(f, SW_ITERATE_FILES), 0);
	/* The next start removes it. */
	assert_int_equal(sw_pins_make(f->directory, NULL), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), 0);
	assert_int_equal(access(other, F_OK), -1);
}

static void program_with_another_tag_is_not_used(void **state)
{
	struct fixture *f = *state;
	char other[PATH_BYTES];
	BEGIN(f);
	tasks_rename(f, 0, other);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
}

/* The tag is right: the program has another name. */
static void another_program_is_not_used(void **state)
{
	struct fixture *f = *state;
	char name[PATH_BYTES];
	BEGIN(f);
	(void) snprintf(name, sizeof(name), "%s/%s%s", f->directory,
			sw_iterate_program_identity(SW_ITERATE_THREADS),
			strrchr(f->files, '-')); /* fits */
	assert_int_equal(unlink(f->tasks), 0);
	assert_int_equal(rename(f->files, name), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
}

static void link_is_not_followed(void **state)
{
	struct fixture *f = *state;
	char other[PATH_BYTES];
	BEGIN(f);
	(void) snprintf(other, sizeof(other), "%s/tasks", f->mount); /* fits */
	assert_int_equal(rename(f->tasks, other), 0);
	assert_int_equal(symlink(other, f->tasks), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
	(void) snprintf(other, sizeof(other), "%s/other", f->mount); /* fits */
	assert_int_equal(unlink(f->tasks), 0);
	assert_int_equal(sw_pins_make(f->directory, NULL), 0);
	assert_int_equal(rename(f->directory, other), 0);
	assert_int_equal(symlink(other, f->directory), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
}

static void other_file_systems_are_not_looked_at(void **state)
{
	struct fixture *f = *state;
	struct sw_error err = {0};
	BEGIN(f);
	assert_int_equal(umount2(f->mount, MNT_DETACH), 0);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
	assert_int_equal(sw_pins_make(f->directory, &err), -SW_E_UNSUPPORTED);
	assert_int_equal(access(f->directory, F_OK), -1);
}

static void what_was_pinned_is_removed(void **state)
{
	struct fixture *f = *state;
	BEGIN(f);
	assert_int_equal(sw_pins_remove(f->directory, NULL), 0);
	assert_int_equal(access(f->directory, F_OK), -1);
	assert_int_equal(open_result(f, SW_ITERATE_THREADS), -ENOENT);
	assert_int_equal(sw_pins_remove(f->directory, NULL), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(pinned_programs_are_used),
		CASE(directory_has_to_be_roots_alone),
		CASE(file_has_to_be_roots_alone),
		CASE(program_of_another_build_is_not_used),
		CASE(program_with_another_tag_is_not_used),
		CASE(another_program_is_not_used),
		CASE(link_is_not_followed),
		CASE(other_file_systems_are_not_looked_at),
		CASE(what_was_pinned_is_removed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
