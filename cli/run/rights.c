/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/rights.h"
#include "cleanup.h"
#include "parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STATUS_MAX = 16 << 10, CGROUP_MAX = 64 << 10 };

static bool is_wanted(const char *line)
{
	static const char *const wanted[] = {"Uid:",    "Gid:",    "Groups:", "CapInh:",
					     "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wanted); i++)
		if (sw_begins_with(line, wanted[i]))
			return true;
	return false;
}

/* The lines that say users, groups and capabilities. A name of a process has no newline there. */
static bool status_take(const char *status, struct sw_text *text)
{
	bool free_of_filters = false, may_gain = false;
	for (const char *line = status; *line != '\0';) {
		const char *end = strchrnul(line, '\n');
		if (is_wanted(line))
			sw_text_append(text, line, (size_t) (end - line) + 1);
		free_of_filters |= sw_begins_with(line, "Seccomp:\t0\n");
		may_gain |= sw_begins_with(line, "NoNewPrivs:\t0\n");
		line = *end == '\n' ? end + 1 : end;
	}
	return free_of_filters && may_gain;
}

static bool namespaces_take(int proc_fd, struct sw_text *text)
{
	static const char *const all[] = {"ns/user", "ns/pid", "ns/mnt"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(all); i++) {
		char link[64];
		ssize_t n = readlinkat(proc_fd, all[i], link, sizeof(link));
		if (n <= 0)
			return false;
		sw_text_append(text, link, (size_t) n);
	}
	return true;
}

bool sw_rights_read(pid_t pid, struct sw_text *text)
{
	char path[32];
	sw_cleanup(sw_text_deinit) struct sw_text status = {0};
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) pid); /* fits */
	sw_cleanup(sw_close_p) int proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return proc_fd >= 0 && sw_text_read_at(&status, proc_fd, "status", STATUS_MAX) == 0 &&
	       status.size > 0 && status_take(status.data, text) &&
	       namespaces_take(proc_fd, text) &&
	       sw_text_read_at(text, proc_fd, "cgroup", CGROUP_MAX) == 0 && !text->failed;
}
