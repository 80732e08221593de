/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_CONFIG_PATH_H
#define SW_DAEMON_CONFIG_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Paths of programs in the configuration. /proc/PID/exe has the path of a program without symbolic
 * links, "//", "." and "..": a path that is written in another way would stand for no process.
 */

/* Is an absolute path written without "//", ".", ".." and a slash at its end? *ret is how to write it: cut
 * when it does not fit. */
bool sw_path_canonical(const char *path, char *ret, size_t size);

/* The path with its symbolic links resolved, as far as there are such directories; the components from the
 * first one that has a character of a pattern on stay as they are. False: it cannot be looked at
 * (errno), or does not fit; without a pattern ENOTDIR and ELOOP mean that no program has this path. */
bool sw_path_resolve(const char *path, char *ret, size_t size);

/* Why no process runs the file with this path as its program: static; NULL: it may. */
const char *sw_path_no_program(const char *path);

#endif
