/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Run a program under a kernel that lacks system calls: they fail with ENOSYS, or as is said.
 *
 *	without CALL[=EPERM|EINVAL|ENOTTY]... -- PROGRAM [ARGUMENT...]
 */
#include <err.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	{"process_vm_readv", SYS_process_vm_readv},
	{"pidfd_open", SYS_pidfd_open},
	{"pidfd_send_signal", SYS_pidfd_send_signal},
	{"sched_setscheduler", SYS_sched_setscheduler},
	{"sched_setattr", SYS_sched_setattr},
	{"openat2", SYS_openat2},
	{"statx", SYS_statx},
	{"memfd_create", SYS_memfd_create},
	{"close_range", SYS_close_range},
	{"perf_event_open", SYS_perf_event_open},
	{"madvise", SYS_madvise},
	{"mlock", SYS_mlock},
	{"ptrace", SYS_ptrace},
	{"bpf", SYS_bpf},
	{"ioctl", SYS_ioctl},
};

static const struct {
	const char *name;
	int number;
} errors[] = {{"EPERM", EPERM}, {"EINVAL", EINVAL}, {"ENOTTY", ENOTTY}};

enum { CALLS_MAX = 16 };

static unsigned number_of(const char *word)
{
	size_t length = strcspn(word, "=");
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strlen(calls[i].name) == length && strncmp(calls[i].name, word, length) == 0)
			return calls[i].number;
	errx(2, "without: unknown call '%s'", word);
}

static int error_of(const char *word)
{
	const char *name = strchr(word, '=');
	if (name == NULL)
		return ENOSYS;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (strcmp(errors[i].name, name + 1) == 0)
			return errors[i].number;
	errx(2, "without: unknown error '%s'", word);
}

int main(int argc, char **argv)
{
	struct sock_filter filter[1 + 2 * CALLS_MAX + 1] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned short n = 1;
	int i = 1;
	for (; i < argc && strcmp(argv[i], "--") != 0 && i <= CALLS_MAX; i++) {
		int error = error_of(argv[i]);
		filter[n++] = (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							    number_of(argv[i]), 0, 1);
		filter[n++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K,
							    SECCOMP_RET_ERRNO | (unsigned) error);
	}
	filter[n++] = (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (i + 1 >= argc)
		errx(2, "usage: without CALL[=ERROR]... -- PROGRAM [ARGUMENT...]");
	struct sock_fprog program = {n, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		err(1, "seccomp");
	(void) execv(argv[i + 1], argv + i + 1);
	err(1, "%s", argv[i + 1]);
}
