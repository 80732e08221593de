/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_IN_ROOT_H
#define SW_BASE_IN_ROOT_H

#include <stdbool.h>

/*
 * As openat2() with RESOLVE_IN_ROOT, where there is none or a filter refuses it: a path below root_fd, which
 * neither ".." nor a link leads out of, also while somebody renames what is below it. flags: as openat(), for
 * an O_PATH descriptor; -1, and errno.
 */
int sw_in_root_open(int root_fd, const char *path, int flags);

/* The same, if permit() says so of each directory and link on the way, and of the file: of an O_PATH descriptor, before
 * it is asked for anything. It sets errno. */
int sw_in_root_open_where(int root_fd, const char *path, int flags,
			  bool (*permit)(void *arg, int fd), void *arg);

#endif
