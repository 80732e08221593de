/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_PLAIN_PATH_H
#define SW_CLI_PLAIN_PATH_H

#include <sys/types.h>

/* Whose symbolic links lead on, of directories: nobody's. Those of root and of one user: that user's id. */
#define SW_PLAIN_NO_LINKS ((uid_t) -1)

/*
 * Opens what an absolute path names, with O_PATH, where the last component is no symbolic link, and those before are
 * none either, or trusted. openat2() cannot tell whose links are, and filters of system calls refuse it. An fd, or -1
 * with errno.
 */
int sw_plain_path_open(const char *path, uid_t owner);

#endif
