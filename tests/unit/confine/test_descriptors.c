/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test.h"

#include <confine/descriptors.h>

#include <sys/stat.h>
#include <sys/wait.h>

enum { FDS = 64 };

static bool same_file(int fd, int other)
{
	struct stat a, b;
	return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

/*
 * In a child that has open whatever number there is below FDS, and is left the needed ones: the number of the first
 * check that fails, 0 when all hold.
 */
static int failed_check(const int *numbers, size_t n)
{
	int fds[8], pipes[2];
	int *needed[8];
	int kept = 0;
	if (pipe(pipes) < 0)
		return 1;
	for (int fd = 0; fd < FDS; fd++)
		if (fd != pipes[0] && dup2(pipes[1], fd) < 0)
			return 2;
	for (size_t i = 0; i < n; i++) {
		fds[i] = numbers[i];
		needed[i] = &fds[i];
	}
	sw_confine_descriptors(needed, n);
	for (size_t i = 0; i < n; i++) {
		if (numbers[i] < 0 ? fds[i] != numbers[i] : fcntl(fds[i], F_GETFD) < 0)
			return 3; /* a needed one was closed, or what is none became one */
		if (numbers[i] >= 3 && fds[i] != numbers[i])
			return 4; /* moved though it was not among the first three */
		if (numbers[i] >= 0 && (fds[i] < 3 || same_file(fds[i], 0)))
			return 5; /* left among the first three */
		kept += numbers[i] >= 0;
	}
	if (!same_file(0, 1) || !same_file(0, 2))
		return 6;
	for (int fd = 3; fd < 2 * FDS; fd++)
		kept -= fcntl(fd, F_GETFD) >= 0;
	return kept == 0 ? 0 : 7; /* one is open that is not needed */
}

static void assert_holds(const int *numbers, size_t n)
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(failed_check(numbers, n));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(test_none)
{
	assert_holds(NULL, 0);
	assert_holds((const int[]){-1}, 1);
}

TEST(test_needed)
{
	assert_holds((const int[]){20}, 1);
	assert_holds((const int[]){40, 20, -1, 21}, 4);
	assert_holds((const int[]){3, 4, FDS - 1}, 3);
}

TEST(test_first_three)
{
	assert_holds((const int[]){0}, 1);
	assert_holds((const int[]){2, 30, 1}, 3);
}
