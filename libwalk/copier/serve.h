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

enum { SW_COPIER_READS = 64 /* of one call of read() */ };

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
	pid_t pid; /* of the reader; 0: there is none */
	bool lost; /* it did not answer in time once, or has ended: it is not asked again */
	/* Of the run: */
	size_t used; /* bytes of the pool */
	unsigned n_turns;
	bool limited;
};

/*
 * One run of the readers, with the threads that the channel has; until_ns is CLOCK_MONOTONIC. It begins with
 * an empty pool. Also in the stop: it waits for the reader, no longer than until_ns.
 */
enum sw_copier_end sw_copier_run(struct sw_copier *copier, const struct sw_copier_source *source,
				 int64_t until_ns);

/* One turn of it: copies the ranges that the channel has, as far as the limits go. */
void sw_copier_serve(struct sw_copier *copier, const struct sw_copier_source *source,
		     int64_t until_ns);

#endif
