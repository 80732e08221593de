/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_CLI_APART_H
#define SW_CLI_APART_H

#include <snapwalk/error.h>

#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Work that gives its privileges up, done by a child where the command needs them later: for the
 * next target, or to put a file in its place. The child has a copy of everything as it was.
 */
struct sw_apart {
	pid_t pid; /* 0: none */
	int fd;    /* owned; reads what the child writes */
};

/* work writes to fd; what it returns, 0 to 127, is the child's exit status. -SW_E_IO, -SW_E_NOMEM.
 */
int sw_apart_start(struct sw_apart *ret, int (*work)(void *arg, int fd), void *arg,
		   struct sw_error *err);
/* Waits for the end of it; adds all that it wrote to text. The child is not trusted to end: it is killed at the deadline
 * (sw_clock_ns(); 0: none), and when it writes more than max_bytes. 0; -SW_E_INTERNAL when it was killed by others,
 * -SW_E_TIMEOUT, -SW_E_LIMIT. */
int sw_apart_finish_within(struct sw_apart *apart, int64_t deadline_ns, size_t max_bytes,
			   struct sw_text *text, int *ret_status, struct sw_error *err);

/* Whether this is such a child, whose end the parent sees and speaks of. */
bool sw_apart_is_child(void);

/* In the child, before it parses: closes and unmaps what it has of the parent's BPF programs, maps and perf events.
 * -SW_E_IO. */
int sw_apart_drop_bpf(struct sw_error *err);

#endif
