/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The end of the child that measures a breakpoint, also of one that the kernel keeps. */
#include "test.h"

#include <snapwalk/clock.h>
#include <snapwalk/event.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const int64_t patience_ns = INT64_C(10) * 1000 * 1000 * 1000;

/* A child that says nothing. */
static struct sw_event_measuring child_begin(void)
{
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
		for (;;)
			(void) pause();
	}
	(void) close(fds[1]);
	return (struct sw_event_measuring){.pid = pid,
					   .fd = fds[0],
					   .pidfd = (int) syscall(SYS_pidfd_open, pid, 0)};
}

/* A process that keeps another one from ending until it ends itself. */
static pid_t keeper_begin(pid_t pid)
{
	int fds[2];
	char byte;
	assert_int_equal(pipe(fds), 0);
	pid_t keeper = fork();
	assert_true(keeper >= 0);
	if (keeper == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
		if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXIT) < 0 ||
		    write(fds[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			(void) pause();
	}
	(void) close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	(void) close(fds[0]);
	return keeper;
}

TEST(test_child_that_ends)
{
	struct sw_event_measuring m = child_begin();
	const pid_t pid = m.pid;
	assert_false(sw_event_probe_cost_end(&m, NULL));
	assert_int_equal(m.pid, 0);
	assert_int_equal(waitpid(pid, NULL, 0), -1); /* was reaped */
	assert_false(sw_event_probe_cost_end(&m, NULL));
}

TEST(test_child_that_the_kernel_keeps)
{
	struct sw_event_measuring m = child_begin();
	const pid_t pid = m.pid, keeper = keeper_begin(pid);
	const int64_t begin_ns = sw_clock_ns();
	(void) alarm(60); /* or the test would wait for ever */
	assert_false(sw_event_probe_cost_end(&m, NULL));
	assert_true(sw_clock_ns() - begin_ns < patience_ns);
	assert_int_equal(m.pid, 0);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* is there */
	(void) kill(keeper, SIGKILL);
	assert_int_equal(waitpid(keeper, NULL, 0), keeper);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void) alarm(0);
}
