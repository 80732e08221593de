/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIER_PAGES_H
#define SW_COPIER_PAGES_H

#include "copier/channel.h"
#include "memory.h"

/*
 * The reader's side: memory of the target as pages of 4 KiB, which are fetched when they are missed. The pages that
 * one run has read are the first ones that the next run fetches, all in one turn: a run before the window,
 * the rehearsal, leaves little to be fetched in the window.
 *
 * A read answers, or the deadline has passed (over): from then on each read of a page that is not there fails.
 */
enum { SW_COPIER_SLOTS = 4096 /* a power of two; half of them are used at most */ };

struct sw_copier_page {
	uint64_t avma;
	const uint8_t *data; /* of the pool; NULL: it cannot be read */
	bool used;           /* the slot is */
	bool read;           /* in this run, by a reader */
};

struct sw_copier_pages {
	struct sw_copier_channel *channel; /* borrowed */
	void (*ask)(const void *arg); /* gives the turn to the copier and waits for the answer */
	const void *arg;              /* borrowed */
	bool over; /* the deadline or a limit came first: what was read since is not whole */
	size_t n;  /* slots that are used */
	struct sw_copier_page slots[SW_COPIER_SLOTS];
	uint64_t foreseen[SW_COPIER_PAGES_MAX]; /* pages that the run before has read, by address */
	size_t n_foreseen;
};

/* A run begins: nothing is there but what was foreseen. */
void sw_copier_pages_begin(struct sw_copier_pages *pages);
/* It is over: the pages that it read are foreseen from now on. */
void sw_copier_pages_end(struct sw_copier_pages *pages);

struct sw_memory sw_copier_pages_memory(struct sw_copier_pages *pages, bool is_32bit);

#endif
