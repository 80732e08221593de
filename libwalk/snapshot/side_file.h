/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SIDE_FILE_H
#define SW_SIDE_FILE_H

#include "bytes.h"

#include <snapwalk/walk.h>

/*
 * Files beside the process that say something of its code: perf maps, jitdumps. They are opened
 * before the stop, while privileges are there, and read after the stop; a fixture has copies of them.
 */

/*
 * Keep a file with the snapshot under a name of our own ("perf-map"), which is copied. Takes over fd,
 * also on failure; only a regular file is kept. When it is written to at the end, what matters is what
 * it holds after the stop. 0, -SW_E_LIMIT, -SW_E_NOMEM, -SW_E_FORMAT.
 */
int sw_side_file_keep(struct sw_snapshot *snap, const char *name, int fd);

/* After the stop: the bytes of the n-th file of that name, read once; borrowed from the
 * snapshot. False when there is none. At most SW_SIDE_FILE_BYTES are looked at, the last ones. */
bool sw_side_file_get(const struct sw_snapshot *snap, const char *name, size_t n,
		      struct sw_bytes *ret);

/* The first file of that name, for those who read it again and again as it grows: an fd, borrowed from the snapshot or from
 * the one whose maps it borrows. -EBADF when there is none. */
int sw_side_file_fd(const struct sw_snapshot *snap, const char *name);

/* The size of a side file, without reading it; 0 when there is none. */
uint64_t sw_side_file_size(const struct sw_snapshot *snap, const char *name, size_t n);

/* Note why a side file that is there is not used. Both are static strings. */
void sw_side_file_refuse(struct sw_snapshot *snap, const char *name, const char *why);

/* Why the one of that name is not used; NULL when it is, or when there is none. */
const char *sw_side_file_refused(const struct sw_snapshot *snap, const char *name);

/* A file's bytes, at most max of them, the first or the last ones. space NULL: empty, or in vain. */
struct sw_file_copy {
	struct sw_bytes bytes;
	bool cut; /* there is more in the file */
	void *space;
	size_t space_bytes;
};
void sw_file_copy_make(int fd, size_t max, bool last, struct sw_file_copy *ret);
void sw_file_copy_free(struct sw_file_copy *copy);

/* ---- for those who make snapshots ------------------------------------------------------------ */

/* The n-th of all, whatever its name; *ret_name is borrowed from the snapshot. */
bool sw_side_file_at(const struct sw_snapshot *snap, size_t n, const char **ret_name,
		     struct sw_bytes *ret);

struct sw_side_files;
void sw_side_files_destroy(struct sw_side_files *files);

enum {
	SW_SIDE_FILES_MAX = 256,      /* of a snapshot */
	SW_SIDE_FILE_BYTES = 1 << 30, /* of one */
};

#endif
