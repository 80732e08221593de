/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/calls.h"
#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>

/* Calls of every process: memory, files that are open, its end. */
static const uint32_t
	own_calls
		[] =
			{
				SYS_read,
				SYS_pread64,
				SYS_readv,
				SYS_write,
				SYS_writev,
				SYS_close,
				SYS_fstat,
				SYS_newfstatat,
				SYS_lseek,
				SYS_munmap,
				SYS_mremap,
				SYS_brk,
				SYS_madvise,
				SYS_futex,
				SYS_getrandom,
				SYS_uname,
				SYS_getpid,
				SYS_gettid,
				SYS_clock_gettime,
				SYS_gettimeofday,
				SYS_sysinfo,
				SYS_rt_sigreturn,
				SYS_rt_sigprocmask,
				SYS_sched_yield,
				SYS_sigaltstack,
				SYS_exit,
				SYS_exit_group,
				SYS_restart_syscall,
				SYS_poll,
				SYS_ppoll,
				SYS_clock_nanosleep,
				SYS_readlink,
				SYS_readlinkat,
				SYS_statx,
				SYS_getdents64, /* of directories that Landlock lets it read */
};

/*
 * The commands of fcntl(2) that are needed. F_SETOWN, F_SETSIG and O_ASYNC let the kernel send a signal to another
 * process in our name (F_NOTIFY and F_SETLEASE to ourselves): no other filter sees that, nor a Landlock before version 6.
 */
static const struct sw_filter_rule no_async = {.argument = 2, .mask = O_ASYNC};
static const struct sw_filter_rule fcntl_rules[] = {
	SW_FILTER_ALLOWED(SYS_fcntl, 1, F_GETFD),
	SW_FILTER_ALLOWED(SYS_fcntl, 1, F_SETFD),
	SW_FILTER_ALLOWED(SYS_fcntl, 1, F_GETFL),
	SW_FILTER_ALLOWED(SYS_fcntl, 1, F_DUPFD),
	SW_FILTER_ALLOWED(SYS_fcntl, 1, F_DUPFD_CLOEXEC),
	SW_FILTER_ALLOWED(SYS_fcntl, 1, F_SETLK),
	SW_FILTER_ALLOWED(SYS_fcntl, 1, F_ADD_SEALS),
	SW_FILTER_ALLOWED(SYS_fcntl, 1, F_GET_SEALS),
	SW_FILTER_ALLOWED(SYS_fcntl, 1, F_SETPIPE_SZ),
	{.call = SYS_fcntl,
	 .action = SECCOMP_RET_ALLOW,
	 .argument = 1,
	 .mask = UINT32_MAX,
	 .value = F_SETFL,
	 .also = &no_async},
	{.call = SYS_fcntl, .action = SECCOMP_RET_KILL_PROCESS},
};

/*
 * Calls of captures, whatever their arguments: finding out about processes, reading their memory, and the
 * processes of our own that hold threads (libwalk/stop/helper.c) and read what may not answer
 * (libwalk/process/expendable.c) or read the data of runtimes (libwalk/copier/reader.c), which confine themselves further.
 */
static const uint32_t capture_calls[] = {
	SYS_process_vm_readv,
	SYS_waitid,
	SYS_wait4,
	SYS_getppid,
	SYS_geteuid,
	SYS_setitimer,
	SYS_rt_sigaction,
	SYS_rt_sigtimedwait,
	SYS_sched_getscheduler,
	SYS_sched_getparam,
	SYS_access,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_statfs,
	SYS_fstatfs,
	SYS_getxattr, /* libwalk/process/credentials.c */
	SYS_close_range,
	SYS_memfd_create,
	SYS_capset,
	SYS_set_robust_list, /* of a thread's start, as rseq */
	SYS_rseq,
};

enum {
	THREAD_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND |
		       CLONE_THREAD | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
	HELPER_FLAGS = CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_PIDFD,
	READER_FLAGS =
		CLONE_PIDFD, /* libwalk/copier/reader.c: as fork(), without a signal at its end */
};

/* ERESTARTNOHAND of the kernel's include/linux/errno.h, as the result of a call. */
static const uint32_t restart_result = (uint32_t) -514;

static const struct sw_filter_rule priority_of_self = {.argument = 1, .mask = UINT32_MAX};
static const struct sw_filter_rule no_ptrace_options = {.argument = 3, .mask = UINT32_MAX},
				   restarts_upper = {.argument = 3,
						     .mask = UINT32_MAX,
						     .value = UINT32_MAX,
						     .upper = true},
				   restarts = {.argument = 3,
					       .mask = UINT32_MAX,
					       .value = restart_result,
					       .also = &restarts_upper},
				   result_restarts = {.argument = 2,
						      .mask = UINT32_MAX,
						      .value = offsetof(struct user_regs_struct,
									rax),
						      .also = &restarts};

/* PROCMAP_QUERY: _IOWR('f', 17, struct procmap_query), include/uapi/linux/fs.h, v6.11. */
static const uint32_t maps_query = 0xc0686611;

/* Calls of captures with these arguments. Calls of a stop come first. */
static const struct sw_filter_rule capture_rules[] = {
	{.call = SYS_ptrace,
	 .action = SECCOMP_RET_ALLOW,
	 .mask = UINT32_MAX,
	 .value = PTRACE_SEIZE,
	 .also = &no_ptrace_options},
	SW_FILTER_ALLOWED(SYS_ptrace, 0, PTRACE_INTERRUPT),
	SW_FILTER_ALLOWED(SYS_ptrace, 0, PTRACE_GETREGSET),
	SW_FILTER_ALLOWED(SYS_ptrace, 0, PTRACE_GETREGS),
	SW_FILTER_ALLOWED(SYS_ptrace, 0, PTRACE_DETACH),
	{.call = SYS_ptrace,
	 .action = SECCOMP_RET_ALLOW,
	 .mask = UINT32_MAX,
	 .value = PTRACE_POKEUSER,
	 .also = &result_restarts},
	SW_FILTER_ALLOWED(SYS_ioctl, 1, maps_query),
	SW_FILTER_ALLOWED(SYS_ioctl, 1, NS_GET_USERNS), /* libwalk/process/filesystems.c */
	SW_FILTER_ALLOWED(SYS_clone, 0, HELPER_FLAGS),
	SW_FILTER_ALLOWED(SYS_clone, 0, READER_FLAGS),
	/* The reader makes these calls for itself. */
	SW_FILTER_ALLOWED(SYS_sched_setaffinity, 0, 0),
	SW_FILTER_ALLOWED(SYS_prlimit64, 0, 0),
	{.call = SYS_setpriority,
	 .action = SECCOMP_RET_ALLOW,
	 .mask = UINT32_MAX,
	 .value = PRIO_PROCESS,
	 .also = &priority_of_self},
	SW_FILTER_ALLOWED(SYS_clone, 0, THREAD_FLAGS),
	SW_FILTER_ALLOWED(SYS_unshare, 0, CLONE_FILES | CLONE_FS),
	/* The lowest real-time priorities for ourselves or a helper; others, which a limit keeps from these, only
	 * for ourselves. Of other processes only those of the same user whose own limit permits it: sched(7). */
	SW_FILTER_ALLOWED(SYS_sched_setscheduler, 0, 0),
	SW_FILTER_ALLOWED(SYS_sched_setscheduler, 1, SCHED_FIFO),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_SET_PDEATHSIG),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_SET_NO_NEW_PRIVS),
	SW_FILTER_ALLOWED(SYS_prctl, 0, PR_SET_SECCOMP),
	/* openat2 and clone3 have their arguments in memory, where no filter can see them: without
	 * them openat and clone are used. */
	{.call = SYS_openat2, .action = SECCOMP_RET_ERRNO | ENOSYS},
	{.call = SYS_clone3, .action = SECCOMP_RET_ERRNO | ENOSYS},
};

/* Commands of bpf(2) that captures need. Loading a program is tried anew where it was refused at first: the call fails,
 * and does not kill. */
static const struct sw_filter_rule bpf_rules[] = {
	SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_ITER_CREATE),
	SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_LINK_CREATE),
	{.call = SYS_bpf, .action = SECCOMP_RET_ERRNO | EPERM},
};

/* Calls that none of our processes makes after its start: one that does was taken over. */
static const uint32_t harmful_calls[] = {
	SYS_execve,      SYS_execveat,        SYS_process_vm_writev,
	SYS_pidfd_getfd, SYS_setuid,          SYS_setgid,
	SYS_setreuid,    SYS_setregid,        SYS_setresuid,
	SYS_setresgid,   SYS_setgroups,       SYS_setfsuid,
	SYS_setfsgid,    SYS_ptrace,          SYS_process_vm_readv,
	SYS_bpf,         SYS_perf_event_open, SYS_unshare,
	SYS_setns,       SYS_mount,           SYS_chroot,
	SYS_pivot_root,  SYS_userfaultfd,     SYS_io_uring_setup,
	SYS_init_module, SYS_finit_module,    SYS_open_by_handle_at,
};

/* Calls that change the machine, look around in it, or leave it: none of our processes needs them. */
static const uint32_t machine_calls[] = {
	SYS_mount,
	SYS_umount2,
	SYS_move_mount,
	SYS_open_tree,
	SYS_fsopen,
	SYS_fsmount,
	SYS_fsconfig,
	SYS_fspick,
	SYS_mount_setattr,
	SYS_pivot_root,
	SYS_chroot,
	SYS_setns,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_kexec_file_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_quotactl,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_iopl,
	SYS_ioperm,
	SYS_personality,
	SYS_name_to_handle_at,
	SYS_open_by_handle_at,
	SYS_syslog,
	SYS_modify_ldt,
	SYS_vhangup,
};

/* The call that gives real-time priority up (urgent.c of libwalk/base). */
static const struct sw_filter_rule ordinary = {.argument = 1,
					       .mask = UINT32_MAX,
					       .value = SCHED_OTHER | SCHED_RESET_ON_FORK},
				   ordinary_self = {.call = SYS_sched_setscheduler,
						    .action = SECCOMP_RET_ALLOW,
						    .argument = 0,
						    .mask = UINT32_MAX,
						    .value = 0,
						    .also = &ordinary};

void sw_calls_add_own(struct sw_filter *f)
{
	static const struct sw_filter_group own = {own_calls, SW_ARRAY_SIZE(own_calls),
						   SECCOMP_RET_ALLOW};
	sw_filter_add_group(f, &own);
	sw_filter_add_rules(f, fcntl_rules, SW_ARRAY_SIZE(fcntl_rules));
	sw_filter_add(f, &ordinary_self);
}

void sw_calls_add_reading(struct sw_filter *f)
{
	const uint32_t writing =
		O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
	sw_filter_allow_without(f, SYS_mmap, 2, PROT_EXEC);
	sw_filter_allow_without(f, SYS_mprotect, 2, PROT_EXEC);
	sw_filter_allow_without(f, SYS_openat, 2, writing);
}

void sw_calls_add_capture_bpf(struct sw_filter *f)
{
	sw_filter_add_rules(f, bpf_rules, SW_ARRAY_SIZE(bpf_rules));
}

void sw_calls_add_capture(struct sw_filter *f)
{
	static const struct sw_filter_group captures = {capture_calls, SW_ARRAY_SIZE(capture_calls),
							SECCOMP_RET_ALLOW};
	sw_filter_add_rules(f, capture_rules, SW_ARRAY_SIZE(capture_rules));
	sw_calls_add_end(f); /* of a helper */
	sw_calls_add_capture_bpf(f);
	sw_filter_add_group(f, &captures);
}

void sw_calls_add_end(struct sw_filter *f)
{
	static const struct sw_filter_rule no_flags = {.argument = 3, .mask = UINT32_MAX},
					   ends = {.call = SYS_pidfd_send_signal,
						   .action = SECCOMP_RET_ALLOW,
						   .argument = 1,
						   .mask = UINT32_MAX,
						   .value = SIGKILL,
						   .also = &no_flags};
	sw_filter_add(f, &ends);
}

void sw_calls_add_raise(struct sw_filter *f, const int *signals, size_t n)
{
	const struct sw_filter_rule to_us = {.mask = UINT32_MAX, .value = (uint32_t) getpid()};
	const struct sw_filter_rule rule = {.call = SYS_tgkill,
					    .action = SECCOMP_RET_ALLOW,
					    .argument = 2,
					    .mask = UINT32_MAX,
					    .also = &to_us};
	sw_filter_add_values(f, &rule, signals, n);
}

void sw_calls_add_abort(struct sw_filter *f)
{
	static const int own[] = {SIGABRT};
	sw_calls_add_raise(f, own, SW_ARRAY_SIZE(own));
}

void sw_calls_add_socket_options(struct sw_filter *f, uint32_t level, const int *options, size_t n)
{
	const struct sw_filter_rule of_level = {.argument = 1, .mask = UINT32_MAX, .value = level};
	const struct sw_filter_rule rule = {.call = SYS_setsockopt,
					    .action = SECCOMP_RET_ALLOW,
					    .argument = 2,
					    .mask = UINT32_MAX,
					    .also = &of_level};
	sw_filter_add_values(f, &rule, options, n);
}

void sw_calls_add_harmful(struct sw_filter *f)
{
	static const struct sw_filter_group harmful = {harmful_calls, SW_ARRAY_SIZE(harmful_calls),
						       SECCOMP_RET_KILL_PROCESS};
	sw_filter_add_group(f, &harmful);
}

void sw_calls_add_machine(struct sw_filter *f, uint32_t action)
{
	const struct sw_filter_group machine = {machine_calls, SW_ARRAY_SIZE(machine_calls),
						action};
	sw_filter_add_group(f, &machine);
}

void sw_calls_refuse_clone3(struct sw_filter *f)
{
	static const struct sw_filter_rule no_clone3 = {.call = SYS_clone3,
							.action = SECCOMP_RET_ERRNO | ENOSYS};
	sw_filter_add(f, &no_clone3);
}
