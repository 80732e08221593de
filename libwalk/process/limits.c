/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Source: linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, Documentation/scheduler/sched-bwc.rst,
 * fs/proc/fd.c (since Linux 6.2 the size of /proc/PID/fd is the number of its entries), v6.12. memory.events counts
 * descendants, memory.events.local (since Linux 5.2) and version 1's memory.oom_control do not.
 */
#include "process/limits.h"
#include "cleanup.h"
#include "process/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	TEXT_MAX = 16 << 10,
	PATH_TEXT_MAX = 4096,
	LEVELS_MAX = 32,  /* of control groups: one within another */
	FDS_MAX = 100000, /* entries that are counted where the kernel does not tell their number */
	/* Numbers beyond these limits are not known, which a count that is cut would hide. */
};

/* The number behind a name at the beginning of a line: "oom_kill 3". */
static bool number_of(const char *text, const char *name, int64_t *ret)
{
	size_t length = strlen(name);
	for (const char *line = text; line != NULL && *line != '\0';) {
		if (strncmp(line, name, length) == 0 && line[length] == ' ') {
			const char *digits = line + length + strspn(line + length, " ");
			if (*digits < '0' || *digits > '9')
				return false; /* "unlimited" */
			*ret = strtoll(digits, NULL, 10);
			return true;
		}
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return false;
}

/* A file with one number; false: it has "max", or is not there. */
static bool read_number(int dir_fd, const char *name, int64_t *ret)
{
	char text[64];
	if (sw_proc_read_small(dir_fd, name, text, sizeof(text)) <= 0 || text[0] < '0' ||
	    text[0] > '9')
		return false;
	*ret = strtoll(text, NULL, 10);
	return true;
}

/* 0: unknown. */
static int64_t count_entries(int proc_fd)
{
	int fd = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	int64_t n = 0;
	if (dir == NULL) {
		sw_close_p(&fd);
		return 0;
	}
	for (struct dirent *entry; n <= FDS_MAX && (entry = readdir(dir)) != NULL;)
		n += entry->d_name[0] != '.';
	(void) closedir(dir); /* only read */
	return n <= FDS_MAX ? n : 0;
}

static void read_descriptors(int proc_fd, struct sw_process_limits *ret)
{
	char text[TEXT_MAX];
	struct stat st;
	if (sw_proc_read_small(proc_fd, "limits", text, sizeof(text)) <= 0 ||
	    !number_of(text, "Max open files", &ret->descriptors_limit) ||
	    fstatat(proc_fd, "fd", &st, 0) < 0)
		return;
	ret->descriptors = st.st_size > 0 ? st.st_size : count_entries(proc_fd);
}

/* Whether used of limit is more than what is known. */
static bool is_tighter(int64_t used, int64_t limit, int64_t known_used, int64_t known_limit)
{
	return known_limit == 0 ||
	       (double) used * (double) known_limit > (double) known_used * (double) limit;
}

static void read_memory(int fd, bool v2, struct sw_process_limits *ret)
{
	/* Version 1 writes the largest number of pages where there is no limit. */
	static const int64_t unlimited = INT64_MAX / 2;
	char text[TEXT_MAX];
	int64_t limit = 0, used = 0, cache = 0;
	if (!read_number(fd, v2 ? "memory.max" : "memory.limit_in_bytes", &limit) || limit <= 0 ||
	    limit >= unlimited ||
	    !read_number(fd, v2 ? "memory.current" : "memory.usage_in_bytes", &used) ||
	    !is_tighter(used, limit, ret->memory_bytes, ret->memory_limit_bytes))
		return;
	if (sw_proc_read_small(fd, "memory.stat", text, sizeof(text)) > 0)
		(void) number_of(text, v2 ? "inactive_file" : "total_inactive_file", &cache);
	ret->memory_bytes = used;
	ret->memory_limit_bytes = limit;
	ret->memory_cache_bytes = cache < used ? cache : used;
}

/* An ancestor has other services as well: what was killed there says nothing of this process. */
static void read_kills(int fd, const char *controller, struct sw_process_limits *ret)
{
	bool v2 = controller[0] == '\0';
	char text[TEXT_MAX];
	if (!v2 && strcmp(controller, "memory") != 0)
		return;
	if (sw_proc_read_small(fd, v2 ? "memory.events.local" : "memory.oom_control", text,
			       sizeof(text)) > 0)
		(void) number_of(text, "oom_kill", &ret->memory_kills); /* 0: none */
}

static void read_tasks(int fd, struct sw_process_limits *ret)
{
	char text[64];
	int64_t limit = 0, used = 0, refused = 0;
	if (!read_number(fd, "pids.max", &limit) || limit <= 0 ||
	    !read_number(fd, "pids.current", &used) ||
	    !is_tighter(used, limit, ret->tasks, ret->tasks_limit))
		return;
	if (sw_proc_read_small(fd, "pids.events", text, sizeof(text)) > 0)
		(void) number_of(text, "max", &refused);
	ret->tasks = used;
	ret->tasks_limit = limit;
	ret->tasks_refused = refused;
}

/* "20000 100000", µs of each period; of version 1 in two files. */
static bool read_quota(int fd, bool v2, int64_t *ret_quota_us, int64_t *ret_period_us)
{
	char text[64], *end;
	if (!v2)
		return read_number(fd, "cpu.cfs_quota_us", ret_quota_us) &&
		       read_number(fd, "cpu.cfs_period_us", ret_period_us);
	if (sw_proc_read_small(fd, "cpu.max", text, sizeof(text)) <= 0 || text[0] < '0' ||
	    text[0] > '9')
		return false;
	*ret_quota_us = strtoll(text, &end, 10);
	*ret_period_us = strtoll(end, NULL, 10);
	return true;
}

static void read_cpu(int fd, bool v2, struct sw_process_limits *ret)
{
	enum { NS_PER_US = 1000 };
	char text[TEXT_MAX];
	int64_t quota_us, period_us, periods = 0, throttled = 0, time = 0;
	if (!read_quota(fd, v2, &quota_us, &period_us) || quota_us <= 0 || period_us <= 0 ||
	    sw_proc_read_small(fd, "cpu.stat", text, sizeof(text)) <= 0 ||
	    !number_of(text, "nr_periods", &periods) ||
	    !number_of(text, "nr_throttled", &throttled) ||
	    !number_of(text, v2 ? "throttled_usec" : "throttled_time", &time) || periods <= 0 ||
	    !is_tighter(throttled, periods, ret->cpu_throttled, ret->cpu_periods))
		return;
	ret->cpu_quota_us = quota_us;
	ret->cpu_period_us = period_us;
	ret->cpu_periods = periods;
	ret->cpu_throttled = throttled;
	ret->cpu_throttled_us = v2 ? time : time / NS_PER_US;
}

/* The numbers of one group: of one controller, or of version 2's hierarchy. */
static void read_group(int fd, const char *controller, struct sw_process_limits *ret)
{
	bool v2 = controller[0] == '\0';
	if (v2 || strcmp(controller, "memory") == 0)
		read_memory(fd, v2, ret);
	if (v2 || strcmp(controller, "pids") == 0)
		read_tasks(fd, ret);
	if (v2 || strncmp(controller, "cpu", strlen("cpu")) == 0)
		read_cpu(fd, v2, ret);
}

/* The group and its ancestors, from the innermost one. A path that leads out of what this process sees is none. */
static void read_path(const char *mount, const char *controller, const char *path,
		      struct sw_process_limits *ret)
{
	struct sw_process_limits found = *ret;
	char name[PATH_TEXT_MAX];
	int n = snprintf(name, sizeof(name), "%s%s", mount, path);
	size_t length = strlen(mount);
	if (n < 0 || (size_t) n >= sizeof(name) || strstr(path, "/..") != NULL)
		return;
	for (int level = 0; level < LEVELS_MAX; level++) {
		int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			read_group(fd, controller, &found);
		if (fd >= 0 && level == 0)
			read_kills(fd, controller, &found);
		sw_close_p(&fd);
		char *slash = strrchr(name + length, '/');
		if (slash == NULL) {
			*ret = found; /* which group is the tightest is known after the last one */
			return;
		}
		*slash = '\0';
	}
}

/* "0::/a/b" or "4:cpu,cpuacct:/a/b". The directories of version 1 are called as their controllers. */
static void read_line(char *line, const char *root, struct sw_process_limits *ret)
{
	static const char *const used[] = {"memory", "pids", "cpu", "cpu,cpuacct", "cpuacct,cpu"};
	char mount[PATH_TEXT_MAX];
	char *controller = strchr(line, ':'), *path;
	if (controller == NULL || (path = strchr(controller + 1, ':')) == NULL)
		return;
	*path++ = '\0';
	controller++;
	if (controller[0] == '\0') {
		read_path(root, "", path, ret);
		return;
	}
	for (size_t i = 0; i < SW_ARRAY_SIZE(used); i++) {
		int n = snprintf(mount, sizeof(mount), "%s/%s", root, controller);
		if (strcmp(controller, used[i]) == 0 && n > 0 && (size_t) n < sizeof(mount))
			read_path(mount, controller, path, ret);
	}
}

void sw_process_limits_read_at(int proc_fd, const char *cgroup_root, struct sw_process_limits *ret)
{
	char text[TEXT_MAX], *rest = NULL;
	*ret = (struct sw_process_limits){0};
	read_descriptors(proc_fd, ret);
	if (sw_proc_read_small(proc_fd, "cgroup", text, sizeof(text)) <= 0)
		return;
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		read_line(line, cgroup_root, ret);
}

/* The kernel's own limit, which a process cannot change. */
static void read_maps_limit(struct sw_process_limits *ret)
{
	int fd = open("/proc/sys/vm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		(void) read_number(fd, "max_map_count", &ret->maps_limit);
	sw_close_p(&fd);
}

void sw_process_limits_read(int proc_fd, struct sw_process_limits *ret)
{
	sw_process_limits_read_at(proc_fd, "/sys/fs/cgroup", ret);
	read_maps_limit(ret);
}
