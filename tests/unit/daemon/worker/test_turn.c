/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The turns of workers with a process, and how long a worker samples. */
#include "worker/life.h"
#include "worker/turn.h"
#include "cleanup.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { PID = 4242, NS_PER_MS = 1000000 };

/* A child that has the turn of PID, and says so. */
static pid_t child_with_turn(int turns_fd)
{
	int ready[2];
	char byte = 0;
	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	if (child == 0) {
		bool taken = sw_turn_take(turns_fd, PID, 0);
		(void) !write(ready[1], "x", taken);
		for (;;)
			(void) pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	(void) close(ready[0]);
	(void) close(ready[1]);
	return child;
}

TEST(test_turns)
{
	int fd = sw_turns_create();
	assert_true(fd >= 0);
	pid_t child = child_with_turn(fd);
	assert_false(sw_turn_take(fd, PID, 5));
	assert_true(sw_turn_take(fd, PID + 1, 0)); /* another process */
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(sw_turn_take(fd, PID, 0)); /* who dies leaves it */
	sw_turn_give(fd, PID);
	child = child_with_turn(fd);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(close(fd), 0);
	assert_true(sw_turn_take(-EBADF, PID, 0)); /* nobody waits for anybody */
}

TEST(test_life)
{
	struct sw_worker_life life;
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	int64_t now_ns = sw_clock_ns();
	sw_worker_life_begin(&life, INT64_MAX);
	assert_true(life.end_ns <= sw_clock_ns() + SW_WORKER_LIFE_MS * (int64_t) NS_PER_MS);
	assert_true(life.end_ns >= now_ns + SW_WORKER_LIFE_MS * (int64_t) NS_PER_MS);
	assert_true(sw_worker_life_wait(&life, ends[0], sw_clock_ns() + NS_PER_MS));
	sw_worker_life_begin(&life, now_ns + NS_PER_MS);
	assert_false(sw_worker_life_wait(&life, ends[0], INT64_MAX)); /* it ended */
	assert_false(sw_worker_life_wait(&life, ends[0], now_ns));    /* and who is late sees it */
	sw_worker_life_begin(&life, INT64_MAX);
	assert_int_equal(shutdown(ends[1], SHUT_WR), 0);
	assert_false(sw_worker_life_wait(&life, ends[0], INT64_MAX)); /* it is enough */
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(close(ends[1]), 0);
}

/* Not each sample, but at once when much time was stopped. */
TEST(test_told)
{
	struct sw_worker_life life;
	struct sw_worker_event event;
	struct sw_worker_sampled got;
	const struct sw_worker_sampled one = {.n_samples = 1, .n_threads = 9},
				       much = {.n_samples = 1, .stopped_us = 20000};
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
	sw_worker_life_begin(&life, INT64_MAX);
	assert_int_equal(sw_worker_life_flush(&life, ends[0], NULL), 0);
	assert_int_equal(sw_worker_life_tell(&life, ends[0], &one, NULL), 0);
	assert_true(read(ends[1], &event, sizeof(event)) < 0);
	assert_int_equal(sw_worker_life_tell(&life, ends[0], &much, NULL), 0);
	assert_int_equal(read(ends[1], &event, sizeof(event)), sizeof(event));
	assert_int_equal(event.type, SW_WORKER_SAMPLED);
	assert_int_equal(read(ends[1], &got, sizeof(got)), sizeof(got));
	assert_int_equal(got.n_samples, 2);
	assert_int_equal(got.n_threads, 9);
	assert_int_equal(got.stopped_us, 20000);
	assert_int_equal(sw_worker_life_flush(&life, ends[0], NULL), 0);
	assert_true(read(ends[1], &event, sizeof(event)) < 0);
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(close(ends[1]), 0);
}
