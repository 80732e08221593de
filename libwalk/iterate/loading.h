/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_ITERATE_LOADING_H
#define SW_ITERATE_LOADING_H

#include "iterate/tasks.h"

#include <pthread.h>

/*
 * A program that is loaded by a thread while its owner does what can be done without it: the kernel needs a millisecond,
 * and a dump of few threads not much longer for all else. {0}: not begun.
 */
struct sw_iterate_loading {
	enum sw_iterate_program program;
	bool begun, apart; /* apart: by the thread */
	pthread_t thread;
	int fd, status; /* fd: owned */
	struct sw_error err;
};

/* Begins, where it has not begun. A program that the daemon keeps in the kernel is there at once. */
void sw_iterate_loading_begin(struct sw_iterate_loading *loading, enum sw_iterate_program program);

/* Waits for the thread, if there is one. The program is kept. */
void sw_iterate_loading_wait(struct sw_iterate_loading *loading);

/**
 * Take the program, once; as sw_iterate_load(), which is called where nothing has begun.
 *
 * @param loading  NULL: nothing has begun.
 */
int sw_iterate_loading_end(struct sw_iterate_loading *loading, enum sw_iterate_program program,
			   int *ret_program_fd, struct sw_error *err);

/* Gives up a program that was begun and is not needed. */
void sw_iterate_loading_deinit(struct sw_iterate_loading *loading);

#endif
