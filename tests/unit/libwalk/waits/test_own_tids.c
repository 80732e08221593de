/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "waits/own_tids.h"
#include "test.h"

#include <sys/stat.h>

static void check(const char *status, pid_t own, size_t levels)
{
	size_t n = 99;
	assert_int_equal(sw_own_tid_parse(status, &n), own);
	assert_int_equal(n, levels);
}

TEST(test_parse)
{
	check("Name:\tx\nNSpid:\t4242\t17\t1\nNSpgid:\t1\n", 1, 3);
	check("Name:\tx\nNSpid:\t4242\n", 4242, 1);
	check("Name:\tNSpid:\t7\n", 0, 0); /* a thread names itself */
	check("Name:\tx\nNSpid:\n", 0, 0);
	check("Name:\tx\nNSpid:\t12\t99999999999\n", 0, 2);
	check("Name:\tx\nNSpid:\t12\t-3\n", 12, 1);
	check("", 0, 0);
}

/* A folder with tasks 5, 7 and 70, by whatever order. */
TEST(test_newer)
{
	static const struct {
		pid_t tids[4];
		size_t n;
		bool newer;
	} cases[] = {{{70, 5, 7}, 3, false},
		     {{5, 9, 70, 7}, 4, false}, /* one has ended */
		     {{70, 5}, 2, true},
		     {{7, 5, 9, 71}, 4, true},
		     {{0}, 0, true}};
	char path[] = "/tmp/snapwalk-tasks-XXXXXX";
	assert_non_null(mkdtemp(path));
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	static const char *const names[] = {"5", "7", "70"};
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(mkdirat(fd, names[i], 0700), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sw_thread threads[4] = {{0}};
		struct sw_snapshot snap = {.threads = threads, .n_threads = cases[i].n};
		for (size_t k = 0; k < cases[i].n; k++)
			threads[k].tid = cases[i].tids[k];
		sw_newer_threads_find(&snap, fd);
		assert_int_equal(snap.newer_threads, cases[i].newer);
		sw_newer_threads_find(&snap, -EBADF); /* it cannot be read */
		assert_true(snap.newer_threads);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(unlinkat(fd, names[i], AT_REMOVEDIR), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(rmdir(path), 0);
}
