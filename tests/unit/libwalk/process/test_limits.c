/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits by files of /proc and of control groups that are made here. */
#include "process/limits.h"
#include "cleanup.h"
#include "test.h"

#include <sys/stat.h>

struct file {
	const char *name, *text;
};

struct tree {
	char path[64];
};

static int set_up(void **state)
{
	static struct tree t;
	strcpy(t.path, "/tmp/snapwalk-XXXXXX");
	*state = &t;
	return mkdtemp(t.path) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	struct tree *t = *state;
	char command[128];
	(void) snprintf(command, sizeof(command), "rm -rf '%s'", t->path); /* fits */
	return system(command);
}

static void file_make(const struct tree *t, struct file file)
{
	char name[256];
	(void) snprintf(name, sizeof(name), "%s/%s", t->path, file.name); /* fits */
	for (char *slash = name + strlen(t->path) + 1; (slash = strchr(slash, '/')) != NULL;
	     *slash++ = '/') {
		*slash = '\0';
		(void) mkdir(name, 0700); /* may be there */
	}
	sw_cleanup(sw_close_p) int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, file.text, strlen(file.text)), strlen(file.text));
}

static struct sw_process_limits read_limits(const struct tree *t, const struct file *files,
					    size_t n_files)
{
	struct sw_process_limits ret;
	char groups[80];
	for (size_t i = 0; i < n_files; i++)
		file_make(t, files[i]);
	sw_cleanup(sw_close_p) int fd = open(t->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void) snprintf(groups, sizeof(groups), "%s/groups", t->path); /* fits */
	sw_process_limits_read_at(fd, groups, &ret);
	return ret;
}

/* Version 2: the tightest of the groups that are within one another; kills of the own one, without its descendants. */
TEST_WITH(test_unified, set_up, tear_down)
{
	static const struct file files[] = {
		{"limits",
		 "Limit                     Soft Limit           Hard Limit           Units\n"
		 "Max open files            1024                 524288               files\n"},
		{"fd/0", ""},
		{"cgroup", "0::/pod/app\n"},
		{"groups/pod/memory.max", "1000000\n"},
		{"groups/pod/memory.current", "990000\n"},
		{"groups/pod/memory.stat", "anon 5\ninactive_file 40000\nactive_file 7\n"},
		{"groups/pod/memory.events",
		 "low 0\nmax 900\noom 4\noom_kill 3\noom_group_kill 0\n"},
		{"groups/pod/cpu.max", "max 100000\n"},
		{"groups/pod/app/memory.max", "max\n"},
		{"groups/pod/app/memory.current", "980000\n"},
		{"groups/pod/app/memory.events", "oom_kill 2\n"},
		{"groups/pod/app/memory.events.local", "oom 0\noom_kill 1\n"},
		{"groups/pod/memory.events.local", "oom_kill 3\n"},
		{"groups/pod/app/cpu.max", "20000 100000\n"},
		{"groups/pod/app/cpu.stat",
		 "usage_usec 5\nnr_periods 23\nnr_throttled 22\nthrottled_usec 1540000\n"},
		{"groups/pod/app/pids.max", "12\n"},
		{"groups/pod/app/pids.current", "11\n"},
		{"groups/pod/app/pids.events", "max 5\n"},
		{"groups/pod/pids.max", "100\n"},
		{"groups/pod/pids.current", "20\n"},
	};
	struct sw_process_limits l = read_limits(*state, files, SW_ARRAY_SIZE(files));
	assert_int_equal(l.descriptors_limit, 1024);
	assert_true(l.descriptors > 0);
	assert_int_equal(l.memory_bytes, 990000);
	assert_int_equal(l.memory_cache_bytes, 40000);
	assert_int_equal(l.memory_limit_bytes, 1000000);
	assert_int_equal(l.memory_kills, 1);
	assert_int_equal(l.cpu_quota_us, 20000);
	assert_int_equal(l.cpu_period_us, 100000);
	assert_int_equal(l.cpu_periods, 23);
	assert_int_equal(l.cpu_throttled, 22);
	assert_int_equal(l.cpu_throttled_us, 1540000);
	assert_int_equal(l.tasks, 11);
	assert_int_equal(l.tasks_limit, 12);
	assert_int_equal(l.tasks_refused, 5);
}

/* Version 1: a directory for each controller, times in ns, no limit as the largest number. */
TEST_WITH(test_by_controller, set_up, tear_down)
{
	static const struct file files[] = {
		{"limits",
		 "Max open files            unlimited            unlimited            files\n"},
		{"cgroup",
		 "9:name=systemd:/a\n4:memory:/a\n2:cpu,cpuacct:/a/b\n1:pids:/../x\n0::/\n"},
		{"groups/memory/a/memory.limit_in_bytes", "67108864\n"},
		{"groups/memory/a/memory.usage_in_bytes", "67108000\n"},
		{"groups/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n"},
		{"groups/memory/a/memory.oom_control",
		 "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"},
		{"groups/memory/memory.oom_control", "oom_kill 7\n"},
		{"groups/memory/memory.limit_in_bytes", "9223372036854771712\n"},
		{"groups/memory/memory.usage_in_bytes", "9223372036854771712\n"},
		{"groups/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n"},
		{"groups/cpu,cpuacct/a/cpu.cfs_quota_us", "5000\n"},
		{"groups/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"},
		{"groups/cpu,cpuacct/a/cpu.stat",
		 "nr_periods 4\nnr_throttled 2\nthrottled_time 1540000999\n"},
		{"x/pids.max", "1\n"},
		{"x/pids.current", "1\n"},
	};
	struct sw_process_limits l = read_limits(*state, files, SW_ARRAY_SIZE(files));
	assert_int_equal(l.descriptors_limit, 0);
	assert_int_equal(l.memory_bytes, 67108000);
	assert_int_equal(l.memory_cache_bytes, 500);
	assert_int_equal(l.memory_limit_bytes, 67108864);
	assert_int_equal(l.memory_kills, 1);
	assert_int_equal(l.cpu_quota_us, 5000);
	assert_int_equal(l.cpu_throttled, 2);
	assert_int_equal(l.cpu_throttled_us, 1540000);
	assert_int_equal(l.tasks_limit, 0); /* its path is out of what is seen */
}

/* The tightest group of more levels than are looked at is not known. */
TEST_WITH(test_deep, set_up, tear_down)
{
	static const char deep[] = "/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a";
	char cgroup[128], max[256], current[256];
	for (size_t i = 0; i < 2; i++) { /* 31 groups below the root, and 32 */
		(void) snprintf(cgroup, sizeof(cgroup), "0::%s%s\n", deep, i == 0 ? "" : "/a");
		(void) snprintf(max, sizeof(max), "groups%s/pids.max", deep);
		(void) snprintf(current, sizeof(current), "groups%s/pids.current", deep);
		const struct file files[] = {{"cgroup", cgroup}, {max, "12\n"}, {current, "11\n"}};
		struct sw_process_limits l = read_limits(*state, files, SW_ARRAY_SIZE(files));
		assert_int_equal(l.tasks_limit, i == 0 ? 12 : 0);
		assert_int_equal(l.tasks, i == 0 ? 11 : 0);
	}
}

TEST_WITH(test_nothing, set_up, tear_down)
{
	struct sw_process_limits l = read_limits(*state, NULL, 0), none = {0};
	assert_memory_equal(&l, &none, sizeof(l));
}
