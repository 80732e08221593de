/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Credentials are read from /proc/PID/status; what they permit is in test_guarded.c. */
#include "process/credentials.h"
#include "test.h"

static const char begin[] = "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nFDSize:\t64\n";

static bool parse(const char *groups, struct sw_credentials *ret)
{
	char status[4096];
	snprintf(status, sizeof(status), "%s%s", begin, groups);
	return sw_credentials_parse(status, ret);
}

TEST(test_status)
{
	struct sw_credentials c;
	assert_true(parse("Groups:\t9 10 4294967294 \nNStgid:\t11\n", &c));
	assert_int_equal(c.uid, 1);
	assert_int_equal(c.gid, 5);
	assert_int_equal(c.n_groups, 3);
	assert_int_equal(c.groups[0], 9);
	assert_int_equal(c.groups[1], 10);
	assert_int_equal(c.groups[2], 4294967294);
}

TEST(test_no_groups)
{
	struct sw_credentials c;
	assert_true(parse("Groups:\t \nNStgid:\t11\n", &c));
	assert_int_equal(c.n_groups, 0);
	assert_true(parse("", &c));
	assert_int_equal(c.n_groups, 0);
}

/* The text of a process with very many groups is cut; its last number may be another one. */
TEST(test_cut)
{
	struct sw_credentials c;
	assert_true(parse("Groups:\t9 10", &c));
	assert_int_equal(c.n_groups, 0);
}

TEST(test_many)
{
	char groups[3000] = "Groups:\t";
	struct sw_credentials c;
	for (int i = 0; i < SW_CREDENTIALS_GROUPS_MAX + 3; i++) {
		size_t n = strlen(groups);
		snprintf(groups + n, sizeof(groups) - n, "%d ", 1000 + i);
	}
	strcat(groups, "\nNStgid:\t11\n");
	assert_true(parse(groups, &c));
	assert_int_equal(c.n_groups, SW_CREDENTIALS_GROUPS_MAX);
	assert_int_equal(c.groups[SW_CREDENTIALS_GROUPS_MAX - 1],
			 1000 + SW_CREDENTIALS_GROUPS_MAX - 1);
}

TEST(test_nothing_told)
{
	struct sw_credentials c;
	assert_false(sw_credentials_parse("", &c));
	assert_false(sw_credentials_parse("Name:\tx\nGid:\t5\t6\t7\t8\n", &c));
}
