/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/filesystems.h"
#include "cleanup.h"
#include "errors.h"
#include "process/proc.h"
#include "text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
	/* Comparisons of layers with mount points: a user may make thousands of both. */
	COMPARES_MAX = 1 << 20,
	MOUNTS_TEXT_MAX = 4 << 20,
	LINE_LENGTH_MAX = 8192,
	LAYERS_DEPTH_MAX =
		8, /* FILESYSTEM_MAX_STACK_DEPTH of the kernel is 2: include/linux/fs.h, v6.1 */
};

static bool is_one_of(const char *const *names, const char *type, size_t length)
{
	for (; *names != NULL; names++)
		if (strlen(*names) == length && memcmp(*names, type, length) == 0)
			return true;
	return false;
}

static const char *const stacked[] = {"overlay", "ecryptfs", NULL};

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
	if (is_one_of(local, type, length))
		return SW_FS_LOCAL;
	if (is_one_of(stacked, type, length) && own_namespace)
		return SW_FS_LOCAL;
	return is_one_of(network, type, length) ? SW_FS_NETWORK : SW_FS_USER;
}

/* Parts of a line; borrowed of the text. */
struct place {
	const char *point; /* where it is mounted */
	const char *
		layers; /* the source and the options of a file system on others; NULL: it is on none */
	size_t point_length, layers_length;
};

/* "36 35 98:0 /root /mount/point options [fields…] - type source options" */
static bool line_parse(const char *line, size_t length, bool own_namespace,
		       struct sw_fs_device *ret, struct place *ret_place)
{
	char copy[LINE_LENGTH_MAX];
	unsigned mount, major, minor;
	int point_at = 0;
	if (length >= sizeof(copy))
		return false;
	memcpy(copy, line, length);
	copy[length] = '\0';
	static const char *const many[] = {"btrfs", "bcachefs", "overlay", NULL};
	const char *type = strstr(copy, " - ");
	if (type == NULL ||
	    sscanf(copy, "%u %*u %u:%u %*s %n", &mount, &major, &minor, &point_at) != 3)
		return false;
	type += 3;
	size_t type_length = strcspn(type, " "), layers_at = (size_t) (type - copy) + type_length;
	*ret_place = (struct place){line + point_at, NULL, strcspn(copy + point_at, " "), 0};
	if (is_one_of(stacked, type, type_length)) {
		ret_place->layers = line + layers_at;
		ret_place->layers_length = length - layers_at;
	}
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

/* ---- file systems on others -------------------------------------------------------------------- */

/* A mount point for which a server answers. */
struct served {
	const char *path; /* the arena's */
	size_t length;
	enum sw_fs_kind kind;
};

/* The byte of "\\OOO", of which n bytes are there; -1: it is no escape. */
static int octal(const char *digits, size_t n)
{
	unsigned byte = 0;
	if (n < 3)
		return -1;
	for (size_t i = 0; i < 3; i++) {
		if (digits[i] < '0' || digits[i] > '7')
			return -1;
		byte = byte << 3 | (unsigned) (digits[i] - '0');
	}
	return byte <= UINT8_MAX ? (int) byte : -1;
}

/* Octal escapes: mangle() in fs/proc_namespace.c, v6.1. False: it does not fit. */
static bool unescape(const char *from, size_t length, char *to, size_t size, size_t *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < length; n++) {
		if (n >= size)
			return false;
		int byte = from[i] == '\\' ? octal(from + i + 1, length - i - 1) : -1;
		to[n] = byte >= 0 ? (char) byte : from[i];
		i += byte >= 0 ? 4 : 1;
	}
	*ret = n;
	return true;
}

/* Backslashes before characters: ovl_unescape() in fs/overlayfs/params.c, v6.6. */
static size_t strip(char *path, size_t length)
{
	size_t n = 0;
	for (size_t i = 0; i < length; i++) {
		if (path[i] == '\\' && i + 1 < length)
			i++;
		path[n++] = path[i];
	}
	return n;
}

static bool is_below(const char *path, size_t length, const struct served *s)
{
	if (s->length == 1)
		return true; /* the root directory */
	return length >= s->length && memcmp(path, s->path, s->length) == 0 &&
	       (length == s->length || path[s->length] == '/');
}

/* The end of a layer's path: a comma, a space, or a colon before which there is an even number of backslashes, which
 * mountinfo shows as \134. */
static const char *layer_end(const char *p, const char *end)
{
	size_t backslashes = 0;
	while (p < end && *p != ',' && *p != ' ' && (*p != ':' || backslashes % 2 != 0)) {
		bool is_backslash = end - p >= 4 && memcmp(p, "\\134", 4) == 0;
		backslashes = is_backslash ? backslashes + 1 : 0;
		p += is_backslash ? 4 : 1;
	}
	return p;
}

/*
 * The kind of the first mount on the list that one of the layers lies on or below: of "/a:/b" in "lowerdir=/a:/b".
 * Whether a disk is mounted between the two is not asked. A layer whose path is relative is taken to be a disk's:
 * docker(1) writes those of its own directory so. *compares: how many comparisons are left for all of them together; without
 * any it is not known.
 */
static enum sw_fs_kind layers_kind(const struct place *place, const struct served *served, size_t n,
				   size_t *compares)
{
	const char *end = place->layers + place->layers_length;
	bool in_value = false; /* "lowerdir=/a": the key ends at the first '=' */
	for (const char *p = place->layers; p < end;) {
		char path[PATH_MAX];
		size_t length = 0;
		const char *to = layer_end(p, end);
		const char *key_end =
			in_value || *p == '/' ? NULL : memchr(p, '=', (size_t) (to - p));
		if (key_end != NULL)
			p = key_end + 1;
		if (p < to && *p == '/' &&
		    unescape(p, (size_t) (to - p), path, sizeof(path), &length)) {
			length = strip(path, length);
			for (size_t i = 0; i < n; i++) {
				if (*compares == 0)
					return SW_FS_USER;
				--*compares;
				if (is_below(path, length, &served[i]))
					return served[i].kind;
			}
		}
		in_value = to < end && *to == ':';
		p = to + 1;
	}
	return SW_FS_LOCAL;
}

struct parsed {
	struct sw_fs_device *devices;
	struct place *places;
	struct served *served;
	size_t n, n_served;
};

static int served_add(struct sw_arena *arena, struct parsed *parsed, size_t i)
{
	const struct place *place = &parsed->places[i];
	char *path = sw_arena_calloc(arena, place->point_length + 1, 1);
	size_t length = 0;
	if (path == NULL)
		return -SW_E_NOMEM;
	(void) unescape(place->point, place->point_length, path, place->point_length,
			&length); /* it fits */
	parsed->served[parsed->n_served++] = (struct served){path, length, parsed->devices[i].kind};
	return 0;
}

static int lines_parse(struct sw_arena *arena, const char *text, size_t size, bool own_namespace,
		       struct parsed *ret)
{
	size_t lines = 1, n = 0;
	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	if (lines > SW_FS_DEVICES_MAX)
		lines = SW_FS_DEVICES_MAX;
	*ret = (struct parsed){.devices = sw_arena_calloc(arena, lines, sizeof(*ret->devices)),
			       .places = sw_arena_calloc(arena, lines, sizeof(*ret->places)),
			       .served = sw_arena_calloc(arena, lines, sizeof(*ret->served))};
	if (ret->devices == NULL || ret->places == NULL || ret->served == NULL)
		return -SW_E_NOMEM;
	const char *end = text + size;
	while (text < end && n < lines) {
		const char *newline = memchr(text, '\n', (size_t) (end - text));
		const char *line_end = newline != NULL ? newline : end;
		n += line_parse(text, (size_t) (line_end - text), own_namespace, &ret->devices[n],
				&ret->places[n]);
		text = line_end + 1;
	}
	ret->n = n;
	for (size_t i = 0; i < n; i++)
		if (ret->devices[i].kind != SW_FS_LOCAL && served_add(arena, ret, i) < 0)
			return -SW_E_NOMEM;
	return 0;
}

/* A file system on top of a listed one is listed, too. */
static int layers_look(struct sw_arena *arena, struct parsed *parsed, const struct parsed *others)
{
	size_t compares = COMPARES_MAX;
	bool found = true;
	for (int again = 0; found && again < LAYERS_DEPTH_MAX; again++) {
		found = false;
		for (size_t i = 0; i < parsed->n; i++) {
			const struct place *place = &parsed->places[i];
			struct sw_fs_device *device = &parsed->devices[i];
			if (place->layers == NULL || device->kind != SW_FS_LOCAL)
				continue;
			device->kind =
				layers_kind(place, parsed->served, parsed->n_served, &compares);
			if (device->kind == SW_FS_LOCAL)
				device->kind = layers_kind(place, others->served, others->n_served,
							   &compares);
			if (device->kind == SW_FS_LOCAL)
				continue;
			found = true;
			if (served_add(arena, parsed, i) < 0)
				return -SW_E_NOMEM;
		}
	}
	return 0;
}

int sw_filesystems_parse(struct sw_arena *arena, const struct sw_fs_mounts *mounts,
			 struct sw_filesystems *ret)
{
	struct parsed parsed, others = {0};
	int r = lines_parse(arena, mounts->text, mounts->size, mounts->own_namespace, &parsed);
	if (r == 0 && mounts->outer_size > 0) {
		r = lines_parse(arena, mounts->outer_text, mounts->outer_size, true, &others);
		if (r == 0)
			r = layers_look(arena, &others, &(struct parsed){0});
	}
	if (r == 0)
		r = layers_look(arena, &parsed, &others);
	if (r < 0)
		return r;
	*ret = (struct sw_filesystems){parsed.devices, parsed.n, false};
	for (size_t i = 0; i < parsed.n; i++)
		ret->has_served_disk |=
			parsed.devices[i].major != 0 && parsed.devices[i].kind != SW_FS_LOCAL;
	return 0;
}

static bool has_our_mounts(int proc_fd)
{
	struct stat theirs, ours;
	return fstatat(proc_fd, "ns/mnt", &theirs, 0) == 0 &&
	       stat("/proc/self/ns/mnt", &ours) == 0 && theirs.st_ino == ours.st_ino;
}

/* Whether its mount namespace belongs to our user namespace. */
static bool is_own_namespace(int proc_fd)
{
	struct stat theirs, ours;
	sw_cleanup(sw_close_p) int mounts_fd = openat(proc_fd, "ns/mnt", O_RDONLY | O_CLOEXEC);
	sw_cleanup(sw_close_p) int user_fd = mounts_fd >= 0 ? ioctl(mounts_fd, NS_GET_USERNS) : -1;
	return user_fd >= 0 && fstat(user_fd, &theirs) == 0 &&
	       stat("/proc/self/ns/user", &ours) == 0 && theirs.st_ino == ours.st_ino;
}

int sw_filesystems_read(struct sw_arena *arena, int proc_fd, struct sw_filesystems *ret)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0}, outer = {0};
	int r = sw_text_read_at(&text, proc_fd, "mountinfo", MOUNTS_TEXT_MAX);
	if (r == -SW_E_NOMEM)
		return r;
	*ret = (struct sw_filesystems){0};
	bool ours = r == 0 && has_our_mounts(proc_fd);
	/* The paths of a container's layers are those of whoever made it: most often as we see them. */
	bool outer_known =
		r == 0 && !ours &&
		sw_text_read_at(&outer, AT_FDCWD, "/proc/self/mountinfo", MOUNTS_TEXT_MAX) == 0;
	const struct sw_fs_mounts mounts = {
		.text = text.data,
		.size = text.size,
		.own_namespace = ours || (r == 0 && is_own_namespace(proc_fd)),
		.outer_text = outer.data,
		.outer_size = outer_known ? outer.size : 0,
	};
	if (r == 0)
		r = sw_filesystems_parse(arena, &mounts, ret);
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

bool sw_filesystems_root(struct sw_fs_file *ret)
{
	sw_cleanup(sw_close_p) int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && sw_filesystems_file(fd, ret);
}

bool sw_filesystems_same_device(const struct sw_fs_file *a, const struct sw_fs_file *b)
{
	return (a->major != 0 || a->minor != 0) && a->major == b->major && a->minor == b->minor;
}

enum sw_fs_kind sw_filesystems_link_kind(int proc_fd, const char *name)
{
	sw_cleanup(sw_arena_deinit) struct sw_arena arena = {0};
	sw_cleanup(sw_close_p) int fd = openat(proc_fd, name, O_PATH | O_CLOEXEC);
	struct sw_fs_file file, root;
	struct sw_filesystems fs;
	enum sw_fs_kind kind;
	if (fd < 0 || !sw_filesystems_file(fd, &file))
		return SW_FS_LOCAL; /* where it is refused nobody waits */
	if (sw_filesystems_root(&root) && sw_filesystems_same_device(&file, &root))
		return SW_FS_LOCAL;
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
