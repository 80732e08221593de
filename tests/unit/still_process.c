/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "still_process.h"
#include "cleanup.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void *wait_for_ever(void *arg)
{
	while (pause() < 0) /* always */
		;
	return NULL;
}

static bool in_pause(int tasks_fd, const char *tid)
{
	char path[NAME_MAX + sizeof("/syscall")], call[8] = "";
	(void) snprintf(path, sizeof(path), "%s/syscall", tid); /* fits */
	sw_cleanup(sw_close_p) int fd = openat(tasks_fd, path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, call, sizeof(call) - 1) > 0 && atoi(call) == SYS_pause;
}

static bool all_pause(pid_t pid, size_t n_threads)
{
	char path[64];
	size_t n = 0;
	(void) snprintf(path, sizeof(path), "/proc/%d/task", (int) pid); /* fits */
	DIR *tasks = opendir(path);
	assert_non_null(tasks);
	for (const struct dirent *d = readdir(tasks); d != NULL; d = readdir(tasks))
		n += d->d_name[0] != '.' && in_pause(dirfd(tasks), d->d_name);
	(void) closedir(tasks);
	return n == n_threads;
}

pid_t still_process_start(size_t n_threads)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	pthread_t thread;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 1; i < n_threads; i++)
		(void) pthread_create(&thread, NULL, wait_for_ever, NULL);
	(void) wait_for_ever(NULL);
	_exit(1);
}

void still_process_wait(pid_t pid, size_t n_threads)
{
	while (!all_pause(pid, n_threads))
		(void) sched_yield();
}

void still_process_end(pid_t pid)
{
	(void) kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}
