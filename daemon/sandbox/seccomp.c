/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sandbox/seccomp.h"
#include "cleanup.h"
#include "errors.h"

#include <asm/ioctls.h>
#include <confine/calls.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/*
 * Calls that would help who takes over the spawner or a worker, which have capabilities until they have captured:
 * sockets of any kind but the streams of workers, making or changing files. They kill, while others that are not
 * allowed fail with EPERM, as libraries try things that they can do without.
 */
static const uint32_t spawner_deadly[] = {
	SYS_socket,    SYS_connect,   SYS_bind,        SYS_listen,       SYS_accept,
	SYS_accept4,   SYS_creat,     SYS_open,        SYS_mknod,        SYS_mknodat,
	SYS_mkdir,     SYS_mkdirat,   SYS_rmdir,       SYS_rename,       SYS_renameat,
	SYS_renameat2, SYS_link,      SYS_linkat,      SYS_symlink,      SYS_symlinkat,
	SYS_unlink,    SYS_unlinkat,  SYS_truncate,    SYS_chmod,        SYS_fchmodat,
	SYS_chown,     SYS_lchown,    SYS_fchown,      SYS_fchownat,     SYS_setxattr,
	SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
	SYS_utimensat, SYS_clone, /* with new namespaces */
};

/* Calls of the spawner and of its workers until they have captured, beside those of captures: streams, workers and
 * parsers, events of the kernel, and confining themselves further. */
static const uint32_t spawner_calls[] = {
	SYS_pidfd_open,
	SYS_signalfd4,
	SYS_pipe2,
	SYS_dup,
	SYS_dup2,
	SYS_dup3,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_shutdown,
	SYS_stat,
	SYS_lstat,
	SYS_getcwd,
	SYS_getuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getresuid,
	SYS_getresgid,
	SYS_getgroups,
	SYS_sched_getaffinity,
	SYS_set_tid_address,
	SYS_ftruncate,
	SYS_perf_event_open,
	SYS_capget,
	SYS_landlock_create_ruleset,
	SYS_landlock_add_rule,
	SYS_landlock_restrict_self,
};

static const struct sw_filter_rule spawner_rules[] = {
	/* Asked for who is at the other end of a unix socket (libwalk/waits/sockets.c), where it goes on without an
	 * answer. So does the unit's RestrictAddressFamilies=. */
	{.call = SYS_socket,
	 .action = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
	 .mask = UINT32_MAX,
	 .value = AF_NETLINK},
	SW_FILTER_ALLOWED(SYS_socketpair, 0, AF_UNIX),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_SET_NAME),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_SET_DUMPABLE),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_GET_DUMPABLE),
	SW_FILTER_ALLOWED(SYS_prlimit64, 0, 0),
	SW_FILTER_ALLOWED(SYS_ioctl, 1, PERF_EVENT_IOC_SET_OUTPUT),
};

/* Commands of bpf(2) that load the programs of events and attach them to trace points: libwalk/iterate/calls.c and the loaders of
 * light skeletons (libbpf's skel_internal.h). */
static const struct sw_filter_rule programs_rules[] = {
	SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_MAP_CREATE),
	SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_MAP_UPDATE_ELEM),
	SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_MAP_FREEZE),
	SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_PROG_LOAD),
	SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_PROG_RUN),
	SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_BTF_LOAD),
	SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_RAW_TRACEPOINT_OPEN),
};

/*
 * Calls of the broker after its start, beside those that all have in common: its socket and its clients, the spawner,
 * the store, the journal, and what looking users up needs of libraries.
 */
static const uint32_t broker_calls[] = {
	/* the loop */
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_wait,
	SYS_epoll_pwait,
	SYS_epoll_pwait2,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_signalfd4,
	SYS_eventfd2,
	SYS_setitimer,
	SYS_rt_sigaction,
	SYS_rt_sigtimedwait,
	/* clients, the spawner, the journal */
	SYS_accept4,
	SYS_connect,
	SYS_sendto,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_shutdown,
	SYS_getsockopt,
	SYS_getsockname,
	SYS_getpeername,
	SYS_pipe2,
	SYS_dup,
	SYS_dup3,
	SYS_close_range,
	/* processes */
	SYS_pidfd_open,
	SYS_waitid,
	SYS_wait4,
	/* the store */
	SYS_stat,
	SYS_lstat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_access,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_getcwd,
	SYS_mkdir,
	SYS_mkdirat,
	SYS_unlink,
	SYS_unlinkat,
	SYS_rename,
	SYS_renameat,
	SYS_renameat2,
	SYS_fchmod,
	SYS_fsync,
	SYS_fdatasync,
	SYS_ftruncate,
	SYS_pwrite64,
	SYS_memfd_create,
	/* who we are */
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getresuid,
	SYS_getresgid,
	SYS_getgroups,
	SYS_getrusage,
	SYS_sched_getaffinity,
	SYS_set_tid_address,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_umask,
};

/* Options of sockets: SO_PEEK_OFF for what clients send; the others for messages to systemd and the journal, and for
 * whom libraries ask about users. */
static const int broker_options[] = {
	SO_PEEK_OFF, SO_SNDTIMEO, SO_RCVTIMEO, SO_SNDBUF, SO_RCVBUF, SO_PASSCRED,
};

static const struct sw_filter_rule broker_rules[] = {
	SW_FILTER_ALLOWED(SYS_socket, 0, AF_UNIX),
	SW_FILTER_ALLOWED(SYS_socketpair, 0, AF_UNIX),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_SET_NAME),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_GET_NAME),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_GET_DUMPABLE),
	SW_FILTER_ALLOWED(SYS_prlimit64, 0, 0),
	SW_FILTER_ALLOWED(SYS_ioctl, 1, TCGETS),
	SW_FILTER_ALLOWED(SYS_ioctl, 1, FIONREAD),
	/* Libraries that look users up are loaded: memory is executable or writable. */
	{.call = SYS_mmap, .action = SECCOMP_RET_ALLOW, .argument = 2, .mask = PROT_WRITE},
	{.call = SYS_openat, .action = SECCOMP_RET_ALLOW},
};

enum {
	NEW_NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
			 CLONE_NEWUTS | CLONE_NEWCGROUP,
};

int sw_seccomp_broker(struct sw_error *err)
{
	static const struct sw_filter_group calls = {broker_calls, SW_ARRAY_SIZE(broker_calls),
						     SECCOMP_RET_ALLOW};
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	sw_calls_add_own(&f);
	sw_calls_add_reading(&f);
	sw_filter_add_group(&f, &calls);
	sw_filter_add_rules(&f, broker_rules, SW_ARRAY_SIZE(broker_rules));
	sw_calls_add_socket_options(&f, SOL_SOCKET, broker_options, SW_ARRAY_SIZE(broker_options));
	sw_filter_allow_without(&f, SYS_clone, 0, NEW_NAMESPACES);
	sw_calls_add_end(&f); /* of a worker */
	sw_calls_add_abort(&f);
	sw_calls_refuse_clone3(&f);
	sw_calls_add_harmful(&f);
	int r = sw_filter_end(&f, SECCOMP_RET_ERRNO | EPERM, err);
	return r < 0 ? r : sw_filter_enter(&f, err);
}

int sw_seccomp_no_programs(struct sw_error *err)
{
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	sw_calls_add_capture_bpf(&f);
	int r = sw_filter_end(&f, SECCOMP_RET_ALLOW, err);
	return r < 0 ? r : sw_filter_enter(&f, err);
}

int sw_seccomp_prober(struct sw_error *err)
{
	static const uint32_t prober_calls[] = {SYS_recvmsg, SYS_sendmsg, SYS_perf_event_open};
	static const struct sw_filter_group calls = {prober_calls, SW_ARRAY_SIZE(prober_calls),
						     SECCOMP_RET_ALLOW};
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	sw_filter_add_group(&f, &calls);
	sw_calls_add_own(&f);
	sw_calls_add_abort(&f);
	sw_calls_add_machine(&f, SECCOMP_RET_KILL_PROCESS);
	sw_calls_add_harmful(&f);
	int r = sw_filter_end(&f, SECCOMP_RET_ERRNO | EPERM, err);
	return r < 0 ? r : sw_filter_enter(&f, err);
}

int sw_seccomp_spawner(bool programs, bool probes, struct sw_error *err)
{
	static const struct sw_filter_group deadly = {spawner_deadly, SW_ARRAY_SIZE(spawner_deadly),
						      SECCOMP_RET_KILL_PROCESS},
					    calls = {spawner_calls, SW_ARRAY_SIZE(spawner_calls),
						     SECCOMP_RET_ALLOW};
	const uint32_t making = O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
	static const struct sw_filter_rule enables = SW_FILTER_ALLOWED(SYS_ioctl, 1,
								       PERF_EVENT_IOC_ENABLE),
					   looks = {.call = SYS_clock_getres,
						    .action = SECCOMP_RET_ALLOW};
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	if (probes) { /* libwalk/events/uprobes.c, and the CPU time of a process: clock_getcpuclockid(3) */
		sw_filter_add(&f, &enables);
		sw_filter_add(&f, &looks);
	}
	if (programs) /* before the rule of captures that refuses them */
		sw_filter_add_rules(&f, programs_rules, SW_ARRAY_SIZE(programs_rules));
	sw_calls_add_capture(&f);
	sw_calls_add_own(&f);
	sw_calls_add_reading(&f);
	sw_filter_add_rules(&f, spawner_rules, SW_ARRAY_SIZE(spawner_rules));
	sw_calls_add_abort(&f);
	sw_filter_add_group(&f, &calls);
	sw_filter_allow_without(&f, SYS_clone, 0, NEW_NAMESPACES);
	sw_filter_add_bits(&f, SYS_openat, 2, making, SECCOMP_RET_KILL_PROCESS);
	sw_calls_add_machine(&f, SECCOMP_RET_KILL_PROCESS);
	sw_filter_add_group(&f, &deadly);
	sw_calls_add_harmful(&f);
	int r = sw_filter_end(&f, SECCOMP_RET_ERRNO | EPERM, err);
	return r < 0 ? r : sw_filter_enter(&f, err);
}
