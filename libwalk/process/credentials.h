/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_CREDENTIALS_H
#define SW_PROCESS_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Decides what the user of a process may read: a capture may open more than that user, and the daemon, which has no
 * CAP_SETUID, cannot become anybody to let the kernel decide. The answer is no where the kernel might say yes: capabilities
 * count for root alone, and who is not the owner of a file with an access control list may not use it.
 */
enum { SW_CREDENTIALS_GROUPS_MAX = 256 };

struct sw_credentials {
	uid_t uid; /* the real ones */
	gid_t gid;
	gid_t groups[SW_CREDENTIALS_GROUPS_MAX]; /* further ones; those beyond are left out */
	size_t n_groups;
	bool reads_all; /* root with a capability for it: a program started by sudo in somebody's 0700 home */
};

/* Reads the text of /proc/PID/status. False: it does not tell. */
bool sw_credentials_parse(const char *status, struct sw_credentials *ret);

/*
 * Whether a path may lead on through an O_PATH descriptor: a directory that may be searched, or a link of root or of that
 * user; or end at it: a file that may be read. errno is EACCES, or ELOOP for a link. Asks the file's file system. To be
 * asked for each step of the path: the mode of a file alone does not tell who can reach it.
 */
bool sw_credentials_permit(const struct sw_credentials *credentials, int fd);

#endif
