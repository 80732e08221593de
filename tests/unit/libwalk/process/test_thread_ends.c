/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The C library's threads, of this process and of made-up memory: a file whose offsets are the addresses. */
#include <snapwalk/thread_ends.h>
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SELF_OFF = 0x10, LIST_OFF = 0x2c0, TID_OFF = 0x2d0, HEADS = 0x1000, BESIDE = 16 };

static pid_t number;

static void *tell(void *arg)
{
	__atomic_store_n(&number, gettid(), __ATOMIC_RELEASE);
	return arg;
}

static void *await(void *arg)
{
	return (void *) (uintptr_t) pthread_mutex_lock(arg);
}

static void await_end(void)
{
	pid_t tid;
	while ((tid = __atomic_exchange_n(&number, 0, __ATOMIC_ACQ_REL)) == 0)
		(void) usleep(100);
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		(void) usleep(100);
}

/* -1: not there; 0: runs; 1: has ended. */
static int state_of(const struct sw_thread_end *ends, size_t n, pthread_t thread)
{
	for (size_t i = 0; i < n; i++)
		if (ends[i].pointer_avma == (uint64_t) thread)
			return ends[i].has_ended;
	return -1;
}

TEST(test_of_this_process)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	pthread_t runs, ended[3];
	struct sw_thread_end *ends = NULL;
	size_t n = 0;
	assert_int_equal(pthread_mutex_lock(&mutex), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_create(&ended[i], NULL, tell, NULL), 0);
		await_end();
	}
	/* Only the first thread runs, which is in another ring than those that ended. */
	uint64_t running[2] = {(uint64_t) pthread_self()};
	assert_int_equal(sw_thread_ends(mem_fd, running, 1, &ends, &n), 0);
	assert_int_equal(n, 4);
	assert_int_equal(state_of(ends, n, pthread_self()), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(state_of(ends, n, ended[i]), 1);
	free(ends);
	assert_int_equal(pthread_join(ended[1], NULL), 0);
	assert_int_equal(pthread_create(&runs, NULL, await, &mutex), 0);
	/* By a thread of the other ring, behind a number that is no thread's. */
	running[0] = 4096;
	running[1] = (uint64_t) runs;
	assert_int_equal(sw_thread_ends(mem_fd, running, 2, &ends, &n), 0);
	assert_int_equal(state_of(ends, n, ended[0]), 1);
	assert_int_equal(state_of(ends, n, ended[1]), runs == ended[1] ? 0 : -1);
	assert_int_equal(state_of(ends, n, ended[2]), 1);
	assert_int_equal(state_of(ends, n, runs), 0);
	free(ends);
	assert_int_equal(sw_thread_ends(mem_fd, running, 1, &ends, &n), -SW_E_UNSUPPORTED);
	assert_int_equal(sw_thread_ends(mem_fd, NULL, 0, &ends, &n), -SW_E_UNSUPPORTED);
	assert_int_equal(pthread_mutex_unlock(&mutex), 0);
	assert_int_equal(pthread_join(runs, NULL), 0);
	assert_int_equal(pthread_mutex_unlock(&mutex), 0);
	assert_int_equal(pthread_join(ended[0], NULL), 0);
	assert_int_equal(pthread_join(ended[2], NULL), 0);
	assert_int_equal(close(mem_fd), 0);
}

/* ---- made-up memory --------------------------------------------------------------------------- */

static int file;

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

/* One thread that runs in the ring of the first, one that has ended in the other. */
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

static int judge(void)
{
	const uint64_t running = 0x10000;
	struct sw_thread_end *ends = NULL;
	size_t n = 0;
	int r = sw_thread_ends(file, &running, 1, &ends, &n);
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
		assert_int_equal(judge(), i == 0 ? 0 : -SW_E_UNSUPPORTED);
		assert_int_equal(close(file), 0);
	}
}
