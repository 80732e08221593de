/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_COPIER_PAGES_H
#define SW_COPIER_PAGES_H

#include "copier/channel.h"
#include "memory.h"

/*
 * The reader's side: memory of the target as pages of 4 KiB, which are fetched when they are missed. The pages that
 * a run before the window, the rehearsal, has read are copied before the run in the window begins, all in one turn:
 * little is left to be fetched.
 *
 * A read answers, or the deadline has passed (over): from then on each read of a page that is not there fails.
 */
enum {
	SW_COPIER_KNOWN_MAX =
		SW_COPIER_PAGES_MAX, /* pages of one run, with those that cannot be read */
	SW_COPIER_SLOTS = 2 * SW_COPIER_KNOWN_MAX, /* a power of two */
};

struct sw_copier_page {
	uint64_t avma;
	const uint8_t *data; /* of the pool; NULL: it cannot be read */
	uint32_t slot;       /* where it is found */
	bool read;           /* in this run, by a reader */
};

struct sw_copier_pages {
	struct sw_copier_channel *channel; /* borrowed */
	void (*ask)(const void *arg); /* gives the turn to the copier and waits for the answer */
	const void *arg;              /* borrowed */
	bool over; /* the deadline or a limit came first: what was read since is not whole */
	bool gathers, stuck;  /* between part() and fetch(); something of this part was missed */
	size_t gathered_from; /* the pages known from here on are to be fetched */
	size_t n;             /* pages that are known in this run */
	size_t n_slots;       /* of slots, that are used: a power of two; 0: none yet */
	struct sw_copier_page known[SW_COPIER_KNOWN_MAX];
	uint16_t slots[SW_COPIER_SLOTS]; /* by hash: the place in known, and 1; 0: free */
};

/* A run begins: nothing is there but the pages that the copier has foreseen. */
void sw_copier_pages_begin(struct sw_copier_pages *pages);
/* A rehearsal is over: tells the copier which pages it read. */
void sw_copier_pages_list(struct sw_copier_pages *pages);

struct sw_memory sw_copier_pages_memory(struct sw_copier_pages *pages, bool is_32bit);

#endif
