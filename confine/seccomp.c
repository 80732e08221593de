/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/seccomp.h"
#include "confine/calls.h"
#include "cleanup.h"
#include "errors.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Calls that no program needs which the daemon or the command executes for their user. EPERM, as it is not ours. */
static const uint32_t program_refused[] = {
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_process_madvise,
	SYS_pidfd_getfd,
	SYS_kcmp,
	SYS_unshare,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_sched_setscheduler,
	SYS_sched_setattr,
};

/* The number that follows the last call of Linux 6.1. */
enum { FIRST_UNKNOWN_CALL = 451 };

enum { BY_FILTER = 1 }; /* SYS_SECCOMP of asm-generic/siginfo.h, which libc's headers lack */

/* SW_SECCOMP_FILES */
static const uint32_t file_calls[] = {
	SYS_mkdirat, SYS_mkdir, SYS_renameat2,       SYS_renameat,  SYS_rename,   SYS_unlinkat,
	SYS_unlink,  SYS_rmdir, SYS_copy_file_range, SYS_ftruncate, SYS_pwrite64, SYS_sendfile,
	SYS_fsync,   SYS_lstat, SYS_fstatfs,         SYS_linkat,
};

/* SW_SECCOMP_SCREEN */
static const struct sw_filter_rule screen_rules[] = {
	SW_FILTER_ALLOWED(SYS_ioctl, 1, TCSETS),
	SW_FILTER_ALLOWED(SYS_ioctl, 1, TCXONC),
	SW_FILTER_ALLOWED(SYS_ioctl, 1, TIOCGWINSZ),
};

/* The signals that a process with a terminal sends itself: at its user's wish, and when the terminal was restored
 * after a fault. */
static void screen_add(struct sw_filter *f)
{
	static const int own[] = {SIGTSTP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
	sw_filter_add_rules(f, screen_rules, SW_ARRAY_SIZE(screen_rules));
	sw_calls_add_raise(f, own, SW_ARRAY_SIZE(own));
}

int sw_seccomp_parser(unsigned more, struct sw_error *err)
{
	static const struct sw_filter_group deadly = {parser_deadly, SW_ARRAY_SIZE(parser_deadly),
						      SECCOMP_RET_KILL_PROCESS},
					    files = {file_calls, SW_ARRAY_SIZE(file_calls),
						     SECCOMP_RET_ALLOW};
	static const struct sw_filter_rule
		is_terminal = SW_FILTER_ALLOWED(SYS_ioctl, 1, TCGETS),
		opens = {.call = SYS_openat, .action = SECCOMP_RET_ALLOW},
		/* Landlock asks for no right for the access mode 3, which neither reads nor writes: open(2). Opening alone does
		 * something to a device: a watchdog starts. */
		opens_for_nothing = {.call = SYS_openat,
				     .action = SECCOMP_RET_ERRNO | EPERM,
				     .argument = 2,
				     .mask = O_ACCMODE,
				     .value = O_ACCMODE},
		begins = {.call = SYS_pidfd_open, .action = SECCOMP_RET_ALLOW},
		/* The table of what is outstanding, whose descriptor is there. */
		lists = SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_MAP_LOOKUP_BATCH),
		iterates = SW_FILTER_ALLOWED(SYS_bpf, 0, BPF_ITER_CREATE),
		no_action_upper = {.argument = 1, .mask = UINT32_MAX, .upper = true},
		no_action = {.argument = 1, .mask = UINT32_MAX, .also = &no_action_upper},
		/* A process that libwalk starts looks whether there is one: libwalk/copier/reader.c. */
		asks_for_handler = {.call = SYS_rt_sigaction,
				    .action = SECCOMP_RET_ALLOW,
				    .mask = UINT32_MAX,
				    .value = SIGSYS,
				    .also = &no_action},
		keeps_handler = {.call = SYS_rt_sigaction,
				 .action = SECCOMP_RET_KILL_PROCESS,
				 .mask = UINT32_MAX,
				 .value = SIGSYS};
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	f.traps = (more & SW_SECCOMP_TRAPS) != 0;
	if (f.traps && (more & SW_SECCOMP_CAPTURE)) {
		sw_filter_add(&f, &asks_for_handler);
		sw_filter_add(&f, &keeps_handler);
	}
	if (more & SW_SECCOMP_CAPTURE) {
		sw_filter_add(&f, &lists);
		sw_calls_add_capture(&f);
	}
	if (more & SW_SECCOMP_ITERATES)
		sw_filter_add(&f, &iterates);
	if (more & SW_SECCOMP_PROCESSES)
		sw_filter_add(&f, &begins);
	if (more & SW_SECCOMP_SCREEN)
		screen_add(&f);
	sw_calls_add_own(&f);
	sw_calls_add_reading(&f);
	if (more & SW_SECCOMP_FILES) {
		sw_filter_add(&f, &opens_for_nothing);
		sw_filter_add(&f, &opens);
		sw_filter_add_group(&f, &files);
	}
	if (more & SW_SECCOMP_TERMINAL) /* isatty(3) */
		sw_filter_add(&f, &is_terminal);
	sw_filter_add_group(&f, &deadly);
	int r = sw_filter_end(&f, SECCOMP_RET_ERRNO | EPERM, err);
	return r < 0 ? r : sw_filter_enter(&f, err);
}

static void (*trap_say)(int call, const void *context);

/* Another process may have sent the signal. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	int call = info->si_code == BY_FILTER ? info->si_syscall : 0;
	if (info->si_code == BY_FILTER)
		trap_say(call, context);
	/* A number of x32 kills in each filter, whatever handles signals. */
	(void) syscall((long) (SW_FILTER_X32_BIT | (unsigned) call));
	(void) raise(number); /* no filter is there yet */
}

void sw_seccomp_trap(void (*say)(int call, const void *context))
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESETHAND};
	sigset_t one;
	trap_say = say;
	(void) sigfillset(&action.sa_mask); /* fail only for bad numbers */
	(void) sigaction(SIGSYS, &action, NULL);
	(void) sigemptyset(&one);
	(void) sigaddset(&one, SIGSYS);
	(void) sigprocmask(SIG_UNBLOCK, &one, NULL);
}

int sw_seccomp_program(struct sw_error *err)
{
	static const struct sw_filter_group refused = {program_refused,
						       SW_ARRAY_SIZE(program_refused),
						       SECCOMP_RET_ERRNO | EPERM};
	struct sw_filter f = {.n = 0};
	sw_filter_begin(&f);
	sw_filter_add_from(&f, FIRST_UNKNOWN_CALL, SECCOMP_RET_ERRNO | ENOSYS);
	sw_calls_add_machine(&f, SECCOMP_RET_ERRNO | EPERM);
	sw_filter_add_group(&f, &refused);
	sw_filter_add_bits(&f, SYS_clone, 0, CLONE_NEWUSER, SECCOMP_RET_ERRNO | EPERM);
	sw_calls_refuse_clone3(&f);
	int r = sw_filter_end(&f, SECCOMP_RET_ALLOW, err);
	return r < 0 ? r : sw_filter_enter(&f, err);
}
