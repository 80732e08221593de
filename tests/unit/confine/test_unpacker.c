/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/unpacker.h"
#include "test.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { CONFINED = 1, FILE_MADE = 2 };

/* The actions of a confined child, then whether a call that no parser needs ends it. */
static void child_main(const char *directory, int to)
{
	struct sw_error err;
	char path[64];
	int done = sw_confine_unpacker(&directory, 1, directory, &err) == 0 ? CONFINED : 0;
	(void) snprintf(path, sizeof(path), "%s/made", directory); /* fits */
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	done |= fd >= 0 ? FILE_MADE : 0;
	(void) !write(to, &done, sizeof(done));
	(void) socket(AF_UNIX, SOCK_STREAM, 0);
	_exit(0);
}

TEST(test_confined)
{
	char directory[] = "/tmp/snapwalk-test-XXXXXX", path[64];
	int ends[2], done = 0, status;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child_main(directory, ends[1]);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(read(ends[0], &done, sizeof(done)), sizeof(done));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void) snprintf(path, sizeof(path), "%s/made", directory); /* fits */
	(void) unlink(path);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(done, CONFINED | FILE_MADE);
	assert_true(WIFSIGNALED(status)); /* the filter is there */
	assert_int_equal(WTERMSIG(status), SIGSYS);
}
