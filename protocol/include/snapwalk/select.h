/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SNAPWALK_SELECT_H
#define SNAPWALK_SELECT_H

/* Which processes a name, a unit, a control group or a container means. Reads /proc only. */

#include <snapwalk/error.h>
#include <snapwalk/walk.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SW_SELECT_MAX = 4096 /* processes for one selector */ };

enum sw_select_kind {
	SW_SELECT_COMM,      /* the process's name; the kernel keeps 15 bytes of it */
	SW_SELECT_UNIT,      /* a systemd unit; ".service" may be left out */
	SW_SELECT_CGROUP,    /* a control group and all below it */
	SW_SELECT_CONTAINER, /* the first digits of a container's id */
};

struct sw_selected {
	pid_t pid;
	char comm[SW_COMM_MAX];
};

/**
 * The processes that match, in /proc's order, without ourselves. Zombies and kernel threads only
 * when nothing else matches.
 *
 * @param ret  The caller's; free(). NULL when none matches.
 * @return 0, also when none matches; -SW_E_LIMIT (more than SW_SELECT_MAX), -SW_E_INVALID (a
 *         container id that means several), -SW_E_IO (no /proc), -SW_E_NOMEM.
 */
SW_PUBLIC int sw_select_processes(enum sw_select_kind kind, const char *text,
				  struct sw_selected **ret, size_t *ret_n, struct sw_error *err);

/** Whether this process is one of them. Of containers that begin alike each matches. */
SW_PUBLIC bool sw_select_matches(enum sw_select_kind kind, const char *text, pid_t pid);

#ifdef __cplusplus
}
#endif

#endif
