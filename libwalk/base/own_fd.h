/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_OWN_FD_H
#define SW_OWN_FD_H

#include <stdbool.h>
#include <stddef.h>

/* Descriptors of this process by their links in /proc/self/fd. Nothing is asked of the files themselves. */

enum { SW_OWN_FD_BYTES = 32 };

/* The name of the link. */
void sw_own_fd_name(int fd, char ret[static SW_OWN_FD_BYTES]);

/* Where the link leads to: the path by which the file was opened, without links, or what the kernel calls it. False: there is no
 * such descriptor, or it is too long; *ret is "" then. */
bool sw_own_fd_path(int fd, char *ret, size_t bytes);

/* Opens the file of a descriptor, mostly one of O_PATH, once more, with O_CLOEXEC. fd, or -1 with errno. */
int sw_own_fd_open(int fd, int flags);

/* The same of a regular file, for reading: a lease that somebody has of the file (fcntl(2)) keeps nobody waiting. */
int sw_own_fd_open_to_read(int fd);

#endif
