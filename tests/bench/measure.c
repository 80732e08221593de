/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * measure OUTPUT COMMAND...: run a command with its output in a file and print what it cost:
 * wall clock and CPU time in microseconds, peak resident memory in KiB, wait status.
 *
 * A program of its own, because the peak that wait4() tells begins with that of the process which
 * forked: from a Python interpreter every command would seem to need what the interpreter needs.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static int64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t) t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t time_us(struct timeval t)
{
	return (int64_t) t.tv_sec * 1000000 + t.tv_usec;
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	pid_t pid;
	int status;
	if (argc < 3)
		return 2;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	int64_t begin_us = now_us();
	if (posix_spawnp(&pid, argv[2], &actions, NULL, argv + 2, environ) != 0) {
		fprintf(stderr, "measure: cannot run %s\n", argv[2]);
		return 1;
	}
	if (wait4(pid, &status, 0, &usage) != pid)
		return 1;
	printf("%lld %lld %ld %d\n", (long long) (now_us() - begin_us),
	       (long long) (time_us(usage.ru_utime) + time_us(usage.ru_stime)), usage.ru_maxrss,
	       status);
	return 0;
}
