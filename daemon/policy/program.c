/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/program.h"
#include "cleanup.h"
#include "in_root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS_MAX = 512 }; /* that are looked at */

int sw_program_fd(int proc_fd)
{
	return openat(proc_fd, "pagemap", O_RDONLY | O_CLOEXEC);
}

bool sw_program_runs(int fd)
{
	char byte;
	return fd >= 0 && pread(fd, &byte, sizeof(byte), 0) < 0 && errno == EINVAL;
}

static bool file_find(int dir_fd, const char *path, struct statx *ret)
{
	const int flags = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC | AT_EMPTY_PATH;
	return statx(dir_fd, path, flags, STATX_INO, ret) == 0 && (ret->stx_mask & STATX_INO) != 0;
}

/* An absolute link goes on below that root, not below ours. */
static bool file_find_below(int root_fd, const char *path, struct statx *ret)
{
	sw_cleanup(sw_close_p) int fd = sw_in_root_open(root_fd, path, O_PATH | O_CLOEXEC);
	return fd >= 0 && file_find(fd, "", ret);
}

int sw_program_thread_open(int proc_fd)
{
	char byte;
	sw_cleanup(sw_close_p) int fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sw_cleanup(sw_closedir_p) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL)
		return -1;
	int dir_fd = sw_take_fd(fd); /* the DIR's now */
	const struct dirent *entry;
	for (int i = 0; i < THREADS_MAX && (entry = readdir(dir)) != NULL; i++) {
		sw_cleanup(sw_close_p) int thread_fd =
			entry->d_name[0] != '.'
				? openat(dir_fd, entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC)
				: -EBADF;
		if (thread_fd >= 0 && readlinkat(thread_fd, "exe", &byte, 1) > 0)
			return sw_take_fd(thread_fd);
	}
	return -1;
}

static bool program_find(int proc_fd, struct statx *ret)
{
	if (file_find(proc_fd, "exe", ret))
		return true;
	sw_cleanup(sw_close_p) int fd = errno == ENOENT ? sw_program_thread_open(proc_fd) : -EBADF;
	return fd >= 0 && file_find(fd, "exe", ret);
}

static bool is_same_file(const struct statx *a, const struct statx *b)
{
	return a->stx_ino == b->stx_ino && a->stx_dev_major == b->stx_dev_major &&
	       a->stx_dev_minor == b->stx_dev_minor;
}

bool sw_program_is_listed(int proc_fd, char *const *list)
{
	struct statx own, other;
	while (list != NULL && *list != NULL && (*list)[0] != '/')
		list++;
	if (list == NULL || *list == NULL || !program_find(proc_fd, &own))
		return false; /* no path is listed; or it has ended, or the capture fails */
	sw_cleanup(sw_close_p) int root_fd = open("/proc/1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (; *list != NULL; list++) {
		if ((*list)[0] != '/')
			continue;
		if (file_find(AT_FDCWD, *list, &other) && is_same_file(&own, &other))
			return true;
		if (root_fd >= 0 && file_find_below(root_fd, *list, &other) &&
		    is_same_file(&own, &other))
			return true;
	}
	return false;
}

bool sw_program_is(int proc_fd, const char *path)
{
	char *const list[] = {(char *) path, NULL}; /* only read */
	return sw_program_is_listed(proc_fd, list);
}
