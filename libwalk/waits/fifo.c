/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A FIFO is known by its device and inode. To ask for them by the link in /proc/PID/fd, even with
 * AT_STATX_DONT_SYNC, may sleep for ever where a server does not answer: who follows such a link to a
 * file of 9p asks the server whether the file is still the same (d_weak_revalidate() in complete_walk(),
 * fs/namei.c, v6.1), and cifs_getattr() writes back first. So fdinfo comes first, which asks no file system: it says
 * the mount, and mountinfo of which type that is. Only files of those that the kernel answers for by
 * itself are asked, and of other processes' files only those with the same inode number.
 */
#include "waits/fifo.h"
#include "cleanup.h"
#include "process/filesystems.h"
#include "process/proc.h"
#include "waits/visible.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINK_BYTES = 512, INFO_BYTES = 1024, CLOCK_EVERY = 16 };

struct search {
	const struct sw_fifo *fifo;
	const char *link;
	const struct sw_budget *budget;
	struct sw_fifo_ends ends;
	bool written;
	size_t n_looked;
};

bool sw_fd_info_parse(const char *text, struct sw_fd_info *ret)
{
	struct sw_fd_info info = {0};
	const char *flags = strstr(text, "flags:");
	if (flags == NULL || sscanf(flags, "flags: %o", &info.flags) != 1 ||
	    !sw_proc_status_number(text, "mnt_id", &info.mount) ||
	    !sw_proc_status_number(text, "ino", &info.inode)) /* Linux 5.14 */
		return false;
	*ret = info;
	return true;
}

static bool info_read(int proc_fd, int64_t fd, struct sw_fd_info *ret)
{
	char name[48], text[INFO_BYTES];
	(void) snprintf(name, sizeof(name), "fdinfo/%" PRId64, fd); /* fits */
	return sw_proc_read_small(proc_fd, name, text, sizeof(text)) > 0 &&
	       sw_fd_info_parse(text, ret);
}

static bool mount_is_local(int proc_fd, uint64_t mount)
{
	sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
	const struct sw_fs_file file = {.mount = mount};
	struct sw_filesystems fs;
	enum sw_fs_kind kind;
	return sw_filesystems_read(&arena, proc_fd, &fs) == 0 &&
	       sw_filesystems_find(&fs, &file, &kind) && kind == SW_FS_LOCAL;
}

bool sw_fifo_of(int proc_fd, int64_t fd, struct sw_fifo *ret)
{
	char name[48];
	struct sw_fd_info info;
	struct statx stx;
	(void) snprintf(name, sizeof(name), "fd/%" PRId64, fd); /* fits */
	if (!info_read(proc_fd, fd, &info) || info.mount == 0 ||
	    !mount_is_local(proc_fd, info.mount) ||
	    statx(proc_fd, name, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &stx) < 0 ||
	    !S_ISFIFO(stx.stx_mode))
		return false;
	*ret = (struct sw_fifo){stx.stx_ino, stx.stx_dev_major, stx.stx_dev_minor};
	return true;
}

/* Devices may wait for their drivers when they say what they are: tun_chr_show_fdinfo() in
 * drivers/net/tun.c takes the lock of all network devices, v6.1. */
static bool may_be_fifo(const struct search *s, const char *link)
{
	return link[0] == '/' && (strncmp(link, "/dev/", 5) != 0 || strcmp(link, s->link) == 0);
}

static bool has_end(const struct search *s, unsigned flags)
{
	unsigned mode = flags & O_ACCMODE;
	return (flags & O_PATH) == 0 &&
	       (mode == O_RDWR || mode == (s->written ? O_WRONLY : O_RDONLY));
}

/* False: there may be files that we may not look at. */
static bool look_at_file(struct search *s, int proc_fd, int fd_dir, const char *name, pid_t pid)
{
	char link[LINK_BYTES];
	struct sw_fd_info info;
	struct sw_fifo found;
	ssize_t n = readlinkat(fd_dir, name, link, sizeof(link) - 1);
	if (n <= 0)
		return n == 0 || errno == ENOENT || errno == ESRCH; /* closed */
	link[n] = '\0';
	int64_t fd = strtol(name, NULL, 10);
	if (!may_be_fifo(s, link) || !info_read(proc_fd, fd, &info) ||
	    info.inode != s->fifo->inode || !has_end(s, info.flags) ||
	    !sw_fifo_of(proc_fd, fd, &found) || found.inode != s->fifo->inode ||
	    found.dev_major != s->fifo->dev_major || found.dev_minor != s->fifo->dev_minor)
		return true;
	s->ends.distinct += s->ends.distinct < 2 && pid != s->ends.owner;
	s->ends.owner = pid;
	return true;
}

static bool time_is_up(struct search *s)
{
	if (!s->ends.cut && s->n_looked++ % CLOCK_EVERY == 0)
		s->ends.cut = sw_budget_spent(s->budget);
	return s->ends.cut;
}

static void look_at_process(struct search *s, pid_t pid)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) pid); /* fits */
	sw_cleanup(sw_close_p) int proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return;                                                /* gone */
	(void) snprintf(path, sizeof(path), "/proc/%d/fd", (int) pid); /* fits */
	sw_cleanup(sw_closedir_p) DIR *dir = opendir(path);
	if (dir == NULL) {
		s->ends.complete &= errno == ENOENT || errno == ESRCH; /* gone */
		return;
	}
	struct dirent *e;
	while (!time_is_up(s) && (e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		if (!look_at_file(s, proc_fd, dirfd(dir), e->d_name, pid)) {
			s->ends.complete &= !sw_process_may_hide_end(pid);
			return;
		}
	}
}

struct sw_fifo_ends sw_fifo_ends_find(const struct sw_fifo *fifo, const char *link, bool written,
				      const struct sw_budget *budget)
{
	struct search s = {.fifo = fifo, .link = link, .budget = budget, .written = written};
	sw_cleanup(sw_closedir_p) DIR *dir = opendir("/proc");
	struct dirent *e;
	s.ends.complete = dir != NULL;
	s.ends.cut = dir == NULL;
	while (!s.ends.cut && s.ends.distinct < 2 && (e = readdir(dir)) != NULL) {
		long pid = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? strtol(e->d_name, NULL, 10)
								      : 0;
		if (pid > 0 && pid <= INT_MAX)
			look_at_process(&s, (pid_t) pid);
	}
	s.ends.complete &= !s.ends.cut;
	return s.ends;
}
