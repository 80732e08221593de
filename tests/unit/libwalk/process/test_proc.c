/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/proc.h"
#include "cleanup.h"
#include "test.h"

#include <sys/stat.h>

#define TAIL " 1 2 3 0 -1 4194560 1 2 3 4 70 30 5 6 20 0 1 0 998877 123456789 250 99\n"

static bool parse(const char *text, struct sw_proc_stat *stat)
{
	return sw_proc_stat_parse(text, strlen(text), stat);
}

TEST(stat_fields)
{
	struct sw_proc_stat stat;
	assert_true(parse("42 (server) S" TAIL, &stat));
	assert_string_equal(stat.comm, "server");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.ppid, 1);
	assert_int_equal(stat.flags, 4194560);
	assert_int_equal(stat.cpu_ticks, 100);
	assert_int_equal(stat.starttime, 998877);
	assert_int_equal(stat.vsize_bytes, 123456789);
	assert_int_equal(stat.start_stack_avma, 0); /* a kernel that does not tell */
	assert_true(parse("42 (server) S 1 2 3 0 -1 4194560 1 2 3 4 70 30 5 6 20 0 1 0 998877 "
			  "123456789 250 99 1 2 140720000000000 0\n",
			  &stat));
	assert_int_equal(stat.start_stack_avma, 140720000000000);
}

/* A program names its threads as it likes. */
TEST(stat_hostile_names)
{
	struct sw_proc_stat stat;
	assert_true(parse("42 (a) R 1 2) Z" TAIL, &stat));
	assert_string_equal(stat.comm, "a) R 1 2");
	assert_int_equal(stat.state, 'Z');
	assert_true(parse("42 () D" TAIL, &stat));
	assert_string_equal(stat.comm, "");
	assert_int_equal(stat.state, 'D');
	assert_true(parse("42 ((\n) T" TAIL, &stat));
	assert_string_equal(stat.comm, "(\n");

	char text[512], name[100];
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	(void) snprintf(text, sizeof(text), "42 (%s) S" TAIL, name);
	assert_true(parse(text, &stat));
	assert_int_equal(strlen(stat.comm), SW_COMM_MAX - 1);
}

TEST(stat_malformed)
{
	static const char *const bad[] = {
		"",
		"42",
		"42 (x",
		"42 x) S" TAIL,
		"42 (x)",
		"42 (x) ",
		"42 (x) S",
		"42 (x) S 1 2 3",
		"42 )x( S" TAIL,
		"42 (x)S" TAIL,
		"42 (x) S 1 2 3 0 -1 x 1 2 3 4 5 6 7 8 9 1 2 3 4 5",
		"42 (x) S 99999999999999999999999 2 3 0 -1 4 1 2 3 4 70 30 5 6 20 0 1 0 1 1",
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(bad); i++) {
		struct sw_proc_stat stat = {.state = '!'};
		assert_false(parse(bad[i], &stat));
		assert_int_equal(stat.state, '!'); /* left alone */
	}
}

TEST(status)
{
	static const char text[] = "Name:\tUid:\nTracerPid:\t77\nUid:\t1000\t1001\t0\t0\nOdd:\tx\n";
	uint64_t value = 5;
	assert_true(sw_proc_status_number(text, "TracerPid", &value));
	assert_int_equal(value, 77);
	assert_true(sw_proc_status_number(text, "Uid", &value));
	assert_int_equal(value, 1000);
	assert_false(sw_proc_status_number(text, "Ui", &value));
	assert_false(sw_proc_status_number(text, "Odd", &value));
	assert_false(sw_proc_status_number(text, "None", &value));
	assert_false(sw_proc_status_number("", "Uid", &value));
	assert_int_equal(value, 1000);
}

static const char *cgroup(const char *text)
{
	static char found[64];
	const char *path;
	size_t length;
	if (!sw_proc_cgroup_find(text, &path, &length))
		return NULL;
	(void) snprintf(found, sizeof(found), "%.*s", (int) length, path);
	return found;
}

/* A thread that runs may be on its way out of the call; its count grows only when it leaves the
 * CPU. */
TEST(switches_of_who_waits)
{
	assert_int_equal(sw_proc_switches("Name:\tx\nState:\tS (sleeping)\n"
					  "voluntary_ctxt_switches:\t40\n"
					  "nonvoluntary_ctxt_switches:\t2\n"),
			 43);
	assert_int_equal(sw_proc_switches("Name:\tx\nState:\tR (running)\n"
					  "voluntary_ctxt_switches:\t40\n"
					  "nonvoluntary_ctxt_switches:\t2\n"),
			 0);
	assert_int_equal(sw_proc_switches("Name:\tx\nState:\tD (disk sleep)\n"
					  "voluntary_ctxt_switches:\t40\n"),
			 0);
	assert_int_equal(sw_proc_switches("Name:\tx\nvoluntary_ctxt_switches:\t40\n"
					  "nonvoluntary_ctxt_switches:\t2\n"),
			 0);
}

TEST(cgroups)
{
	assert_string_equal(cgroup("0::/system.slice/x.service\n"), "/system.slice/x.service");
	assert_string_equal(cgroup("5:cpu:/c\n1:name=systemd:/s\n"), "/s");
	assert_string_equal(cgroup("5:cpu:/c\n0::/u\n1:name=systemd:/s\n"), "/u");
	assert_string_equal(cgroup("5:cpu,cpuacct:/a:b"), "/a:b");
	assert_null(cgroup(""));
	assert_null(cgroup("nonsense\n"));
	assert_null(cgroup("0:\n"));
}

TEST(tids)
{
	pid_t found[4] = {0};
	size_t n = 0;
	sw_cleanup(sw_close_p) int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (int again = 0; again < 2; again++) { /* begins anew each time */
		assert_true(sw_proc_tids(fd, found, 4, &n));
		assert_int_equal(n, 1);
		assert_int_equal(found[0], getpid());
	}
	found[0] = 0;
	assert_true(sw_proc_tids(fd, found, 0, &n)); /* counts more than it may keep */
	assert_int_equal(n, 1);
	assert_int_equal(found[0], 0);
}

/* Only whole numbers that can be a thread id. */
TEST(tids_of_odd_names)
{
	static const char *const names[] = {"12", "1x", "x", "99999999999", "-5", "0", "34"};
	char dir[] = "/tmp/test_proc_XXXXXX";
	pid_t found[8];
	size_t n;
	assert_non_null(mkdtemp(dir));
	sw_cleanup(sw_close_p) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		assert_int_equal(mkdirat(fd, names[i], 0700), 0);
	assert_true(sw_proc_tids(fd, found, 8, &n));
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		assert_int_equal(unlinkat(fd, names[i], AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(n, 2);
	assert_int_equal(found[0] + found[1], 12 + 34);
}

TEST(own_stat)
{
	struct sw_proc_stat stat;
	sw_cleanup(sw_close_p) int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(sw_proc_stat_read(fd, "stat", &stat));
	assert_int_equal(stat.ppid, getppid());
	assert_int_equal(stat.state, 'R');
	assert_int_equal(stat.flags & (SW_PF_KTHREAD | SW_PF_IO_WORKER), 0);
	assert_false(sw_proc_stat_read(fd, "no_such_file", &stat));
}

TEST(statm)
{
	assert_int_equal(sw_proc_statm_pages("61382 1830 1590 78 0 8371 0\n"), 61382);
	assert_int_equal(sw_proc_statm_pages(""), 0);
}
