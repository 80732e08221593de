/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_LANDLOCK_H
#define SW_CONFINE_LANDLOCK_H

#include <snapwalk/error.h>

#include <stddef.h>
#include <stdint.h>

enum sw_landlock_access {
	SW_LANDLOCK_READ,  /* files */
	SW_LANDLOCK_LIST,  /* and directories */
	SW_LANDLOCK_WRITE, /* that, and everything that makes, changes or removes them */
};

/* A path that may be opened: a file, or all below a directory. A path that is not there is left
 * out. */
struct sw_landlock_path {
	const char *path; /* borrowed; NULL: what fd holds, which was looked at */
	enum sw_landlock_access access;
	int fd; /* borrowed; O_PATH */
};

/* For the calling thread: from now on no file can be opened but those, no socket connected, no process
 * signalled, nothing executed. 1 when the kernel has no Landlock. */
int sw_landlock_enter(const struct sw_landlock_path *paths, size_t n, struct sw_error *err);
/* The same, but TCP may be connected to these ports. */
int sw_landlock_enter_with_ports(const struct sw_landlock_path *paths, size_t n,
				 const uint16_t *ports, size_t n_ports, struct sw_error *err);

#endif
