/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child with the permissions of the owner: what it opens, and what happens when it does not answer. */
#include "run/owner_files.h"
#include "cleanup.h"
#include <snapwalk/clock.h>
#define TEST_OWN_MAIN
#include "test.h"

#include <sys/stat.h>

enum { PATH_BYTES = 256, LONG_AGO_NS = 1, SOON_NS = 500000 };

static char directory[] = "/tmp/snapwalk-test-XXXXXX";

static int setup(void **state)
{
	return mkdtemp(directory) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	char command[PATH_BYTES];
	(void) snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static const char *path_of(const char *name)
{
	static char path[PATH_BYTES];
	(void) snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void file_make(const char *name, const char *bytes)
{
	sw_cleanup(sw_close_p) int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
}

/* The answer for a file that has so many zeros, and then these names of sections with so many zeros behind them. */
static bool may_be_named(size_t before, const char *names, size_t bytes, size_t behind)
{
	sw_cleanup(sw_close_p) int fd =
		open(path_of("sections"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, names, bytes, (off_t) before), bytes);
	assert_int_equal(ftruncate(fd, (off_t) (before + bytes + behind)), 0);
	return sw_dwo_may_be_named(fd);
}

TEST(names_of_sections_say_whether_there_may_be_dwo_files)
{
	static const char plain[] = "\0.symtab\0.strtab\0.shstrtab\0.text\0.debug_info";
	static const char split[] = "\0.symtab\0.strtab\0.shstrtab\0.text\0.debug_addr";
	static const char packed[] = "\0.symtab\0.strtab\0.shstrtab\0.text\0.zdebug_addr";
	static const char stripped[] = "\0.shstrtab\0.text\0.gnu_debuglink";
	static const char none[] = "\0.symtab\0.strtab\0.text\0.debug_info";
	assert_false(may_be_named(0, plain, sizeof(plain), 100));
	assert_true(may_be_named(0, split, sizeof(split), 100));
	assert_true(may_be_named(0, packed, sizeof(packed), 100));
	assert_true(may_be_named(0, stripped, sizeof(stripped), 100));
	assert_true(may_be_named(0, none, sizeof(none), 100));
	/* Names lie far behind in a large file: whole, or perhaps not. */
	assert_false(may_be_named(1 << 20, plain, sizeof(plain), 2000));
	assert_true(may_be_named(1 << 20, split, sizeof(split), 2000));
	assert_true(may_be_named(1 << 20, plain, sizeof(plain), 16000));
	assert_true(may_be_named(1 << 20, plain, sizeof(plain), 20000));
	assert_true(sw_dwo_may_be_named(-EBADF));
}

TEST(directories_of_a_distribution_end_with_a_slash)
{
	static const char *const theirs[] = {
		"/bin/sh",          "/sbin/init",
		"/lib/libc.so.6",   "/lib64/ld-linux-x86-64.so.2",
		"/usr/bin/cat",     "/usr/sbin/sshd",
		"/usr/lib32/a.so",  "/usr/lib/x86_64-linux-gnu/a.so",
		"/lib32/a.so",      "/libx32/a.so",
		"/usr/libexec/git",
	};
	static const char *const others[] = {
		"/binaries/server", "/library/app",
		"/lib-own/a.so",    "/usr/libs/a.so",
		"/opt/bin/a",       "/usr/local/lib/a.so",
		"/usr/binary",      "/bin",
		"usr/lib/a.so",     "",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(theirs); i++)
		assert_true(sw_dwo_is_of_distribution(theirs[i]));
	for (size_t i = 0; i < SW_ARRAY_SIZE(others); i++)
		assert_false(sw_dwo_is_of_distribution(others[i]));
}

TEST(regular_files_of_that_name_are_read)
{
	struct sw_owner_files files;
	const void *bytes = NULL;
	file_make("a.dwo", "\177ELF and more");
	file_make("b.dwo", "something else");
	file_make("c.elf", "\177ELF and more");
	assert_int_equal(mkfifo(path_of("d.dwo"), 0600), 0);
	sw_owner_files_start(&files, &(struct sw_owner_files_user){getuid(), getgid(), true});
	assert_int_equal(sw_owner_files_read_dwo(&files, path_of("b.dwo"), 0, &bytes), 0);
	assert_int_equal(sw_owner_files_read_dwo(&files, path_of("c.elf"), 0, &bytes), 0);
	assert_int_equal(sw_owner_files_read_dwo(&files, path_of("d.dwo"), 0, &bytes), 0);
	assert_int_equal(sw_owner_files_read_dwo(&files, path_of("e.dwo"), 0, &bytes), 0);
	assert_int_equal(sw_owner_files_read_dwo(&files, path_of("a.dwo"), 0, &bytes), 13);
	assert_memory_equal(bytes, "\177ELF and more", 13);
	sw_owner_files_end(&files);
}

/* The user's permissions are those of the test itself, or of an id that owns nothing, as root alone may take another. */
TEST(a_file_is_compared_with_what_the_user_opens)
{
	const bool is_root = geteuid() == 0;
	const struct sw_owner_files_user user = {is_root ? 4001 : getuid(),
						 is_root ? 4001 : getgid(), true};
	struct sw_owner_files files;
	assert_int_equal(chmod(directory, 0755), 0);
	file_make("open", "one");
	file_make("closed", "two");
	assert_int_equal(chmod(path_of("closed"), is_root ? 0600 : 0), 0);
	sw_cleanup(sw_close_p) int one = open(path_of("open"), O_PATH | O_CLOEXEC);
	sw_cleanup(sw_close_p) int two = open(path_of("closed"), O_PATH | O_CLOEXEC);
	sw_cleanup(sw_close_p) int fifo = open(path_of("d.dwo"), O_PATH | O_CLOEXEC);
	assert_true(one >= 0 && two >= 0 && fifo >= 0);
	sw_owner_files_start(&files, &user);
	assert_true(sw_owner_files_may_open(&files, path_of("open"), one));
	assert_false(sw_owner_files_may_open(&files, path_of("closed"), two));
	/* Another file than the one that the path leads to. */
	assert_false(sw_owner_files_may_open(&files, path_of("open"), two));
	assert_false(sw_owner_files_may_open(&files, path_of("none"), one));
	assert_false(sw_owner_files_may_open(&files, path_of("d.dwo"), fifo));
	assert_true(sw_owner_files_may_open(&files, path_of("open"), one));
	sw_owner_files_end(&files);
	assert_false(sw_owner_files_may_open(&files, path_of("open"), one));
	/* A child for a dump tells nothing of files. */
	sw_owner_files_start(&files,
			     &(struct sw_owner_files_user){.uid = user.uid, .gid = user.gid});
	assert_false(sw_owner_files_may_open(&files, path_of("open"), one));
	sw_owner_files_end(&files);
}

/* A child that did not answer is asked no more: its answer would be that to the question
 * before. */
TEST(after_no_answer_it_is_not_asked)
{
	struct sw_owner_files files;
	const void *bytes = NULL;
	sw_owner_files_start(&files, &(struct sw_owner_files_user){getuid(), getgid(), true});
	int fd = files.fd;
	/* Without time nothing is asked, and so the next question is answered. */
	assert_int_equal(sw_owner_files_read_dwo(&files, path_of("a.dwo"), LONG_AGO_NS, &bytes), 0);
	assert_int_equal(sw_owner_files_read_dwo(&files, path_of("a.dwo"), 0, &bytes), 13);
	for (int i = 0; i < 100000 && files.fd >= 0; i++)
		(void) sw_owner_files_read_dwo(&files, path_of("a.dwo"), sw_clock_ns() + SOON_NS,
					       &bytes);
	assert_int_equal(files.fd, -EBADF);
	/* The descriptor's number is another file's now, which nobody writes to. */
	sw_cleanup(sw_close_p) int other =
		open(path_of("other"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(other, fd);
	assert_int_equal(sw_owner_files_read_dwo(&files, path_of("a.dwo"), 0, &bytes), 0);
	assert_int_equal(lseek(other, 0, SEEK_END), 0);
	sw_owner_files_end(&files);
}

int main(void)
{
	return TEST_RUN(setup, teardown);
}
