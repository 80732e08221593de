/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/target.h"
#include "test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* By the pidfd, and where there is none by the file of its first thread. */
static void assert_lives(const struct sw_target *target, bool expected)
{
	struct sw_target without = *target;
	without.pidfd = -EBADF;
	assert_true(target->pidfd >= 0);
	assert_int_equal(sw_target_lives(target), expected);
	assert_int_equal(sw_target_lives(&without), expected);
}

TEST(lives)
{
	struct sw_target *target;
	siginfo_t info;
	pid_t pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* not left over by a test that fails */
		for (;;)
			pause();
	}
	assert_int_equal(sw_target_open(pid, &target, NULL), 0);
	assert_lives(target, true);
	struct sw_target other = *target;
	other.pidfd = -EBADF;
	other.starttime++;
	assert_false(sw_target_lives(&other));
	/* The process has ended, and nobody has asked how. */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOWAIT), 0);
	assert_lives(target, false);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_lives(target, false);
	sw_target_close(target);
}
