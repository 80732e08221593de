/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/apart.h"
#include "cleanup.h"
#include "errors.h"
#include "parts.h"
#include "priority.h"
#include "urgent.h"

#include <snapwalk/clock.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_BYTES = 65536, NS_PER_MS = 1000000 };

static bool is_child;

bool sw_apart_is_child(void)
{
	return is_child;
}

int sw_apart_start(struct sw_apart *ret, int (*work)(void *arg, int fd), void *arg,
		   struct sw_error *err)
{
	int fds[2];
	*ret = (struct sw_apart){.fd = -EBADF};
	(void) fflush(stdout); /* or both would write it; main() checks at the end */
	if (pipe2(fds, O_CLOEXEC) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
		sw_urgent_child();
		is_child = true;
		_exit(getppid() == parent ? work(arg, fds[1]) : 0);
	}
	(void) close(fds[1]);
	if (pid > 0)
		sw_priority_share(
			pid); /* its budget begins with its first turn: sw_urgent_child() */
	if (pid < 0) {
		int r = sw_fail_errno(err, SW_E_IO, "cannot fork");
		(void) close(fds[0]);
		return r;
	}
	*ret = (struct sw_apart){.pid = pid, .fd = fds[0]};
	return 0;
}

/* The kernel's own names, kernel/bpf/syscall.c and kernel/events/core.c: "bpf-map", "bpf-prog", "bpf_link", "bpf_iter". */
static bool is_of_bpf(const char *name)
{
	return sw_begins_with(name, "anon_inode:bpf") ||
	       sw_begins_with(name, "anon_inode:[perf_event]");
}

static bool descriptors_drop(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	if (dir == NULL)
		return false;
	while ((entry = readdir(dir)) != NULL) {
		char name[64] = "";
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, name, sizeof(name) - 1);
		if (n > 0 && is_of_bpf(name))
			(void) close(atoi(entry->d_name)); /* the parent has it */
	}
	(void) closedir(dir);
	return true;
}

/* Maps that are mapped stay after their descriptors. */
static bool mappings_drop(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	if (maps == NULL)
		return false;
	while (fgets(line, sizeof(line), maps) != NULL) {
		unsigned long start, end;
		const char *name = strstr(line, "anon_inode:");
		if (name != NULL && is_of_bpf(name) && sscanf(line, "%lx-%lx", &start, &end) == 2)
			(void) munmap((void *) start, end - start); /* nobody uses it here */
	}
	(void) fclose(maps); /* was read */
	return true;
}

int sw_apart_drop_bpf(struct sw_error *err)
{
	if (descriptors_drop() && mappings_drop())
		return 0;
	return sw_fail_errno(err, SW_E_IO, "cannot see what this process has open");
}

/* Whether there is something to be read. False: the deadline came first. */
static bool wait_for(int fd, int64_t deadline_ns)
{
	for (;;) {
		struct pollfd wanted = {.fd = fd, .events = POLLIN};
		int64_t left_ms = -1;
		if (deadline_ns != 0)
			left_ms = (deadline_ns - sw_clock_ns()) / NS_PER_MS;
		if (deadline_ns != 0 && left_ms <= 0)
			return false;
		int n = poll(&wanted, 1, left_ms > INT_MAX ? INT_MAX : (int) left_ms);
		if (n > 0 || (n < 0 && errno != EINTR))
			return true;
	}
}

/* 0; -SW_E_TIMEOUT; -SW_E_LIMIT; -SW_E_NOMEM. */
static int read_all(int fd, int64_t deadline_ns, size_t max_bytes, struct sw_text *text)
{
	char buffer[READ_BYTES];
	for (size_t size = 0; size <= max_bytes;) {
		if (!wait_for(fd, deadline_ns))
			return -SW_E_TIMEOUT;
		ssize_t n = read(fd, buffer, sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 && !text->failed ? 0 : -SW_E_NOMEM;
		sw_text_append(text, buffer, (size_t) n);
		size += (size_t) n;
	}
	return -SW_E_LIMIT;
}

int sw_apart_finish_within(struct sw_apart *apart, int64_t deadline_ns, size_t max_bytes,
			   struct sw_text *text, int *ret_status, struct sw_error *err)
{
	int status = 0;
	int r = read_all(apart->fd, deadline_ns, max_bytes, text);
	if (r == -SW_E_TIMEOUT || r == -SW_E_LIMIT)
		(void) kill(apart->pid, SIGKILL); /* it is not waited for yet */
	sw_close_p(&apart->fd);                   /* a child that still writes sees it */
	while (waitpid(apart->pid, &status, 0) < 0 && errno == EINTR)
		;
	apart->pid = 0;
	if (r == -SW_E_TIMEOUT)
		return sw_fail(err, SW_E_TIMEOUT,
			       "its files were not looked through in the time that there was");
	if (r == -SW_E_LIMIT)
		return sw_fail(err, SW_E_LIMIT, "what reads its files has written too much");
	if (WIFSIGNALED(status))
		return sw_fail(err, SW_E_INTERNAL,
			       "what read its files was killed by signal %d (%s)", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
	*ret_status = WEXITSTATUS(status);
	return r == 0 ? 0 : sw_fail_nomem(err);
}
