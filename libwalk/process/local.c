/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arena.h"
#include "cleanup.h"
#include "errors.h"
#include "process/filesystems.h"
#include "in_root.h"

#include <snapwalk/clock.h>
#include <snapwalk/local.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often mounts are read anew, as one is not known. */
static const int64_t AGAIN_NS = 1000000000;

struct sw_local {
	struct sw_arena arena; /* the mounts' */
	struct sw_filesystems fs;
	char *cwd;              /* owned; NULL: it has no name */
	uid_t uid;              /* ours: a sandbox does not tell it */
	struct sw_fs_file own;  /* our root directory */
	struct sw_fs_file last; /* what the last one that was permitted is on; mount 0: none */
	int64_t read_ns;        /* when they were read */
};

static void mounts_read(struct sw_local *local)
{
	struct sw_arena arena = {0};
	struct sw_filesystems fs = {0};
	local->read_ns = sw_clock_ns();
	sw_cleanup(sw_close_p) int self_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* In a sandbox they cannot be read again: those from before count. */
	if (self_fd < 0 || sw_filesystems_read(&arena, self_fd, &fs) < 0 || fs.n == 0) {
		sw_arena_deinit(&arena);
		return;
	}
	sw_arena_deinit(&local->arena);
	local->arena = arena;
	local->fs = fs;
	local->last.mount = 0;
}

int sw_local_create(struct sw_local **ret, struct sw_error *err)
{
	struct sw_local *local = calloc(1, sizeof(*local));
	if (local == NULL)
		return sw_fail_nomem(err);
	mounts_read(local);
	(void) sw_filesystems_root(&local->own); /* or it is none that is known */
	local->cwd = getcwd(NULL, 0);
	local->uid = geteuid();
	*ret = local;
	return 0;
}

void sw_local_destroy(struct sw_local *local)
{
	if (local == NULL)
		return;
	sw_arena_deinit(&local->arena);
	free(local->cwd);
	free(local);
}

/* The kernel gives the number of a mount that is gone to another one. */
static bool is_same_mount(const struct sw_fs_file *a, const struct sw_fs_file *b)
{
	return a->mount == b->mount && a->major == b->major && a->minor == b->minor;
}

static bool mount_answers(struct sw_local *local, const struct sw_fs_file *file)
{
	enum sw_fs_kind kind;
	/* Our own pages come from where our root directory is: who does not answer there has stopped us. */
	if (is_same_mount(file, &local->own))
		return true;
	if (file->mount != 0 && is_same_mount(file, &local->last))
		return true;
	bool known = sw_filesystems_find(&local->fs, file, &kind);
	if (!known && sw_clock_ns() - local->read_ns > AGAIN_NS) {
		mounts_read(local);
		known = sw_filesystems_find(&local->fs, file, &kind);
	}
	if (!known || kind != SW_FS_LOCAL)
		return false;
	local->last = *file;
	return true;
}

/* A user who may put a link there may also let it lead to files that the user may not read. */
static bool link_is_trusted(const struct sw_local *local, int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 &&
	       (!S_ISLNK(st.st_mode) || st.st_uid == 0 || st.st_uid == local->uid);
}

static bool permit(void *arg, int fd)
{
	struct sw_local *local = arg;
	struct sw_fs_file file;
	if (!sw_filesystems_file(fd, &file) || !mount_answers(local, &file)) {
		errno = EXDEV;
		return false;
	}
	if (link_is_trusted(local, fd))
		return true;
	errno = ELOOP;
	return false;
}

int sw_local_open_at(struct sw_local *local, int directory_fd, const char *name, int flags)
{
	return sw_in_root_open_where(directory_fd, name, O_PATH | O_CLOEXEC | flags, permit, local);
}

/* From the root directory, also where the path is relative: absolute links, and ".." at its beginning, lead out of the
 * working directory. */
int sw_local_open(struct sw_local *local, const char *path, int flags)
{
	char whole[PATH_MAX];
	bool relative = path[0] != '/';
	if (relative && local->cwd == NULL) {
		errno = ENOENT;
		return -1;
	}
	int n = snprintf(whole, sizeof(whole), "%s/%s", relative ? local->cwd : "", path);
	if (n < 0 || (size_t) n >= sizeof(whole)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	sw_cleanup(sw_close_p) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root_fd >= 0 ? sw_local_open_at(local, root_fd, whole, flags) : -1;
}
