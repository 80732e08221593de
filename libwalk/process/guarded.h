/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_GUARDED_H
#define SW_PROCESS_GUARDED_H

#include "process/credentials.h"
#include "process/pages.h"

#include <sys/stat.h>

/*
 * Files by names that the target has a say in: on the way, and at the end of it, there may be a file
 * system that does not answer. Where the kernel knows the way by heart, and a disk answers, we open
 * ourselves; else an expendable process does.
 */

enum sw_root {
	SW_ROOT_TARGETS,
	SW_ROOT_OURS,
};

enum sw_guarded {
	SW_GUARDED_LOCAL, /* only what lies on a disk, or in memory; else EXDEV */
	SW_GUARDED_COPY, /* what another server gives is copied at once, up to SW_GUARDED_COPY_MAX */
};

enum { SW_GUARDED_COPY_MAX = 256 << 20 };

/*
 * Opens a regular file for reading below a root directory, where the links inside lead; flags:
 * O_NOFOLLOW, or 0. *st is the file's, which fstat() of a copy does not give. An fd, or -1 with errno:
 * ETIMEDOUT when it did not answer. Before the window, or after it.
 */
int sw_guarded_open(struct sw_pages *pages, enum sw_root root, const char *path, int flags,
		    enum sw_guarded what, struct stat *st);

/* The same, if that user may read the file: EACCES otherwise, ELOOP for a link of another user on the way. *reader stays
 * as it is while pages are used. */
int sw_guarded_open_as(struct sw_pages *pages, enum sw_root root, const char *path, int flags,
		       enum sw_guarded what, const struct sw_credentials *reader, struct stat *st);

/* sw_guarded_open() without a guard: it may wait for ever. root_fd: O_PATH. */
int sw_unguarded_open(int root_fd, const char *path, int flags, struct stat *st);

/* Copies a file, in parts that fit a small stack; *st: its size is what came. May wait for ever. */
bool sw_guarded_copy(int from_fd, int to_fd, struct stat *st);

#endif
