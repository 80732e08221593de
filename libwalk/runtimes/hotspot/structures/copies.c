/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sources, jdk-17.0.15 and jdk-25.0.3: src/hotspot/share/gc/shared/collectorCounters.cpp (TraceCollectorStats), code/nmethod.cpp
 * (make_in_use(), flush(), is_maybe_on_stack()), compiler/compileBroker.cpp (assign_compile_id()), runtime/sweeper.cpp, which is
 * gone since 20.
 */
#include "runtimes/hotspot/structures/copies.h"
#include "copies/record.h"
#include "snapshot/live.h"

#include <snapwalk/clock.h>
#include <string.h>

/* How many collections have begun; false: they cannot be read. *ret_now: one goes on. */
static bool collections_count(const struct sw_hotspot *h, struct sw_memory m, uint64_t *ret,
			      bool *ret_now)
{
	const struct sw_hotspot_copies *c = &h->copies;
	*ret = 0;
	*ret_now = false;
	for (size_t i = 0; i < c->n_counted; i++) {
		const struct sw_hotspot_counted *at = &c->counted[i];
		uint64_t ended, entry, exit;
		if (!sw_memory_u64(m, at->invocations_avma, &ended) ||
		    !sw_memory_u64(m, at->entry_avma, &entry) ||
		    !sw_memory_u64(m, at->exit_avma, &exit))
			return false;
		*ret += ended + (entry > exit);
		*ret_now |= entry > exit;
	}
	return c->n_counted > 0;
}

void sw_hotspot_copies_renew(struct sw_hotspot *h)
{
	h->copies.thread = NULL;
	h->copies.renewed_ns = sw_clock_ns();
}

void sw_hotspot_copies_begin(struct sw_hotspot *h, const struct sw_thread *thread)
{
	struct sw_hotspot_copies *c = &h->copies;
	struct sw_snapshot_memory copied = {.snap = h->snap, .thread = thread, .no_live = true};
	uint64_t n;
	bool now;
	if (!h->by_copies || c->thread == thread)
		return;
	c->thread = thread;
	c->doubtful = false;
	c->looked_ns = sw_clock_ns();
	/* A copy of the kernel's has its own time. */
	c->made_ns = thread->copy != NULL && thread->copy->head.time_ns != 0
			     ? (int64_t) thread->copy->head.time_ns
			     : c->renewed_ns;
	c->collections =
		collections_count(h, sw_snapshot_memory(&copied), &n, &now) && !now ? n + 1 : 0;
}

bool sw_hotspot_is_proven(const struct sw_hotspot *h, const struct sw_hotspot_proof *proof)
{
	const struct sw_hotspot_copies *c = &h->copies;
	return (c->collections != 0 && proof->collections == c->collections) ||
	       (proof->numbered && proof->first_ns < c->made_ns && proof->last_ns > c->made_ns);
}

/* Whether what was met on a stack is still what it was, as it looks the same: one collection could have taken it away, and a
 * second one what came in its place. */
static bool is_proven_by(const struct sw_hotspot *h, const struct sw_hotspot_proof *proof)
{
	const struct sw_hotspot_copies *c = &h->copies;
	uint64_t n;
	bool now;
	if (!collections_count(h, sw_live_memory(h->snap), &n, &now))
		return false;
	return (c->collections != 0 && n + 1 == c->collections) ||
	       (proof->collections != 0 && n + 1 - proof->collections <= 1);
}

bool sw_hotspot_prove(const struct sw_hotspot *h, bool by_collections,
		      struct sw_hotspot_proof *proof)
{
	const struct sw_hotspot_copies *c = &h->copies;
	proof->last_ns =
		c->looked_ns; /* not later than it was read, and the next one not earlier */
	if (proof->first_ns == 0)
		proof->first_ns = sw_clock_ns();
	return (proof->numbered && proof->first_ns < c->made_ns) ||
	       (by_collections && is_proven_by(h, proof));
}
