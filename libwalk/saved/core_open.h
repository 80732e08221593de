/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CORE_OPEN_H
#define SW_CORE_OPEN_H

#include "saved/core_elf.h"
#include "saved/core_notes.h"
#include "memory.h"
#include "snapshot/snapshot.h"

/* Finds the files that a core file speaks of, and makes sure that they are the ones. */
struct sw_core_opener {
	struct sw_snapshot *snap; /* borrowed; for its maps and warnings */
	const struct sw_core_elf *core;
	int64_t core_mtime_ns;
	const char *program;  /* path in the core of the program; NULL when unknown */
	const char *exe_path; /* to open instead of it; NULL: the path in the core */
	bool not_asked; /* the file that was opened last: its server was not asked, which was told */
};

/* The opener for sw_snapshot_find_places(); borrows o. */
struct sw_opener sw_core_opener(struct sw_core_opener *o);

/*
 * Open a regular file, and nothing else: to open a device or a fifo does things, and the path comes
 * from a file that anybody may have written. fd, or -1 with errno.
 */
int sw_core_open_regular(const char *path);

/*
 * The same for a name that stands in the core file: whoever wrote it may have chosen one on a file system whose server
 * does not answer, which is not asked. fd, or -1 with errno, as sw_local_open().
 */
int sw_core_open_named(const struct sw_snapshot *snap, const char *path);

/*
 * The protection that the dynamic loader gives to the part of an ELF file at file_off. For file
 * mappings that the writer left out altogether (gdb does). 0 when it cannot be told.
 */
uint32_t sw_core_file_prot(int fd, uint64_t file_off);

/* A file as memory, whose addresses are its offsets; borrows fd. */
struct sw_memory sw_core_file_memory(int *fd);

/* The GNU build-id of the ELF image that begins at base; notes that end beyond base + limit are not
 * looked at. Number of bytes, 0 when there is none or it cannot be read. */
size_t sw_core_build_id(struct sw_memory memory, uint64_t base, uint64_t limit,
			uint8_t id[SW_BUILD_ID_MAX]);

enum { SW_CORE_ID_PATH_MAX = 64 + 2 * SW_BUILD_ID_MAX };

/* The file of that build-id where distributions keep links to them, if it has that build-id itself; its name in
 * path. fd, or -1. */
int sw_core_open_build_id(const struct sw_snapshot *snap, const uint8_t *id, size_t id_bytes,
			  char path[SW_CORE_ID_PATH_MAX]);

#endif
