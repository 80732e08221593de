/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_FILESYSTEMS_H
#define SW_PROCESS_FILESYSTEMS_H

#include "arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The party that answers when a page of a file is wanted, by the file's device: found out without
 * asking it. */
enum sw_fs_kind {
	SW_FS_LOCAL,   /* the kernel and a disk */
	SW_FS_NETWORK, /* a server; mounted by root, and signals end the waits */
	SW_FS_USER,    /* a program (FUSE), or not known: it may never answer */
};

struct sw_fs_device {
	uint64_t mount; /* mountinfo's mount ID */
	uint32_t major, minor;
	enum sw_fs_kind kind;
	bool any_device; /* files on it may have another one than this; so have those of a btrfs subvolume */
};

struct sw_filesystems {
	const struct sw_fs_device *devices; /* the arena's */
	size_t n;
	bool has_served_disk; /* a device with a disk's number for which a program answers: fuseblk */
};

enum { SW_FS_DEVICES_MAX = 8192 };

/* Texts of /proc/PID/mountinfo (proc(5)). */
struct sw_fs_mounts {
	const char *text;
	size_t size;
	/* The mounts were made by users who may mount here: overlayfs is on what its options say.
	 * Elsewhere anybody puts it on anything. */
	bool own_namespace;
	const char *outer_text; /* of our mount namespace, where that is another one */
	size_t outer_size;
};

/* A file system on others (overlayfs) is of the kind of a layer that a server answers for. */
int sw_filesystems_parse(struct sw_arena *arena, const struct sw_fs_mounts *mounts,
			 struct sw_filesystems *ret);

/* The file systems of the process whose directory in /proc this is. A mount that cannot be read is
 * not known. */
int sw_filesystems_read(struct sw_arena *arena, int proc_fd, struct sw_filesystems *ret);

/*
 * An open file, which is not asked itself, also O_PATH: its device, and its mount, as a btrfs
 * subvolume has a device that is listed nowhere. Before Linux 5.8 the mount of disks is not known.
 */
struct sw_fs_file {
	uint32_t major, minor; /* both 0: not known */
	uint64_t mount;        /* mountinfo's mount ID; 0: not known */
};
bool sw_filesystems_file(int fd, struct sw_fs_file *ret);

/*
 * The file system of our own root directory answers: pages of this program come from there, so that we
 * stand still already where it does not. A file on the same device needs no look at the mounts.
 */
bool sw_filesystems_root(struct sw_fs_file *ret);
/* False when the device is not known. */
bool sw_filesystems_same_device(const struct sw_fs_file *a, const struct sw_fs_file *b);

/* False: it is not listed. */
bool sw_filesystems_find(const struct sw_filesystems *fs, const struct sw_fs_file *file,
			 enum sw_fs_kind *ret);

/* The kind of that link of /proc/PID, "exe", without asking its file system. */
enum sw_fs_kind sw_filesystems_link_kind(int proc_fd, const char *name);

enum sw_fs_kind sw_filesystems_kind(const struct sw_filesystems *fs, uint32_t major,
				    uint32_t minor);

#endif
