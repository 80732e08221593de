/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which process it is, whether the caller may capture it, and what to report when not. */
#include "worker/target.h"
#include "policy/program.h"
#include "cleanup.h"
#include "errors.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

enum { LINE_MAX_BYTES = 256, LINES_MAX = 256 };

/* The number after "key:" in a file of /proc with a line for each key; fallback when it is not
 * there. */
static long long proc_number(const char *path, const char *key, long long fallback)
{
	char line[LINE_MAX_BYTES];
	size_t length = strlen(key);
	sw_cleanup(sw_fclose_p) FILE *f = fopen(path, "re");
	for (int i = 0; f != NULL && i < LINES_MAX && fgets(line, sizeof(line), f) != NULL; i++)
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			return strtoll(line + length + 1, NULL, 10);
	return fallback;
}

/* proc(5), fdinfo of a pidfd: "Pid:" is -1 when the process was reaped, 0 when it is not in our
 * pid namespace. */
static pid_t pidfd_pid(int pidfd)
{
	char path[64];
	(void) snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd); /* fits */
	return (pid_t) proc_number(path, "Pid", -1);
}

static enum sw_deny_rule authorize(const struct sw_worker *worker,
				   const struct sw_target_creds *creds)
{
	const struct sw_subject subject = sw_target_subject(creds);
	return sw_authorize(worker->config, &worker->caller, &subject);
}

/* The target has executed another program since its file was compared with those of Deny=. */
static bool is_another_program(const struct sw_worker *worker)
{
	char **deny = worker->config->deny;
	while (deny != NULL && *deny != NULL && (*deny)[0] != '/')
		deny++;
	return deny != NULL && *deny != NULL && worker->program[0] != '\0' &&
	       strcmp(worker->program, worker->creds.exe) != 0;
}

bool sw_worker_runs_required(const struct sw_worker *worker)
{
	return worker->program_is_required && strcmp(worker->program, worker->creds.exe) == 0;
}

bool sw_worker_permit(void *arg, int task_fd)
{
	struct sw_worker *worker = arg;
	int r = sw_target_creds_read(task_fd, &worker->creds, NULL);
	worker->permit_code = -r;
	worker->rule = SW_DENY_KERNEL;
	if (r == 0)
		worker->rule = authorize(worker, &worker->creds);
	else
		worker->creds = (struct sw_target_creds){0};
	if (worker->rule == SW_DENY_NONE &&
	    (worker->program_is_listed || is_another_program(worker)))
		worker->rule = SW_DENY_LIST;
	return worker->rule == SW_DENY_NONE;
}

bool sw_worker_may_name(void *arg, int proc_fd)
{
	struct sw_worker *worker = arg;
	struct sw_target_creds creds;
	return sw_target_creds_read(proc_fd, &creds, NULL) == 0 &&
	       authorize(worker, &creds) == SW_DENY_NONE &&
	       sw_rights_imply(&worker->creds.rights, &creds.rights);
}

/*
 * A first look, so that no process is stopped that may not be captured; it also makes that in the
 * stop a quick one, with code and memory at hand. It decides only by what a leader that has ended
 * still shows: its ids and program, but not whether the process protects itself.
 */
int sw_worker_look(struct sw_worker *worker, pid_t pid, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd = sw_target_proc_open(pid);
	worker->program[0] = '\0';
	worker->program_is_listed = fd >= 0 && sw_program_is_listed(fd, worker->config->deny);
	worker->program_is_required = fd >= 0 && sw_program_is(fd, worker->request.required);
	if (fd >= 0 && !sw_worker_permit(worker, fd) &&
	    (worker->rule == SW_DENY_LIST || worker->rule == SW_DENY_OWNER))
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "process %d may not be captured by the one who asks", (int) pid);
	memcpy(worker->program, worker->creds.exe, sizeof(worker->program));
	worker->rule = SW_DENY_NONE;
	worker->permit_code = 0;
	sw_close_p(&worker->program_fd); /* of the capture before */
	worker->program_fd = fd >= 0 ? sw_program_fd(fd) : -EBADF;
	return 0;
}

int sw_worker_target_open(struct sw_worker *worker, struct sw_target **ret, struct sw_error *err)
{
	const struct sw_worker_request *request = &worker->request;
	pid_t pid = request->pid;
	struct sw_target *target = NULL;
	if (worker->target_pidfd >= 0) {
		pid = pidfd_pid(worker->target_pidfd);
		if (pid <= 0)
			return sw_fail(err, SW_E_NO_PROCESS,
				       "the process of the pidfd has exited, or is none of this "
				       "pid namespace");
	}
	int r = sw_target_open(pid, &target, err);
	if (r < 0)
		return r;
	/* As long as it was not reaped its number cannot mean another process. */
	struct pollfd dead = {.fd = worker->target_pidfd, .events = POLLIN};
	uint64_t starttime = sw_target_starttime(target);
	if (worker->target_pidfd >= 0 && poll(&dead, 1, 0) != 0)
		r = sw_fail(err, SW_E_EXITED, "process %d has exited", (int) pid);
	else if (request->starttime != 0 && request->starttime != starttime)
		r = sw_fail(err, SW_E_CHANGED,
			    "process %d is not the one that was meant: it started at %" PRIu64
			    ", not at %" PRIu64,
			    (int) pid, starttime, request->starttime);
	if (r == 0)
		r = sw_worker_look(worker, sw_target_pid(target), err);
	if (r < 0)
		sw_target_close(target);
	else
		*ret = target;
	return r;
}

struct sw_worker_failed sw_worker_failure(const struct sw_worker *worker, int code,
					  const struct sw_error *err)
{
	struct sw_worker_failed failed = {.code = code, .rule = SW_DENY_NONE};
	char path[64];
	_Static_assert(sizeof(failed.message) >= sizeof(err->message), "it fits");
	memcpy(failed.message, err->message, sizeof(err->message));
	if (code == SW_E_NOT_PERMITTED && worker->permit_code != 0)
		failed.code = worker->permit_code;
	if (failed.code == SW_E_NOT_PERMITTED)
		failed.rule = worker->rule != SW_DENY_NONE ? worker->rule : SW_DENY_KERNEL;
	if (failed.code == SW_E_TRACED) {
		pid_t pid = worker->target_pidfd >= 0 ? pidfd_pid(worker->target_pidfd)
						      : worker->request.pid;
		(void) snprintf(path, sizeof(path), "/proc/%d/status", (int) pid); /* fits */
		failed.tracer = (pid_t) proc_number(path, "TracerPid", 0);
	}
	return failed;
}
