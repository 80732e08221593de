/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "in_root.h"
#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DEPTH_MAX = 64,
	LINKS_MAX = 40,           /* the kernel's own limit: path_resolution(7) */
	NAME_SIZE = NAME_MAX + 2, /* a byte more: the kernel refuses what is too long */
};

/* The directories that lead from the root to where we are: ".." goes back to the one before, whatever it
 * is called by now. */
struct place {
	bool (*permits)(void *arg, int fd); /* NULL: all */
	void *arg;
	int root_fd;        /* borrowed */
	int fds[DEPTH_MAX]; /* owned */
	size_t depth, n_links;
	char left[PATH_MAX]; /* of the path */
};

static void up(struct place *p, size_t depth)
{
	while (p->depth > depth)
		(void) close(p->fds[--p->depth]); /* of a directory */
}

static void place_deinit(struct place *p)
{
	up(p, 0);
}

static int here(const struct place *p)
{
	return p->depth > 0 ? p->fds[p->depth - 1] : p->root_fd;
}

static bool fail(int error)
{
	errno = error;
	return false;
}

static bool permits(const struct place *p, int fd)
{
	return p->permits == NULL || p->permits(p->arg, fd);
}

static bool is_directory(int fd)
{
	struct statx stx;
	struct stat st;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stx) == 0)
		return S_ISDIR(stx.stx_mode);
	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode); /* old filters refuse statx() */
}

static bool down(struct place *p, const char *name)
{
	/* O_DIRECTORY has an automount mounted, and waits for it: follow_automount() of fs/namei.c, v6.1. Where
	 * somebody is to permit the directory, they are asked before that. */
	int kind = p->permits == NULL ? O_DIRECTORY : 0;
	if (p->depth == DEPTH_MAX)
		return fail(ELOOP);
	sw_cleanup(sw_close_p) int fd =
		openat(here(p), name, O_PATH | O_NOFOLLOW | O_CLOEXEC | kind);
	if (fd < 0 || !permits(p, fd))
		return false;
	if (!is_directory(fd))
		return fail(ENOTDIR);
	p->fds[p->depth++] = sw_take_fd(fd);
	return true;
}

/* The target of a link comes before the rest of the path. Returns false if the name is no link, or
 * there are too many links. */
static bool follow(struct place *p, const char *name)
{
	char text[PATH_MAX], all[PATH_MAX];
	/* The link itself: by its name another file may be asked. */
	sw_cleanup(sw_close_p) int fd = openat(here(p), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !permits(p, fd))
		return false;
	ssize_t n = readlinkat(fd, "", text, sizeof(text) - 1);
	if (n < 0)
		return fail(errno == ENOENT ? EINVAL : errno); /* ENOENT: it is no link */
	text[n] = '\0';
	if (++p->n_links > LINKS_MAX)
		return fail(ELOOP);
	if (snprintf(all, sizeof(all), "%s/%s", text, p->left) >= (int) sizeof(all))
		return fail(ENAMETOOLONG);
	/* Nothing is behind it: a slash there would ask for a directory. */
	if (p->left[0] == '\0')
		all[n] = '\0';
	memcpy(p->left, all, sizeof(p->left));
	if (text[0] == '/')
		up(p, 0);
	return true;
}

/* The next name of the path, which is taken from it; "": there is none. */
static void name_take(struct place *p, char name[static NAME_SIZE])
{
	size_t slashes = strspn(p->left, "/"), n = strcspn(p->left + slashes, "/");
	size_t end = slashes + n + strspn(p->left + slashes + n, "/");
	/* Cut, one that is too long is still too long. */
	(void) snprintf(name, NAME_SIZE, "%.*s", (int) n, p->left + slashes);
	/* Not by memmove(3): valgrind 3.19 takes its fortified form for memcpy(3), whose areas may not overlap. */
	size_t left = strlen(p->left + end) + 1;
	for (size_t i = 0; i < left; i++)
		p->left[i] = p->left[end + i];
}

static int permitted(const struct place *p, int fd)
{
	sw_cleanup(sw_close_p) int opened_fd = fd;
	return fd >= 0 && permits(p, fd) ? sw_take_fd(opened_fd) : -1;
}

int sw_in_root_open_where(int root_fd, const char *path, int flags,
			  bool (*permit)(void *arg, int fd), void *arg)
{
	sw_cleanup(
		place_deinit) struct place p = {.permits = permit, .arg = arg, .root_fd = root_fd};
	char name[NAME_SIZE];
	if (!permits(&p, root_fd))
		return -1;
	if (snprintf(p.left, sizeof(p.left), "%s", path) >= (int) sizeof(p.left)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (;;) {
		name_take(&p, name);
		if (name[0] == '\0')
			return openat(here(&p), ".", flags);
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			up(&p, p.depth > 0 ? p.depth - 1 : 0);
			continue;
		}
		bool last = p.left[0] == '\0';
		if (!last && down(&p, name))
			continue;
		if (!last && errno != ENOTDIR)
			return -1;
		if ((!last || !(flags & O_NOFOLLOW)) && follow(&p, name))
			continue;
		if (!last || (!(flags & O_NOFOLLOW) && errno != EINVAL)) {
			errno = errno == EINVAL ? ENOTDIR : errno;
			return -1;
		}
		return permitted(&p, openat(here(&p), name, flags | O_NOFOLLOW));
	}
}

int sw_in_root_open(int root_fd, const char *path, int flags)
{
	return sw_in_root_open_where(root_fd, path, flags, NULL, NULL);
}
