/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * May run while threads of the target are STOPPED, in the helper, on its small stack, and may be killed
 * between any two instructions. Nothing here parses, opens, allocates, locks, names or prints; the only
 * wait is the one for the reader, which ends at the deadline. tests/held.sh looks at what it calls.
 */
#include "copier/serve.h"
#include "arch/futex.h"

#include <sched.h>
#include <snapwalk/clock.h>
#include <stdatomic.h>

enum { LOOK_NS = 2000000 /* between two looks whether the reader is still there */ };

static bool has_ended(const struct sw_copier *c)
{
	return (atomic_load(&c->channel->reader) & FUTEX_OWNER_DIED) != 0;
}

static void turn_give(struct sw_copier *c)
{
	atomic_store(&c->channel->turn, SW_COPIER_RUN);
	(void) sw_futex(&c->channel->turn, FUTEX_WAKE, 1,
			NULL); /* or it has not come to its wait */
}

/* Waits until the reader has done its turn. SW_COPIER_ENDED: it has. */
static enum sw_copier_end turn_wait(struct sw_copier *c, int64_t until_ns)
{
	bool looked = false;
	while (atomic_load(&c->channel->turn) == SW_COPIER_RUN) {
		int64_t left_ns = until_ns - sw_clock_ns();
		bool ended = looked && has_ended(c);
		if (ended || left_ns <= 0)
			return ended ? SW_COPIER_DIED : SW_COPIER_LATE;
		const struct timespec left = {0, left_ns < LOOK_NS ? left_ns : LOOK_NS};
		(void) sw_futex(&c->channel->turn, FUTEX_WAIT, SW_COPIER_RUN, &left);
		looked = true;
	}
	return SW_COPIER_ENDED;
}

/* A turn's ranges as they are read. */
struct batch {
	struct sw_copier_read reads[SW_COPIER_READS];
	struct sw_copier_range *ranges[SW_COPIER_READS];
	size_t n;
};

/* Gives a range its place in the pool. The reader may change the range meanwhile: it is looked at once. */
static void range_add(struct sw_copier *c, struct batch *b, struct sw_copier_range *range)
{
	uint64_t avma = __atomic_load_n(&range->avma, __ATOMIC_RELAXED), end;
	uint32_t bytes = __atomic_load_n(&range->bytes, __ATOMIC_RELAXED);
	range->ok = 0;
	if (bytes > sizeof(c->channel->pool) - c->used) {
		c->limited = true;
		return;
	}
	if (bytes == 0 || __builtin_add_overflow(avma, bytes, &end))
		return;
	range->at = (uint32_t) c->used;
	b->ranges[b->n] = range;
	b->reads[b->n++] = (struct sw_copier_read){.avma = avma,
						   .buffer = c->channel->pool + c->used,
						   .bytes = bytes};
	c->used += bytes; /* also where nothing comes: failures have a limit, too */
}

static void batch_read(struct sw_copier *c, const struct sw_copier_source *source, struct batch *b)
{
	if (b->n > 0)
		source->read(source->arg, b->reads, b->n);
	for (size_t i = 0; i < b->n; i++) {
		const struct sw_copier_read *r = &b->reads[i];
		bool kept = r->ok && (source->keep == NULL ||
				      source->keep(source->arg, r->avma, r->buffer, r->bytes));
		c->limited |= r->ok && !kept;
		b->ranges[i]->ok = kept;
	}
	b->n = 0;
}

void sw_copier_serve(struct sw_copier *c, const struct sw_copier_source *source, int64_t until_ns)
{
	struct batch b;
	size_t n = __atomic_load_n(&c->channel->n_ranges, __ATOMIC_RELAXED);
	b.n = 0;
	if (n > SW_COPIER_RANGES_MAX)
		n = SW_COPIER_RANGES_MAX;
	for (size_t i = 0; i < n; i++) {
		range_add(c, &b, &c->channel->ranges[i]);
		if (!c->limited && b.n < SW_COPIER_READS && i + 1 < n)
			continue;
		batch_read(c, source, &b);
		if (!c->limited && sw_clock_ns() <= until_ns)
			continue;
		while (++i < n)
			c->channel->ranges[i].ok = 0;
	}
	c->limited |= ++c->n_turns >= SW_COPIER_TURNS_MAX;
}

enum sw_copier_end sw_copier_run(struct sw_copier *c, const struct sw_copier_source *source,
				 int64_t until_ns)
{
	enum sw_copier_end end = SW_COPIER_ENDED;
	c->used = c->n_turns = 0;
	c->limited = false;
	if (c->lost)
		return SW_COPIER_LATE;
	atomic_store(&c->channel->over, 0);
	c->channel->cpu = sched_getcpu();
	turn_give(c);
	while ((end = turn_wait(c, until_ns)) == SW_COPIER_ENDED) {
		if (atomic_load(&c->channel->turn) != SW_COPIER_WANT)
			return c->limited ? SW_COPIER_LIMIT : SW_COPIER_ENDED;
		if (!c->limited)
			sw_copier_serve(c, source, until_ns);
		/* A limit ends the run: no range is answered after it, so that all that is missing is behind. */
		if (c->limited)
			atomic_store(&c->channel->over, 1);
		turn_give(c);
	}
	atomic_store(&c->channel->over, 1);
	c->lost = true;
	return end;
}
