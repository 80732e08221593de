/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "run/rights.h"
#include "cleanup.h"
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATUS_MAX = 16 << 10, CGROUP_MAX = 64 << 10, LABEL_MAX = 4096 };

/* The facts that decide whether lines that are equal permit anything. */
struct found {
	bool is_confined; /* by a filter, or by no_new_privs */
	bool has_one_user, has_one_group;
	bool may_trace; /* has CAP_SYS_PTRACE */
	unsigned uid, gid;
};

static bool is_wanted(const char *line)
{
	static const char *const wanted[] = {"Uid:",    "Gid:",    "Groups:", "CapInh:",
					     "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(wanted); i++)
		if (sw_begins_with(line, wanted[i]))
			return true;
	return false;
}

/* Real, effective, saved and of files: all the same. *ret_id: the effective one. */
static bool ids_are_one(const char *numbers, unsigned *ret_id)
{
	unsigned ids[4];
	if (sscanf(numbers, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
		return false;
	*ret_id = ids[1];
	return ids[0] == ids[1] && ids[2] == ids[1] && ids[3] == ids[1];
}

static void line_look(const char *line, struct found *found)
{
	unsigned long long capabilities;
	if (sw_begins_with(line, "Uid:"))
		found->has_one_user = ids_are_one(line + strlen("Uid:"), &found->uid);
	else if (sw_begins_with(line, "Gid:"))
		found->has_one_group = ids_are_one(line + strlen("Gid:"), &found->gid);
	else if (sscanf(line, "CapEff: %llx", &capabilities) == 1)
		found->may_trace = (capabilities >> CAP_SYS_PTRACE & 1) != 0;
}

/* The lines that say users, groups and capabilities. A name of a process has no newline there. */
static void status_take(const char *status, struct sw_text *text, struct found *found)
{
	bool free_of_filters = false, may_gain = false;
	for (const char *line = status; *line != '\0';) {
		const char *end = strchrnul(line, '\n');
		if (is_wanted(line))
			sw_text_append(text, line, (size_t) (end - line) + 1);
		line_look(line, found);
		free_of_filters |= sw_begins_with(line, "Seccomp:\t0\n");
		may_gain |= sw_begins_with(line, "NoNewPrivs:\t0\n");
		line = *end == '\n' ? end + 1 : end;
	}
	found->is_confined = !free_of_filters || !may_gain;
}

/*
 * Files in /proc of a process that is not dumpable belong to the root of the user namespace of its
 * memory (task_dump_owner() in fs/proc/base.c, Linux 6.1). Files of a process of root do so in any
 * case.
 */
static bool is_seen_dumpable(int proc_fd, const struct found *found)
{
	struct stat st;
	return fstatat(proc_fd, "status", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_uid == found->uid && st.st_gid == found->gid &&
	       (st.st_uid != 0 || st.st_gid != 0);
}

/* Yama's limits on tracing (Linux 6.1, security/yama/yama_lsm.c): 1 and 2 do not hold for CAP_SYS_PTRACE. */
static bool yama_permits(bool may_trace)
{
	sw_cleanup(sw_text_deinit) struct sw_text scope = {0};
	int r = sw_text_read_at(&scope, AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", LABEL_MAX);
	if (r < 0 || scope.size == 0)
		return r < 0 && errno == ENOENT;
	return scope.data[0] == '0' ||
	       (may_trace && (scope.data[0] == '1' || scope.data[0] == '2'));
}

/*
 * By users and capabilities, as in __ptrace_may_access() (kernel/ptrace.c, Linux 6.1), and by Yama. The capability
 * counts in the process's own user namespace: see namespaces_take().
 */
static bool may_be_read_by_its_like(int proc_fd, const struct found *found)
{
	return !found->is_confined &&
	       (found->may_trace || (found->has_one_user && found->has_one_group &&
				     is_seen_dumpable(proc_fd, found))) &&
	       yama_permits(found->may_trace);
}

/* No label of a security module, or AppArmor's for a process without a profile: other labels may forbid to read
 * even a process with the same one. */
static bool is_without_label(int proc_fd)
{
	static const char *const files[] = {"attr/current", "attr/apparmor/current",
					    "attr/smack/current"};
	for (size_t i = 0; i < SW_ARRAY_SIZE(files); i++) {
		sw_cleanup(sw_text_deinit) struct sw_text label = {0};
		int r = sw_text_read_at(&label, proc_fd, files[i], LABEL_MAX);
		/* EINVAL: no module has labels; ENOENT: this one is not in the kernel. */
		if (r < 0 && errno != EINVAL && errno != ENOENT)
			return false;
		if (r == 0 && label.size > 0 && strcmp(label.data, "unconfined\n") != 0 &&
		    strcmp(label.data, "unconfined") != 0)
			return false;
	}
	return true;
}

static bool link_take(int dirfd, const char *path, struct sw_text *text)
{
	char link[64];
	ssize_t n = readlinkat(dirfd, path, link, sizeof(link));
	if (n > 0)
		sw_text_append(text, link, (size_t) n);
	return n > 0;
}

/* User namespaces other than ours show owners of files, and ids, that are not theirs. */
static bool namespaces_take(int proc_fd, struct sw_text *text)
{
	sw_cleanup(sw_text_deinit) struct sw_text users = {0}, ours = {0};
	if (!link_take(proc_fd, "ns/user", &users) ||
	    !link_take(AT_FDCWD, "/proc/self/ns/user", &ours) || users.failed || ours.failed ||
	    strcmp(users.data, ours.data) != 0)
		return false;
	return link_take(proc_fd, "ns/pid", text) && link_take(proc_fd, "ns/mnt", text);
}

bool sw_rights_read(pid_t pid, struct sw_text *text)
{
	char path[32];
	struct found found = {.is_confined = true};
	sw_cleanup(sw_text_deinit) struct sw_text status = {0};
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) pid); /* fits */
	sw_cleanup(sw_close_p) int proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0 || sw_text_read_at(&status, proc_fd, "status", STATUS_MAX) < 0 ||
	    status.size == 0)
		return false;
	status_take(status.data, text, &found);
	return may_be_read_by_its_like(proc_fd, &found) && is_without_label(proc_fd) &&
	       namespaces_take(proc_fd, text) &&
	       sw_text_read_at(text, proc_fd, "cgroup", CGROUP_MAX) == 0 && !text->failed;
}
