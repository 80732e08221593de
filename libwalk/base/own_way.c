/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "own_way.h"
#include "cleanup.h"
#include "errors.h"
#include "in_root.h"
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_ours(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

static bool permit(void *arg, int fd)
{
	struct stat st;
	bool *refused = arg;
	if (fstat(fd, &st) < 0)
		return false;
	*refused = S_ISLNK(st.st_mode) && !is_ours(&st);
	errno = ELOOP;
	return !*refused;
}

/* The group of a user's own directory is often that of the user alone. */
static bool permit_ours(void *arg, int fd)
{
	struct stat st;
	(void) arg;
	if (fstat(fd, &st) < 0)
		return false;
	mode_t writers = st.st_uid == 0 ? S_IWGRP | S_IWOTH : S_IWOTH;
	errno = EPERM;
	return is_ours(&st) && (S_ISLNK(st.st_mode) || (st.st_mode & writers) == 0 ||
				(S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0));
}

/* -1 with errno. */
static int way_open(const char *path, int flags, bool (*permits)(void *arg, int fd), void *arg)
{
	char cwd[PATH_MAX] = "";
	sw_cleanup(sw_free_p) char *whole = NULL;
	sw_cleanup(sw_close_p) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || (path[0] != '/' && getcwd(cwd, sizeof(cwd)) == NULL))
		return -1;
	if (asprintf(&whole, "%s/%s", cwd, path) < 0) {
		whole = NULL; /* asprintf leaves it undefined */
		errno = ENOMEM;
		return -1;
	}
	return sw_in_root_open_where(root_fd, whole, O_PATH | O_CLOEXEC | flags, permits, arg);
}

int sw_own_way_open(const char *path, int flags, const char *what, int *ret_fd,
		    struct sw_error *err)
{
	bool refused = false;
	int fd = way_open(path, flags, permit, &refused);
	if (refused)
		return sw_fail(err, SW_E_IO,
			       "%s: the way there leads through a link of another user", what);
	if (fd < 0)
		return errno == ENOMEM ? sw_fail_nomem(err)
				       : sw_fail_errno(err, SW_E_IO, "%s", what);
	*ret_fd = fd;
	return 0;
}

bool sw_own_way_is_ours(const char *path)
{
	sw_cleanup(sw_close_p) int fd = way_open(path, 0, permit_ours, NULL);
	return fd >= 0;
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (slash == NULL)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t) (slash - path));
}

int sw_own_way_open_parent(const char *path, const char *what, int *ret_fd, struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *directory = directory_of(path);
	return directory == NULL ? sw_fail_nomem(err)
				 : sw_own_way_open(directory, O_DIRECTORY, what, ret_fd, err);
}

int sw_own_way_make(const char *path, mode_t mode, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int parent_fd = -EBADF;
	size_t length = strlen(path);
	while (length > 1 && path[length - 1] == '/')
		length--;
	sw_cleanup(sw_free_p) char *plain = strndup(path, length);
	if (plain == NULL)
		return sw_fail_nomem(err);
	int r = sw_own_way_open_parent(plain, path, &parent_fd, err);
	if (r < 0)
		return r;
	return mkdirat(parent_fd, sw_path_name(plain), mode) == 0 || errno == EEXIST
		       ? 0
		       : sw_fail_errno(err, SW_E_IO, "%s", path);
}
