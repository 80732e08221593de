/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/plain_path.h"
#include "cleanup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LINKS_MAX = 40, LINK_FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC }; /* path_resolution(7) */

struct way {
	int fd; /* owned: the directory where we are */
	uid_t owner;
	unsigned n_links;
	char left[PATH_MAX]; /* of the path */
};

static int fail(int error)
{
	errno = error;
	return -1;
}

static int go_to(struct way *w, int fd)
{
	if (fd < 0)
		return -1;
	sw_close_p(&w->fd);
	w->fd = fd;
	return 0;
}

/* Takes the next name off what is left; false: there is none. */
static bool name_take(struct way *w, char name[static PATH_MAX])
{
	size_t slashes = strspn(w->left, "/"), n = strcspn(w->left + slashes, "/");
	memcpy(name, w->left + slashes, n);
	name[n] = '\0';
	size_t end = slashes + n + strspn(w->left + slashes + n, "/");
	memmove(w->left, w->left + end, strlen(w->left + end) + 1);
	return n > 0;
}

/* What a link of a directory says comes before what is left. link_fd: owned by the caller. */
static int follow(struct way *w, int link_fd, const struct stat *st)
{
	char text[PATH_MAX], all[PATH_MAX];
	if ((st->st_uid != 0 && st->st_uid != w->owner) || ++w->n_links > LINKS_MAX)
		return fail(ELOOP);
	ssize_t n = readlinkat(link_fd, "", text, sizeof(text) - 1);
	if (n < 0)
		return -1;
	text[n] = '\0';
	if (snprintf(all, sizeof(all), "%s/%s", text, w->left) >= (int) sizeof(all))
		return fail(ENAMETOOLONG);
	memcpy(w->left, all, strlen(all) + 1);
	return text[0] == '/' ? go_to(w, open("/", O_PATH | O_CLOEXEC)) : 0;
}

static int walk(struct way *w)
{
	char name[PATH_MAX];
	struct stat st;
	while (name_take(w, name)) {
		sw_cleanup(sw_close_p) int fd = openat(w->fd, name, LINK_FLAGS);
		if (fd < 0 || fstat(fd, &st) < 0)
			return -1;
		bool last = w->left[0] == '\0';
		if (S_ISLNK(st.st_mode) && last)
			return fail(ELOOP);
		int r = S_ISLNK(st.st_mode) ? follow(w, fd, &st) : go_to(w, sw_take_fd(fd));
		if (r < 0 || last)
			return r;
	}
	return 0;
}

int sw_plain_path_open(const char *path, uid_t owner)
{
	struct way w = {.owner = owner};
	if (path[0] != '/')
		return fail(EINVAL);
	if (strlen(path) >= sizeof(w.left))
		return fail(ENAMETOOLONG);
	memcpy(w.left, path, strlen(path) + 1);
	w.fd = open("/", O_PATH | O_CLOEXEC);
	if (w.fd < 0 || walk(&w) == 0)
		return w.fd;
	sw_close_p(&w.fd);
	return -1;
}
