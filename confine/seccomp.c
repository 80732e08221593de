/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "confine/seccomp.h"
#include "cleanup.h"
#include "errors.h"

#include <asm/termbits.h>
#include <asm/ioctls.h>
#include <fcntl.h>
#include <sys/mman.h>

#define CALL(name) SCMP_SYS(name)

/* What remains to be done: memory, files that are open, the end. */
static const int parser_calls[] = {
	CALL(read),        CALL(pread64),         CALL(readv),
	CALL(write),       CALL(writev),          CALL(close),
	CALL(fstat),       CALL(newfstatat),      CALL(lseek),
	CALL(fcntl),       CALL(munmap),          CALL(mremap),
	CALL(brk),         CALL(madvise),         CALL(futex),
	CALL(getrandom),   CALL(uname),           CALL(getpid),
	CALL(gettid),      CALL(clock_gettime),   CALL(gettimeofday),
	CALL(sysinfo),     CALL(rt_sigreturn),    CALL(rt_sigprocmask),
	CALL(sched_yield), CALL(sigaltstack),     CALL(exit),
	CALL(exit_group),  CALL(restart_syscall), CALL(poll),
	CALL(ppoll),       CALL(clock_nanosleep), CALL(readlink),
	CALL(readlinkat),
};

/* Nothing of ours asks for these: who does is not us any more. All other calls that are not listed
 * fail with EPERM, as libraries try things that they can do without. */
static const int parser_deadly[] = {
	CALL(execve),
	CALL(execveat),
	CALL(fork),
	CALL(vfork),
	CALL(clone),
	CALL(clone3),
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(kill),
	CALL(tkill),
	CALL(tgkill),
	CALL(rt_sigqueueinfo),
	CALL(rt_tgsigqueueinfo),
	CALL(pidfd_open),
	CALL(pidfd_getfd),
	CALL(pidfd_send_signal),
	CALL(socket),
	CALL(socketpair),
	CALL(connect),
	CALL(bind),
	CALL(listen),
	CALL(accept),
	CALL(accept4),
	CALL(sendmsg),
	CALL(sendmmsg),
	CALL(recvmsg),
	CALL(setuid),
	CALL(setresuid),
	CALL(setgid),
	CALL(setresgid),
	CALL(capset),
	CALL(mount),
	CALL(unshare),
	CALL(setns),
	CALL(bpf),
	CALL(perf_event_open),
	CALL(userfaultfd),
	CALL(io_uring_setup),
	CALL(keyctl),
	CALL(add_key),
	CALL(request_key),
	CALL(init_module),
	CALL(finit_module),
	CALL(open_by_handle_at),
	CALL(memfd_create),
};

/* SW_SECCOMP_FILES */
static const int file_calls[] = {
	CALL(mkdirat),    CALL(mkdir),    CALL(renameat2), CALL(renameat),        CALL(rename),
	CALL(unlinkat),   CALL(unlink),   CALL(rmdir),     CALL(copy_file_range), CALL(ftruncate),
	CALL(getdents64), CALL(pwrite64), CALL(sendfile),  CALL(fsync),           CALL(lstat),
};

static void filter_release(scmp_filter_ctx *filter)
{
	if (*filter != NULL)
		seccomp_release(*filter);
}

int sw_seccomp_add(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t n)
{
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = seccomp_rule_add(filter, action, calls[i], 0);
	return r;
}

int sw_seccomp_enter(uint32_t otherwise, int (*fill)(scmp_filter_ctx, unsigned), unsigned more,
		     struct sw_error *err)
{
	sw_cleanup(filter_release) scmp_filter_ctx filter = seccomp_init(otherwise);
	if (filter == NULL)
		return sw_fail_nomem(err);
	int r = fill(filter, more);
	if (r == 0)
		r = seccomp_load(filter);
	errno = -r;
	return r == 0 ? 0 : sw_fail_errno(err, SW_E_IO, "cannot enter the seccomp filter");
}

/* Calls that are allowed when none of some bits is set in an argument. */
static int add_masked(scmp_filter_ctx filter, int call, unsigned argument, uint64_t never)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, never, 0));
}

static int parser_fill(scmp_filter_ctx filter, unsigned more)
{
	const uint64_t writing =
		O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
	int r = sw_seccomp_add(filter, SCMP_ACT_ALLOW, parser_calls, SW_ARRAY_SIZE(parser_calls));
	if (r == 0)
		r = sw_seccomp_add(filter, SCMP_ACT_KILL_PROCESS, parser_deadly,
				   SW_ARRAY_SIZE(parser_deadly));
	if (r == 0)
		r = add_masked(filter, CALL(mmap), 2, PROT_EXEC);
	if (r == 0)
		r = add_masked(filter, CALL(mprotect), 2, PROT_EXEC);
	if (r == 0)
		r = add_masked(filter, CALL(openat), 2, more & SW_SECCOMP_FILES ? 0 : writing);
	if (r == 0 && (more & SW_SECCOMP_FILES))
		r = sw_seccomp_add(filter, SCMP_ACT_ALLOW, file_calls, SW_ARRAY_SIZE(file_calls));
	if (r == 0 && (more & SW_SECCOMP_TERMINAL)) /* isatty(3) */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, CALL(ioctl), 1,
				     SCMP_CMP(1, SCMP_CMP_EQ, TCGETS));
	return r;
}

int sw_seccomp_parser(unsigned more, struct sw_error *err)
{
	return sw_seccomp_enter(SCMP_ACT_ERRNO(EPERM), parser_fill, more, err);
}
