/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stop/stop.h"
#include "fake_kernel.h"
#include "test.h"

#include <signal.h>
#include <sys/prctl.h>

enum { PATIENCE_MS = 10000 };

struct seen {
	pid_t pid;
	int death_signal;
	_Atomic uint32_t progress;
};

static int look(void *arg)
{
	struct seen *seen = arg;
	seen->pid = getpid();
	if (prctl(PR_GET_PDEATHSIG, &seen->death_signal) < 0)
		seen->death_signal = -1;
	return 0;
}

/* A process of its own that ends with us: when we are killed the kernel lets its tracees go on. */
TEST(test_dies_with_us)
{
	struct seen seen = {0};
	bool killed = true;
	sigset_t before, after;
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &before), 0);
	assert_int_equal(sw_helper_run(look, &seen, &seen.progress, PATIENCE_MS, &killed, NULL), 0);
	assert_false(killed);
	assert_int_not_equal(seen.pid, 0);
	assert_int_not_equal(seen.pid, getpid());
	assert_int_equal(seen.death_signal, SIGKILL);
	/* Our signals are what they were. */
	assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &after), 0);
	for (int signal = 1; signal < SIGRTMIN; signal++)
		assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
}

static int wait_for_ever(void *arg)
{
	struct seen *seen = arg;
	seen->pid = getpid();
	while (pause() < 0) /* always */
		;
	return 0;
}

/* A helper that makes no progress is killed: the threads that it holds go on. */
TEST(test_stuck)
{
	struct seen seen = {0};
	bool killed = false;
	assert_int_equal(sw_helper_run(wait_for_ever, &seen, &seen.progress, 50, &killed, NULL), 0);
	assert_true(killed);
	/* The helper is reaped. */
	if (seen.pid != 0)
		assert_int_equal(kill(seen.pid, 0), -1);
}

static struct seen slow;
static int done[2];

static int wait_for_end(void *arg)
{
	char byte;
	return read(done[0], &byte, 1) == 1 ? 0 : 1;
}

static void goes_on(void)
{
	atomic_fetch_add(&slow.progress, 1);
	if (fake_kernel.n_glances == 0)
		(void) !write(done[1], "", 1);
}

/* A helper that is slow and goes on is not killed, however often it is found at work. */
TEST(test_slow)
{
	bool killed = true;
	assert_int_equal(pipe(done), 0);
	fake_kernel = (struct fake_kernel){.n_glances = 100, .glance = goes_on};
	assert_int_equal(sw_helper_run(wait_for_end, NULL, &slow.progress, PATIENCE_MS, &killed,
				       NULL),
			 0);
	assert_false(killed);
	assert_int_equal(slow.progress, 100);
	assert_int_equal(close(done[0]) + close(done[1]), 0);
}
