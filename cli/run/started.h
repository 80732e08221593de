/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_STARTED_H
#define SW_CLI_STARTED_H

#include "common/options.h"

#include <signal.h>
#include <sys/resource.h>

/* The settings that the command was started with and has changed for itself: a program that it
 * starts gets them back. */
struct sw_inherited {
	struct sigaction bus, pipe, file_size;
	struct rlimit files;
	char *debuginfod_urls; /* owned; NULL: not set */
	bool filled[3];        /* of the standard files: it was closed */
};

/*
 * A program that the command starts, and that is looked at from its first instruction on.
 *
 *	the command, which the shell knows:   passes signals on, has the program's exit status
 *	`- the one that captures:             an ancestor, so that Yama lets it look
 *	   `- the program:                    waits until everything is open, then exec()
 *
 * The one in the middle is confined and needs no system call for all this: when it ends, the program's status comes
 * to the command (PR_SET_CHILD_SUBREAPER).
 */
struct sw_started {
	pid_t pid;
	int go_fd;    /* owned: a byte there lets it exec() */
	int error_fd; /* owned: errno of exec(), or its end */
	int tell_fd;  /* owned: to the command */
	int hold_fd;  /* owned: ends when the program has ended */
};

/* The function that captures it, in a process of its own; returns an exit status. */
typedef int sw_started_work(const struct sw_options *options, struct sw_started *started);

/* Starts options->program under work. The program's exit status, 128 and the number of the signal that ended it; or
 * that of work, when the program was not started. */
int sw_started_run(const struct sw_options *options, sw_started_work *work);

/* For work, when everything is open: lets the program begin. False: it cannot be executed, which is said; then
 * *ret_status is for the end of work. */
bool sw_started_go(struct sw_started *started, const char *name, int *ret_status);
/* For work, when it is done: waits until the program has ended, for its parent may not end before it. */
void sw_started_wait(struct sw_started *started);

#endif
