/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "priority.h"
#include "skip.h"
#include "test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { NICE = 3, PASSED = 0, FAILED = 1, REFUSED = 2 };

static int in_child(int (*function)(void))
{
	pid_t pid = fork();
	int status;
	if (pid == 0)
		_exit(function());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int there_and_back(void)
{
	if (setpriority(PRIO_PROCESS, 0, NICE) < 0)
		return FAILED;
	struct sw_priority before = sw_priority_begin();
	if (!before.raised)
		return REFUSED;
	if (sched_getscheduler(0) != SCHED_FIFO || before.policy != SCHED_OTHER)
		return FAILED;
	sw_priority_end(&before);
	return sched_getscheduler(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) == NICE
		       ? PASSED
		       : FAILED;
}

static int of_real_time_already(void)
{
	const struct sched_param two = {.sched_priority = 2};
	struct sched_param now;
	if (sched_setscheduler(0, SCHED_RR, &two) < 0)
		return REFUSED;
	struct sw_priority before = sw_priority_begin();
	if (before.raised || sched_getscheduler(0) != SCHED_RR)
		return FAILED;
	sw_priority_end(&before);
	return sched_getscheduler(0) == SCHED_RR && sched_getparam(0, &now) == 0 &&
			       now.sched_priority == 2
		       ? PASSED
		       : FAILED;
}

static int not_inherited(void)
{
	const struct sched_param none = {0};
	if (sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &none) < 0)
		return FAILED;
	struct sw_priority before = sw_priority_begin();
	if (!before.raised)
		return REFUSED;
	if (sched_getscheduler(0) != (SCHED_FIFO | SCHED_RESET_ON_FORK))
		return FAILED;
	sw_priority_end(&before);
	return sched_getscheduler(0) == (SCHED_BATCH | SCHED_RESET_ON_FORK) ? PASSED : FAILED;
}

/* A process that waits; its policy before and after it was given ours. */
static bool shared(int policy, int *ret_before, int *ret_after)
{
	const struct sched_param lowest = {.sched_priority = 1};
	if (sched_setscheduler(0, policy, &lowest) < 0)
		return false;
	pid_t pid = fork();
	if (pid == 0) {
		(void) pause();
		_exit(0);
	}
	*ret_before = sched_getscheduler(pid);
	sw_priority_share(pid);
	*ret_after = sched_getscheduler(pid);
	(void) kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) == pid;
}

static int given_to_a_child(void)
{
	int before, after;
	if (!shared(SCHED_FIFO | SCHED_RESET_ON_FORK, &before, &after))
		return REFUSED;
	return before == SCHED_OTHER && after == SCHED_FIFO ? PASSED : FAILED;
}

static int inherited_by_a_child(void)
{
	int before, after;
	if (!shared(SCHED_RR, &before, &after))
		return REFUSED;
	return before == SCHED_RR && after == SCHED_RR ? PASSED : FAILED;
}

static int none_for_a_child(void)
{
	const struct sched_param none = {0};
	if (sched_setscheduler(0, SCHED_OTHER, &none) < 0)
		return FAILED;
	pid_t pid = fork();
	if (pid == 0) {
		(void) pause();
		_exit(0);
	}
	sw_priority_share(pid);
	int after = sched_getscheduler(pid);
	(void) kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) == pid && after == SCHED_OTHER ? PASSED : FAILED;
}

static void check(int (*function)(void))
{
	int result = in_child(function);
	if (result == REFUSED)
		SKIP("real-time priority is refused", "CAP_SYS_NICE");
	assert_int_equal(result, PASSED);
}

TEST(comes_back)
{
	check(there_and_back);
}

TEST(real_time_stays)
{
	check(of_real_time_already);
}

TEST(reset_on_fork_stays)
{
	check(not_inherited);
}

TEST(is_given_to_a_child)
{
	check(given_to_a_child);
	check(inherited_by_a_child);
	check(none_for_a_child);
}
