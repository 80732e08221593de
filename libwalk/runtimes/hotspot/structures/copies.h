/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_HOTSPOT_COPIES_H
#define SW_HOTSPOT_COPIES_H

#include "runtimes/hotspot/structures/hotspot.h"

/*
 * Copies of threads that the kernel makes at events, one after another, while the VM goes on: methods are read later than
 * the copy was made, at an address that may have another one by then. What was read is proven to be what the copy had
 *
 *	by both sides		it was known before the copy was made, and is still there afterwards. Of compiled methods
 *				alone, which have numbers that are given once
 *	by collections		no collection that unloads classes was going on when the copy was made, and none has begun
 *				until it was read: a class with a method on a stack is alive, and what is alive stays until a
 *				collection that begins later has found it dead. Since JDK 20 the same holds for compiled code.
 *				Or only one has begun since an earlier copy that had it on its stack, and it still looks the
 *				same: two are needed for another one to come and go
 *	by the sweeper		until JDK 19 it alone frees compiled code, and it did not run (structures/sweeper.h)
 *
 * A method that is proven in none of these ways is doubtful: it gets no name, and the stack is marked.
 */

/* The snapshot has another copy. */
void sw_hotspot_copies_renew(struct sw_hotspot *h);

/* Before anything is asked about a thread: which copy is meant. */
void sw_hotspot_copies_begin(struct sw_hotspot *h, const struct sw_thread *thread);

/* Whether a thing is what the copy had, without a look at it; of methods on the stacks of both. */
bool sw_hotspot_is_proven(const struct sw_hotspot *h, const struct sw_hotspot_proof *proof);

/* Whether a thing is proven that was read now and looks as it did. by_collections: whether these count for it. */
bool sw_hotspot_prove(const struct sw_hotspot *h, bool by_collections,
		      struct sw_hotspot_proof *proof);

/* Notes that a thing is on the stack that was copied, beyond doubt. */
static inline void sw_hotspot_is_met(const struct sw_hotspot *h, struct sw_hotspot_proof *proof)
{
	if (h->copies.collections != 0)
		proof->collections = h->copies.collections;
}

#endif
