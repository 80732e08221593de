/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/seccomp.h"
#include "confine/filter.h"
#include "cleanup.h"
#include "errors.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

/* What remains to be done: memory, files that are open, the end. */
static const uint32_t parser_calls[] = {
	SYS_read,        SYS_pread64,      SYS_readv,           SYS_write,
	SYS_writev,      SYS_close,        SYS_fstat,           SYS_newfstatat,
	SYS_lseek,       SYS_munmap,       SYS_mremap,          SYS_brk,
	SYS_madvise,     SYS_futex,        SYS_getrandom,       SYS_uname,
	SYS_getpid,      SYS_gettid,       SYS_clock_gettime,   SYS_gettimeofday,
	SYS_sysinfo,     SYS_rt_sigreturn, SYS_rt_sigprocmask,  SYS_sched_yield,
	SYS_sigaltstack, SYS_exit,         SYS_exit_group,      SYS_restart_syscall,
	SYS_poll,        SYS_ppoll,        SYS_clock_nanosleep, SYS_readlink,
	SYS_readlinkat,  SYS_getdents64, /* of directories that Landlock lets it read */
};

/* Nothing of ours asks for these: who does is not us any more. All other calls that are not listed
 * fail with EPERM, as libraries try things that they can do without. */
static const uint32_t parser_deadly[] = {
	SYS_execve,
	SYS_execveat,
	SYS_fork,
	SYS_vfork,
	SYS_clone,
	SYS_clone3,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_kill,
	SYS_tkill,
	SYS_tgkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_pidfd_open,
	SYS_pidfd_getfd,
	SYS_pidfd_send_signal,
	SYS_socket,
	SYS_socketpair,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept,
	SYS_accept4,
	SYS_sendmsg,
	SYS_sendmmsg,
	SYS_recvmsg,
	SYS_setuid,
	SYS_setresuid,
	SYS_setgid,
	SYS_setresgid,
	SYS_capset,
	SYS_mount,
	SYS_unshare,
	SYS_setns,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_init_module,
	SYS_finit_module,
	SYS_open_by_handle_at,
	SYS_memfd_create,
};

/* SW_SECCOMP_FILES */
static const uint32_t file_calls[] = {
	SYS_mkdirat, SYS_mkdir, SYS_renameat2,       SYS_renameat,  SYS_rename,   SYS_unlinkat,
	SYS_unlink,  SYS_rmdir, SYS_copy_file_range, SYS_ftruncate, SYS_pwrite64, SYS_sendfile,
	SYS_fsync,   SYS_lstat, SYS_fstatfs,         SYS_linkat,
};

/*
 * SW_SECCOMP_CAPTURE, whatever their arguments: finding out about processes, reading their memory, and the
 * processes of our own that hold threads (libwalk/stop/helper.c) and read what may not answer
 * (libwalk/process/expendable.c), which confine themselves further.
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
	SYS_sched_setscheduler,
	SYS_access,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
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
};

/* ERESTARTNOHAND of the kernel's include/linux/errno.h, as the result of a call. */
static const uint32_t restart_result = (uint32_t) -514;

/* A call that is allowed with one value of one argument. */
#define ALLOWED(number, index, wanted)                                              \
	{                                                                           \
		.call = (number), .action = SECCOMP_RET_ALLOW, .argument = (index), \
		.mask = UINT32_MAX, .value = (wanted)                               \
	}

static const struct sw_filter_rule no_ptrace_options = {.argument = 3, .mask = UINT32_MAX},
				   restarts = {.argument = 3,
					       .mask = UINT32_MAX,
					       .value = restart_result},
				   result_restarts = {.argument = 2,
						      .mask = UINT32_MAX,
						      .value = offsetof(struct user_regs_struct,
									rax),
						      .also = &restarts};

/* PROCMAP_QUERY: _IOWR('f', 17, struct procmap_query), include/uapi/linux/fs.h, v6.11. */
static const uint32_t maps_query = 0xc0686611;

/* SW_SECCOMP_CAPTURE, with these arguments. Those of a stop come first. */
static const struct sw_filter_rule capture_rules[] = {
	{.call = SYS_ptrace,
	 .action = SECCOMP_RET_ALLOW,
	 .mask = UINT32_MAX,
	 .value = PTRACE_SEIZE,
	 .also = &no_ptrace_options},
	ALLOWED(SYS_ptrace, 0, PTRACE_INTERRUPT),
	ALLOWED(SYS_ptrace, 0, PTRACE_GETREGSET),
	ALLOWED(SYS_ptrace, 0, PTRACE_GETREGS),
	ALLOWED(SYS_ptrace, 0, PTRACE_DETACH),
	{.call = SYS_ptrace,
	 .action = SECCOMP_RET_ALLOW,
	 .mask = UINT32_MAX,
	 .value = PTRACE_POKEUSER,
	 .also = &result_restarts},
	ALLOWED(SYS_ioctl, 1, maps_query),
	ALLOWED(SYS_bpf, 0, BPF_ITER_CREATE),
	ALLOWED(SYS_bpf, 0, BPF_LINK_CREATE),
	/* It is tried anew where it was refused at first. */
	{.call = SYS_bpf, .action = SECCOMP_RET_ERRNO | EPERM},
	ALLOWED(SYS_clone, 0, HELPER_FLAGS),
	ALLOWED(SYS_clone, 0, THREAD_FLAGS),
	ALLOWED(SYS_unshare, 0, CLONE_FILES | CLONE_FS),
	ALLOWED(SYS_kill, 1, SIGKILL), /* a helper that does not end */
	ALLOWED(SYS_prctl, 0, PR_SET_PDEATHSIG),
	ALLOWED(SYS_prctl, 0, PR_SET_NO_NEW_PRIVS),
	ALLOWED(SYS_prctl, 0, PR_SET_SECCOMP),
	/* What these are to do is in memory, where no filter can see it: without them openat and clone are
	 * used. */
	{.call = SYS_openat2, .action = SECCOMP_RET_ERRNO | ENOSYS},
	{.call = SYS_clone3, .action = SECCOMP_RET_ERRNO | ENOSYS},
};

/*
 * The commands of fcntl(2) that are needed. F_SETOWN, F_SETSIG and O_ASYNC let the kernel send a signal to another
 * process in our name (F_NOTIFY and F_SETLEASE to ourselves): no other filter nor a Landlock before version 6
 * sees that.
 */
static const struct sw_filter_rule no_async = {.argument = 2, .mask = O_ASYNC};
static const struct sw_filter_rule fcntl_rules[] = {
	ALLOWED(SYS_fcntl, 1, F_GETFD),
	ALLOWED(SYS_fcntl, 1, F_SETFD),
	ALLOWED(SYS_fcntl, 1, F_GETFL),
	ALLOWED(SYS_fcntl, 1, F_DUPFD),
	ALLOWED(SYS_fcntl, 1, F_DUPFD_CLOEXEC),
	ALLOWED(SYS_fcntl, 1, F_SETLK),
	ALLOWED(SYS_fcntl, 1, F_ADD_SEALS),
	ALLOWED(SYS_fcntl, 1, F_GET_SEALS),
	ALLOWED(SYS_fcntl, 1, F_SETPIPE_SZ),
	{.call = SYS_fcntl,
	 .action = SECCOMP_RET_ALLOW,
	 .argument = 1,
	 .mask = UINT32_MAX,
	 .value = F_SETFL,
	 .also = &no_async},
	{.call = SYS_fcntl, .action = SECCOMP_RET_KILL_PROCESS},
};

/* SW_SECCOMP_SCREEN */
static const struct sw_filter_rule screen_rules[] = {
	ALLOWED(SYS_ioctl, 1, TCSETS),
	ALLOWED(SYS_ioctl, 1, TCXONC),
	ALLOWED(SYS_ioctl, 1, TIOCGWINSZ),
	ALLOWED(SYS_tgkill, 2, SIGTSTP),
	/* Faults, after the terminal was restored. */
	ALLOWED(SYS_tgkill, 2, SIGSEGV),
	ALLOWED(SYS_tgkill, 2, SIGBUS),
	ALLOWED(SYS_tgkill, 2, SIGILL),
	ALLOWED(SYS_tgkill, 2, SIGFPE),
	ALLOWED(SYS_tgkill, 2, SIGABRT),
};

/* Calls that are allowed when none of some bits is set in an argument. */
static void allow_without(struct sw_filter *f, uint32_t call, unsigned argument, uint32_t never)
{
	const struct sw_filter_rule rule = {.call = call,
					    .action = SECCOMP_RET_ALLOW,
					    .argument = argument,
					    .mask = never};
	sw_filter_add(f, &rule);
}

static void rules_add(struct sw_filter *f, const struct sw_filter_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sw_filter_add(f, &rules[i]);
}

int sw_seccomp_parser(unsigned more, struct sw_error *err)
{
	static const struct sw_filter_group allowed = {parser_calls, SW_ARRAY_SIZE(parser_calls),
						       SECCOMP_RET_ALLOW},
					    deadly = {parser_deadly, SW_ARRAY_SIZE(parser_deadly),
						      SECCOMP_RET_KILL_PROCESS},
					    files = {file_calls, SW_ARRAY_SIZE(file_calls),
						     SECCOMP_RET_ALLOW},
					    captures = {capture_calls, SW_ARRAY_SIZE(capture_calls),
							SECCOMP_RET_ALLOW};
	static const struct sw_filter_rule is_terminal = {.call = SYS_ioctl,
							  .action = SECCOMP_RET_ALLOW,
							  .argument = 1,
							  .mask = UINT32_MAX,
							  .value = TCGETS};
	const uint32_t writing =
		O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	if (more & SW_SECCOMP_CAPTURE) {
		rules_add(&f, capture_rules, SW_ARRAY_SIZE(capture_rules));
		sw_filter_add_group(&f, &captures);
	}
	if (more & SW_SECCOMP_SCREEN)
		rules_add(&f, screen_rules, SW_ARRAY_SIZE(screen_rules));
	sw_filter_add_group(&f, &allowed);
	rules_add(&f, fcntl_rules, SW_ARRAY_SIZE(fcntl_rules));
	allow_without(&f, SYS_mmap, 2, PROT_EXEC);
	allow_without(&f, SYS_mprotect, 2, PROT_EXEC);
	allow_without(&f, SYS_openat, 2, more & SW_SECCOMP_FILES ? 0 : writing);
	if (more & SW_SECCOMP_FILES)
		sw_filter_add_group(&f, &files);
	if (more & SW_SECCOMP_TERMINAL) /* isatty(3) */
		sw_filter_add(&f, &is_terminal);
	sw_filter_add_group(&f, &deadly);
	int r = sw_filter_end(&f, SECCOMP_RET_ERRNO | EPERM, err);
	return r < 0 ? r : sw_filter_enter(&f, err);
}
