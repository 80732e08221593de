/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_EVENT_THEN_H
#define SW_CLI_EVENT_THEN_H

#include "common/options.h"
#include "text.h"

#include <snapwalk/error.h>

#include <stdbool.h>
#include <sys/types.h>

/*
 * Dumps of the whole process at events, for a command that has given its privileges up. A child that was there before makes
 * them: it parses nothing, can be told only to dump that one process, and ends with the command. Each dump is made by a
 * process of its own, which is there before the event, has the kernel's programs, and gives its privileges up before it parses.
 */
struct sw_then {
	pid_t pid; /* 0: none */
	int fd;    /* owned */
	bool busy; /* a dump is being made */
};

struct sw_then_dump {
	int status;                      /* as an exit status */
	int64_t time_ns;                 /* CLOCK_REALTIME of the copy; 0: there is no dump */
	struct sw_text text;             /* owned: the dump, in the format of the options */
	char said[SW_ERROR_MESSAGE_MAX]; /* why there is none */
};

/* 0; -SW_E_IO. */
int sw_then_start(struct sw_then *ret, const struct sw_options *options, pid_t pid,
		  struct sw_error *err);
/* When it is not busy. */
void sw_then_ask(struct sw_then *then);
/* Waits for the dump that was asked for. */
void sw_then_answer(struct sw_then *then, struct sw_then_dump *ret);
/* Whether the dump that was asked for is there. */
bool sw_then_is_there(const struct sw_then *then);
void sw_then_dump_deinit(struct sw_then_dump *dump);
/* A dump that is being made is given up. */
void sw_then_end(struct sw_then *then);

#endif
