/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process that is to be captured, held by a pidfd. */
#include "jobs/found.h"
#include "jobs/state.h"
#include "rpc/reply.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <poll.h>
#include <string.h>
#include <sys/syscall.h>

enum { STAT_TEXT_MAX = 4096 };

void sw_found_deinit(struct sw_found *found)
{
	sw_close_p(&found->pidfd);
}

/* Field 22 of /proc/PID/stat; state is field 3, flags are field 9. */
static bool stat_read(int proc_fd, char *ret_state, unsigned *ret_flags, uint64_t *ret_starttime)
{
	struct sw_text text = {0};
	unsigned long long starttime = 0;
	bool ok = sw_text_read_at(&text, proc_fd, "stat", STAT_TEXT_MAX) == 0 && text.size > 0;
	const char *end = ok ? strrchr(text.data, ')') : NULL;
	ok = end != NULL && sscanf(end + 1,
				   " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d"
				   " %*d %*d %*d %llu",
				   ret_state, ret_flags, &starttime) == 3;
	*ret_starttime = starttime;
	sw_text_deinit(&text);
	return ok;
}

static bool pidfd_is_dead(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	return poll(&p, 1, 0) != 0;
}

static bool no_process(struct sw_refusal *refusal, pid_t pid)
{
	return sw_refuse(refusal, SW_INTERFACE ".NoSuchProcess", sw_object_int("pid", pid),
			 "no such process");
}

static bool not_traceable(struct sw_refusal *refusal, pid_t pid, const char *why)
{
	return sw_refuse(refusal, SW_INTERFACE ".NotTraceable",
			 sw_object_add(sw_object_int("pid", pid), "why",
				       json_object_new_string(why)),
			 "not traceable: %s", why);
}

/* The process is gone, unless errno says that we could not look. */
static bool not_found(struct sw_refusal *refusal, pid_t pid)
{
	static const char why[] = "out of descriptors or memory";
	if (sw_errno_is_shortage(errno))
		return sw_refuse(refusal, SW_INTERFACE ".Failed", sw_object_string("detail", why),
				 why);
	return no_process(refusal, pid);
}

/* The pidfd was opened before all that is read by the pid, and lives after it: both are the same. */
static bool found_read(struct sw_found *found, uint64_t starttime, struct sw_refusal *refusal)
{
	enum { PF_KTHREAD = 0x00200000 }; /* include/linux/sched.h, Linux 6.1 */
	char state;
	unsigned flags;
	struct sw_error err = {0};
	errno = 0;
	sw_cleanup(sw_close_p) int proc_fd = sw_target_proc_open(found->pid);
	if (proc_fd < 0 || !stat_read(proc_fd, &state, &flags, &found->starttime))
		return not_found(refusal, found->pid);
	if (starttime != 0 && starttime != found->starttime)
		return sw_refuse(refusal, SW_INTERFACE ".ProcessChanged",
				 sw_object_int("pid", found->pid),
				 "another process has this id now");
	if (found->pid == getpid())
		return not_traceable(refusal, found->pid, "self");
	if (flags & PF_KTHREAD)
		return not_traceable(refusal, found->pid, "kernel_thread");
	int r = sw_target_creds_read(proc_fd, &found->creds, &err);
	if (r == -SW_E_NOT_PERMITTED)
		return sw_refuse_denied(refusal, found->pid, SW_DENY_KERNEL);
	if (r == -SW_E_IO)
		return not_found(refusal, found->pid);
	/* A zombie leader has readable pidfds before its last thread ends: the worker knows more. */
	if (r < 0 || (state != 'Z' && pidfd_is_dead(found->pidfd)))
		return no_process(refusal, found->pid);
	return true;
}

/* A process that ends, and one that has ended and is not waited for, shows nobody whether it protected itself. */
static bool is_alive(int proc_fd, uint64_t starttime)
{
	enum { PF_EXITING = 0x00000004 }; /* include/linux/sched.h, Linux 6.1 */
	char state;
	unsigned flags;
	uint64_t now;
	return stat_read(proc_fd, &state, &flags, &now) && now == starttime && state != 'Z' &&
	       state != 'X' && (flags & PF_EXITING) == 0;
}

bool sw_found_rights_now(pid_t pid, uint64_t starttime, struct sw_target_rights *ret)
{
	struct sw_target_creds creds;
	sw_cleanup(sw_close_p) int proc_fd = sw_target_proc_open(pid);
	if (proc_fd < 0 || sw_target_creds_read(proc_fd, &creds, NULL) < 0 ||
	    !is_alive(proc_fd, starttime))
		return false;
	*ret = creds.rights;
	return true;
}

bool sw_found_init(struct sw_found *ret, pid_t pid, uint64_t starttime, int pidfd,
		   struct sw_refusal *refusal)
{
	*ret = (struct sw_found){.pid = pid, .pidfd = pidfd};
	/* glibc 2.36 has a wrapper; older ones and musl do not. */
	if (pidfd < 0)
		ret->pidfd = (int) syscall(SYS_pidfd_open, pid, 0);
	if (ret->pidfd < 0)
		return not_found(refusal, pid);
	bool ok = found_read(ret, starttime, refusal);
	if (!ok)
		sw_found_deinit(ret);
	return ok;
}

bool sw_target_permitted(struct sw_jobs *jobs, const struct sw_caller *caller,
			 const struct sw_found *found, struct sw_refusal *refusal)
{
	const struct sw_subject subject = sw_target_subject(&found->creds);
	enum sw_deny_rule rule = sw_authorize(jobs->config, caller, &subject);
	if (rule == SW_DENY_NONE)
		return true;
	jobs->counters->denied_total++;
	return sw_refuse_denied(refusal, found->pid, rule);
}
