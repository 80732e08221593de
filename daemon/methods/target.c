/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Target of a call, or of a rule -> processes. */
#include "methods/target.h"
#include "methods/context.h"
#include "rpc/params.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/select.h>

#include <fcntl.h>
#include <string.h>

enum { FDINFO_TEXT_MAX = 4096, WORD_MAX = 4096, AMBIGUOUS_PIDS_MAX = 64 };

/* "Pid:" of a pidfd, from its fdinfo (proc(5)): -1 when the process was reaped. 0: it is no pidfd, or
 * of a process out of sight. */
static pid_t pid_of_pidfd(int pidfd)
{
	char path[64];
	struct sw_text text = {0};
	int pid = 0;
	(void) snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd); /* fits */
	if (sw_text_read_at(&text, AT_FDCWD, path, FDINFO_TEXT_MAX) == 0 && text.size > 0) {
		const char *line = strstr(text.data, "\nPid:");
		if (line == NULL || sscanf(line, "\nPid: %d", &pid) != 1)
			pid = 0;
	}
	sw_text_deinit(&text);
	return pid;
}

static const char *const selectors[] = {"comm", "unit", "cgroup", "container", NULL};
static const enum sw_select_kind selector_kinds[] = {
	SW_SELECT_COMM,
	SW_SELECT_UNIT,
	SW_SELECT_CGROUP,
	SW_SELECT_CONTAINER,
};

static struct json_object *pids_json(const struct sw_selected *found, size_t n)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; array != NULL && i < n && i < AMBIGUOUS_PIDS_MAX; i++)
		(void) json_object_array_add(array, json_object_new_int(found[i].pid)); /* fewer */
	return sw_object_add(json_object_new_object(), "pids", array);
}

static bool select_one(enum sw_select_kind kind, const char *value, struct sw_found *ret,
		       struct sw_refusal *refusal)
{
	sw_cleanup(sw_free_p) struct sw_selected *found = NULL;
	size_t n = 0;
	struct sw_error err = {0};
	int r = sw_select_processes(kind, value, &found, &n, &err);
	if (r == -SW_E_INVALID || r == -SW_E_LIMIT)
		return sw_refuse(refusal, SW_INTERFACE ".InvalidTarget",
				 sw_object_string("detail", err.message), "%s", err.message);
	if (r < 0)
		return sw_refuse(refusal, SW_INTERFACE ".Failed",
				 sw_object_string("detail", err.message), "%s", err.message);
	if (n == 0)
		return sw_refuse(refusal, SW_INTERFACE ".NoMatch",
				 sw_object_string("detail", "no process matches"),
				 "no process matches");
	if (n > 1)
		return sw_refuse(refusal, SW_INTERFACE ".Ambiguous", pids_json(found, n),
				 "%zu processes match", n);
	return sw_found_init(ret, found[0].pid, 0, -EBADF, refusal);
}

struct target_params {
	int64_t pid, starttime, pidfd;
	const char *words[4];
};

static const struct sw_param target_table[] = {
	{"pid", SW_PARAM_INT, offsetof(struct target_params, pid), .min = 1, .max = INT32_MAX},
	{"starttime", SW_PARAM_INT, offsetof(struct target_params, starttime), .min = 1,
	 .max = INT64_MAX - 1},
	{"pidfd", SW_PARAM_INT, offsetof(struct target_params, pidfd), .min = 0,
	 .max = SW_CONNECTION_FDS_MAX - 1},
	{"comm", SW_PARAM_STRING, offsetof(struct target_params, words[0]), .max = 64},
	{"unit", SW_PARAM_STRING, offsetof(struct target_params, words[1]), .max = 256},
	{"cgroup", SW_PARAM_STRING, offsetof(struct target_params, words[2]), .max = WORD_MAX},
	{"container", SW_PARAM_STRING, offsetof(struct target_params, words[3]), .max = 64},
};

static bool invalid(struct sw_refusal *refusal, const char *detail)
{
	return sw_refuse(refusal, SW_INTERFACE ".InvalidTarget", sw_object_string("detail", detail),
			 "%s", detail);
}

/* False: refused. *ret_bad: a parameter is wrong, refusal is not filled. */
static bool resolve(struct sw_call *call, struct json_object *target, struct sw_found *ret,
		    struct sw_refusal *refusal, const char **ret_bad)
{
	struct target_params p = {.pidfd = -1};
	*ret = (struct sw_found){.pidfd = -EBADF};
	if (!sw_params_read(target, target_table, SW_ARRAY_SIZE(target_table), &p, ret_bad))
		return false;
	int n = (p.pid != 0) + (p.pidfd >= 0), word = -1;
	for (int i = 0; selectors[i] != NULL; i++) {
		n += p.words[i] != NULL;
		word = p.words[i] != NULL ? i : word;
	}
	if (n != 1)
		return invalid(refusal, "exactly one of pid, pidfd, comm, unit, cgroup, container");
	if (word >= 0 && p.starttime != 0)
		return invalid(refusal, "starttime goes with pid");
	if (word >= 0)
		return select_one(selector_kinds[word], p.words[word], ret, refusal);
	int pidfd = -EBADF;
	if (p.pidfd >= 0) {
		pidfd = sw_connection_take_fd(call->connection, p.pidfd);
		p.pid = pidfd >= 0 ? pid_of_pidfd(pidfd) : 0;
		if (p.pid <= 0)
			sw_close_p(&pidfd);
		if (p.pid < 0)
			return sw_refuse(refusal, SW_INTERFACE ".NoSuchProcess", NULL,
					 "no such process");
		if (p.pid == 0)
			return invalid(refusal, "no pidfd of a running process came with the call");
	}
	return sw_found_init(ret, (pid_t) p.pid, (uint64_t) p.starttime, pidfd, refusal);
}

bool sw_target_take(struct sw_call *call, struct json_object *target, struct sw_found *ret,
		    struct sw_refusal *refusal)
{
	const struct sw_methods *methods = call->context;
	const char *bad = NULL;
	if (resolve(call, target, ret, refusal, &bad) &&
	    sw_target_permitted(methods->jobs, &call->connection->caller, ret, refusal))
		return true;
	if (bad != NULL)
		sw_call_invalid(call, bad);
	else
		sw_call_refuse(call, refusal);
	return false;
}

int sw_target_select(const char *kind, const char *value, size_t max, pid_t *ret_pids,
		     size_t *ret_n, struct sw_error *err)
{
	if (strcmp(kind, "pid") == 0) {
		char *end;
		long pid = strtol(value, &end, 10);
		if (value[0] < '0' || value[0] > '9' || *end != '\0' || pid <= 0 || pid > INT32_MAX)
			return sw_fail(err, SW_E_INVALID, "%s: not a process id", value);
		ret_pids[0] = (pid_t) pid;
		*ret_n = 1;
		return 0;
	}
	for (int i = 0; selectors[i] != NULL; i++) {
		if (strcmp(kind, selectors[i]) != 0)
			continue;
		sw_cleanup(sw_free_p) struct sw_selected *found = NULL;
		size_t n = 0;
		int r = sw_select_processes(selector_kinds[i], value, &found, &n, err);
		if (r < 0)
			return r;
		if (n == 0)
			return sw_fail(err, SW_E_NOT_FOUND, "no process matches");
		*ret_n = n < max ? n : max;
		for (size_t j = 0; j < *ret_n; j++)
			ret_pids[j] = found[j].pid;
		return 0;
	}
	return sw_fail(err, SW_E_INVALID, "%s: not a kind of target", kind);
}
