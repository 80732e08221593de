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

/* False: they cannot be read, or a collector is at work. */
static bool collections_read(const struct sw_hotspot *h, struct sw_memory m,
			     struct sw_hotspot_collections *ret)
{
	const struct sw_hotspot_copies *c = &h->copies;
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < c->n_counted; i++) {
		const struct sw_hotspot_counted *at = &c->counted[i];
		uint64_t *words = ret->words[i];
		if (!sw_memory_u64(m, at->invocations_avma, &words[0]) ||
		    !sw_memory_u64(m, at->entry_avma, &words[1]) ||
		    !sw_memory_u64(m, at->exit_avma, &words[2]) || words[1] > words[2])
			return false;
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
	struct sw_hotspot_collections words;
	if (!h->by_copies || c->thread == thread)
		return;
	c->thread = thread;
	c->doubtful = false;
	c->looked_ns = sw_clock_ns();
	/* A copy of the kernel's has its own time. */
	c->made_ns = thread->copy != NULL && thread->copy->head.time_ns != 0
			     ? (int64_t) thread->copy->head.time_ns
			     : c->renewed_ns;
	c->collections = 0;
	if (!collections_read(h, sw_snapshot_memory(&copied), &words))
		return;
	if (c->n_collections == 0 || memcmp(&words, &c->then, sizeof(words)) != 0)
		c->n_collections++;
	c->then = words;
	c->collections = c->n_collections;
}

bool sw_hotspot_is_proven(const struct sw_hotspot *h, const struct sw_hotspot_proof *proof)
{
	const struct sw_hotspot_copies *c = &h->copies;
	return (c->collections != 0 && proof->collections == c->collections) ||
	       (proof->first_ns < c->made_ns && proof->last_ns > c->made_ns);
}

bool sw_hotspot_prove(const struct sw_hotspot *h, bool by_collections,
		      struct sw_hotspot_proof *proof)
{
	const struct sw_hotspot_copies *c = &h->copies;
	struct sw_hotspot_collections now;
	proof->last_ns =
		c->looked_ns; /* not later than it was read, and the next one not earlier */
	if (proof->first_ns == 0)
		proof->first_ns = sw_clock_ns();
	if (proof->first_ns < c->made_ns)
		return true;
	return by_collections && c->collections != 0 &&
	       collections_read(h, sw_live_memory(h->snap), &now) &&
	       memcmp(&now, &c->then, sizeof(now)) == 0;
}
