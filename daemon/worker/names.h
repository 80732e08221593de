/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_WORKER_NAMES_H
#define SW_DAEMON_WORKER_NAMES_H

struct sw_session;

/*
 * What the workers of one series found out of names, from one to the next: a memfd of a fixed size, which
 * the broker makes and passes on, and never reads. Each worker is a process of its own, that has given its
 * capabilities up when it looks into it.
 */

enum { SW_NAMES_BYTES = 1 << 20 };

/* The broker's. A descriptor; -EBADF: there is none, each worker looks all names up. */
int sw_names_create(void);

/* The worker's, after sw_sandbox_worker(): what the one before it has left is known to the session. The copy
 * of it is as long as we live. fd may be negative, or anything. */
void sw_names_recall(int fd, struct sw_session *session);
/* Leaves what the session knows to the next one. */
void sw_names_keep(int fd, struct sw_session *session);

#endif
