/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_PLAIN_PATH_H
#define SW_CLI_PLAIN_PATH_H

#include <sys/types.h>

/*
 * Opens what an absolute path names, with O_PATH, where the last component is no symbolic link, and those before are
 * none either, or belong to root or the owner. openat2() cannot tell whose links are, and filters of system calls refuse
 * it. An fd, or -1 with errno.
 */
int sw_plain_path_open(const char *path, uid_t owner);

#endif
