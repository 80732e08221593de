/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rings of made-up memory: a file whose offsets are the addresses. */
#include "process/thread_rings.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <sys/mman.h>

enum { SELF_OFF = 0x10, LIST_OFF = 0x2c0, TID_OFF = 0x2d0, HEADS = 0x1000, BESIDE = 16 };

static int file;
static size_t n_reads;

static bool file_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	n_reads++;
	return pread(file, buffer, length, (off_t) avma) == (ssize_t) length;
}

static const struct sw_memory_ops file_ops = {.read = file_read};

/* -1: not there; 0: runs; 1: has ended. */
static int state_of(const struct sw_thread_end *ends, size_t n, uint64_t pointer)
{
	for (size_t i = 0; i < n; i++)
		if (ends[i].pointer_avma == pointer)
			return ends[i].has_ended;
	return -1;
}

static void put(uint64_t avma, uint64_t value)
{
	assert_int_equal(pwrite(file, &value, sizeof(value), (off_t) avma), sizeof(value));
}

static void link_to(uint64_t from, uint64_t to)
{
	put(from, to);
	put(to + 8, from);
}

static void thread(uint64_t pointer, uint32_t tid)
{
	put(pointer + SELF_OFF, pointer);
	put(pointer + TID_OFF, tid);
}

/* The ring of the first thread has one that runs, the other ring one that has ended. */
static void rings_make(void)
{
	file = memfd_create("mem", MFD_CLOEXEC);
	assert_true(file >= 0);
	thread(0x10000, 7);
	thread(0x20000, 0);
	link_to(HEADS, 0x20000 + LIST_OFF);
	link_to(0x20000 + LIST_OFF, HEADS);
	link_to(HEADS + BESIDE, 0x10000 + LIST_OFF);
	link_to(0x10000 + LIST_OFF, HEADS + BESIDE);
	link_to(HEADS + 2 * BESIDE, HEADS + 2 * BESIDE);
	put(HEADS + 3 * BESIDE, 0);
}

static int judge(int64_t deadline_ns)
{
	const uint64_t running = 0x10000;
	struct sw_thread_end *ends = NULL;
	size_t n = 0;
	int r = sw_thread_rings_read((struct sw_memory){&file_ops, NULL}, deadline_ns, &running, 1,
				     &ends, &n);
	if (r == 0)
		assert_true(n == 2 && state_of(ends, n, 0x20000) == 1);
	free(ends);
	return r;
}

TEST(test_of_made_up_memory)
{
	static const struct {
		uint64_t avma, value;
	} faults[] = {
		{0x10000 + SELF_OFF, 0x10008},            /* it is no thread */
		{0x20000 + LIST_OFF, 0x20000 + LIST_OFF}, /* the ring never comes back */
		{0x20000 + LIST_OFF + 8, 0x5000},         /* the ring is another one backwards */
		{0x20000 + SELF_OFF, 0},                  /* there are two heads */
		{HEADS, UINT64_C(1) << 62},               /* nothing is there */
		{HEADS + 2 * BESIDE, 0},                  /* no cache */
		{HEADS + 3 * BESIDE, 8192},               /* bytes of an empty cache */
	};
	for (size_t i = 0; i <= sizeof(faults) / sizeof(faults[0]); i++) {
		rings_make();
		if (i > 0)
			put(faults[i - 1].avma, faults[i - 1].value);
		assert_int_equal(judge(INT64_MAX), i == 0 ? 0 : -SW_E_UNSUPPORTED);
		assert_int_equal(close(file), 0);
	}
}

/* A forged ring is followed for a limited number of entries in all tries, and for a limited time. */
TEST(test_limits)
{
	enum { NODES = SW_THREAD_RINGS_NODES_MAX / 2 + 1, BEGIN = 0x100000, STEP = 0x400 };
	rings_make();
	/* All are threads but the head, and the last one leads nowhere. */
	uint64_t before = 0x10000 + LIST_OFF;
	for (uint64_t i = 0; i < NODES; i++) {
		uint64_t pointer = BEGIN + i * STEP;
		thread(pointer, 1);
		link_to(before, pointer + LIST_OFF);
		before = pointer + LIST_OFF;
	}
	put(before, 0);
	n_reads = 0;
	assert_int_equal(judge(INT64_MAX), -SW_E_LIMIT);
	assert_true(n_reads > SW_THREAD_RINGS_NODES_MAX);
	assert_true(n_reads < 2 * SW_THREAD_RINGS_NODES_MAX + 100);
	n_reads = 0;
	assert_int_equal(judge(sw_clock_ns()), -SW_E_TIMEOUT);
	assert_true(n_reads < 200);
	assert_int_equal(close(file), 0);
}
