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

/* A root that has given its capabilities up reads what any user may read. */
TEST(test_root)
{
	static const struct {
		const char *uid, *rest;
		bool reads_all;
	} all[] = {
		{"0", "CapEff:\t000001ffffffffff\nCapBnd:\t0\n", true},
		{"0", "CapEff:\t0000000000000004\nCapBnd:\t0\n", true},
		{"0", "CapEff:\t0000000000000001\nCapBnd:\t0\n", false},
		{"0", "CapEff:\t000001ff", false},
		{"0", "", false},
		{"1", "CapEff:\t000001ffffffffff\nCapBnd:\t0\n", false},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct sw_credentials c;
		char status[512];
		snprintf(status, sizeof(status),
			 "Name:\tx\nUid:\t%s\t0\t0\t0\nGid:\t0\t0\t0\t0\n%s", all[i].uid,
			 all[i].rest);
		assert_true(sw_credentials_parse(status, &c));
		assert_int_equal(c.reads_all, all[i].reads_all);
	}
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
