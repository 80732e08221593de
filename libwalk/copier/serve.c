/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * May run while threads of the target are STOPPED, in the helper, on its small stack, and may be killed
 * between any two instructions. Nothing here parses, opens, allocates, locks, names or prints; the only
 * wait is the one for the reader, which ends at the deadline. tests/held.sh looks at what it calls.
 */
#include "copier/serve.h"
#include "arch/futex.h"

#include <assert.h>
#include <snapwalk/clock.h>
#include <stdatomic.h>
#include <string.h>

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

/* The time at which the wait for this turn of the reader ends. */
static int64_t wait_end(const struct sw_copier *c, int64_t begin_ns, int64_t until_ns)
{
	int64_t left_ns = until_ns - begin_ns;
	if (c->turn_wait_ns != 0 && c->turn_wait_ns < left_ns)
		left_ns = c->turn_wait_ns;
	if (c->run_wait_ns != 0 && c->run_wait_ns - c->waited_ns < left_ns)
		left_ns = c->run_wait_ns - c->waited_ns;
	return begin_ns + left_ns;
}

/* Waits until the reader has done its turn. SW_COPIER_ENDED: it has. */
static enum sw_copier_end turn_wait(struct sw_copier *c, int64_t until_ns)
{
	bool looked = false;
	const int64_t begin_ns = sw_clock_ns();
	int64_t now_ns = begin_ns;
	until_ns = wait_end(c, begin_ns, until_ns);
	while (atomic_load(&c->channel->turn) == SW_COPIER_RUN) {
		int64_t left_ns = until_ns - now_ns;
		bool ended = looked && has_ended(c);
		if (ended || left_ns <= 0)
			return ended ? SW_COPIER_DIED : SW_COPIER_LATE;
		const struct timespec left = {0, left_ns < LOOK_NS ? left_ns : LOOK_NS};
		(void) sw_futex(&c->channel->turn, FUTEX_WAIT, SW_COPIER_RUN, &left);
		looked = true;
		now_ns = sw_clock_ns();
	}
	c->waited_ns += now_ns - begin_ns;
	return SW_COPIER_ENDED;
}

/* A turn's ranges as they are read. */
struct batch {
	struct sw_copier_read reads[SW_COPIER_READS];
	struct sw_copier_range *ranges[SW_COPIER_READS];
	size_t n;
};

/* Gives a range its place in the pool. */
static void range_add(struct sw_copier *c, struct batch *b, struct sw_copier_range *range,
		      uint64_t avma, uint32_t bytes)
{
	uint64_t end;
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

/* pages NULL: the ranges that the reader asked for. The reader may change these meanwhile: each number is looked at once. */
static void ranges_copy(struct sw_copier *c, const struct sw_copier_source *source,
			const struct sw_copier_foreseen *pages, size_t n, int64_t until_ns)
{
	struct batch b;
	b.n = 0;
	for (size_t i = 0; i < n; i++) {
		struct sw_copier_range *range = &c->channel->ranges[i];
		if (pages != NULL)
			*range = (struct sw_copier_range){.avma = pages[i].avma,
							  .bytes = SW_COPIER_PAGE_BYTES};
		range_add(c, &b, range,
			  pages != NULL ? pages[i].avma
					: __atomic_load_n(&range->avma, __ATOMIC_RELAXED),
			  pages != NULL ? SW_COPIER_PAGE_BYTES
					: __atomic_load_n(&range->bytes, __ATOMIC_RELAXED));
		if (!c->limited && b.n < SW_COPIER_READS && i + 1 < n)
			continue;
		batch_read(c, source, &b);
		bool first = pages != NULL && i + 1 < SW_COPIER_FIRST;
		if (!c->limited && (first || sw_clock_ns() <= until_ns))
			continue;
		while (++i < n)
			c->channel->ranges[i].ok = 0;
	}
}

void sw_copier_serve(struct sw_copier *c, const struct sw_copier_source *source, int64_t until_ns)
{
	size_t n = __atomic_load_n(&c->channel->n_ranges, __ATOMIC_RELAXED);
	ranges_copy(c, source, NULL, n < SW_COPIER_RANGES_MAX ? n : SW_COPIER_RANGES_MAX, until_ns);
	c->limited |= ++c->n_turns >= SW_COPIER_TURNS_MAX;
}

void sw_copier_begin(struct sw_copier *c, const struct sw_copier_source *source, int64_t until_ns)
{
	/* The run before has used no others. */
	memset(c->channel->read, 0,
	       (c->used / SW_COPIER_PAGE_BYTES + 1) * sizeof(c->channel->read[0]));
	c->used = c->n_turns = 0;
	c->waited_ns = 0;
	c->limited = false;
	static_assert((int) SW_COPIER_PAGES_MAX <= (int) SW_COPIER_RANGES_MAX, "a range for each");
	ranges_copy(c, source, c->foreseen, c->n_foreseen, until_ns);
	c->channel->n_ranges = (uint32_t) c->n_foreseen;
	c->begun = true;
}

enum sw_copier_end sw_copier_run(struct sw_copier *c, const struct sw_copier_source *source,
				 int64_t until_ns)
{
	enum sw_copier_end end = SW_COPIER_ENDED;
	if (!c->begun)
		sw_copier_begin(c, source, until_ns);
	c->begun = false;
	c->missed = c->lost || c->pending;
	if (c->missed)
		return SW_COPIER_LATE;
	atomic_store(&c->channel->over, c->limited);
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
	c->pending = end == SW_COPIER_LATE;
	c->lost = !c->pending;
	return end;
}

bool sw_copier_finish(struct sw_copier *c, int64_t until_ns)
{
	enum sw_copier_end end = SW_COPIER_ENDED;
	c->turn_wait_ns = c->run_wait_ns = 0;
	while (c->pending && (end = turn_wait(c, until_ns)) == SW_COPIER_ENDED) {
		c->pending = atomic_load(&c->channel->turn) == SW_COPIER_WANT;
		c->missed |= c->pending;
		size_t n = __atomic_load_n(&c->channel->n_ranges, __ATOMIC_RELAXED);
		for (size_t i = 0; i < n && i < SW_COPIER_RANGES_MAX && c->pending; i++)
			c->channel->ranges[i].ok = 0;
		if (c->pending && ++c->n_turns < SW_COPIER_TURNS_MAX)
			turn_give(c);
	}
	c->lost |= end == SW_COPIER_DIED;
	return !c->lost && !c->pending;
}

void sw_copier_foresee(struct sw_copier *c)
{
	const struct sw_copier_channel *ch = c->channel;
	size_t n = ch->n_foreseen;
	c->n_foreseen = 0;
	for (size_t i = 0; i < n && i < SW_COPIER_PAGES_MAX; i++) {
		const struct sw_copier_foreseen page = ch->foreseen[i];
		/* Each has its place in the pool, where page i is the one at i: none is left out later. */
		if (page.avma % SW_COPIER_PAGE_BYTES == 0 &&
		    page.avma <= UINT64_MAX - SW_COPIER_PAGE_BYTES)
			c->foreseen[c->n_foreseen++] = page;
	}
}
