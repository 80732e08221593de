/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_OWN_WAY_H
#define SW_BASE_OWN_WAY_H

#include <snapwalk/error.h>

#include <stdbool.h>
#include <sys/types.h>

/*
 * Files by names that our own user gave, in directories that other users may write to. A user who may put a link on the
 * way there may let it lead to any file of ours: links of users other than root and our own are not followed.
 */

/* An O_PATH descriptor of what the path leads to. flags: as openat(). what: the beginning of the error's message.
 * 0; -SW_E_IO, -SW_E_NOMEM. */
int sw_own_way_open(const char *path, int flags, const char *what, int *ret_fd,
		    struct sw_error *err);

/* The same of the directory that the path's last name lies in. */
int sw_own_way_open_parent(const char *path, const char *what, int *ret_fd, struct sw_error *err);

/* Whether the path leads where it does until root or our user changes that: links and directories on the way, and
 * what is at its end, belong to these two, and others may write to sticky directories alone. For names that are used
 * again later. */
bool sw_own_way_is_ours(const char *path);

/* A user and a group beside root and our own user who may change where a path leads: those of a daemon that root
 * starts. */
struct sw_own_way_other {
	uid_t uid;
	gid_t gid;
	bool group_has_others; /* than that user: what the group may write to, others may change */
};

/* 0 if only root, our user and the other one can change where the directory of the path's last name is. The other
 * user's may be the last directory alone, as whoever uses the path again follows links of that user above it. Others may
 * write to sticky directories. -SW_E_IO with the directory or link that is somebody else's; -SW_E_NOMEM. */
int sw_own_way_check_parent(const char *path, const struct sw_own_way_other *other,
			    struct sw_error *err);

/* A descriptor of a directory that only those three can change, as can be said of each directory on the way. Links of
 * the other user are not followed. */
int sw_own_way_open_directory(const char *path, const struct sw_own_way_other *other, int *ret_fd,
			      struct sw_error *err);

/* Makes a directory. 0, also if the name is there already; -SW_E_IO, -SW_E_NOMEM. */
int sw_own_way_make(const char *path, mode_t mode, struct sw_error *err);

#endif
