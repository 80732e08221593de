/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/target.h"
#include "errors.h"
#include "process/filesystems.h"
#include "process/proc.h"
#include "text.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum { STATUS_TEXT_MAX = 16 * 1024, LIVE_TRIES = 50 };

/* glibc 2.36 has a wrapper; older ones and musl do not. */
static int pidfd_open_pid(pid_t pid)
{
	return (int) syscall(SYS_pidfd_open, pid, 0);
}

static bool state_is_dead(char state)
{
	return state == 'Z' || state == 'X' || state == 'x';
}

bool sw_target_thread_lives(int dirfd, const char *name)
{
	struct sw_proc_stat stat;
	return sw_proc_stat_read(dirfd, name, &stat) && !state_is_dead(stat.state) &&
	       stat.vsize_bytes > 0;
}

bool sw_target_stat(const struct sw_target *target, struct sw_proc_stat *ret)
{
	char name[32];
	(void) snprintf(name, sizeof(name), "%d/stat", (int) target->pid); /* fits */
	return sw_proc_stat_read(target->task_fd, name, ret) ||
	       sw_proc_stat_read(target->proc_fd, "stat", ret);
}

bool sw_target_lives(const struct sw_target *target)
{
	struct pollfd ended = {.fd = target->pidfd, .events = POLLIN};
	struct sw_proc_stat stat;
	if (target->pidfd >= 0)
		return poll(&ended, 1, 0) == 0;
	return sw_target_stat(target, &stat) && stat.starttime == target->starttime &&
	       !state_is_dead(stat.state);
}

/* The directory of one thread; negative when it does not live. */
static int live_fd_of(const struct sw_target *target, pid_t tid)
{
	char name[32];
	(void) snprintf(name, sizeof(name), "%d/stat", (int) tid); /* fits */
	if (!sw_target_thread_lives(target->task_fd, name))
		return -1;
	(void) snprintf(name, sizeof(name), "%d", (int) tid); /* fits */
	return openat(target->task_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int live_fd_try(const struct sw_target *target, pid_t *ret_tid)
{
	enum { TIDS = 512 };
	pid_t tids[TIDS];
	size_t n;
	/* Mostly it is the leader, and a list of thousands of threads takes milliseconds. */
	int leader_fd = live_fd_of(target, target->pid);
	*ret_tid = target->pid;
	if (leader_fd >= 0)
		return leader_fd;
	errno = 0;
	if (!sw_proc_tids(target->task_fd, tids, TIDS, &n))
		return -1;
	/* A zombie leader is rare, and then a thread among the first ones is alive: the oldest
	 * TIDS are looked at. */
	for (size_t i = 0; i < n && i < TIDS; i++) {
		int fd = live_fd_of(target, tids[i]);
		*ret_tid = tids[i];
		if (fd >= 0)
			return fd;
	}
	return -1;
}

int sw_target_live_thread(const struct sw_target *target, pid_t *ret_tid)
{
	int fd = -1;
	/* In the middle of an execve there is an instant without a thread that lives. */
	for (int i = 0; fd < 0 && i < LIVE_TRIES; i++) {
		struct pollfd dead = {.fd = target->pidfd, .events = POLLIN};
		if (i > 0 && poll(&dead, 1, 0) > 0)
			break;
		fd = live_fd_try(target, ret_tid);
	}
	return fd;
}

int sw_target_live_fd(const struct sw_target *target)
{
	pid_t tid;
	return sw_target_live_thread(target, &tid);
}

/* The first namespace has all users, and each has its own number: user_namespaces(7). */
static bool in_first_user_namespace(void)
{
	char map[64];
	unsigned inside = 0, outside = 0, n = 0;
	return sw_proc_read_small(AT_FDCWD, "/proc/self/uid_map", map, sizeof(map)) > 0 &&
	       sscanf(map, "%u %u %u", &inside, &outside, &n) == 3 && inside == 0 && outside == 0 &&
	       n == UINT32_MAX;
}

/* '0' also without Yama. */
static char yama_scope(void)
{
	char yama[16];
	return sw_proc_read_small(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", yama,
				  sizeof(yama)) > 0
		       ? yama[0]
		       : '0';
}

static int denied_to_root(pid_t pid, struct sw_error *err)
{
	if (!sw_proc_is_capable(CAP_SYS_PTRACE))
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "process %d: we are root without the capability SYS_PTRACE "
			       "(container?)",
			       (int) pid);
	if (!in_first_user_namespace())
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "process %d: we are root of a user namespace, and the process does "
			       "not belong to it, or a security module denies it",
			       (int) pid);
	if (yama_scope() == '3')
		return sw_fail(
			err, SW_E_NOT_PERMITTED,
			"process %d: kernel.yama.ptrace_scope is 3, with which nobody traces",
			(int) pid);
	return sw_fail(err, SW_E_NOT_PERMITTED,
		       "process %d: a security module or a system call filter refuses it, although "
		       "we are root",
		       (int) pid);
}

/* The error says what stands in the way; the caller says what to do about it
 * (cli/common/remedy.c). */
static int denied_words(pid_t pid, const char *status, struct sw_error *err)
{
	uint64_t uid;
	if (geteuid() == 0)
		return denied_to_root(pid, err);
	if (sw_proc_status_number(status, "Uid", &uid) && uid != geteuid())
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "process %d belongs to user %u, we are user %u", (int) pid,
			       (unsigned) uid, (unsigned) geteuid());
	char scope = yama_scope();
	if (scope != '0')
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "process %d: kernel.yama.ptrace_scope is %c, which permits less "
			       "than tracing",
			       (int) pid, scope);
	if (!in_first_user_namespace())
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "process %d does not belong to our user namespace, or has protected "
			       "itself",
			       (int) pid);
	return sw_fail(err, SW_E_NOT_PERMITTED,
		       "process %d has protected itself (set-uid program, capabilities or "
		       "PR_SET_DUMPABLE)",
		       (int) pid);
}

int sw_target_denied(const struct sw_target *target, pid_t tid, struct sw_error *err)
{
	char name[32], status[STATUS_TEXT_MAX] = "", comm[SW_COMM_MAX] = "?";
	uint64_t tracer = 0;
	(void) snprintf(name, sizeof(name), "%d/status", (int) tid); /* fits */
	if (sw_proc_read_small(target->task_fd, name, status, sizeof(status)) < 0)
		status[0] = '\0';
	if (!sw_proc_status_number(status, "TracerPid", &tracer) || tracer == 0)
		return denied_words(target->pid, status, err);
	(void) snprintf(name, sizeof(name), "/proc/%u/comm", (unsigned) tracer); /* fits */
	if (sw_proc_read_small(AT_FDCWD, name, comm, sizeof(comm)) > 0)
		comm[strcspn(comm, "\n")] = '\0';
	return sw_fail(err, SW_E_TRACED,
		       "process %d is traced by process %u (%s): only one can trace at a time",
		       (int) target->pid, (unsigned) tracer, comm);
}

/* A file of the process could not be opened: it is gone, unless errno says that it was for want of
 * something of ours. */
static int gone(pid_t pid, int code, struct sw_error *err)
{
	if (sw_errno_is_shortage(errno))
		return sw_fail_errno(err, SW_E_IO,
				     "process %d: its files in /proc cannot be opened", (int) pid);
	return sw_fail(err, code, "process %d has just exited", (int) pid);
}

/* Without /proc, as in a root directory with nothing in it, no process is seen. */
static int not_there(pid_t pid, struct sw_error *err)
{
	if (access("/proc/self/stat", F_OK) < 0 && errno == ENOENT)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "/proc is not mounted here: 'mount -t proc proc /proc' mounts it");
	return sw_fail(err, SW_E_NO_PROCESS, "no process %d", (int) pid);
}

/* From a pid or tid to the process, with everything that identifies it. */
static int identify(pid_t pid, struct sw_target *t, struct sw_error *err)
{
	char path[32], status[STATUS_TEXT_MAX];
	uint64_t tgid;
	(void) snprintf(path, sizeof(path), "/proc/%d/status", (int) pid); /* fits */
	errno = 0;
	if (sw_proc_read_small(AT_FDCWD, path, status, sizeof(status)) <= 0 ||
	    !sw_proc_status_number(status, "Tgid", &tgid))
		return sw_errno_is_shortage(errno) ? gone(pid, SW_E_NO_PROCESS, err)
						   : not_there(pid, err);
	t->pid = (pid_t) tgid;
	if (t->pid == getpid())
		return sw_fail(err, SW_E_SELF,
			       "process %d is ourselves: ask another process to do it",
			       (int) t->pid);
	t->pidfd = pidfd_open_pid(t->pid);
	if (t->pidfd < 0 && errno == ESRCH)
		return sw_fail(err, SW_E_NO_PROCESS, "no process %d", (int) pid);
	if (t->pidfd < 0)
		t->pidfd = -EBADF; /* an old kernel or a filter: proc_fd alone identifies */
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) t->pid); /* fits */
	errno = 0;
	t->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->proc_fd >= 0)
		t->task_fd = openat(t->proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Both mean the same process if that of the pidfd was not yet reaped after the directory
	 * was opened: it is still running, or a zombie. */
	struct pollfd dead = {.fd = t->pidfd, .events = POLLIN};
	struct sw_proc_stat stat;
	if (t->task_fd < 0 || !sw_target_stat(t, &stat) ||
	    (t->pidfd >= 0 && poll(&dead, 1, 0) > 0 && !state_is_dead(stat.state)))
		return gone(pid, SW_E_NO_PROCESS, err);
	return 0;
}

/* The first bytes of the program; -SW_E_ARCH when it is for neither x86-64 nor i386. */
static int check_arch(const struct sw_target *t, int live_fd, struct sw_error *err)
{
	uint8_t ident[EI_NIDENT + 4];
	/* A file whose server may not answer is not opened: the registers' size says it too, at the
	 * stop. */
	bool asked = sw_filesystems_link_kind(live_fd, "exe") == SW_FS_LOCAL;
	sw_cleanup(sw_close_p) int fd =
		asked ? openat(live_fd, "exe", O_RDONLY | O_CLOEXEC) : -EBADF;
	if (asked && fd < 0 && (errno == EACCES || errno == EPERM) &&
	    sw_target_thread_lives(live_fd, "stat"))
		return sw_target_denied(t, t->pid, err);
	if (fd < 0 || read(fd, ident, sizeof(ident)) != (ssize_t) sizeof(ident))
		return 0;
	uint16_t machine = (uint16_t) (ident[18] | ident[19] << 8); /* e_machine, gABI 4.1 */
	if (memcmp(ident, ELFMAG, SELFMAG) != 0 ||
	    (ident[EI_CLASS] == ELFCLASS64 && machine == EM_X86_64) ||
	    (ident[EI_CLASS] == ELFCLASS32 && machine == EM_386))
		return 0;
	return sw_fail(err, SW_E_ARCH,
		       "process %d runs %s: only 64-bit and 32-bit x86 ones can be captured",
		       (int) t->pid,
		       ident[EI_CLASS] == ELFCLASS32 && machine == EM_X86_64
			       ? "a program of the x32 ABI"
			       : "a foreign program");
}

static int check_kind(struct sw_target *t, struct sw_error *err)
{
	struct sw_proc_stat stat;
	errno = 0;
	if (!sw_target_stat(t, &stat))
		return gone(t->pid, SW_E_NO_PROCESS, err);
	t->starttime = stat.starttime;
	if (stat.flags & SW_PF_KTHREAD)
		return sw_fail(err, SW_E_KERNEL_THREAD, "process %d (%s) is a kernel thread",
			       (int) t->pid, stat.comm);
	for (int i = 0; i < LIVE_TRIES; i++) {
		sw_cleanup(sw_close_p) int live_fd = sw_target_live_fd(t);
		if (live_fd < 0 && sw_errno_is_shortage(errno))
			return gone(t->pid, SW_E_EXITED, err);
		if (live_fd < 0)
			return sw_fail(err, SW_E_ZOMBIE,
				       "process %d (%s) has exited and waits to be reaped "
				       "by its parent %d",
				       (int) t->pid, stat.comm, (int) stat.ppid);
		/* Opening mem asks the kernel's and the security modules' whole opinion on
		 * tracing. */
		sw_cleanup(sw_close_p) int mem_fd = openat(live_fd, "mem", O_RDONLY | O_CLOEXEC);
		if (mem_fd < 0 && sw_errno_is_shortage(errno))
			return gone(t->pid, SW_E_EXITED, err);
		if (mem_fd >= 0 || (errno != EACCES && errno != EPERM))
			return check_arch(t, live_fd, err);
		if (sw_target_thread_lives(live_fd, "stat"))
			return sw_target_denied(t, t->pid, err);
		/* The thread has just ended; perhaps the process goes on with another. */
	}
	return sw_fail(err, SW_E_EXITED, "process %d has just exited", (int) t->pid);
}

int sw_target_open(pid_t pid, struct sw_target **ret, struct sw_error *err)
{
	if (pid <= 0)
		return sw_fail(err, SW_E_NO_PROCESS, "no process %d", (int) pid);
	sw_cleanup(sw_target_close_p) struct sw_target *t = calloc(1, sizeof(*t));
	if (t == NULL)
		return sw_fail_nomem(err);
	t->pidfd = t->proc_fd = t->task_fd = -EBADF;
	int r = identify(pid, t, err);
	if (r == 0)
		r = check_kind(t, err);
	if (r < 0)
		return r;
	*ret = sw_take_ptr(t);
	return 0;
}

void sw_target_close(struct sw_target *target)
{
	if (target == NULL)
		return;
	sw_close_p(&target->pidfd);
	sw_close_p(&target->proc_fd);
	sw_close_p(&target->task_fd);
	free(target);
}

int sw_target_directory(const struct sw_target *target, struct sw_error *err)
{
	int fd = fcntl(target->proc_fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? sw_fail_errno(err, SW_E_IO, "its directory in /proc cannot be kept") : fd;
}

/* Where the first thread has ended its files are those of a thread that lives, and has a directory of its own below /proc.
 * The number is that thread's where it lives afterwards. */
static int map_file_open(const struct sw_target *target, const char *name)
{
	char path[96];
	pid_t tid = 0;
	int fd = openat(target->proc_fd, name, O_PATH | O_CLOEXEC);
	if (fd >= 0 || (errno != ESRCH && errno != ENOENT))
		return fd;
	sw_cleanup(sw_close_p) int live_fd = sw_target_live_thread(target, &tid);
	if (live_fd < 0)
		return -1;
	(void) snprintf(path, sizeof(path), "/proc/%d/%s", (int) tid, name); /* fits */
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && !sw_target_thread_lives(live_fd, "stat")) {
		sw_close_p(&fd);
		errno = ESRCH;
	}
	return fd;
}

int sw_target_map_file(const struct sw_target *target, uint64_t start_avma, uint64_t end_avma,
		       struct sw_error *err)
{
	char name[64];
	(void) snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, start_avma,
			end_avma); /* fits */
	int fd = map_file_open(target, name);
	if (fd < 0 && (errno == EPERM || errno == EACCES))
		return sw_fail(err, SW_E_NOT_PERMITTED, "the files that it has mapped are refused");
	return fd < 0 ? sw_fail_errno(err, SW_E_IO, "the file of its code cannot be had") : fd;
}

pid_t sw_target_pid(const struct sw_target *target)
{
	return target->pid;
}

uint64_t sw_target_starttime(const struct sw_target *target)
{
	return target->starttime;
}
