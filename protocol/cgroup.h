/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CGROUP_H
#define SW_CGROUP_H

#include <stddef.h>

/* Part of a cgroup path; data is NULL when it has none. Borrowed from the path. */
struct sw_cgroup_part {
	const char *data;
	size_t size;
};

/* The innermost systemd service or scope: the unit that an operator would restart. */
struct sw_cgroup_part sw_cgroup_unit(const char *path);

/* The container's 64-digit id, for Docker, containerd, CRI-O, Podman and Kubernetes. */
struct sw_cgroup_part sw_cgroup_container(const char *path);

#endif
