/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake_kernel.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct fake_kernel fake_kernel;

static size_t listed; /* of the directory, since it was rewound */

/* The linker's names for what is called instead of NAME, and for NAME itself: ld(1), --wrap. */
long __wrap_ptrace(int request, ...);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
				const struct iovec *remote, unsigned long n_remote,
				unsigned long flags);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
pid_t __wrap_getppid(void);
pid_t __real_getppid(void);
int __wrap_setitimer(int which, const struct itimerval *t, struct itimerval *old);
int __wrap_fstat(int fd, struct stat *st);
int __real_fstat(int fd, struct stat *st);
off_t __wrap_lseek(int fd, off_t off, int whence);
off_t __real_lseek(int fd, off_t off, int whence);
ssize_t __wrap_getdents64(int fd, void *buffer, size_t size);
ssize_t __real_getdents64(int fd, void *buffer, size_t size);
int __wrap_faccessat(int fd, const char *name, int mode, int flags);
int __real_faccessat(int fd, const char *name, int mode, int flags);
int __wrap_openat(int fd, const char *name, int flags, ...);
int __real_openat(int fd, const char *name, int flags, ...);

static void note(char letter)
{
	if (fake_kernel.n_log < FAKE_LOG_MAX - 1)
		fake_kernel.log[fake_kernel.n_log++] = letter;
}

static int refuse(int error)
{
	errno = error;
	return -1;
}

/* ---- time ------------------------------------------------------------------------------------ */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	fake_kernel.now_ns += FAKE_TICK_NS;
	*t = (struct timespec){.tv_sec = 1000 + fake_kernel.now_ns / 1000000000,
			       .tv_nsec = fake_kernel.now_ns % 1000000000};
	return 0;
}

int __wrap_setitimer(int which, const struct itimerval *t, struct itimerval *old)
{
	int64_t ns = (int64_t) t->it_value.tv_sec * 1000000000 + t->it_value.tv_usec * 1000;
	fake_kernel.alarm_ns = ns > 0 ? fake_kernel.now_ns + ns : 0;
	return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	if (fake_kernel.n_glances == 0)
		return __real_poll(fds, n, timeout_ms);
	fake_kernel.n_glances--;
	fake_kernel.glance();
	return 0;
}

pid_t __wrap_getppid(void)
{
	return fake_kernel.orphaned && fake_kernel.n_interrupted > 0 ? 1 : __real_getppid();
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct fake_thread *thread_find(pid_t tid)
{
	for (size_t i = 0; i < fake_kernel.n; i++)
		if (fake_kernel.threads[i].tid == tid)
			return &fake_kernel.threads[i];
	return NULL;
}

static bool is_listed(const struct fake_thread *t)
{
	bool dead = t->dies && t->interrupted;
	return !t->foreign && !dead && t->born <= fake_kernel.n_seized &&
	       t->born_held <= fake_kernel.n_interrupted;
}

static bool has_stopped(const struct fake_thread *t)
{
	return t->interrupted && !t->detached && t->stops_after_ns != FAKE_NEVER &&
	       fake_kernel.now_ns >= t->interrupt_ns + t->stops_after_ns;
}

static long seize(struct fake_thread *t, long options)
{
	note('s');
	fake_kernel.now_ns += fake_kernel.seize_ns;
	fake_kernel.n_seized++;
	t->seize_options = options;
	if (t->seize_errno != 0)
		return refuse(t->seize_errno);
	t->seized = true;
	return 0;
}

static long interrupt(struct fake_thread *t)
{
	if (!t->seized)
		return refuse(ESRCH);
	note('i');
	fake_kernel.now_ns += fake_kernel.interrupt_ns;
	fake_kernel.n_interrupted++;
	t->interrupted = true;
	t->interrupt_ns = fake_kernel.now_ns;
	return 0;
}

static long registers(const struct fake_thread *t, struct iovec *space)
{
	if (!has_stopped(t) || t->dies_held)
		return refuse(ESRCH);
	note('r');
	fake_kernel.now_ns += fake_kernel.registers_ns;
	if (t->regs_bytes != 0 && t->regs_bytes < space->iov_len)
		space->iov_len = t->regs_bytes;
	memcpy(space->iov_base, &t->regs, space->iov_len);
	return 0;
}

/* The kernel gives them in the layout of who asks, also those of a thread in 32-bit code. */
static long all_registers(const struct fake_thread *t, struct user_regs_struct *ret)
{
	if (!has_stopped(t) || t->dies_held)
		return refuse(ESRCH);
	*ret = t->regs;
	return 0;
}

static long poke(struct fake_thread *t, unsigned long offset, long value)
{
	if (!has_stopped(t))
		return refuse(ESRCH);
	note('p');
	t->poked = true;
	t->poked_offset = offset;
	t->poked_value = value;
	return 0;
}

static long detach(struct fake_thread *t, int signal)
{
	if (!has_stopped(t))
		return refuse(ESRCH);
	note('d');
	fake_kernel.now_ns += fake_kernel.detach_ns;
	t->detached = true;
	t->detach_signal = signal;
	t->detach_ns = fake_kernel.now_ns;
	return 0;
}

long __wrap_ptrace(int request, ...)
{
	va_list list;
	va_start(list, request);
	pid_t tid = va_arg(list, pid_t);
	unsigned long address = va_arg(list, unsigned long);
	unsigned long data = va_arg(list, unsigned long);
	va_end(list);
	struct fake_thread *t = thread_find(tid);
	if (t == NULL)
		return refuse(ESRCH);
	switch (request) {
	case PTRACE_SEIZE: return seize(t, (long) data);
	case PTRACE_INTERRUPT: return interrupt(t);
	case PTRACE_GETREGSET: return registers(t, (struct iovec *) data);
	case PTRACE_GETREGS: return all_registers(t, (struct user_regs_struct *) data);
	case PTRACE_POKEUSER: return poke(t, address, (long) data);
	case PTRACE_DETACH: return detach(t, (int) data);
	default: return refuse(EIO);
	}
}

/* Wait until the thread has something to say, or the alarm rings. */
static bool wait_for(const struct fake_thread *t, int flags)
{
	if (t->dies || has_stopped(t))
		return true;
	if (flags & WNOHANG)
		return false;
	int64_t stop_ns =
		t->stops_after_ns != FAKE_NEVER ? t->interrupt_ns + t->stops_after_ns : FAKE_NEVER;
	if (fake_kernel.alarm_ns == 0 && stop_ns == FAKE_NEVER) {
		fake_kernel.hangs = true;
		fake_kernel.now_ns += INT64_C(3600) * 1000000000;
		return false;
	}
	if (fake_kernel.alarm_ns != 0 && fake_kernel.alarm_ns < stop_ns) {
		if (fake_kernel.alarm_ns > fake_kernel.now_ns)
			fake_kernel.now_ns = fake_kernel.alarm_ns;
		fake_kernel.alarm_ns += 1000000; /* it rings again */
		return false;
	}
	fake_kernel.now_ns = stop_ns;
	return true;
}

int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int flags)
{
	struct fake_thread *t = thread_find((pid_t) id);
	if (type != P_PID || t == NULL || !t->seized || t->reaped)
		return refuse(ECHILD);
	bool came = wait_for(t, flags);
	if (!came && (flags & WNOHANG)) {
		info->si_pid = 0;
		return 0;
	}
	if (!came)
		return refuse(EINTR);
	info->si_pid = t->tid;
	if (t->dies) {
		info->si_code = CLD_KILLED;
		info->si_status = SIGKILL;
		t->reaped |= (flags & WEXITED) && !(flags & WNOWAIT);
		return 0;
	}
	info->si_code = CLD_TRAPPED;
	info->si_status = t->signal != 0 ? t->signal : SIGTRAP | PTRACE_EVENT_STOP << 8;
	t->consumed |= !(flags & WNOWAIT);
	return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t read_one(const struct iovec *remote, uint8_t *to, size_t space)
{
	uint64_t avma = (uint64_t) (uintptr_t) remote->iov_base;
	for (size_t i = 0; i < fake_kernel.n_ranges; i++) {
		const struct fake_range *r = &fake_kernel.ranges[i];
		if (avma < r->start_avma || avma - r->start_avma >= r->size)
			continue;
		size_t n = r->size - (avma - r->start_avma);
		n = n < remote->iov_len ? n : remote->iov_len;
		n = n < space ? n : space;
		memcpy(to, (const uint8_t *) r->bytes + (avma - r->start_avma), n);
		return n;
	}
	return 0;
}

/* Whole ones, and the part of the first that is not. Places of our own are taken as one. */
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
				const struct iovec *remote, unsigned long n_remote,
				unsigned long flags)
{
	size_t total = 0;
	if (n_remote > 0)
		note('c');
	fake_kernel.now_ns += fake_kernel.copy_ns;
	fake_kernel.readv_pid = pid;
	for (size_t i = 0; i < fake_kernel.n; i++)
		fake_kernel.after_detach |= fake_kernel.threads[i].detached;
	if (fake_kernel.readv_errno != 0)
		return refuse(fake_kernel.readv_errno);
	size_t at = 0, k = 0;
	for (unsigned long i = 0; i < n_remote; i++) {
		if (n_local > 1)
			k = i, at = 0;
		size_t n = read_one(&remote[i], (uint8_t *) local[k].iov_base + at,
				    local[k].iov_len - at);
		at += n;
		total += n;
		if (n < remote[i].iov_len)
			break;
	}
	return total > 0 || n_remote == 0 ? (ssize_t) total : refuse(EFAULT);
}

/* ---- the directory of threads ---------------------------------------------------------------- */

int __wrap_fstat(int fd, struct stat *st)
{
	if (fd != FAKE_TASK_FD)
		return __real_fstat(fd, st);
	*st = (struct stat){.st_nlink = 2};
	for (size_t i = 0; i < fake_kernel.n; i++)
		st->st_nlink += is_listed(&fake_kernel.threads[i]);
	return 0;
}

off_t __wrap_lseek(int fd, off_t off, int whence)
{
	if (fd != FAKE_TASK_FD)
		return __real_lseek(fd, off, whence);
	listed = 0;
	return 0;
}

ssize_t __wrap_getdents64(int fd, void *buffer, size_t size)
{
	if (fd != FAKE_TASK_FD)
		return __real_getdents64(fd, buffer, size);
	size_t used = 0;
	for (; listed < fake_kernel.n && used + sizeof(struct dirent64) <= size; listed++) {
		struct dirent64 entry = {.d_reclen = sizeof(entry)};
		if (!is_listed(&fake_kernel.threads[listed]))
			continue;
		(void) snprintf(entry.d_name, sizeof(entry.d_name), "%d",
				(int) fake_kernel.threads[listed].tid);
		memcpy((char *) buffer + used, &entry, sizeof(entry));
		used += sizeof(entry);
	}
	return (ssize_t) used;
}

int __wrap_faccessat(int fd, const char *name, int mode, int flags)
{
	if (fd != FAKE_TASK_FD)
		return __real_faccessat(fd, name, mode, flags);
	const struct fake_thread *t = thread_find(atoi(name));
	return t != NULL && is_listed(t) ? 0 : refuse(ENOENT);
}

int __wrap_openat(int fd, const char *name, int flags, ...)
{
	if (fd != FAKE_TASK_FD) {
		va_list list;
		va_start(list, flags);
		mode_t mode = (flags & O_CREAT) != 0 ? va_arg(list, mode_t) : 0;
		va_end(list);
		return __real_openat(fd, name, flags, mode);
	}
	return fake_kernel.openat_errno != 0
		       ? refuse(fake_kernel.openat_errno)
		       : __real_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}
