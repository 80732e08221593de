/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_SELECT_CGROUP_H
#define SW_SELECT_CGROUP_H

#include <stdbool.h>

/* Does the text of /proc/PID/cgroup match? text is changed. */
bool sw_cgroup_matches(char *text, const char *path);
bool sw_cgroup_has_unit(char *text, const char *unit);
/* True when a container's id begins with prefix; ret_id gets its 64 digits and a NUL. */
bool sw_cgroup_has_container(const char *text, const char *prefix, char ret_id[static 65]);

#endif
