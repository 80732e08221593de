/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_UNTHREADED_H
#define SW_UNTHREADED_H

#include <snapwalk/walk.h>

/* The common part of goroutines and tasks: they are shown with the thread that runs them, or have a
 * walk of their own behind those of threads. */

/* The walk of a thread; NULL: there is none, or tid is 0. */
struct sw_walk *sw_walk_of_thread(const struct sw_walks *walks, pid_t tid);

/* A further walk, not initialised; *capacity is of walks->walks. Returns NULL if there is no
 * memory. */
struct sw_walk *sw_walk_more(struct sw_walks *walks, size_t *capacity);

/* "3 tasks could not be read where they were; WHY", the arena's; what: "task", why may be NULL. With n 0 why
 * itself. NULL though n is not 0: there is no memory. */
const char *sw_walk_left_why(struct sw_walks *walks, size_t n, const char *what, const char *why);

#endif
