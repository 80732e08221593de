/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CONFINE_OWNER_H
#define SW_CONFINE_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The calling thread opens files with the permissions of that user and group from now on, without other groups, and
 * without capabilities over files. All else stays: no process of that user may trace or signal us. Where we may not do
 * that, as without CAP_SETUID, the permissions are our own. A signal that was asked for at the end of the parent is still
 * sent; the process ends at once when the parent has ended meanwhile.
 */
void sw_owner_become(uid_t uid, gid_t gid);

/* Whether the permissions will not be those of root for the files of another user: root needs CAP_SETUID and CAP_SETGID. To
 * be asked while the capabilities are there. */
bool sw_owner_can_become(uid_t uid, gid_t gid);

#endif
