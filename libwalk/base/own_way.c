/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "own_way.h"
#include "cleanup.h"
#include "errors.h"
#include "in_root.h"
#include "parts.h"
#include "own_fd.h"

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

/* The judgement on who may change where a path leads, and what was found that others may change. */
struct judge {
	const struct sw_own_way_other *other; /* borrowed; NULL: nobody but root and our user */
	bool other_at_end;  /* directories of the other user have no names below them */
	struct stat others; /* st_ino 0: no directory of the other user yet */
	char *found;        /* owned: a name */
	const char *whose;  /* static: what is wrong with it */
};

static void judge_deinit(struct judge *judge)
{
	free(judge->found);
}

static bool refuse(struct judge *judge, int fd, const char *whose)
{
	char name[PATH_MAX];
	if (sw_own_fd_path(fd, name, sizeof(name)))
		judge->found = strdup(name); /* without it the message says less */
	judge->whose = whose;
	errno = EPERM;
	return false;
}

static bool is_others(const struct judge *judge, const struct stat *st)
{
	return judge->other != NULL && st->st_uid == judge->other->uid && !S_ISLNK(st->st_mode);
}

/* The group of a user's own directory is often that of the user alone. A daemon's group may be that of its callers. */
static bool may_others_write(const struct judge *judge, const struct stat *st)
{
	const struct sw_own_way_other *other = judge->other;
	bool is_daemons = other != NULL && st->st_gid == other->gid;
	bool in_group = is_daemons ? other->group_has_others
				   : st->st_uid == 0 || (other != NULL && st->st_uid == other->uid);
	mode_t writers = in_group ? S_IWGRP | S_IWOTH : S_IWOTH;
	return !S_ISLNK(st->st_mode) && (st->st_mode & writers) != 0 &&
	       !(S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0);
}

static bool permit_ours(void *arg, int fd)
{
	struct stat st;
	struct judge *judge = arg;
	if (fstat(fd, &st) < 0)
		return false;
	/* The last name is asked about twice: as a link that it may be, and as a directory. */
	if (judge->other_at_end && judge->others.st_ino != 0 &&
	    (judge->others.st_ino != st.st_ino || judge->others.st_dev != st.st_dev))
		return refuse(judge, fd, "lies in a directory of the daemon's user");
	if (!is_ours(&st) && !is_others(judge, &st))
		return refuse(judge, fd, "belongs to another user");
	if (may_others_write(judge, &st))
		return refuse(judge, fd, "can be changed by other users");
	if (!is_ours(&st))
		judge->others = st;
	return true;
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
	sw_cleanup(judge_deinit) struct judge judge = {0};
	sw_cleanup(sw_close_p) int fd = way_open(path, 0, permit_ours, &judge);
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

static int open_judged(const char *path, const char *directory, int flags, struct judge *judge,
		       int *ret_fd, struct sw_error *err)
{
	int fd = way_open(directory, flags, permit_ours, judge);
	if (judge->whose != NULL)
		return sw_fail(err, SW_E_IO, "%s: %s %s, who could put something else there", path,
			       judge->found != NULL ? judge->found : "a directory on the way",
			       judge->whose);
	if (fd < 0)
		return errno == ENOMEM ? sw_fail_nomem(err)
				       : sw_fail_errno(err, SW_E_IO, "%s", path);
	*ret_fd = fd;
	return 0;
}

int sw_own_way_check_parent(const char *path, const struct sw_own_way_other *other,
			    struct sw_error *err)
{
	sw_cleanup(judge_deinit) struct judge judge = {.other = other, .other_at_end = true};
	sw_cleanup(sw_close_p) int fd = -EBADF;
	sw_cleanup(sw_free_p) char *directory = directory_of(path);
	return directory == NULL ? sw_fail_nomem(err)
				 : open_judged(path, directory, O_DIRECTORY, &judge, &fd, err);
}

int sw_own_way_open_directory(const char *path, const struct sw_own_way_other *other, int *ret_fd,
			      struct sw_error *err)
{
	sw_cleanup(judge_deinit) struct judge judge = {.other = other};
	sw_cleanup(sw_close_p) int path_fd = -EBADF;
	int r = open_judged(path, path, O_DIRECTORY, &judge, &path_fd, err);
	if (r < 0)
		return r;
	int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	*ret_fd = fd;
	return 0;
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
