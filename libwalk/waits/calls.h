/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_WAITS_CALLS_H
#define SW_WAITS_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The object that a system call waits for, by its number and arguments. */
enum sw_blocking_kind {
	SW_BLOCKS_NOT,
	SW_BLOCKS_DESCRIPTOR, /* what is at the other end of fd */
	SW_BLOCKS_FLOCK,      /* the owner of a lock, flock(2) */
	SW_BLOCKS_FCNTL,      /* the same, fcntl(2) */
	SW_BLOCKS_WAIT,       /* a child */
	SW_BLOCKS_OPEN,       /* the file that it opens */
	SW_BLOCKS_MESSAGES, /* a message queue of System V: one to receive, or with writes space for one */
	SW_BLOCKS_SEMAPHORES, /* a set of semaphores of System V */
};

struct sw_blocking_call {
	enum sw_blocking_kind kind;
	int64_t fd;         /* -1: none */
	bool writes;        /* to fd; else it reads */
	bool limited;       /* it ends by itself after some time */
	uint64_t path_avma; /* of a file that it opens */
	pid_t pid;          /* of the child, in the caller's pid namespace; 0: any */
	int id;             /* of the queue or the set */
};

/* False: it waits for nothing of these. */
bool sw_blocking_call_of(int64_t number, const uint64_t arguments[6], struct sw_blocking_call *ret);

#endif
