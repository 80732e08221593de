/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TARGET words to processes. */
#include "select.h"
#include "cleanup.h"
#include "complain.h"
#include "errors.h"
#include "text.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

enum {
	SELECT_MAX = 4096,          /* processes for one command line */
	SELECT_COMM_LENGTH = 15,    /* TASK_COMM_LEN - 1: longer names are cut by the kernel */
	SELECT_FILE_MAX = 64 << 10, /* of /proc/PID/cgroup */
	SELECT_LIST_SHOWN = 10,
};

/* A process looked at by a selector. */
struct candidate {
	pid_t pid;
	char comm[32];
	bool no_stack; /* a zombie or a kernel thread: taken only when nothing else matches */
};

static int add(struct sw_selection *s, const struct sw_subject *subject, struct sw_error *err)
{
	for (size_t i = 0; i < s->n_subjects; i++)
		if (subject->kind == SW_WANT_PID && s->subjects[i].kind == SW_WANT_PID &&
		    s->subjects[i].pid == subject->pid)
			return 0;
	if (s->n_subjects == SELECT_MAX)
		return sw_fail(err, SW_E_LIMIT, "more than %d processes match", SELECT_MAX);
	if (s->n_subjects == s->capacity) {
		size_t capacity = s->capacity == 0 ? 8 : s->capacity * 2;
		struct sw_subject *grown = reallocarray(s->subjects, capacity, sizeof(*grown));
		if (grown == NULL)
			return sw_fail_nomem(err);
		s->subjects = grown;
		s->capacity = capacity;
	}
	s->subjects[s->n_subjects++] = *subject;
	return 0;
}

static int add_path(struct sw_selection *s, const struct sw_want *want, struct sw_error *err)
{
	struct sw_subject subject = {.kind = want->kind, .path = want->text};
	(void) snprintf(subject.name, sizeof(subject.name), "%s", want->text); /* cut is fine */
	return add(s, &subject, err);
}

static int add_pid(struct sw_selection *s, pid_t pid, const char *comm, struct sw_error *err)
{
	struct sw_subject subject = {.kind = SW_WANT_PID, .pid = pid};
	(void) snprintf(subject.name, sizeof(subject.name), "%d", (int) pid);
	(void) snprintf(subject.comm, sizeof(subject.comm), "%s", comm);
	return add(s, &subject, err);
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
		*ret = (struct candidate){.pid = pid,
					  .no_stack = state == 'Z' || (flags & PF_KTHREAD)};
		(void) snprintf(ret->comm, sizeof(ret->comm), "%.*s", (int) (close - open - 1),
				open + 1);
	}
	sw_text_deinit(&text);
	return ok;
}

/* One container may be meant, not two that begin alike: *seen_id remembers the first one. */
static int cgroup_matches(int proc_fd, pid_t pid, const struct sw_want *want, char seen_id[65],
			  struct sw_error *err)
{
	char path[32], id[65];
	(void) snprintf(path, sizeof(path), "%d/cgroup", (int) pid);
	struct sw_text text = {0};
	int r = 0;
	if (sw_text_read_at(&text, proc_fd, path, SELECT_FILE_MAX) < 0 || text.size == 0)
		r = 0; /* it ended meanwhile */
	else if (want->kind == SW_WANT_CGROUP)
		r = sw_cgroup_matches(text.data, want->text);
	else if (want->kind == SW_WANT_UNIT)
		r = sw_cgroup_has_unit(text.data, want->text);
	else if (sw_cgroup_has_container(text.data, want->text, id)) {
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

static bool comm_matches(const struct candidate *c, const char *name)
{
	if (strlen(name) <= SELECT_COMM_LENGTH)
		return strcmp(c->comm, name) == 0;
	return strlen(c->comm) == SELECT_COMM_LENGTH &&
	       strncmp(c->comm, name, SELECT_COMM_LENGTH) == 0;
}

/* One pass over /proc; no_stack says which kind of process is taken. */
static int scan(const struct sw_want *want, bool no_stack, struct sw_selection *s,
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
		int r = want->kind == SW_WANT_COMM
				? comm_matches(&c, want->text)
				: cgroup_matches(dirfd(proc), c.pid, want, seen_id, err);
		if (r > 0)
			r = add_pid(s, c.pid, c.comm, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int select_want(const struct sw_want *want, struct sw_selection *s, struct sw_error *err)
{
	if (want->kind == SW_WANT_CORE || want->kind == SW_WANT_FIXTURE)
		return add_path(s, want, err);
	if (want->kind == SW_WANT_PID)
		return add_pid(s, want->pid, "", err);
	size_t before = s->n_subjects;
	int r = scan(want, false, s, err);
	if (r == 0 && s->n_subjects == before)
		r = scan(want, true, s, err);
	if (r == 0 && s->n_subjects == before)
		r = sw_fail(err, SW_E_NOT_FOUND, "no process matches");
	return r;
}

int sw_select(const struct sw_options *options, struct sw_selection *ret, const char **ret_about,
	      struct sw_error *err)
{
	*ret = (struct sw_selection){0};
	for (size_t i = 0; i < options->n_wants; i++) {
		*ret_about = options->wants[i].text;
		int r = select_want(&options->wants[i], ret, err);
		if (r < 0)
			return r;
	}
	return 0;
}

void sw_selection_deinit(struct sw_selection *selection)
{
	free(selection->subjects);
	*selection = (struct sw_selection){0};
}

/* "4 processes match: 12 nginx, 13 nginx, ..." */
static void complain_several(const char *about, const struct sw_selection *s)
{
	struct sw_text text = {0};
	sw_text_printf(&text, "%zu processes match:", s->n_subjects);
	for (size_t i = 0; i < s->n_subjects && i < SELECT_LIST_SHOWN; i++)
		sw_text_printf(&text, "%s %s %s", i > 0 ? "," : "", s->subjects[i].name,
			       s->subjects[i].comm);
	if (s->n_subjects > SELECT_LIST_SHOWN)
		sw_text_printf(&text, ", ...");
	sw_complain(about, text.failed ? "several processes match" : text.data, "usage",
		    "choose one by its process id");
	sw_text_deinit(&text);
}

int sw_select_one(const struct sw_options *options, struct sw_subject *ret)
{
	struct sw_selection s;
	struct sw_error err = {0};
	const char *about = "";
	int status = SW_STATUS_COMPLETE;
	if (sw_select(options, &s, &about, &err) < 0)
		status = sw_complain_error(about, &err);
	else if (s.n_subjects > 1) {
		complain_several(about, &s);
		status = SW_STATUS_USAGE;
	} else
		*ret = s.subjects[0];
	sw_selection_deinit(&s);
	return status;
}
