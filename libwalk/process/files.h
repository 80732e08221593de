/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_FILES_H
#define SW_PROCESS_FILES_H

#include "process/pages.h"
#include "process/target.h"

#include <sys/stat.h>

/*
 * How a maker of snapshots gets at the file behind a mapping. All maps of one file (same device,
 * inode and path, in sequence) are asked for once, by the first of them that is executable.
 */
struct sw_opener {
	/* An open fd that was checked to be the mapped file; -1 when there is none (the image is
	 * then put together from memory). *ret_deleted: the name no longer leads to that file. */
	int (*open)(void *arg, const struct sw_map *map, const char *path, bool *ret_deleted);
	/* Reads memory for images whose file is gone. */
	bool (*read)(void *arg, uint64_t avma, void *buffer, size_t length);
	void *arg;
	/* Whether the file system of that mapping does not answer; NULL: all do. */
	bool (*stalled)(void *arg, const struct sw_map *map);
	/* Optional. Whether it was told why the file that was opened last could not be: it is there. */
	bool (*told)(void *arg);
	/* The result of fstat() for the file of which an fd that open() gave may be a copy; NULL:
	 * fstat() itself. */
	int (*stat)(void *arg, int fd, struct stat *st);
};

/* The opener of a running process. */
struct sw_live {
	int live_fd; /* borrowed: sw_target_live_fd() */
	int proc_fd; /* borrowed */
	struct sw_pages
		*pages; /* borrowed: which of its memory, and of its files, may not answer */
	int copy_fd;    /* borrowed: the last copy that was made, of a file with: */
	struct stat copied;
	bool direct;     /* in an expendable process: it may wait for ever */
	int root_fd;     /* owned: its root directory; -EBADF when it could not be opened */
	int own_root_fd; /* owned: likewise ours */
	const struct sw_snapshot *snap; /* borrowed: the maps */
};
void sw_live_init(struct sw_live *live, const struct sw_target *target, int live_fd,
		  struct sw_pages *pages, const struct sw_snapshot *snap);
void sw_live_deinit(struct sw_live *live);
struct sw_opener sw_live_opener(struct sw_live *live);

#endif
