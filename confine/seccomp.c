/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/seccomp.h"
#include "confine/filter.h"
#include "cleanup.h"
#include "errors.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* What remains to be done: memory, files that are open, the end. */
static const uint32_t parser_calls[] = {
	SYS_read,        SYS_pread64,         SYS_readv,
	SYS_write,       SYS_writev,          SYS_close,
	SYS_fstat,       SYS_newfstatat,      SYS_lseek,
	SYS_fcntl,       SYS_munmap,          SYS_mremap,
	SYS_brk,         SYS_madvise,         SYS_futex,
	SYS_getrandom,   SYS_uname,           SYS_getpid,
	SYS_gettid,      SYS_clock_gettime,   SYS_gettimeofday,
	SYS_sysinfo,     SYS_rt_sigreturn,    SYS_rt_sigprocmask,
	SYS_sched_yield, SYS_sigaltstack,     SYS_exit,
	SYS_exit_group,  SYS_restart_syscall, SYS_poll,
	SYS_ppoll,       SYS_clock_nanosleep, SYS_readlink,
	SYS_readlinkat,
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
	SYS_mkdirat,    SYS_mkdir,    SYS_renameat2, SYS_renameat,        SYS_rename,
	SYS_unlinkat,   SYS_unlink,   SYS_rmdir,     SYS_copy_file_range, SYS_ftruncate,
	SYS_getdents64, SYS_pwrite64, SYS_sendfile,  SYS_fsync,           SYS_lstat,
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

int sw_seccomp_parser(unsigned more, struct sw_error *err)
{
	static const struct sw_filter_group allowed = {parser_calls, SW_ARRAY_SIZE(parser_calls),
						       SECCOMP_RET_ALLOW},
					    deadly = {parser_deadly, SW_ARRAY_SIZE(parser_deadly),
						      SECCOMP_RET_KILL_PROCESS},
					    files = {file_calls, SW_ARRAY_SIZE(file_calls),
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
	sw_filter_add_group(&f, &allowed);
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
