/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/filesystems.h"
#include "cleanup.h"
#include "errors.h"
#include "process/proc.h"
#include "text.h"

#include <fcntl.h>
#include <inttypes.h>
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
	static const char *const local[] = {"ext2",     "ext3",      "ext4",     "xfs",
					    "btrfs",    "f2fs",      "tmpfs",    "ramfs",
					    "devtmpfs", "proc",      "zfs",      "squashfs",
					    "erofs",    "bcachefs",  "vfat",     "exfat",
					    "ntfs3",    "iso9660",   "udf",      "hugetlbfs",
					    "sysfs",    "rootfs",    "jfs",      "nilfs2",
					    "cgroup",   "cgroup2",   "devpts",   "mqueue",
					    "debugfs",  "tracefs",   "bpf",      "securityfs",
					    "configfs", "pstore",    "fusectl",  "binfmt_misc",
					    "nsfs",     "selinuxfs", "efivarfs", "hfsplus",
					    "ubifs",    "reiserfs",  NULL};
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
	unsigned mount, major, minor;
	if (length >= sizeof(copy))
		return false;
	memcpy(copy, line, length);
	copy[length] = '\0';
	static const char *const many[] = {"btrfs", "bcachefs", "overlay", NULL};
	const char *type = strstr(copy, " - ");
	if (type == NULL || sscanf(copy, "%u %*u %u:%u ", &mount, &major, &minor) != 3)
		return false;
	type += 3;
	size_t type_length = strcspn(type, " ");
	enum sw_fs_kind kind = kind_of(type, type_length, own_namespace);
	*ret = (struct sw_fs_device){
		.mount = mount,
		.major = major,
		.minor = minor,
		.kind = kind,
		.any_device = kind != SW_FS_LOCAL || is_one_of(many, type, type_length),
	};
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
	*ret = (struct sw_filesystems){devices, n, false};
	for (size_t i = 0; i < n; i++)
		ret->has_served_disk |= devices[i].major != 0 && devices[i].kind != SW_FS_LOCAL;
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

/* proc(5): "mnt_id" of fdinfo, Linux 3.15; statx(2) has it since 5.8. */
static uint64_t mount_of(int fd)
{
	char name[48], text[512];
	(void) snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd); /* fits */
	uint64_t mount = 0;
	const char *at = sw_proc_read_small(AT_FDCWD, name, text, sizeof(text)) > 0
				 ? strstr(text, "mnt_id:")
				 : NULL;
	if (at != NULL)
		(void) sscanf(at, "mnt_id: %" SCNu64, &mount); /* or it stays 0 */
	return mount;
}

/* Without statx(2), which old filters refuse: then the file's file system may be asked. */
static bool file_by_device(int fd, struct sw_fs_file *ret)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return false;
	*ret = (struct sw_fs_file){major(st.st_dev), minor(st.st_dev), 0};
	if (ret->major == 0)
		ret->mount = mount_of(fd);
	return true;
}

bool sw_filesystems_file(int fd, struct sw_fs_file *ret)
{
	struct statx stx;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &stx) < 0)
		return file_by_device(fd, ret);
	*ret = (struct sw_fs_file){stx.stx_dev_major, stx.stx_dev_minor, 0};
	if (stx.stx_mask & STATX_MNT_ID)
		ret->mount = stx.stx_mnt_id;
	else if (ret->major == 0)
		ret->mount = mount_of(fd);
	return true;
}

bool sw_filesystems_find(const struct sw_filesystems *fs, const struct sw_fs_file *file,
			 enum sw_fs_kind *ret)
{
	for (size_t i = 0; i < fs->n; i++) {
		const struct sw_fs_device *d = &fs->devices[i];
		bool same_device = d->major == file->major && d->minor == file->minor;
		bool no_device = file->major == 0 && file->minor == 0; /* it is not known */
		/* The number of a mount that is gone is given to another one. */
		if (file->mount != 0
			    ? d->mount == file->mount && (same_device || no_device || d->any_device)
			    : same_device) {
			*ret = d->kind;
			return true;
		}
	}
	return false;
}

enum sw_fs_kind sw_filesystems_link_kind(int proc_fd, const char *name)
{
	sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
	sw_cleanup(sw_close_p) int fd = openat(proc_fd, name, O_PATH | O_CLOEXEC);
	struct sw_fs_file file;
	struct sw_filesystems fs;
	enum sw_fs_kind kind;
	if (fd < 0 || !sw_filesystems_file(fd, &file))
		return SW_FS_LOCAL; /* where it is refused nobody waits */
	if (sw_filesystems_read(&arena, proc_fd, &fs) == 0 &&
	    sw_filesystems_find(&fs, &file, &kind))
		return kind;
	return file.major != 0 || is_memory(file.major, file.minor) ? SW_FS_LOCAL : SW_FS_USER;
}

enum sw_fs_kind sw_filesystems_kind(const struct sw_filesystems *fs, uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->devices[i].major == major && fs->devices[i].minor == minor)
			return fs->devices[i].kind;
	/* A disk is not listed when it was unmounted by force, or is mounted elsewhere. */
	return major != 0 || is_memory(major, minor) ? SW_FS_LOCAL : SW_FS_USER;
}
