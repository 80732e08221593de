/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_NAMES_H
#define SW_DAEMON_WORKER_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct sw_session;

/*
 * The names that the workers of one series found out, from one to the next: a memfd of a fixed
 * size, which the broker makes and passes on, and never reads. Each worker is a process of its own,
 * that has given its capabilities up when it looks into it. In a series that makes a profile the
 * broker puts the profile so far behind the names, before each worker but the first.
 */

enum {
	SW_NAMES_BYTES = 1 << 20,
	SW_PROFILE_BYTES = 16 << 20, /* at most; what was never written takes no memory */
};

/* The broker's, with so many bytes behind the names. A descriptor; -EBADF: there is none, each worker looks
 * all names up. */
int sw_names_create(size_t n_behind);
/* False: it cannot be written, and what is there is of no use any more. */
bool sw_names_put_profile(int fd, const char *json, size_t size);

/* The worker's, after sw_sandbox_worker(): what the one before it has left is known to the session. The copy
 * of it is as long as we live. fd may be negative, or anything. */
void sw_names_recall(int fd, struct sw_session *session);
/* Leaves what the session knows to the next one. */
void sw_names_keep(int fd, struct sw_session *session);
/* The profile that sw_names_put_profile() has put there, as malloc'ed; NULL: it cannot be had. */
char *sw_names_profile(int fd, size_t size);

#endif
