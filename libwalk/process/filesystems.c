/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/filesystems.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { MOUNTS_TEXT_MAX = 4 << 20, LINE_LENGTH_MAX = 8192 };

static bool is_one_of(const char *const *names, const char *type, size_t length)
{
	for (; *names != NULL; names++)
		if (strlen(*names) == length && memcmp(*names, type, length) == 0)
			return true;
	return false;
}

static enum sw_fs_kind kind_of(const char *type, size_t length, bool own_namespace)
{
	static const char *const local[] = {"ext2",  "ext3",     "ext4",    "xfs",      "btrfs",
					    "f2fs",  "tmpfs",    "ramfs",   "devtmpfs", "proc",
					    "zfs",   "squashfs", "erofs",   "bcachefs", "vfat",
					    "exfat", "ntfs3",    "iso9660", "udf",      "hugetlbfs",
					    "sysfs", "rootfs",   "jfs",     "nilfs2",   NULL};
	static const char *const network[] = {"nfs",  "nfs4", "cifs",   "smb3",     "9p",
					      "ceph", "afs",  "lustre", "virtiofs", NULL};
	static const char *const stacked[] = {"overlay", "ecryptfs", NULL};
	if (is_one_of(local, type, length))
		return SW_FS_LOCAL;
	if (is_one_of(stacked, type, length) && own_namespace)
		return SW_FS_LOCAL;
	return is_one_of(network, type, length) ? SW_FS_NETWORK : SW_FS_USER;
}

/* "36 35 98:0 /root /mount/point options [fields…] - type source options" */
static bool line_parse(const char *line, size_t length, bool own_namespace,
		       struct sw_fs_device *ret)
{
	char copy[LINE_LENGTH_MAX];
	unsigned major, minor;
	if (length >= sizeof(copy))
		return false;
	memcpy(copy, line, length);
	copy[length] = '\0';
	const char *type = strstr(copy, " - ");
	if (type == NULL || sscanf(copy, "%*u %*u %u:%u ", &major, &minor) != 2)
		return false;
	type += 3;
	*ret = (struct sw_fs_device){major, minor,
				     kind_of(type, strcspn(type, " "), own_namespace)};
	return true;
}

int sw_filesystems_parse(struct sw_arena *arena, const char *text, size_t size, bool own_namespace,
			 struct sw_filesystems *ret)
{
	size_t lines = 1, n = 0;
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	if (lines > SW_FS_DEVICES_MAX)
		lines = SW_FS_DEVICES_MAX;
	struct sw_fs_device *devices = sw_arena_calloc(arena, lines, sizeof(*devices));
	if (devices == NULL)
		return -SW_E_NOMEM;
	const char *end = text + size;
	while (text < end && n < lines) {
		const char *newline = memchr(text, '\n', (size_t) (end - text));
		const char *line_end = newline != NULL ? newline : end;
		n += line_parse(text, (size_t) (line_end - text), own_namespace, &devices[n]);
		text = line_end + 1;
	}
	*ret = (struct sw_filesystems){devices, n};
	return 0;
}

/* Whether its mount namespace belongs to our user namespace. */
static bool is_own_namespace(int proc_fd)
{
	struct stat theirs, ours;
	if (fstatat(proc_fd, "ns/mnt", &theirs, 0) == 0 && stat("/proc/self/ns/mnt", &ours) == 0 &&
	    theirs.st_ino == ours.st_ino)
		return true;
	sw_cleanup(sw_close_p) int mounts_fd = openat(proc_fd, "ns/mnt", O_RDONLY | O_CLOEXEC);
	sw_cleanup(sw_close_p) int user_fd = mounts_fd >= 0 ? ioctl(mounts_fd, NS_GET_USERNS) : -1;
	return user_fd >= 0 && fstat(user_fd, &theirs) == 0 &&
	       stat("/proc/self/ns/user", &ours) == 0 && theirs.st_ino == ours.st_ino;
}

int sw_filesystems_read(struct sw_arena *arena, int proc_fd, struct sw_filesystems *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	int r = sw_text_read_at(&text, proc_fd, "mountinfo", MOUNTS_TEXT_MAX);
	if (r == -SW_E_NOMEM)
		return r;
	*ret = (struct sw_filesystems){0};
	if (r == 0)
		r = sw_filesystems_parse(arena, text.data, text.size, is_own_namespace(proc_fd),
					 ret);
	return r == -SW_E_NOMEM ? r : 0;
}

/* Memory files, and what else has no file: a mount of the kernel's own, which is not listed. */
static bool is_memory(uint32_t major, uint32_t minor)
{
	struct stat st;
	sw_cleanup(sw_close_p) int fd = memfd_create("snapwalk", MFD_CLOEXEC);
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == makedev(major, minor);
}

enum sw_fs_kind sw_filesystems_kind(const struct sw_filesystems *fs, uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->devices[i].major == major && fs->devices[i].minor == minor)
			return fs->devices[i].kind;
	/* A disk is not listed when it was unmounted by force, or is mounted elsewhere. */
	return major != 0 || is_memory(major, minor) ? SW_FS_LOCAL : SW_FS_USER;
}
