/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Preloaded into a program under test: what a parser would do that a file has taken over, at the moment
 * when libdw is handed one.
 *
 *	ATTACK=read|write|openat2|mem|chmod|proc|exec|fork|socket|ptrace|poke|pc|options|kill|bpf|userns|getfd|owner
 *
 * Writes "attack: done" or "attack: ERROR" to standard error and goes on; or is killed.
 *
 *	ATTACK_AT=write|terminal
 *
 * Does so where a confined process first writes something instead: one that reads symbols and no DWARF writes what it found.
 * terminal: where it first writes to one.
 *
 *	ATTACK=second
 *
 * Writes "attack: second" and ends by a signal where a process makes its second report.
 */
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *what;
static pid_t parent;
static ssize_t (*real_write)(int fd, const void *bytes, size_t n);
static bool at_write, at_terminal;
static Dwarf *(*real)(Elf *elf, Dwarf_Cmd cmd, Elf_Scn *scngrp);

__attribute__((constructor)) static void begin(void)
{
	what = getenv("ATTACK");
	parent = getppid();
	const char *at = getenv("ATTACK_AT");
	at_write = at != NULL;
	at_terminal = at != NULL && strcmp(at, "terminal") == 0;
	real_write = (ssize_t(*)(int, const void *, size_t)) dlsym(RTLD_NEXT, "write");
	real = (Dwarf * (*) (Elf *, Dwarf_Cmd, Elf_Scn *) ) dlsym(RTLD_NEXT, "dwarf_begin_elf");
}

static int fork_it(int (*work)(void))
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(work());
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static int exec_it(void)
{
	return execl("/bin/true", "true", (char *) NULL);
}

static int nothing(void)
{
	return 0;
}

/* Whether the kernel was asked at all: it knows no tracee of ours. */
static int asked(long result)
{
	return result >= 0 || errno == ESRCH || errno == EIO || errno == EINVAL || errno == E2BIG
		       ? 0
		       : -1;
}

static int attack_process(void)
{
	char path[32];
	(void) snprintf(path, sizeof(path), "/proc/%d/mem", (int) parent); /* fits */
	if (strcmp(what, "mem") == 0)
		return open(path, O_RDWR | O_CLOEXEC);
	if (strcmp(what, "poke") == 0)
		return asked(ptrace(PTRACE_POKEDATA, parent, 0, 0));
	if (strcmp(what, "pc") == 0)
		return asked(ptrace(PTRACE_POKEUSER, parent, offsetof(struct user_regs_struct, rip),
				    -514));
	if (strcmp(what, "options") == 0)
		return asked(ptrace(PTRACE_SEIZE, -1, 0, PTRACE_O_EXITKILL));
	if (strcmp(what, "getfd") == 0) {
		(void) syscall(SYS_pidfd_getfd, -1, 0, 0);
		return errno == EBADF ? 0 : -1; /* the kernel was asked */
	}
	if (strcmp(what, "owner") == 0)
		return fcntl(STDERR_FILENO, F_SETOWN, getpid());
	errno = EINVAL;
	return -1;
}

static int attack(void)
{
	const char *file = getenv("ATTACK_FILE");
	const struct open_how how = {.flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = 0600};
	union bpf_attr none;
	if (strcmp(what, "openat2") == 0)
		return (int) syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof(how));
	if (strcmp(what, "chmod") == 0)
		return chmod(getenv("ATTACK_CHMOD"), 0600);
	if (strcmp(what, "bpf") == 0) {
		memset(&none, 0, sizeof(none));
		return asked(syscall(SYS_bpf, BPF_PROG_LOAD, &none, sizeof(none)));
	}
	if (strcmp(what, "userns") == 0)
		return asked(unshare(CLONE_NEWUSER));
	if (strcmp(what, "read") == 0)
		return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	if (strcmp(what, "write") == 0)
		return open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (strcmp(what, "proc") == 0) {
		char path[32];
		(void) snprintf(path, sizeof(path), "/proc/%d/maps", (int) parent); /* fits */
		return open(path, O_RDONLY | O_CLOEXEC);
	}
	if (strcmp(what, "exec") == 0) {
		pid_t pid = vfork();
		if (pid == 0)
			_exit(exec_it());
		return pid > 0 ? 0 : -1;
	}
	if (strcmp(what, "fork") == 0)
		return fork_it(nothing);
	if (strcmp(what, "socket") == 0)
		return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (strcmp(what, "ptrace") == 0)
		return ptrace(PTRACE_SEIZE, parent, 0, 0) < 0 && errno != EPERM ? -1 : 0;
	if (strcmp(what, "kill") == 0)
		return kill(parent, 0);
	return attack_process();
}

/* A report has the host's name: libc's own function is asked by each once. */
int uname(struct utsname *name)
{
	static int n;
	if (what != NULL && strcmp(what, "second") == 0 && ++n == 2) {
		dprintf(STDERR_FILENO, "attack: second\n");
		__builtin_trap();
	}
	return (int) syscall(SYS_uname, name);
}

static void attack_once(void)
{
	static int done;
	if (what == NULL || strcmp(what, "second") == 0 || done++ > 0)
		return;
	errno = 0;
	int r = attack();
	dprintf(STDERR_FILENO, "attack: %s\n", r >= 0 ? "done" : strerrorname_np(errno));
}

Dwarf *dwarf_begin_elf(Elf *elf, Dwarf_Cmd cmd, Elf_Scn *scngrp)
{
	if (!at_write)
		attack_once();
	return real(elf, cmd, scngrp);
}

/* A filter that does not permit the question answers it as well. */
ssize_t write(int fd, const void *bytes, size_t n)
{
	if (at_write && prctl(PR_GET_SECCOMP) != 0 && (!at_terminal || isatty(fd)))
		attack_once();
	return real_write(fd, bytes, n);
}
