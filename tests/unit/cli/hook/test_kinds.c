/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hook_case.h"
#include "hook/kinds.h"
#include "test.h"

TEST(test_kinds)
{
	static const struct {
		const char *name;
		bool reads_stdin;
	} wanted[] = {{"monit", false},
		      {"alertmanager", true},
		      {"nagios", false},
		      {"collectd", true},
		      {"systemd", false}};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const struct sw_hook_kind *kind = sw_hook_find(wanted[i].name);
		assert_non_null(kind);
		assert_int_equal(kind->reads_stdin, wanted[i].reads_stdin);
	}
	assert_null(sw_hook_find(""));
	assert_null(sw_hook_find("Monit"));
}

TEST(test_pid)
{
	assert_int_equal(sw_hook_pid("42"), 42);
	assert_int_equal(sw_hook_pid("2147483647"), 2147483647);
	assert_int_equal(sw_hook_pid("2147483648"), 0);
	assert_int_equal(sw_hook_pid("0"), 0);
	assert_int_equal(sw_hook_pid("-1"), 0);
	assert_int_equal(sw_hook_pid("42 "), 0);
	assert_int_equal(sw_hook_pid(""), 0);
}

TEST(test_list)
{
	assert_true(sw_hook_in_list("CRITICAL", "critical"));
	assert_true(sw_hook_in_list("WARNING,CRITICAL", "CRITICAL"));
	assert_true(sw_hook_in_list("WARNING,CRITICAL,X", "CRITICAL"));
	assert_false(sw_hook_in_list("CRITICAL", "CRIT"));
	assert_false(sw_hook_in_list("CRIT", "CRITICAL"));
	assert_false(sw_hook_in_list("", "CRITICAL"));
	assert_false(sw_hook_in_list("A,,B", ""));
}
