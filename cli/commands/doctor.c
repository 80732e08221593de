/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which permission check refuses a capture, and what to do about it. */
#include "cleanup.h"
#include "commands/commands.h"
#include "common/complain.h"
#include "common/json_text.h"
#include "doctor/verdict.h"
#include "errors.h"
#include "run/select.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

enum { STATUS_FILE_MAX = 64 * 1024 };

/* The kernel's own rule: that file opens with the right that ptrace needs (fs/proc/base.c,
 * mem_open(): PTRACE_MODE_ATTACH). A process without memory gives none: that is not a refusal. */
static int probe(int proc_fd)
{
	sw_cleanup(sw_close_p) int fd = openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	return fd < 0 && (errno == EACCES || errno == EPERM) ? errno : 0;
}

static int open_target(struct sw_doctor *d, struct sw_error *err)
{
	char path[32];
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) d->pid);
	d->proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->proc_fd < 0 && d->self.size == 0)
		return 0; /* no /proc: a check of the machine says so */
	if (d->proc_fd < 0 && kill(d->pid, 0) < 0 && errno == ESRCH)
		return sw_fail(err, SW_E_NO_PROCESS, "no such process");
	if (d->proc_fd < 0)
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "it exists, but /proc hides it (mount option hidepid)");
	d->probe_errno = probe(d->proc_fd);
	if (sw_text_read_at(&d->other, d->proc_fd, "status", STATUS_FILE_MAX) < 0 ||
	    d->other.size == 0)
		return sw_fail(err, SW_E_EXITED, "it ended meanwhile");
	return 0;
}

static void open_self(struct sw_doctor *d)
{
	(void) sw_text_read_at(&d->self, AT_FDCWD, "/proc/self/status", STATUS_FILE_MAX);
	int64_t effective = sw_status_field(&d->self, "CapEff", 16);
	int64_t bounding = sw_status_field(&d->self, "CapBnd", 16);
	d->cap_eff = effective < 0 ? 0 : (uint64_t) effective; /* without /proc: nothing is known */
	d->cap_bnd = bounding < 0 ? 0 : (uint64_t) bounding;
}

static void put_text(const struct sw_doctor *d, const char *name, struct sw_text *ret)
{
	sw_text_append(ret, d->report.data, d->report.size);
	if (d->n_refused > 0)
		sw_text_printf(ret, "\n%s cannot be captured: %u refused\n", name, d->n_refused);
	else
		sw_text_printf(ret, "\n%s can be captured%s\n", name,
			       d->is_busy ? ", but this machine is busy: threads that have to be "
					    "stopped may not stop within --max-stop"
					  : "");
	ret->failed |= d->report.failed;
}

static void put_json(const struct sw_doctor *d, const char *name, struct sw_text *ret)
{
	sw_text_printf(ret, "{\"schema\":\"snapwalk.doctor/1\"");
	if (d->pid != 0)
		sw_text_printf(ret, ",\"pid\":%d", (int) d->pid);
	sw_json_text_member(ret, "name", name);
	sw_text_printf(ret, ",\"allowed\":%s,\"refused\":%u,\"busy\":%s,\"checks\":[",
		       d->n_refused == 0 ? "true" : "false", d->n_refused,
		       d->is_busy ? "true" : "false");
	sw_text_append(ret, d->report.data, d->report.size);
	sw_text_printf(ret, "]}\n");
	ret->failed |= d->report.failed;
}

static int examine(struct sw_doctor *d, const char *name)
{
	struct sw_error err = {0};
	open_self(d);
	if (d->pid != 0 && open_target(d, &err) < 0)
		return sw_complain_error(name, &err);
	sw_doctor_general(d);
	if (d->proc_fd >= 0)
		sw_doctor_target(d);
	struct sw_text text = {0};
	if (d->json)
		put_json(d, name, &text);
	else
		put_text(d, name, &text);
	if (!text.failed)
		sw_print_visible(stdout, text.data);
	else
		(void) sw_fail_nomem(&err);
	sw_text_deinit(&text);
	if (err.code != 0)
		return sw_complain_error("snapwalk", &err);
	return d->n_refused > 0 ? SW_STATUS_DENIED : SW_STATUS_COMPLETE;
}

int sw_cmd_doctor(const struct sw_options *options)
{
	struct sw_doctor d = {.proc_fd = -EBADF, .json = options->format == SW_FORMAT_JSON};
	struct sw_subject subject = {0};
	const char *name = geteuid() == 0 ? "every process" : "a process of this user";
	if (options->n_wants > 0) {
		int status = sw_select_one(options, &subject);
		if (status != SW_STATUS_COMPLETE)
			return status;
		d.pid = subject.pid;
		name = subject.name;
	}
	int status = examine(&d, name);
	sw_close_p(&d.proc_fd);
	sw_text_deinit(&d.self);
	sw_text_deinit(&d.other);
	sw_text_deinit(&d.report);
	return status;
}
