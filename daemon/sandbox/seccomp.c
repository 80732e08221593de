/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sandbox/seccomp.h"
#include "cleanup.h"
#include "errors.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>

#define CALL(name) SCMP_SYS(name)

/* What remains to be done: memory, files that are open, the stream, the end. */
static const int worker_calls[] = {
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
static const int worker_deadly[] = {
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

/* What neither the broker nor a command of OnDump= needs. EPERM, as commands are not ours. */
static const int broker_refused[] = {
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(process_madvise),
	CALL(pidfd_getfd),
	CALL(kcmp),
	CALL(mount),
	CALL(umount2),
	CALL(move_mount),
	CALL(open_tree),
	CALL(fsopen),
	CALL(fsmount),
	CALL(fsconfig),
	CALL(fspick),
	CALL(mount_setattr),
	CALL(pivot_root),
	CALL(chroot),
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
	CALL(delete_module),
	CALL(kexec_load),
	CALL(kexec_file_load),
	CALL(reboot),
	CALL(swapon),
	CALL(swapoff),
	CALL(acct),
	CALL(quotactl),
	CALL(settimeofday),
	CALL(clock_settime),
	CALL(clock_adjtime),
	CALL(adjtimex),
	CALL(sethostname),
	CALL(setdomainname),
	CALL(iopl),
	CALL(ioperm),
	CALL(personality),
	CALL(name_to_handle_at),
	CALL(open_by_handle_at),
	CALL(syslog),
	CALL(modify_ldt),
	CALL(vhangup),
	CALL(sched_setscheduler),
	CALL(sched_setattr),
};

static void filter_release(scmp_filter_ctx *filter)
{
	if (*filter != NULL)
		seccomp_release(*filter);
}

static int add_all(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t n)
{
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = seccomp_rule_add(filter, action, calls[i], 0);
	return r;
}

/* Calls that are allowed when none of some bits is set in an argument. */
static int add_masked(scmp_filter_ctx filter, int call, unsigned argument, uint64_t never)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, never, 0));
}

static int worker_fill(scmp_filter_ctx filter)
{
	const uint64_t writing =
		O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY);
	int r = add_all(filter, SCMP_ACT_ALLOW, worker_calls, SW_ARRAY_SIZE(worker_calls));
	if (r == 0)
		r = add_all(filter, SCMP_ACT_KILL_PROCESS, worker_deadly,
			    SW_ARRAY_SIZE(worker_deadly));
	if (r == 0)
		r = add_masked(filter, CALL(mmap), 2, PROT_EXEC);
	if (r == 0)
		r = add_masked(filter, CALL(mprotect), 2, PROT_EXEC);
	if (r == 0)
		r = add_masked(filter, CALL(openat), 2, writing);
	return r;
}

static int broker_fill(scmp_filter_ctx filter)
{
	int r = add_all(filter, SCMP_ACT_ERRNO(EPERM), broker_refused,
			SW_ARRAY_SIZE(broker_refused));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), CALL(clone), 1,
				     SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
	/* Its flags are in memory, where no filter can see them; without it clone is used. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), CALL(clone3), 0);
	return r;
}

static int enter(uint32_t otherwise, int (*fill)(scmp_filter_ctx), struct sw_error *err)
{
	sw_cleanup(filter_release) scmp_filter_ctx filter = seccomp_init(otherwise);
	if (filter == NULL)
		return sw_fail_nomem(err);
	int r = fill(filter);
	if (r == 0)
		r = seccomp_load(filter);
	errno = -r;
	return r == 0 ? 0 : sw_fail_errno(err, SW_E_IO, "cannot enter the seccomp filter");
}

int sw_seccomp_worker(struct sw_error *err)
{
	return enter(SCMP_ACT_ERRNO(EPERM), worker_fill, err);
}

int sw_seccomp_broker(struct sw_error *err)
{
	return enter(SCMP_ACT_ALLOW, broker_fill, err);
}
