/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "methods/target.h"
#include "test.h"

#include <snapwalk/error.h>

TEST(test_pid)
{
	static const char *const refused[] = {"",           "0",
					      "-5",         "+5",
					      " 5",         "5 ",
					      "12x",        "0x10",
					      "2147483648", "99999999999999999999"};
	pid_t pids[2];
	size_t n = 0;
	struct sw_error err = {0};
	assert_int_equal(sw_target_select("pid", "2147483647", 2, pids, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_int_equal(pids[0], 2147483647);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(sw_target_select("pid", refused[i], 2, pids, &n, &err),
				 -SW_E_INVALID);
		assert_non_null(strstr(err.message, ": not a process id"));
	}
}

TEST(test_unknown_kind)
{
	pid_t pid;
	size_t n = 0;
	struct sw_error err = {0};
	assert_int_equal(sw_target_select("planet", "5", 1, &pid, &n, &err), -SW_E_INVALID);
	assert_string_equal(err.message, "planet: not a kind of target");
}
