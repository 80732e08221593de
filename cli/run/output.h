/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_OUTPUT_H
#define SW_CLI_OUTPUT_H

#include <snapwalk/error.h>

#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Where the result goes: standard output, or a file that appears whole or not at all.
 *
 *	open (before the target is touched) [-> entrust] -> write... -> commit
 *
 * Without commit, an existing file stays as it was and nothing is left behind.
 */
struct sw_output {
	const char *path;       /* borrowed; NULL: standard output */
	const char *name;       /* borrowed: the last part of path */
	char *temporary;        /* owned; a named file beside it to rename or remove; NULL: none */
	int directory_fd;       /* owned: of both; meaningless where it is direct */
	int fd;                 /* owned unless it is standard output */
	struct sw_text *memory; /* borrowed: takes what is written instead of fd; NULL: none */
	int (*take)(void *arg, const char *data, size_t size,
		    struct sw_error *err); /* is called with it instead; NULL: none */
	void *take_arg;                    /* borrowed */
	bool unnamed;                      /* fd has no name yet (O_TMPFILE) */
	bool direct;                       /* a device or pipe: written as it is */
	bool ascii;                        /* a terminal that shows no UTF-8 */
	bool reader_gone;                  /* EPIPE: whoever read has read enough */
	pid_t placer;                      /* the child of sw_output_entrust(); 0: none */
	int placer_fd;                     /* owned: it is told there; meaningless without it */
};

/* path NULL or "-": standard output. 0; -SW_E_IO; -SW_E_NOMEM. */
int sw_output_open(struct sw_output *ret, const char *path, struct sw_error *err);
/* Before privileges are given up: a child keeps what is needed to put the file in its place. It
 * parses nothing, and ends with us. Nothing to do for standard output. 0; -SW_E_IO. */
int sw_output_entrust(struct sw_output *out, struct sw_error *err);
/* All of it, or -SW_E_IO. A reader that closed the pipe is no error: see reader_gone. */
int sw_output_write(struct sw_output *out, const char *data, size_t size, struct sw_error *err);
/* Makes the file appear. 0; -SW_E_IO; -SW_E_NOMEM. */
int sw_output_commit(struct sw_output *out, struct sw_error *err);
/* Closes; removes what was not committed. */
void sw_output_deinit(struct sw_output *out);

#endif
