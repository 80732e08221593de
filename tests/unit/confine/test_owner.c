/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The capabilities that a process keeps which takes the file permissions of another user. */
#include "confine/owner.h"
#include "test.h"

#include <grp.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { NOBODY = 65534, WRONG_USER = 1, WRONG_GROUP = 2, SIGNAL_LOST = 4, GROUPS_LEFT = 8 };

static int become(uid_t uid, gid_t gid, int wanted)
{
	int status = -1, death_signal = 0, failed = 0;
	pid_t pid = fork();
	if (pid == 0) {
		const gid_t group = NOBODY;
		if (setgroups(1, &group) < 0)
			_exit(GROUPS_LEFT);
		(void) prctl(PR_SET_PDEATHSIG, wanted);
		sw_owner_become(uid, gid);
		(void) prctl(PR_GET_PDEATHSIG, &death_signal);
		failed |= death_signal != wanted ? SIGNAL_LOST : 0;
		failed |= (uid_t) setfsuid((uid_t) -1) != uid ? WRONG_USER : 0;
		failed |= (gid_t) setfsgid((gid_t) -1) != gid ? WRONG_GROUP : 0;
		failed |= getgroups(0, NULL) != 0 ? GROUPS_LEFT : 0;
		_exit(failed);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* The kernel clears the signal when the user of file permissions changes. */
TEST(test_signal_at_the_end_of_the_parent)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(become(NOBODY, NOBODY, SIGKILL), 0);
	assert_int_equal(become(NOBODY, NOBODY, 0), 0);
}

/* Files of another group are opened with its permissions though their user is our own. */
TEST(test_group_of_the_same_user)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(become(0, NOBODY, 0), 0);
	assert_int_equal(become(0, 0, SIGKILL), 0);
}
