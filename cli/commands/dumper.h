/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_DUMPER_H
#define SW_CLI_DUMPER_H

#include "common/options.h"

#include <snapwalk/error.h>

#include <stdbool.h>
#include <sys/types.h>

/*
 * Dumps for a process that has given its privileges up: made by a child that was there before,
 * which parses nothing itself. It can be told to dump that one process into a new file of the
 * current directory, nothing else, and ends with us.
 */
struct sw_dumper {
	pid_t pid; /* 0: none */
	int fd;    /* owned; can be read when a dump is made */
	bool busy; /* one is being made */
};

struct sw_dumped {
	int status; /* as an exit status; below 0: none */
	char path[64];
	char said[192]; /* its first line */
};

/* 0; -SW_E_IO. */
int sw_dumper_start(struct sw_dumper *ret, const struct sw_options *options, pid_t pid,
		    struct sw_error *err);
/* When it is not busy. */
void sw_dumper_ask(struct sw_dumper *dumper);
/* Waits for the dump that was asked for. */
void sw_dumper_answer(struct sw_dumper *dumper, struct sw_dumped *ret);
/* A dump that is being made is given up, and leaves no file. */
void sw_dumper_end(struct sw_dumper *dumper);

#endif
