/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/caps.h"
#include "errors.h"
#include "fake_syscall.h"
#include "skip.h"
#include "test.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static struct __user_cap_data_struct permitted[2], set[2];
static int n_set;

static long get(const long a[6])
{
	memcpy((void *) a[1], permitted, sizeof(permitted));
	return 0;
}

static long put(const long a[6])
{
	memcpy(set, (const void *) a[1], sizeof(set));
	n_set++;
	return 0;
}

static long refuse(const long a[6])
{
	errno = EPERM;
	return -1;
}

static void answers(long (*of_get)(const long a[6]), long (*of_put)(const long a[6]))
{
	fake_syscalls[0] = (struct fake_syscall){SYS_capget, of_get};
	fake_syscalls[1] = (struct fake_syscall){SYS_capset, of_put};
	memset(set, 0xff, sizeof(set));
	n_set = 0;
}

/* Capabilities are kept that were there and are named, in both halves; nothing can be inherited. */
TEST(test_kept)
{
	struct sw_error err;
	permitted[0] = (struct __user_cap_data_struct){~0u, 1u << CAP_CHOWN | 1u << CAP_KILL, ~0u};
	permitted[1] = (struct __user_cap_data_struct){~0u, CAP_TO_MASK(CAP_PERFMON), ~0u};
	answers(get, put);
	assert_int_equal(sw_caps_keep(UINT64_C(1) << CAP_KILL | UINT64_C(1) << CAP_PERFMON |
					      UINT64_C(1) << CAP_SYS_ADMIN,
				      &err),
			 0);
	assert_int_equal(n_set, 1);
	assert_int_equal(set[0].effective, 1u << CAP_KILL);
	assert_int_equal(set[0].permitted, 1u << CAP_KILL);
	assert_int_equal(set[1].effective, CAP_TO_MASK(CAP_PERFMON));
	assert_int_equal(set[1].permitted, CAP_TO_MASK(CAP_PERFMON));
	assert_int_equal(set[0].inheritable | set[1].inheritable, 0);
	answers(NULL, NULL);
}

/* A process that could not give up what it has must not go on. */
TEST(test_have)
{
	const uint64_t two = UINT64_C(1) << 39 | UINT64_C(1) << 3;
	answers(get, put);
	permitted[0] =
		(struct __user_cap_data_struct){.effective = 1 << 3, .permitted = UINT32_MAX};
	permitted[1] =
		(struct __user_cap_data_struct){.effective = 1 << 7, .permitted = UINT32_MAX};
	assert_true(sw_caps_have(two));
	assert_true(sw_caps_have(UINT64_C(1) << 39));
	assert_true(sw_caps_have(0));
	assert_false(sw_caps_have(two | UINT64_C(1) << 4)); /* permitted alone */
	assert_false(sw_caps_have(UINT64_C(1) << 7));       /* the bit of the other half */
	answers(refuse, put);
	assert_false(sw_caps_have(two));
}

TEST(test_refused)
{
	struct sw_error err;
	answers(get, refuse);
	assert_int_equal(sw_caps_keep(0, &err), -SW_E_NOT_PERMITTED);
	assert_non_null(strstr(err.message, "cannot give up capabilities"));
	answers(refuse, put);
	assert_int_equal(sw_caps_keep(0, &err), -SW_E_IO);
	assert_int_equal(n_set, 0);
	answers(NULL, NULL);
}

/* The bounding set of a child: what is kept is still in it, everything else is not. */
TEST(test_bound)
{
	enum { SKIPPED = 2 };
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_CAPBSET_READ, CAP_CHOWN) != 1 || prctl(PR_CAPBSET_DROP, CAP_MKNOD) < 0)
			_exit(SKIPPED);
		sw_caps_bound(UINT64_C(1) << CAP_CHOWN);
		for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
			if (prctl(PR_CAPBSET_READ, cap) != (cap == CAP_CHOWN))
				_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		SKIP("the bounding set cannot be changed", "root");
	assert_int_equal(WEXITSTATUS(status), 0);
}
