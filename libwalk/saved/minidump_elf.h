/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MINIDUMP_ELF_H
#define SW_MINIDUMP_ELF_H

#include "saved/minidump_filler.h"

/*
 * Files of the modules of a minidump of Linux. Who wrote the minidump chose all names in it, and it may be of another
 * machine: a file counts only if it is proven to be the one.
 */

/*
 * Whether a file is a module's: it has the module's build-id; or the first 16 bytes of it, if the minidump has no more; or, if the
 * file has none, the module's id is the exclusive or of the first page of its code, by 16 bytes (Breakpad of 2024,
 * src/common/linux/file_id.cc, HashElfTextSection()). False, too, if the minidump does not say which file it was.
 */
bool sw_minidump_elf_matches(int fd, const struct sw_minidump_module *m);

/*
 * Open the file of a module: that of --exe, if the module is the program; below the directories of --images as NAME, PATH or
 * .build-id/xx/rest; on this machine as PATH, or where distributions keep links by build-ids.
 * Sets m->other. fd, or -1.
 */
int sw_minidump_elf_open(const struct sw_minidump_filler *f, struct sw_minidump_module *m);

#endif
