/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/output.h"
#include "cleanup.h"
#include "skip.h"
#include "test.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct place {
	char directory[32];
	char file[64];
};

static int set_up(void **state)
{
	static struct place p;
	strcpy(p.directory, "/tmp/snapwalk-XXXXXX");
	if (mkdtemp(p.directory) == NULL)
		return -1;
	(void) snprintf(p.file, sizeof(p.file), "%s/out", p.directory);
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	(void) unlink(p->file);
	return rmdir(p->directory); /* fails when something was left behind */
}

static void content_is(const char *path, const char *wanted)
{
	char got[64] = "";
	int fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	close(fd);
	assert_string_equal(got, wanted);
}

TEST_WITH(test_appears_at_commit, set_up, tear_down)
{
	struct place *p = *state;
	struct sw_output out;
	assert_int_equal(sw_output_open(&out, p->file, NULL), 0);
	assert_int_equal(sw_output_write(&out, "one\n", 4, NULL), 0);
	assert_int_equal(access(p->file, F_OK), -1);
	assert_int_equal(sw_output_commit(&out, NULL), 0);
	sw_output_deinit(&out);
	content_is(p->file, "one\n");
}

TEST_WITH(test_old_file_survives, set_up, tear_down)
{
	struct place *p = *state;
	struct sw_output out;
	assert_int_equal(sw_output_open(&out, p->file, NULL), 0);
	assert_int_equal(sw_output_write(&out, "old", 3, NULL), 0);
	assert_int_equal(sw_output_commit(&out, NULL), 0);
	sw_output_deinit(&out);
	assert_int_equal(sw_output_open(&out, p->file, NULL), 0);
	assert_int_equal(sw_output_write(&out, "new", 3, NULL), 0);
	sw_output_deinit(&out);
	content_is(p->file, "old");
	assert_int_equal(sw_output_open(&out, p->file, NULL), 0);
	assert_int_equal(sw_output_write(&out, "new", 3, NULL), 0);
	assert_int_equal(sw_output_commit(&out, NULL), 0);
	sw_output_deinit(&out);
	content_is(p->file, "new");
}

TEST(test_no_directory)
{
	struct sw_output out;
	struct sw_error err;
	assert_int_equal(sw_output_open(&out, "/nonexistent/x", &err), -SW_E_IO);
	assert_string_equal(err.message, "cannot write there: No such file or directory");
	sw_output_deinit(&out);
	assert_int_equal(sw_output_open(&out, "/tmp", &err), -SW_E_IO);
	assert_string_equal(err.message, "it is a directory");
	sw_output_deinit(&out);
}

/* A root directory of another process has links of others. */
TEST(test_below_proc)
{
	struct sw_output out;
	struct sw_error err = {0};
	assert_int_equal(sw_output_open(&out, "/proc/self/root/tmp/none.json", &err), -SW_E_IO);
	assert_string_equal(err.message, "nothing is written by a path below /proc");
	sw_output_deinit(&out);
	assert_int_equal(sw_output_open(&out, "/proc/self/fd/1", &err), 0);
	sw_output_deinit(&out);
}

TEST(test_full_disk)
{
	struct sw_output out;
	struct sw_error err;
	struct stat before, after;
	assert_int_equal(stat("/dev/full", &before), 0);
	assert_int_equal(sw_output_open(&out, "/dev/full", &err), 0);
	assert_int_equal(sw_output_write(&out, "x", 1, &err), -SW_E_IO);
	assert_string_equal(err.message, "writing failed: No space left on device");
	sw_output_deinit(&out);
	/* a device is written to, never replaced */
	assert_int_equal(stat("/dev/full", &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_true(S_ISCHR(after.st_mode));
}

TEST_WITH(test_reader_gone, set_up, tear_down)
{
	struct place *p = *state;
	struct sw_output out;
	(void) signal(SIGPIPE, SIG_IGN);
	assert_int_equal(mkfifo(p->file, 0600), 0);
	int reader = open(p->file, O_RDONLY | O_NONBLOCK);
	assert_int_equal(sw_output_open(&out, p->file, NULL), 0);
	close(reader);
	assert_int_equal(sw_output_write(&out, "x", 1, NULL), 0);
	assert_true(out.reader_gone);
	assert_int_equal(sw_output_commit(&out, NULL), 0);
	sw_output_deinit(&out);
}

/* A pipe that does not block, and a reader that takes its time. */
TEST(test_slow_reader)
{
	enum { SIZE = 1 << 20 };
	static char data[SIZE];
	int ends[2];
	struct sw_output out = {.direct = true};
	memset(data, 'x', sizeof(data));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	pid_t reader = fork();
	assert_true(reader >= 0);
	if (reader == 0) {
		size_t got = 0;
		close(ends[1]);
		for (ssize_t n; (n = read(ends[0], data, 4096)) > 0;)
			got += (size_t) n;
		_exit(got == SIZE ? 0 : 1);
	}
	close(ends[0]);
	out.fd = ends[1];
	assert_int_equal(sw_output_write(&out, data, SIZE, NULL), 0);
	assert_false(out.reader_gone);
	close(ends[1]);
	int status;
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
}

/* By a child: the same, also when it is not done. */
TEST_WITH(test_entrusted, set_up, tear_down)
{
	struct place *p = *state;
	struct sw_output out;
	assert_int_equal(sw_output_open(&out, p->file, NULL), 0);
	assert_int_equal(sw_output_entrust(&out, NULL), 0);
	pid_t child = out.placer;
	assert_true(child > 0);
	assert_int_equal(sw_output_write(&out, "one\n", 4, NULL), 0);
	assert_int_equal(access(p->file, F_OK), -1);
	assert_int_equal(sw_output_commit(&out, NULL), 0);
	content_is(p->file, "one\n");
	sw_output_deinit(&out);
	assert_int_equal(waitpid(child, NULL, WNOHANG), -1); /* waited for */

	assert_int_equal(sw_output_open(&out, p->file, NULL), 0);
	assert_int_equal(sw_output_entrust(&out, NULL), 0);
	assert_int_equal(sw_output_write(&out, "two\n", 4, NULL), 0);
	sw_output_deinit(&out);
	content_is(p->file, "one\n");
}

/* An error of the entrusted child is said here. */
TEST_WITH(test_entrusted_fails, set_up, tear_down)
{
	struct place *p = *state;
	struct sw_output out;
	struct sw_error err = {0};
	assert_int_equal(sw_output_open(&out, p->file, NULL), 0);
	assert_int_equal(sw_output_entrust(&out, NULL), 0);
	assert_int_equal(mkdir(p->file, 0700), 0);
	assert_int_equal(sw_output_commit(&out, &err), -SW_E_IO);
	assert_int_equal(err.sys_errno, EISDIR);
	sw_output_deinit(&out);
	assert_int_equal(rmdir(p->file), 0);

	assert_int_equal(sw_output_open(&out, p->file, NULL), 0);
	assert_int_equal(sw_output_entrust(&out, NULL), 0);
	assert_int_equal(kill(out.placer, SIGKILL), 0);
	assert_int_equal(waitpid(out.placer, NULL, 0), out.placer);
	assert_int_equal(sw_output_commit(&out, &err), -SW_E_IO);
	sw_output_deinit(&out);
	assert_int_equal(access(p->file, F_OK), -1);
}

/* A file that others put where they may: root would write to whom they like, or wait for a reader
 * for ever. */
TEST_WITH(test_planted, set_up, tear_down)
{
	enum { OTHER = 65533 };
	struct place *p = *state;
	char link[80];
	struct sw_output out;
	struct sw_error err = {0};
	if (geteuid() != 0) {
		SKIP("not root: it cannot make files of others", "root");
		return;
	}
	(void) snprintf(link, sizeof(link), "%s/link", p->directory);
	assert_int_equal(mkfifo(p->file, 0666), 0);
	assert_int_equal(chown(p->file, OTHER, OTHER), 0);
	int reader =
		open(p->file, O_RDONLY | O_NONBLOCK); /* or a fault would make us wait for ever */
	static const mode_t modes[] = {01777, 0777, 01775};
	for (size_t i = 0; i < SW_ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(p->directory, modes[i]), 0);
		assert_int_equal(sw_output_open(&out, p->file, &err), -SW_E_IO);
		assert_string_equal(err.message, "another user has put it into a directory that "
						 "others may write to");
		sw_output_deinit(&out);
	}
	/* The same by a link of theirs to what is nobody's secret, and by a link of ours to theirs. */
	assert_int_equal(symlink("/dev/null", link), 0);
	assert_int_equal(lchown(link, OTHER, OTHER), 0);
	assert_int_equal(sw_output_open(&out, link, &err), -SW_E_IO);
	sw_output_deinit(&out);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink(p->file, link), 0);
	assert_int_equal(sw_output_open(&out, link, &err), -SW_E_IO);
	sw_output_deinit(&out);
	/* Ours, and one in a directory of its user. */
	assert_int_equal(chown(p->file, 0, 0), 0);
	assert_int_equal(sw_output_open(&out, link, &err), 0);
	sw_output_deinit(&out);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(chown(p->file, OTHER, OTHER), 0);
	assert_int_equal(chown(p->directory, OTHER, OTHER), 0);
	assert_int_equal(sw_output_open(&out, p->file, &err), 0);
	sw_output_deinit(&out);
	/* A link of theirs in a directory of theirs. */
	assert_int_equal(symlink("/dev/null", link), 0);
	assert_int_equal(lchown(link, OTHER, OTHER), 0);
	assert_int_equal(sw_output_open(&out, link, &err), -SW_E_IO);
	sw_output_deinit(&out);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(close(reader), 0);
}

/* A link of another user on the way is not followed, one of root or of ours is. */
TEST_WITH(test_way, set_up, tear_down)
{
	enum { OTHER = 65533 };
	struct place *p = *state;
	char link[80], file[96];
	struct sw_output out;
	struct sw_error err = {0};
	if (geteuid() != 0) {
		SKIP("not root: it cannot make files of others", "root");
		return;
	}
	(void) snprintf(link, sizeof(link), "%s/link", p->directory);
	(void) snprintf(file, sizeof(file), "%s/out", link);
	assert_int_equal(symlink(".", link), 0);
	assert_int_equal(sw_output_open(&out, file, &err), 0);
	assert_int_equal(sw_output_write(&out, "text", 4, NULL), 0);
	assert_int_equal(sw_output_commit(&out, NULL), 0);
	sw_output_deinit(&out);
	content_is(p->file, "text");
	assert_int_equal(lchown(link, OTHER, OTHER), 0);
	assert_int_equal(sw_output_open(&out, file, &err), -SW_E_IO);
	assert_string_equal(
		err.message,
		"cannot write there: the way there leads through a link of another user");
	sw_output_deinit(&out);
	assert_int_equal(unlink(link), 0);
}

/* The file is put where the path led when it was opened, though it leads elsewhere by then. */
TEST_WITH(test_moved, set_up, tear_down)
{
	struct place *p = *state;
	char directory[80], moved[80], file[96];
	struct sw_output out;
	(void) snprintf(directory, sizeof(directory), "%s/d", p->directory);
	(void) snprintf(moved, sizeof(moved), "%s/moved", p->directory);
	(void) snprintf(file, sizeof(file), "%s/out", directory);
	for (int entrusted = 0; entrusted < 2; entrusted++) {
		assert_int_equal(mkdir(directory, 0700), 0);
		assert_int_equal(sw_output_open(&out, file, NULL), 0);
		if (entrusted)
			assert_int_equal(sw_output_entrust(&out, NULL), 0);
		assert_int_equal(rename(directory, moved), 0);
		assert_int_equal(symlink(".", directory), 0);
		assert_int_equal(sw_output_write(&out, "text", 4, NULL), 0);
		assert_int_equal(sw_output_commit(&out, NULL), 0);
		sw_output_deinit(&out);
		assert_int_equal(unlink(directory), 0);
		assert_int_equal(access(p->file, F_OK), -1);
		(void) snprintf(file, sizeof(file), "%s/out", moved);
		content_is(file, "text");
		assert_int_equal(unlink(file), 0);
		assert_int_equal(rmdir(moved), 0);
		(void) snprintf(file, sizeof(file), "%s/out", directory);
	}
}

/* A relative path may begin with "..". */
TEST_WITH(test_relative, set_up, tear_down)
{
	struct place *p = *state;
	char directory[80];
	struct sw_output out;
	sw_cleanup(sw_close_p) int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void) snprintf(directory, sizeof(directory), "%s/d", p->directory);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(sw_output_open(&out, "../out", NULL), 0);
	assert_int_equal(sw_output_write(&out, "text", 4, NULL), 0);
	assert_int_equal(sw_output_commit(&out, NULL), 0);
	sw_output_deinit(&out);
	assert_int_equal(fchdir(before), 0);
	assert_int_equal(rmdir(directory), 0);
	content_is(p->file, "text");
}
