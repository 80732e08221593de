/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The C library's threads of this process, and of memory whose page cannot be had. */
#include <snapwalk/thread_ends.h>
#include "test.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

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
	int proc_fd = open("/proc/self", O_PATH | O_CLOEXEC);
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
	assert_int_equal(sw_thread_ends(proc_fd, running, 1, &ends, &n), 0);
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
	assert_int_equal(sw_thread_ends(proc_fd, running, 2, &ends, &n), 0);
	assert_int_equal(state_of(ends, n, ended[0]), 1);
	assert_int_equal(state_of(ends, n, ended[1]), runs == ended[1] ? 0 : -1);
	assert_int_equal(state_of(ends, n, ended[2]), 1);
	assert_int_equal(state_of(ends, n, runs), 0);
	free(ends);
	assert_int_equal(sw_thread_ends(proc_fd, running, 1, &ends, &n), -SW_E_UNSUPPORTED);
	assert_int_equal(sw_thread_ends(proc_fd, NULL, 0, &ends, &n), -SW_E_UNSUPPORTED);
	assert_int_equal(pthread_mutex_unlock(&mutex), 0);
	assert_int_equal(pthread_join(runs, NULL), 0);
	assert_int_equal(pthread_mutex_unlock(&mutex), 0);
	assert_int_equal(pthread_join(ended[0], NULL), 0);
	assert_int_equal(pthread_join(ended[2], NULL), 0);
	assert_int_equal(close(proc_fd), 0);
}

/* ---- pages that are not there ----------------------------------------------------------------- */

enum { BYTES = 3 * 4096, POINTER = 0, HEADS = 4096 + 0x100, OTHER = 8192 };

static void put(int fd, uint64_t at, uint64_t value)
{
	assert_int_equal(pwrite(fd, &value, sizeof(value), (off_t) at), sizeof(value));
}

static void link_to(int fd, uint64_t base, uint64_t from, uint64_t to)
{
	put(fd, from, base + to);
	put(fd, to + 8, base + from);
}

/* Rings in a mapped file: as long as nobody has touched its pages they are not in this process's memory, and nobody asks
 * the file's server for them. */
TEST(test_of_pages_that_are_not_there)
{
	enum { SELF_OFF = 0x10, LIST_OFF = 0x2c0, TID_OFF = 0x2d0, BESIDE = 16 };
	int proc_fd = open("/proc/self", O_PATH | O_CLOEXEC);
	int fd = memfd_create("stacks", MFD_CLOEXEC);
	struct sw_thread_end *ends = NULL;
	size_t n = 0;
	assert_true(fd >= 0 && ftruncate(fd, BYTES) == 0);
	volatile const char *mapped = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	assert_true(mapped != MAP_FAILED);
	const uint64_t base = (uintptr_t) mapped, running = base + POINTER;
	put(fd, POINTER + SELF_OFF, base + POINTER);
	put(fd, POINTER + TID_OFF, 7);
	put(fd, OTHER + SELF_OFF, base + OTHER);
	link_to(fd, base, HEADS, OTHER + LIST_OFF);
	link_to(fd, base, OTHER + LIST_OFF, HEADS);
	link_to(fd, base, HEADS + BESIDE, POINTER + LIST_OFF);
	link_to(fd, base, POINTER + LIST_OFF, HEADS + BESIDE);
	link_to(fd, base, HEADS + 2 * BESIDE, HEADS + 2 * BESIDE);
	assert_int_equal(sw_thread_ends(proc_fd, &running, 1, &ends, &n), -SW_E_UNSUPPORTED);
	for (size_t at = 0; at < BYTES; at += 4096)
		(void) mapped[at];
	assert_int_equal(sw_thread_ends(proc_fd, &running, 1, &ends, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(state_of(ends, n, (pthread_t) (base + OTHER)), 1);
	free(ends);
	assert_int_equal(munmap((void *) (uintptr_t) base, BYTES), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(proc_fd), 0);
}
