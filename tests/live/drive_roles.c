/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * drive_roles OUT list -- CMD ...: runs a command under ptrace with all processes that it makes, and writes a line to the file OUT
 * for each time that one of them has entered a filter of system calls:
 *
 *	role PID name NAME uid UID caps HEX filter HEX:HEX...
 *
 * uid, caps: what it has effectively then. filter: its filters, the oldest first, with colons
 * between them: instructions as the kernel keeps them, struct sock_filter in hexadecimal digits.
 *
 * drive_roles OUT at NAME:N CALL ... -- CMD ...: the same, and the N-th process of that name, from 0, makes calls then, in their order.
 * CALL: the number of the call, and arguments behind commas: numbers; @TEXT is a pointer to that text, %HEX one to these
 * bytes. Behind "i386:" it is a call of i386, made by the instruction "int 0x80". A line for each call, until one kills the process:
 *
 *	call NUMBER result RESULT | call NUMBER died SIGNAL
 *
 * Stops are at these calls alone, by a filter that the command has besides, which is not written.
 * A process that has lived goes on as if nothing had been. SIGTERM goes to the command; the status is the command's.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TASKS_MAX = 4096,
	ARGUMENTS = 6,
	BYTES_MAX = 2048, /* of all arguments of a call that are pointers */
	FILTER_MAX = 4096,
	STACK_ALIGN = 64,
	SYSCALL_BYTES = 2,
};

struct task {
	pid_t tid;
	bool started, enters; /* enters: the call that it is in enters a filter */
};

static struct task tasks[TASKS_MAX];
static size_t n_tasks;
static FILE *out;
static long n_named;
static const char *wanted_name = ""; /* of the process that makes calls, */
static long wanted = -1;             /* and its number among those */
static char **calls;
static int n_calls;
static volatile pid_t command;
static int result = 2; /* of the command */

static void fail(const char *what)
{
	(void) fprintf(stderr, "drive_roles: %s: %s\n", what, strerror(errno));
	exit(2);
}

static struct task *task_of(pid_t tid)
{
	struct task *unused = NULL;
	for (size_t i = 0; i < n_tasks; i++) {
		if (tasks[i].tid == tid)
			return &tasks[i];
		if (tasks[i].tid == 0)
			unused = &tasks[i];
	}
	if (unused == NULL && n_tasks < TASKS_MAX)
		unused = &tasks[n_tasks++];
	if (unused == NULL)
		fail("tasks");
	*unused = (struct task){.tid = tid};
	return unused;
}

/* The rest of the line of /proc/TID/status that begins so, without blanks. */
static void status_read(pid_t tid, const char *begin, char *ret, size_t size)
{
	char path[64], line[256];
	(void) snprintf(path, sizeof(path), "/proc/%d/status", (int) tid);
	FILE *file = fopen(path, "re");
	(void) snprintf(ret, size, "?");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, begin, strlen(begin)) == 0) {
			char *word = line + strlen(begin);
			word += strspn(word, " \t");
			word[strcspn(word, "\n")] = '\0';
			(void) snprintf(ret, size, "%s", word);
			break;
		}
	if (file != NULL)
		(void) fclose(file);
}

static void filter_tell(pid_t tid, uintptr_t number)
{
	static struct sock_filter filter[FILTER_MAX];
	const enum __ptrace_request get = (enum __ptrace_request) PTRACE_SECCOMP_GET_FILTER;
	long n = ptrace(get, tid, number, NULL);
	if (n < 0 || n > FILTER_MAX || ptrace(get, tid, number, filter) != n)
		fail("PTRACE_SECCOMP_GET_FILTER");
	(void) fputs(number > 1 ? ":" : "", out);
	for (const uint8_t *byte = (const uint8_t *) filter; byte < (const uint8_t *) (filter + n);
	     byte++)
		(void) fprintf(out, "%02x", *byte);
}

/* True: it is the one that makes calls. */
static bool role_tell(pid_t tid)
{
	char name[64], uids[64], pid[32], caps[32];
	unsigned real, effective = 0;
	status_read(tid, "Name:", name, sizeof(name));
	status_read(tid, "Uid:", uids, sizeof(uids));
	status_read(tid, "Tgid:", pid, sizeof(pid));
	status_read(tid, "CapEff:", caps, sizeof(caps));
	(void) sscanf(uids, "%u %u", &real, &effective);
	(void) fprintf(out, "role %s name %s uid %u caps %s filter ", pid, name, effective, caps);
	uintptr_t n = 0;
	while (ptrace((enum __ptrace_request) PTRACE_SECCOMP_GET_FILTER, tid, n, NULL) >= 0)
		n++;
	for (uintptr_t i = 1; i < n; i++) /* the oldest one is ours */
		filter_tell(tid, i);
	(void) fputc('\n', out);
	(void) fflush(out);
	return strcmp(name, wanted_name) == 0 && n_named++ == wanted;
}

/* ---- calls that are made for a process --------------------------------------------------------- */

static void memory_copy(pid_t tid, uint64_t address, uint8_t *bytes, size_t n, bool write)
{
	struct iovec ours = {bytes, n}, theirs = {(void *) (uintptr_t) address, n};
	ssize_t done = write ? process_vm_writev(tid, &ours, 1, &theirs, 1, 0)
			     : process_vm_readv(tid, &ours, 1, &theirs, 1, 0);
	if (done != (ssize_t) n)
		fail("its memory");
}

static size_t hex_read(const char *text, uint8_t *ret, size_t size)
{
	size_t n = 0;
	for (; isxdigit((unsigned char) text[0]) && isxdigit((unsigned char) text[1]); text += 2) {
		const char digits[] = {text[0], text[1], '\0'};
		if (n == size)
			fail("too many bytes");
		ret[n++] = (uint8_t) strtoul(digits, NULL, 16);
	}
	return n;
}

/* Arguments that are pointers lead to the given place. */
static void call_parse(char *text, uint64_t at, uint8_t *bytes, uint64_t numbers[ARGUMENTS + 1])
{
	size_t n_bytes = 0;
	int n = 0;
	for (char *word; (word = strsep(&text, ",")) != NULL && n <= ARGUMENTS; n++) {
		if (word[0] != '@' && word[0] != '%') {
			numbers[n] = strtoull(word, NULL, 0);
			continue;
		}
		numbers[n] = at + n_bytes;
		if (word[0] == '%') {
			n_bytes += hex_read(word + 1, bytes + n_bytes, BYTES_MAX - n_bytes);
		} else {
			size_t length = strlen(word);
			if (length > BYTES_MAX - n_bytes)
				fail("too many bytes");
			memcpy(bytes + n_bytes, word + 1, length);
			n_bytes += length;
		}
		n_bytes = (n_bytes + 7) & ~(size_t) 7;
	}
}

static void on_wait(pid_t tid, int status);

/* Waits for one of them, and lets the others go on meanwhile: the call that it is in may wait for them. */
static int wait_for(pid_t tid)
{
	for (;;) {
		int status;
		pid_t found = waitpid(-1, &status, __WALL);
		if (found == tid)
			return status;
		if (found >= 0)
			on_wait(found, status);
		else if (errno != EINTR)
			fail("waitpid");
	}
}

/* A process that handles the signal of a trapped call makes calls of its own until it ends. */
static int trapped_end(pid_t tid)
{
	int status, number = SIGSYS;
	do {
		if (ptrace(PTRACE_CONT, tid, 0, number) < 0)
			fail("PTRACE_CONT");
		status = wait_for(tid);
		number = WIFSTOPPED(status) && status >> 16 == 0 ? WSTOPSIG(status) : 0;
	} while (WIFSTOPPED(status));
	return status;
}

/* False: it has died. */
static bool step(pid_t tid, long number)
{
	if (ptrace(PTRACE_SYSCALL, tid, 0, 0) < 0)
		fail("PTRACE_SYSCALL");
	int status = wait_for(tid);
	if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSYS)
		status = trapped_end(tid);
	if (WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80))
		return true;
	if (WIFSTOPPED(status))
		(void) fprintf(out, "call %ld stopped %d\n", number, WSTOPSIG(status));
	else if (WIFSIGNALED(status))
		(void) fprintf(out, "call %ld died %d\n", number, WTERMSIG(status));
	else
		(void) fprintf(out, "call %ld ended %d\n", number, WEXITSTATUS(status));
	(void) fflush(out);
	return false;
}

static bool is_dying(pid_t tid)
{
	char pending[32];
	status_read(tid, "SigPnd:", pending, sizeof(pending));
	return (strtoull(pending, NULL, 16) & 1ULL << (SIGSYS - 1)) != 0;
}

/* Puts two bytes of an instruction into its code, and returns those that were there. */
static uint16_t code_change(pid_t tid, uint64_t at, uint16_t code)
{
	errno = 0;
	long word = ptrace(PTRACE_PEEKTEXT, tid, at, 0);
	if (errno != 0 || ptrace(PTRACE_POKETEXT, tid, at, (word & ~0xffffL) | code) != 0)
		fail("its code");
	return (uint16_t) word;
}

static bool call_make(pid_t tid, const struct user_regs_struct *before, const char *call)
{
	static const char i386[] = "i386:";
	static const uint16_t int80 = 0x80cd;
	const bool is_i386 = strncmp(call, i386, strlen(i386)) == 0;
	uint8_t saved[BYTES_MAX], bytes[BYTES_MAX];
	uint64_t n[ARGUMENTS + 1] = {0};
	struct user_regs_struct regs = *before;
	/* The process's own stack has the bytes, and is as it was afterwards: the process does not run meanwhile. */
	const uint64_t at = before->rsp & ~(uint64_t) (STACK_ALIGN - 1);
	char *text = strdup(call + (is_i386 ? strlen(i386) : 0));
	memory_copy(tid, at, saved, sizeof(saved), false);
	memcpy(bytes, saved, sizeof(bytes));
	call_parse(text, at, bytes, n);
	free(text);
	memory_copy(tid, at, bytes, sizeof(bytes), true);
	regs.rip -= SYSCALL_BYTES;
	regs.rax = n[0];
	regs.rdi = n[1];
	regs.rsi = n[2];
	regs.rdx = n[3];
	regs.r10 = n[4];
	regs.r8 = n[5];
	regs.r9 = n[6];
	if (ptrace(PTRACE_SETREGS, tid, 0, &regs) != 0)
		fail("PTRACE_SETREGS");
	const uint16_t code = is_i386 ? code_change(tid, regs.rip, int80) : 0;
	const uint64_t code_at = regs.rip;
	if (!step(tid, (long) n[0]) || !step(tid, (long) n[0]))
		return false;
	if (is_i386)
		(void) code_change(tid, code_at, code);
	/* The kernel lets a call that kills end first. */
	if (is_dying(tid))
		return step(tid, (long) n[0]);
	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) != 0)
		fail("PTRACE_GETREGS");
	(void) fprintf(out, "call %lu result %lld\n", (unsigned long) n[0], (long long) regs.rax);
	(void) fflush(out);
	memory_copy(tid, at, saved, sizeof(saved), true);
	return true;
}

/* False: a call has killed it. */
static bool calls_make(pid_t tid)
{
	struct user_regs_struct before;
	if (ptrace(PTRACE_GETREGS, tid, 0, &before) != 0)
		fail("PTRACE_GETREGS");
	for (int i = 0; i < n_calls; i++)
		if (!call_make(tid, &before, calls[i]))
			return false;
	if (ptrace(PTRACE_SETREGS, tid, 0, &before) != 0)
		fail("PTRACE_SETREGS");
	return true;
}

/* ---- the command ------------------------------------------------------------------------------- */

/* The call that enters a filter has ended. False: the process has died by a call of ours. */
static bool on_call(struct task *task)
{
	struct __ptrace_syscall_info info;
	if (!task->enters || ptrace(PTRACE_GET_SYSCALL_INFO, task->tid, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_EXIT)
		return true;
	task->enters = false;
	return info.exit.rval != 0 || !role_tell(task->tid) || calls_make(task->tid);
}

static int on_stop(struct task *task, int status, bool *ret_lives)
{
	int number = WSTOPSIG(status);
	*ret_lives = true;
	if (number == (SIGTRAP | 0x80)) {
		*ret_lives = on_call(task);
		return 0;
	}
	task->enters |= status >> 16 == PTRACE_EVENT_SECCOMP;
	if (status >> 16 != 0)
		return 0;
	if (!task->started && number == SIGSTOP) {
		task->started = true;
		return 0;
	}
	return number;
}

static void on_wait(pid_t tid, int status)
{
	struct task *task = task_of(tid);
	bool lives = true;
	if (!WIFSTOPPED(status)) {
		task->tid = 0;
		if (tid == command)
			result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		return;
	}
	int number = on_stop(task, status, &lives);
	if (lives) /* or it was killed meanwhile */
		(void) ptrace(task->enters ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0, number);
	else
		task->tid = 0;
}

static void run(void)
{
	for (;;) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);
		if (tid >= 0)
			on_wait(tid, status);
		else if (errno != EINTR)
			return; /* all have ended */
	}
}

static void term_hand_on(int number)
{
	(void) kill(command, number);
}

/* The command, and what it makes, stops where it enters filters. Needs root, as new privileges are not given up. */
static bool filter_enter(void)
{
	static struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void start(char **words)
{
	int status;
	pid_t pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0)
			_exit(126);
		(void) raise(SIGSTOP); /* the options are set then */
		if (!filter_enter())
			_exit(126);
		(void) execvp(words[0], words);
		_exit(127);
	}
	command = pid;
	(void) signal(SIGTERM, term_hand_on);
	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		fail("start");
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP;
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, options) != 0)
		fail("PTRACE_SETOPTIONS");
	task_of(pid)->started = true;
	if (ptrace(PTRACE_CONT, pid, 0, 0) != 0)
		fail("PTRACE_CONT");
}

int main(int argc, char **argv)
{
	int words = 0;
	for (int i = 1; i < argc && words == 0; i++)
		if (strcmp(argv[i], "--") == 0)
			words = i + 1;
	bool at = argc > 3 && strcmp(argv[2], "at") == 0 && words > 5;
	bool list = argc > 2 && strcmp(argv[2], "list") == 0 && words == 4;
	if (words == 0 || words >= argc || (!at && !list)) {
		(void) fputs("usage: drive_roles OUT list | at NAME:N CALL... -- CMD...\n", stderr);
		return 2;
	}
	if (at) {
		wanted_name = strsep(&argv[3], ":");
		wanted = argv[3] != NULL ? strtol(argv[3], NULL, 10) : -1;
		calls = argv + 4;
		n_calls = words - 1 - 4;
	}
	out = fopen(argv[1], "we");
	if (out == NULL)
		fail(argv[1]);
	start(argv + words);
	run();
	if (fclose(out) != 0)
		fail(argv[1]);
	return result;
}
