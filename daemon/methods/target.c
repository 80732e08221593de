/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Target of a call, or of a rule -> processes. */
#include "methods/target.h"
#include "methods/context.h"
#include "rules/match.h"
#include "rpc/params.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/select.h>

#include <fcntl.h>
#include <limits.h>
#include <string.h>

enum {
	FDINFO_TEXT_MAX = 4096,
	WORD_MAX = 4096,
	PULL_PIDS_MAX = SW_SELECT_MAX /* of one section */
};

bool sw_methods_may_trigger(const struct sw_methods *methods, const struct sw_caller *caller)
{
	return sw_caller_is_privileged(methods->jobs->config, caller) ||
	       (methods->trigger_uid != (uid_t) -1 && caller->uid == methods->trigger_uid);
}

bool sw_methods_may_see(const struct sw_methods *methods, const struct sw_caller *caller,
			const struct sw_subject *subject)
{
	const enum sw_deny_rule rule = sw_authorize(methods->jobs->config, caller, subject);
	const bool ships = methods->ship_uid != (uid_t) -1 && caller->uid == methods->ship_uid &&
			   !caller->borrowed_ids;
	return rule == SW_DENY_NONE || (ships && rule != SW_DENY_LIST);
}

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

static bool ambiguous(struct sw_refusal *refusal, const pid_t *pids, size_t n)
{
	struct json_object *array = json_object_new_array();
	for (size_t i = 0; array != NULL && i < n; i++)
		(void) json_object_array_add(array, json_object_new_int(pids[i])); /* fewer */
	return sw_refuse(refusal, SW_INTERFACE ".Ambiguous",
			 sw_object_add(json_object_new_object(), "pids", array),
			 "%zu processes match", n);
}

/* Refuses a target that is not given in one of the ways that there are. Returns false. */
static bool invalid(struct sw_refusal *refusal, const char *detail)
{
	return sw_refuse(refusal, SW_INTERFACE ".InvalidTarget", sw_object_string("detail", detail),
			 "%s", detail);
}

static bool no_match(struct sw_refusal *refusal, const char *why)
{
	return sw_refuse(refusal, SW_INTERFACE ".NoMatch", sw_object_string("detail", why), "%s",
			 why);
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
		return no_match(refusal, "no process matches");
	if (n > 1) {
		pid_t pids[SW_SELECT_MAX];
		for (size_t i = 0; i < n; i++)
			pids[i] = found[i].pid;
		return ambiguous(refusal, pids, n);
	}
	return sw_found_init(ret, found[0].pid, 0, -EBADF, refusal);
}

struct target_params {
	int64_t pid, starttime, pidfd;
	const char *words[4], *pull;
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
	{"pull", SW_PARAM_STRING, offsetof(struct target_params, pull), .max = 64},
};

/* ---- processes that may be pulled ------------------------------------------------------------- */

/* Adds those that are not there. -SW_E_LIMIT. */
static int pids_add(pid_t *pids, size_t *n, const pid_t *more, size_t n_more, struct sw_error *err)
{
	for (size_t i = 0; i < n_more; i++) {
		bool known = false;
		for (size_t j = 0; j < *n; j++)
			known |= pids[j] == more[i];
		if (known)
			continue;
		if (*n == PULL_PIDS_MAX)
			return sw_fail(err, SW_E_LIMIT, "more than %d processes match",
				       PULL_PIDS_MAX);
		pids[(*n)++] = more[i];
	}
	return 0;
}

/* The processes that the words of a section name, each once. -SW_E_LIMIT. */
static int pull_select(const struct sw_rule *pull, pid_t *ret_pids, size_t *ret_n,
		       struct sw_error *err)
{
	*ret_n = 0;
	for (char **word = pull->targets; *word != NULL; word++) {
		pid_t pids[PULL_PIDS_MAX];
		size_t n_pids = 0;
		/* A word that names none, or is not clear: the others may name some. */
		int r = sw_target_select_word(*word, PULL_PIDS_MAX, pids, &n_pids, err);
		if (r == 0)
			r = pids_add(ret_pids, ret_n, pids, n_pids, err);
		if (r == -SW_E_LIMIT)
			return r;
	}
	return 0;
}

static const struct sw_rule *pull_find(const struct sw_methods *methods, const char *name)
{
	for (size_t i = 0; i < methods->rules.n_pulls; i++)
		if (strcmp(methods->rules.pulls[i].name, name) == 0)
			return &methods->rules.pulls[i];
	return NULL;
}

bool sw_target_exe_allowed(const struct sw_rule *rule, const struct sw_found *found)
{
	char path[PATH_MAX];
	return found->creds.exe[0] == '\0' || sw_rule_exe_path(rule, path, sizeof(path)) ||
	       sw_rule_exe_allowed(rule, found->creds.exe);
}

/* pid 0: the only one. */
static bool pull_one(const struct sw_rule *pull, pid_t pid, uint64_t starttime,
		     struct sw_found *ret, struct sw_refusal *refusal)
{
	pid_t pids[PULL_PIDS_MAX];
	size_t n, i = 0;
	struct sw_error err = {0};
	if (pull_select(pull, pids, &n, &err) < 0)
		return invalid(refusal, err.message);
	if (pid == 0 && n > 1)
		return ambiguous(refusal, pids, n);
	while (i < n && pid != 0 && pids[i] != pid)
		i++;
	if (i == n)
		return no_match(refusal, "no process matches");
	if (!sw_found_init(ret, pids[i], starttime, -EBADF, refusal))
		return false;
	if (sw_target_exe_allowed(pull, ret))
		return true;
	sw_found_deinit(ret);
	return sw_refuse_denied(refusal, pids[i], SW_DENY_LIST);
}

/* The sections act with the daemon's own authority, for those who may send alerts: only Deny= and what a section says
 * limits them. */
static bool pull_take(struct sw_call *call, const struct target_params *p, struct sw_taken *ret,
		      struct sw_refusal *refusal)
{
	const struct sw_methods *methods = call->context;
	const struct sw_caller *caller = &call->connection->caller;
	if (!sw_methods_may_trigger(methods, caller)) {
		methods->jobs->counters->denied_total++;
		return sw_refuse(refusal, SW_INTERFACE ".NotPermitted",
				 sw_object_string("rule", sw_deny_name(SW_DENY_ROOT_ONLY)),
				 "not permitted");
	}
	const struct sw_rule *pull = pull_find(methods, p->pull);
	if (pull == NULL)
		return no_match(refusal, "there is no section [pull NAME] of that name");
	ret->pull = pull;
	ret->caller.privileged = ret->caller.same_user_ns = true;
	return pull_one(pull, (pid_t) p->pid, (uint64_t) p->starttime, &ret->found, refusal);
}

/* ---- a call's target -------------------------------------------------------------------------- */

/* False: refused. *ret_bad: a parameter is wrong, refusal is not filled. */
static bool resolve(struct sw_call *call, struct json_object *target, struct sw_taken *taken,
		    struct sw_refusal *refusal, const char **ret_bad)
{
	struct target_params p = {.pidfd = -1};
	struct sw_found *ret = &taken->found;
	if (!sw_params_read(target, target_table, SW_ARRAY_SIZE(target_table), &p, ret_bad))
		return false;
	int n = (p.pid != 0) + (p.pidfd >= 0), word = -1;
	for (int i = 0; selectors[i] != NULL; i++) {
		n += p.words[i] != NULL;
		word = p.words[i] != NULL ? i : word;
	}
	if (p.pull != NULL && word < 0 && p.pidfd < 0)
		return pull_take(call, &p, taken, refusal);
	if (n != 1 || p.pull != NULL)
		return invalid(refusal,
			       "exactly one of pid, pidfd, comm, unit, cgroup, container, or pull");
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

void sw_taken_deinit(struct sw_taken *taken)
{
	sw_found_deinit(&taken->found);
}

bool sw_taken_is_own(const struct sw_taken *taken, struct sw_refusal *refusal)
{
	return taken->pull == NULL ||
	       invalid(refusal, "pull is a target of Capture and Profile only");
}

void sw_taken_submit(struct sw_taken *taken, const struct sw_config *config,
		     struct sw_submission *submission)
{
	submission->caller = &taken->caller;
	submission->found = &taken->found;
	if (taken->pull == NULL)
		return;
	submission->require_exe = taken->pull->require_exe;
	submission->fresh = true; /* what others had captured was not compared with RequireExe= */
	submission->pulled = true;
	/* Stopping more than the configuration says takes a right to the process, which the caller need not have. */
	if (submission->options.stop == SW_STOP_ALWAYS)
		submission->options.stop = config->stop;
	submission->store = false; /* who fetches it keeps it */
}

bool sw_target_take(struct sw_call *call, struct json_object *target, struct sw_taken *ret,
		    struct sw_refusal *refusal)
{
	const struct sw_methods *methods = call->context;
	const char *bad = NULL;
	*ret = (struct sw_taken){.found = {.pidfd = -EBADF}, .caller = call->connection->caller};
	if (resolve(call, target, ret, refusal, &bad) &&
	    sw_target_permitted(methods->jobs, &ret->caller, &ret->found, refusal))
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

int sw_target_select_word(const char *word, size_t max, pid_t *ret_pids, size_t *ret_n,
			  struct sw_error *err)
{
	char kind[16];
	const size_t length = strcspn(word, ":");
	(void) snprintf(kind, sizeof(kind), "%.*s", (int) length, word); /* fits: parsed */
	return sw_target_select(kind, word + length + 1, max, ret_pids, ret_n, err);
}
