/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "series/urgency.h"
#include "skip.h"
#include "test.h"

#include <sys/wait.h>

enum { PASSED = 0, FAILED = 1, REFUSED = 2, ROUND_NS = 100000000, FIFTH_NS = 20000000 };

/* The priority of a child stays its own. */
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

static bool is_urgent(void)
{
	return sched_getscheduler(0) == SCHED_FIFO;
}

static int rounds(void)
{
	struct sw_urgency u = {0};
	sw_urgency_round(&u, 8 * (FIFTH_NS - 1), ROUND_NS, false);
	if (u.before.raised || is_urgent())
		return FAILED;
	u = (struct sw_urgency){0};
	sw_urgency_round(&u, 8 * (FIFTH_NS - 1), ROUND_NS, true);
	if (!u.before.raised)
		return REFUSED;
	if (!is_urgent() || u.cpu_ns != FIFTH_NS - 1)
		return FAILED;
	sw_urgency_pause(&u, true);
	if (is_urgent() || !u.before.raised)
		return FAILED;
	sw_urgency_pause(&u, false);
	if (!is_urgent())
		return FAILED;
	sw_urgency_round(&u, FIFTH_NS + 8, ROUND_NS, true);
	if (is_urgent() || u.before.raised || u.cpu_ns != FIFTH_NS)
		return FAILED;
	sw_urgency_pause(&u, true);
	sw_urgency_pause(&u, false);
	if (is_urgent())
		return FAILED;
	/* As much CPU time in rounds that take longer is less of a CPU. */
	sw_urgency_round(&u, FIFTH_NS, 2 * ROUND_NS, true);
	return is_urgent() && u.wall_ns == ROUND_NS + ROUND_NS / 8 ? PASSED : FAILED;
}

static int ends(void)
{
	struct sw_urgency u = {0};
	sw_urgency_round(&u, 0, ROUND_NS, true);
	if (!u.before.raised)
		return REFUSED;
	sw_urgency_end(&u);
	if (is_urgent() || u.before.raised)
		return FAILED;
	sw_urgency_end(&u);
	return is_urgent() ? FAILED : PASSED;
}

static void check(int (*function)(void))
{
	int result = in_child(function);
	if (result == REFUSED)
		SKIP("real-time priority is refused", "CAP_SYS_NICE");
	assert_int_equal(result, PASSED);
}

TEST(urgent_below_a_fifth_of_a_cpu)
{
	check(rounds);
}

TEST(not_urgent_after_the_end)
{
	check(ends);
}
