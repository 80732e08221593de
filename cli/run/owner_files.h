/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OWNER_FILES_H
#define SW_CLI_OWNER_FILES_H

#include <snapwalk/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A child that opens files with the permissions of the owner of a process, for a process that parses what it finds there.
 * It parses nothing, has no capabilities, and answers two questions.
 *
 * - The bytes of a .dwo file, for a process that may open none: their names are in the program, so that it is not known
 *   beforehand which they are. The child opens regular ELF files of such names alone. It follows no symbolic link of a
 *   file, and of directories those of root and of that user. The bytes come through shared memory: a file system that
 *   does not answer costs the time limit, and descriptors need not be received.
 * - Whether the owner may read a file, for a process that may open more than the owner and has it open already: the child
 *   opens the same path, and the two are compared by device and inode.
 */
struct sw_owner_files {
	int fd;               /* owned; -EBADF: there is no child, or it did not answer */
	const uint8_t *space; /* owned */
};

/*
 * Whether debug information in this file may name .dwo files: the names of sections, which linkers put near the file's end,
 * have .debug_addr then (-gsplit-dwarf of gcc and clang, DWARF 4 and 5). The last bytes are searched, and no length or offset
 * in them is believed, as the caller has privileges. True where they do not tell: without names of sections,
 * and of a stripped file, whose debug information is elsewhere.
 */
bool sw_dwo_may_be_named(int fd);

/* Whether a program or library is in a directory of the distribution, which has debug information elsewhere, without
 * .dwo files. */
bool sw_dwo_is_of_distribution(const char *path);

struct sw_owner_files_user {
	uid_t uid; /* of the process */
	gid_t gid;
	bool opens; /* it also answers sw_owner_files_may_open(), which tells whether there is a file of any name */
};

/* Without a child nothing is read, which is no error. */
void sw_owner_files_start(struct sw_owner_files *files, const struct sw_owner_files_user *user);
/* As struct sw_symbolize_options says of dwo_read. */
size_t sw_owner_files_read_dwo(void *files, const char *path, int64_t deadline_ns,
			       const void **ret);
/* As struct sw_symbolize_options says of may_read. */
bool sw_owner_files_may_open(void *files, const char *path, int fd);
/* Ends the child, which ends by itself when we do, too. */
void sw_owner_files_end(struct sw_owner_files *files);

#endif
