/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_LOCAL_H
#define SNAPWALK_LOCAL_H

/*
 * Files by names that a target has a say in: on the way to such a file, or at its end, there may be a file
 * system whose server does not answer (FUSE, NFS). That one is known by its mount, without a question to it,
 * and is never asked.
 */
#include <snapwalk/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The mounts of this process. Not thread-safe. */
struct sw_local;

/** Before privileges are given up, as it reads /proc. Relative paths begin in the working directory of this call.
 * @return 0; -SW_E_NOMEM; -SW_E_IO. */
SW_PUBLIC int sw_local_create(struct sw_local **ret, struct sw_error *err);
SW_PUBLIC void sw_local_destroy(struct sw_local *local);

/**
 * Open an O_PATH descriptor, as open(2), if each directory, symbolic link and file on the way lies on a disk, in
 * memory, or where our root directory lies, and each symbolic link belongs to root or to this process's user.
 * Asks no other file system for anything.
 *
 * @param flags  O_NOFOLLOW, or 0.
 * @return A descriptor, or -1 with errno: EXDEV when the way leads to another file system, ELOOP when it
 *         leads through a link of another user.
 */
SW_PUBLIC int sw_local_open(struct sw_local *local, const char *path, int flags);

/** The same from a directory that sw_local_open() has opened: for many names in one directory, the way to which is
 * walked once. An absolute link would lead to below that directory: flags without O_NOFOLLOW are for relative ones. */
SW_PUBLIC int sw_local_open_at(struct sw_local *local, int directory_fd, const char *name,
			       int flags);

#ifdef __cplusplus
}
#endif

#endif
