/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_MINIDUMP_IMAGES_H
#define SW_MINIDUMP_IMAGES_H

#include "saved/minidump_file.h"

/* Files of the modules of a minidump, in directories that the user named. */
struct sw_minidump_images {
	const char *const *directories; /* borrowed */
	size_t n;
	const char *exe_path; /* borrowed: of Linux the file of the program; NULL: not given */
};

/* The last part of "C:\\dir\\name.dll". */
const char *sw_minidump_name(const char *path);

/*
 * The file of a module: DIRECTORY/NAME, or as symbol servers keep it, DIRECTORY/NAME/TIMESIZE/NAME; the case of NAME does
 * not matter. A file with another time or size is not the one.
 *
 * @param ret_other  A file of that name was another one.
 * @return fd, or -1.
 */
int sw_minidump_image_open(const struct sw_minidump_images *images,
			   const struct sw_minidump_module *module, bool *ret_other);

/* -SW_E_IO: one of the directories, or the program, cannot be read; -SW_E_FORMAT: the program is no regular file. */
int sw_minidump_images_check(const struct sw_minidump_images *images, struct sw_error *err);

#endif
