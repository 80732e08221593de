/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/tasks.h"
#include "cleanup.h"
#include "errors.h"
#include "iterate/bpf.h"
#include "iterate/loading.h"
#include "iterate/pins.h"
#include "iterate/programs.h"
#include "iterate/refusal.h"

#include <fcntl.h>
#include <string.h>

static int fail(struct sw_error *err, const char *what)
{
	switch (errno) {
	case ENOMEM: return sw_fail_nomem(err);
	case EPERM:
	case EACCES:
	case ENOSYS: return sw_fail_errno(err, SW_E_NOT_PERMITTED, "%s", what);
	case ESRCH: return sw_fail_errno(err, SW_E_NO_PROCESS, "%s", what);
	/* The limit has more bytes that mean something than the kernel knows of. */
	case E2BIG:
		return sw_fail_errno(err, SW_E_UNSUPPORTED,
				     "%s: Linux 6.1 is needed to limit it to one process", what);
	default: return sw_fail_errno(err, SW_E_IO, "%s", what);
	}
}

static int link_create(int program_fd, const union bpf_iter_link_info *limit, int *ret_link_fd,
		       struct sw_error *err)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t) program_fd;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	attr.link_create.iter_info = (uintptr_t) limit;
	attr.link_create.iter_info_len = sizeof(*limit);
	int fd = sw_bpf(BPF_LINK_CREATE, &attr);
	if (fd < 0)
		return fail(err, "cannot limit the task iterator to the process");
	*ret_link_fd = fd;
	return 0;
}

int sw_iterate_load(enum sw_iterate_program program, int *ret_program_fd, struct sw_error *err)
{
	if (sw_pins_open(SW_PINS_DIRECTORY, program, ret_program_fd) == 0)
		return 0;
	int r = sw_iterate_program_load(program, ret_program_fd);
	if (r == 0)
		return 0;
	if (r == -ENOMEM)
		return sw_fail_nomem(err);
	return sw_iterate_refused(-r, NULL, err);
}

int sw_iterate_link(int program_fd, int pidfd, int *ret_link_fd, struct sw_error *err)
{
	/* 0 means "none" there. */
	sw_cleanup(sw_close_p) int copy = -EBADF;
	if (pidfd == 0) {
		copy = fcntl(pidfd, F_DUPFD_CLOEXEC, 1);
		if (copy < 0)
			return fail(err, "cannot duplicate the pidfd");
		pidfd = copy;
	}
	union bpf_iter_link_info limit;
	memset(&limit, 0, sizeof(limit));
	limit.task.pid_fd = (uint32_t) pidfd;
	return link_create(program_fd, &limit, ret_link_fd, err);
}

int sw_iterate_link_pid(int program_fd, pid_t pid, int *ret_link_fd, struct sw_error *err)
{
	/* 0 would show every thread of the machine. */
	if (pid <= 0)
		return sw_fail(err, SW_E_INVALID, "no process id: %d", (int) pid);
	union bpf_iter_link_info limit;
	memset(&limit, 0, sizeof(limit));
	limit.task.pid = (uint32_t) pid;
	return link_create(program_fd, &limit, ret_link_fd, err);
}

int sw_iterate_link_thread(int program_fd, pid_t tid, int *ret_link_fd, struct sw_error *err)
{
	if (tid <= 0)
		return sw_fail(err, SW_E_INVALID, "no thread id: %d", (int) tid);
	union bpf_iter_link_info limit;
	memset(&limit, 0, sizeof(limit));
	limit.task.tid = (uint32_t) tid;
	return link_create(program_fd, &limit, ret_link_fd, err);
}

int sw_iterate_moved_program(size_t max_threads, int *ret_program_fd, struct sw_error *err)
{
	int r = sw_iterate_moved_load(max_threads, ret_program_fd);
	if (r == -ENOMEM)
		return sw_fail_nomem(err);
	return r == 0 ? 0 : sw_iterate_refused(-r, NULL, err);
}

void sw_iterate_want_wait_keys(int fd)
{
	/* The program looks at the flag: the cheapest way to tell it something of one pass. */
	(void) fcntl(fd, F_SETFL, O_NONBLOCK); /* fails: there are no keys */
}

int sw_iterate_open(int link_fd, int *ret_fd, struct sw_error *err)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (uint32_t) link_fd;
	int fd = sw_bpf(BPF_ITER_CREATE, &attr);
	if (fd < 0)
		return fail(err, "cannot begin a pass of the task iterator");
	*ret_fd = fd;
	return 0;
}

/* A link without a limit: all processes. */
static int all_link(struct sw_iterate_loading *loading, enum sw_iterate_program program,
		    int *ret_link_fd, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int program_fd = -EBADF;
	union bpf_iter_link_info all;
	memset(&all, 0, sizeof(all));
	int r = sw_iterate_loading_end(loading, program, &program_fd, err);
	return r == 0 ? link_create(program_fd, &all, ret_link_fd, err) : r;
}

int sw_iterate_files_open(struct sw_iterate_loading *loading, int *ret_fd, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int link_fd = -EBADF;
	int r = all_link(loading, SW_ITERATE_FILES, &link_fd, err);
	return r == 0 ? sw_iterate_open(link_fd, ret_fd, err) : r;
}

int sw_iterate_locks_link(int *ret_link_fd, struct sw_error *err)
{
	return all_link(NULL, SW_ITERATE_LOCKS, ret_link_fd, err);
}
