/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* copier/serve: what the copier answers to a reader, which is a thread here and may be hostile. */
#include "copier/serve.h"
#include "arch/futex.h"
#include "test.h"

#include <pthread.h>
#include <snapwalk/clock.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { MS = 1000000, LONG_MS = 20000, BAD = 0x666000 };

static struct sw_copier copier;
static struct {
	size_t n_reads, n_calls, most, kept, keep_max;
	bool outside; /* a read would have written outside of the pool */
} seen;

/* Memory says of each byte which page it is of; the page at BAD is not there. */
static void read_pages(void *arg, struct sw_copier_read *reads, size_t n)
{
	const uint8_t *pool = copier.channel->pool;
	seen.n_calls++;
	seen.n_reads += n;
	if (n > seen.most)
		seen.most = n;
	for (size_t i = 0; i < n; i++) {
		seen.outside |= reads[i].buffer < pool ||
				reads[i].bytes > sizeof(copier.channel->pool) -
							 (size_t) (reads[i].buffer - pool);
		reads[i].ok = reads[i].avma != BAD && !seen.outside;
		if (reads[i].ok)
			memset(reads[i].buffer, (int) (reads[i].avma >> 12), reads[i].bytes);
	}
}

static bool keep(void *arg, uint64_t avma, const uint8_t *data, size_t bytes)
{
	return seen.kept++ < seen.keep_max;
}

static const struct sw_copier_source source = {.read = read_pages, .keep = keep};

static int setup(void **state)
{
	void *p = mmap(NULL, sizeof(struct sw_copier_channel), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	copier = (struct sw_copier){.channel = p};
	memset(&seen, 0, sizeof(seen));
	seen.keep_max = SIZE_MAX;
	return p == MAP_FAILED;
}

static int teardown(void **state)
{
	return munmap(copier.channel, sizeof(*copier.channel));
}

/* ---- the reader ----------------------------------------------------------------------------- */

static void turn_await(uint32_t not_this)
{
	while (atomic_load(&copier.channel->turn) != SW_COPIER_RUN)
		(void) sw_futex(&copier.channel->turn, FUTEX_WAIT, not_this, NULL);
}

static void turn_end(uint32_t turn)
{
	atomic_store(&copier.channel->turn, turn);
	(void) sw_futex(&copier.channel->turn, FUTEX_WAKE, 1, NULL);
}

static void ask(uint32_t n)
{
	copier.channel->n_ranges = n;
	turn_end(SW_COPIER_WANT);
	turn_await(SW_COPIER_WANT);
}

static void range_is(size_t i, uint64_t avma, uint32_t bytes)
{
	copier.channel->ranges[i] = (struct sw_copier_range){avma, bytes, 77, 77};
}

static void *reader(void *script)
{
	turn_await(SW_COPIER_IDLE);
	(*(void (**)(void)) script)();
	turn_end(SW_COPIER_DONE);
	return NULL;
}

static enum sw_copier_end run(void (*script)(void))
{
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, reader, &script), 0);
	enum sw_copier_end end =
		sw_copier_run(&copier, &source, sw_clock_ns() + LONG_MS * (int64_t) MS);
	pthread_join(thread, NULL);
	return end;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void ask_two(void)
{
	range_is(0, 0x1000, 4096);
	range_is(1, 0x5000, 8192);
	ask(2);
	range_is(2, BAD, 4096);
	range_is(3, 0x9000, 4096);
	ask(4);
}

TEST_WITH(test_answers, setup, teardown)
{
	const struct sw_copier_range *r = copier.channel->ranges;
	assert_int_equal(run(ask_two), SW_COPIER_ENDED);
	assert_int_equal(r[0].ok, 1);
	assert_int_equal(copier.channel->pool[r[0].at], 1);
	assert_int_equal(r[1].ok, 1);
	assert_int_equal(copier.channel->pool[r[1].at + 8191], 5);
	assert_int_equal(r[2].ok, 0);
	assert_int_equal(r[3].ok, 1);
	assert_int_equal(copier.channel->pool[r[3].at], 9);
	assert_int_equal(copier.channel->over, 0);
	assert_int_equal(seen.kept, 5);
	assert_int_equal(copier.n_turns, 2);
}

static void ask_nonsense(void)
{
	range_is(0, 0x1000, 0);
	range_is(1, UINT64_MAX - 100, 4096);
	range_is(2, 0x2000, 16);
	ask(3);
}

TEST_WITH(test_nonsense, setup, teardown)
{
	assert_int_equal(run(ask_nonsense), SW_COPIER_ENDED);
	assert_int_equal(copier.channel->ranges[0].ok, 0);
	assert_int_equal(copier.channel->ranges[1].ok, 0);
	assert_int_equal(copier.channel->ranges[2].ok, 1);
	assert_int_equal(seen.n_reads, 1);
}

static void ask_for_all(void)
{
	for (size_t i = 0; i < SW_COPIER_RANGES_MAX; i++)
		range_is(i, 0x100000 + i * 4096, 4096);
	ask(1000000000);
	ask(1);
}

/* As many ranges as there can be fill the pool: the next one is not copied. */
TEST_WITH(test_pages, setup, teardown)
{
	assert_int_equal(run(ask_for_all), SW_COPIER_LIMIT);
	assert_int_equal(seen.n_reads, SW_COPIER_PAGES_MAX);
	assert_int_equal(seen.most, SW_COPIER_READS);
	assert_int_equal(seen.outside, false);
	assert_int_equal(copier.channel->ranges[1].ok, 1);
	assert_int_equal(copier.channel->ranges[0].ok, 0);
	assert_int_equal(copier.channel->over, 1);
}

static void ask_for_much(void)
{
	range_is(0, 0x1000, UINT32_MAX);
	range_is(1, 0x1000, 4096);
	ask(2);
}

TEST_WITH(test_bytes, setup, teardown)
{
	assert_int_equal(run(ask_for_much), SW_COPIER_LIMIT);
	assert_int_equal(seen.outside, false);
	assert_int_equal(seen.n_calls, 0);
	assert_int_equal(copier.channel->ranges[0].ok, 0);
	assert_int_equal(copier.channel->ranges[1].ok, 0);
}

static void ask_again(void)
{
	range_is(0, BAD, 1);
	for (int i = 0; i < 2 * SW_COPIER_TURNS_MAX; i++)
		ask(1);
}

/* The reader is told, and is let come to its end. */
TEST_WITH(test_turns, setup, teardown)
{
	assert_int_equal(run(ask_again), SW_COPIER_LIMIT);
	assert_int_equal(seen.n_reads, SW_COPIER_TURNS_MAX);
	assert_int_equal(copier.channel->over, 1);
	assert_int_equal(copier.lost, false);
}

TEST_WITH(test_kept, setup, teardown)
{
	seen.keep_max = 3;
	assert_int_equal(run(ask_for_all), SW_COPIER_LIMIT);
	assert_int_equal(copier.channel->ranges[2].ok, 1);
	assert_int_equal(copier.channel->ranges[3].ok, 0);
	assert_in_range(seen.n_reads, 4, SW_COPIER_READS);
}

/* Nobody answers: the deadline ends the run, and there is no other one. */
TEST_WITH(test_late, setup, teardown)
{
	int64_t begin_ns = sw_clock_ns();
	assert_int_equal(sw_copier_run(&copier, &source, begin_ns + 30 * MS), SW_COPIER_LATE);
	assert_true(sw_clock_ns() >= begin_ns + 30 * MS);
	assert_int_equal(copier.channel->over, 1);
	atomic_store(&copier.channel->turn, SW_COPIER_IDLE);
	assert_int_equal(sw_copier_run(&copier, &source, sw_clock_ns() + LONG_MS * (int64_t) MS),
			 SW_COPIER_LATE);
	assert_int_equal(copier.channel->turn, SW_COPIER_IDLE);
}

/* The copier takes pages alone of a reader's list, and no more of these than there can be. */
TEST_WITH(test_foresee, setup, teardown)
{
	struct sw_copier_channel *c = copier.channel;
	struct sw_copier_foreseen foreseen[SW_COPIER_PAGES_MAX];
	copier.foreseen = foreseen;
	c->foreseen[0].avma = 0x1001;
	c->foreseen[1].avma = UINT64_MAX - SW_COPIER_PAGE_BYTES + 1;
	c->foreseen[2] = (struct sw_copier_foreseen){0x2000, 9};
	c->n_foreseen = 3;
	sw_copier_foresee(&copier);
	assert_int_equal(copier.n_foreseen, 1);
	assert_int_equal(foreseen[0].avma, 0x2000);
	assert_int_equal(foreseen[0].read, 9);
	c->n_foreseen = UINT32_MAX;
	sw_copier_foresee(&copier);
	assert_int_equal(copier.n_foreseen, SW_COPIER_PAGES_MAX - 2);
}

/* The time is over: the first pages are copied all the same, once, and a reader gets to its end over these. */
TEST_WITH(test_begin_late, setup, teardown)
{
	enum { N = SW_COPIER_FIRST + 2 * SW_COPIER_READS };
	static struct sw_copier_foreseen foreseen[N];
	for (size_t i = 0; i < N; i++)
		foreseen[i].avma = 0x1000000 + i * SW_COPIER_PAGE_BYTES;
	copier.foreseen = foreseen;
	copier.n_foreseen = N;
	sw_copier_begin(&copier, &source, sw_clock_ns() - 1);
	assert_int_equal(seen.n_reads, SW_COPIER_FIRST);
	assert_int_equal(copier.channel->ranges[SW_COPIER_FIRST - 1].ok, 1);
	assert_int_equal(copier.channel->ranges[SW_COPIER_FIRST].ok, 0);
	assert_int_equal(copier.channel->ranges[N - 1].ok, 0);
	assert_int_equal(copier.channel->n_ranges, N);
	assert_int_equal(sw_copier_run(&copier, &source, sw_clock_ns() - 1), SW_COPIER_LATE);
	assert_int_equal(seen.n_reads, SW_COPIER_FIRST);
	/* The next run begins anew. */
	copier.pending = false;
	assert_int_equal(sw_copier_run(&copier, &source, sw_clock_ns() + 30 * MS), SW_COPIER_LATE);
	assert_int_equal(seen.n_reads, SW_COPIER_FIRST + N);
}

/* Nobody answers: what is foreseen is copied all the same, each page at its place, also in the next run. */
TEST_WITH(test_late_foreseen, setup, teardown)
{
	struct sw_copier_foreseen foreseen[] = {{.avma = BAD}, {.avma = 0x7000}};
	const struct sw_copier_channel *c = copier.channel;
	copier.foreseen = foreseen;
	copier.n_foreseen = 2;
	copier.turn_wait_ns = MS;
	for (size_t i = 1; i <= 2; i++) {
		assert_int_equal(sw_copier_run(&copier, &source,
					       sw_clock_ns() + LONG_MS * (int64_t) MS),
				 SW_COPIER_LATE);
		assert_int_equal(seen.n_reads, 2 * i);
		assert_int_equal(seen.kept, i);
		assert_int_equal(c->ranges[0].ok, 0);
		assert_int_equal(c->ranges[1].ok, 1);
		assert_int_equal(c->ranges[1].at, SW_COPIER_PAGE_BYTES);
		assert_int_equal(c->pool[SW_COPIER_PAGE_BYTES], 7);
		assert_int_equal(c->n_ranges, 2);
	}
	assert_true(copier.pending && copier.missed);
}
