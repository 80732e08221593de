/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "arena.h"
#include "select_cgroup.h"
#include "text.h"

#include <snapwalk/select.h>

#include <fcntl.h>
#include <limits.h>
#include <string.h>

enum {
	SELECT_COMM_LENGTH = 15,    /* TASK_COMM_LEN - 1: longer names are cut by the kernel */
	SELECT_FILE_MAX = 64 << 10, /* of /proc/PID/cgroup */
};

/* A process looked at by a selector. */
struct candidate {
	struct sw_selected process;
	bool no_stack; /* a zombie or a kernel thread: taken only when nothing else matches */
};

struct selection {
	struct sw_selected *processes; /* owned */
	size_t n, capacity;
};

static int add(struct selection *s, const struct sw_selected *process, struct sw_error *err)
{
	if (s->n == SW_SELECT_MAX)
		return sw_fail(err, SW_E_LIMIT, "more than %d processes match", SW_SELECT_MAX);
	struct sw_selected *grown = sw_grow(s->processes, s->n, &s->capacity, 8, sizeof(*grown));
	if (grown == NULL)
		return sw_fail_nomem(err);
	s->processes = grown;
	s->processes[s->n++] = *process;
	return 0;
}

/* Name and kind from /proc/PID/stat: "pid (comm) state ppid pgrp session tty tpgid flags". */
static bool candidate_read(int proc_fd, pid_t pid, struct candidate *ret)
{
	char path[32];
	(void) snprintf(path, sizeof(path), "%d/stat", (int) pid);
	struct sw_text text = {0};
	bool ok = sw_text_read_at(&text, proc_fd, path, SELECT_FILE_MAX) == 0 && text.size > 0;
	const char *open = ok ? strchr(text.data, '(') : NULL;
	const char *close = ok ? strrchr(text.data, ')') : NULL;
	char state;
	unsigned flags;
	ok = open != NULL && close > open &&
	     sscanf(close + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) == 2;
	if (ok) {
		enum { PF_KTHREAD = 0x00200000 }; /* include/linux/sched.h, Linux 6.1 */
		*ret = (struct candidate){.process.pid = pid,
					  .no_stack = state == 'Z' || (flags & PF_KTHREAD)};
		(void) snprintf(ret->process.comm, sizeof(ret->process.comm), "%.*s",
				(int) (close - open - 1), open + 1);
	}
	sw_text_deinit(&text);
	return ok;
}

/* The word may mean one container, not two that begin alike: *seen_id remembers the first one. */
static int cgroup_matches(int proc_fd, pid_t pid, enum sw_select_kind kind, const char *wanted,
			  char seen_id[65], struct sw_error *err)
{
	char path[32], id[65];
	(void) snprintf(path, sizeof(path), "%d/cgroup", (int) pid);
	struct sw_text text = {0};
	int r = 0;
	if (sw_text_read_at(&text, proc_fd, path, SELECT_FILE_MAX) < 0 || text.size == 0)
		r = 0; /* it ended meanwhile */
	else if (kind == SW_SELECT_CGROUP)
		r = sw_cgroup_matches(text.data, wanted);
	else if (kind == SW_SELECT_UNIT)
		r = sw_cgroup_has_unit(text.data, wanted);
	else if (sw_cgroup_has_container(text.data, wanted, id)) {
		r = 1;
		if (seen_id[0] != '\0' && strcmp(seen_id, id) != 0)
			r = sw_fail(err, SW_E_INVALID,
				    "several containers match: %.12s, %.12s: give more digits",
				    seen_id, id);
		memcpy(seen_id, id, sizeof(id));
	}
	sw_text_deinit(&text);
	return r;
}

static bool comm_matches(const char *comm, const char *name)
{
	if (strlen(name) <= SELECT_COMM_LENGTH)
		return strcmp(comm, name) == 0;
	return strlen(comm) == SELECT_COMM_LENGTH && strncmp(comm, name, SELECT_COMM_LENGTH) == 0;
}

/* Scan /proc once; no_stack says which kind of process is taken. */
static int scan(enum sw_select_kind kind, const char *wanted, bool no_stack, struct selection *s,
		struct sw_error *err)
{
	sw_cleanup(sw_closedir_p) DIR *proc = opendir("/proc");
	if (proc == NULL)
		return sw_fail_errno(err, SW_E_IO, "/proc");
	char seen_id[65] = "";
	for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
		char *end;
		long pid = strtol(entry->d_name, &end, 10);
		struct candidate c;
		if (*end != '\0' || pid <= 0 || pid > INT_MAX || pid == getpid())
			continue;
		if (!candidate_read(dirfd(proc), (pid_t) pid, &c) || c.no_stack != no_stack)
			continue;
		int r = kind == SW_SELECT_COMM ? comm_matches(c.process.comm, wanted)
					       : cgroup_matches(dirfd(proc), c.process.pid, kind,
								wanted, seen_id, err);
		if (r > 0)
			r = add(s, &c.process, err);
		if (r < 0)
			return r;
	}
	return 0;
}

bool sw_select_matches(enum sw_select_kind kind, const char *text, pid_t pid)
{
	sw_cleanup(sw_closedir_p) DIR *proc = opendir("/proc");
	struct candidate c;
	struct sw_error ignored;
	char seen_id[65] = "";
	if (proc == NULL)
		return false;
	if (kind == SW_SELECT_COMM)
		return candidate_read(dirfd(proc), pid, &c) && comm_matches(c.process.comm, text);
	return cgroup_matches(dirfd(proc), pid, kind, text, seen_id, &ignored) > 0;
}

int sw_select_processes(enum sw_select_kind kind, const char *text, struct sw_selected **ret,
			size_t *ret_n, struct sw_error *err)
{
	struct selection s = {0};
	int r = scan(kind, text, false, &s, err);
	if (r == 0 && s.n == 0)
		r = scan(kind, text, true, &s, err);
	if (r < 0) {
		free(s.processes);
		return r;
	}
	*ret = s.processes;
	*ret_n = s.n;
	return 0;
}
