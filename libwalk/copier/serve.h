/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIER_SERVE_H
#define SW_COPIER_SERVE_H

#include "copier/channel.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The copier's side: it serves the reader with memory of the target, and bounds what the reader asks for. */

struct sw_copier_read {
	uint64_t avma;
	uint8_t *buffer;
	size_t bytes;
	bool ok; /* out */
};

enum {
	SW_COPIER_READS = 64,   /* of one call of read() */
	SW_COPIER_FIRST = 4096, /* foreseen pages that are copied whatever the time is: 16 MiB */
};

struct sw_copier_source {
	/* Reads what it can. Memory that may not come is not waited for. */
	void (*read)(void *arg, struct sw_copier_read *reads, size_t n);
	/* Optional. Memory that the reader has got. It stays until sw_copier_destroy(). False: no more is taken. */
	bool (*keep)(void *arg, uint64_t avma, const uint8_t *data, size_t bytes);
	void *arg; /* borrowed */
};

enum sw_copier_end {
	SW_COPIER_ENDED, /* the readers came to their end */
	SW_COPIER_LIMIT, /* likewise, but did not get all: pages, turns or keep() */
	SW_COPIER_LATE,  /* the deadline came first */
	SW_COPIER_DIED,  /* the reader has ended */
};

struct sw_copier {
	struct sw_copier_channel *channel; /* owned: a mapping */
	size_t channel_bytes, threads_max;
	pid_t pid;  /* of the reader; 0: there is none */
	int pidfd;  /* of the reader, if there is one; owned */
	bool lost;  /* it has ended: it is not asked again */
	int signal; /* after sw_copier_end(): that ended it; 0: none */
	int refused; /* likewise the number of the system call that its filter ended it for; -1: it is not known */
	bool pending; /* it was late in the last run, which is not over for it */
	struct sw_copier_foreseen *foreseen; /* owned: space for SW_COPIER_PAGES_MAX */
	size_t n_foreseen;
	/* The longest wait for the reader in one turn, and in all turns of a run; 0: no limit but the run's end. */
	int64_t turn_wait_ns, run_wait_ns;
	/* The run's: */
	size_t used; /* bytes of the pool */
	unsigned n_turns;
	int64_t waited_ns; /* for the reader */
	bool missed;       /* the reader was not there, or asked for more when it was too late */
	bool limited;
	bool begun; /* sw_copier_begin() was called for the next run */
};

/*
 * Begins a run: copies the pages that are foreseen, page i of these at page i of the pool, whether there is a reader or
 * not, until until_ns (CLOCK_MONOTONIC), but the first SW_COPIER_FIRST of them in any case. Also in the stop; waits
 * for nothing.
 */
void sw_copier_begin(struct sw_copier *copier, const struct sw_copier_source *source,
		     int64_t until_ns);

/*
 * Runs the readers once, with the threads that the channel has; until_ns is CLOCK_MONOTONIC. Begins the run, unless
 * sw_copier_begin() did. Also in the stop: it waits for the reader, no longer than until_ns and the limits of the copier.
 */
enum sw_copier_end sw_copier_run(struct sw_copier *copier, const struct sw_copier_source *source,
				 int64_t until_ns);

/* After the stop: a reader that was late comes to its end over what was copied. False: it has not. */
bool sw_copier_finish(struct sw_copier *copier, int64_t until_ns);

/* After a rehearsal, a run with channel->rehearses: its pages are foreseen from now on. */
void sw_copier_foresee(struct sw_copier *copier);

/* Serves one turn of the run: copies the ranges that the channel has, as far as the limits go. */
void sw_copier_serve(struct sw_copier *copier, const struct sw_copier_source *source,
		     int64_t until_ns);

#endif
