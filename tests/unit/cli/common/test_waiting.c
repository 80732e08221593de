/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals to the children of a command that prepares. */
#include "common/waiting.h"
#include "test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int n_registered;

/* The C library's, which does no more than this: calls of it are counted. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void),
			     void *object);

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	n_registered++;
	return __register_atfork(prepare, parent, child, NULL);
}

/* As a child that parses, which may not send signals. Ends with 1 where it cannot. */
static void child_run(int ready_fd)
{
	static struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0 || write(ready_fd, "x", 1) != 1)
		_exit(1);
	for (;;)
		(void) pause();
}

/* The command: the signal by which its child has ended. */
static int command_run(int number)
{
	int fds[2], status = 0;
	char byte;
	sw_wait_say("42", "a signal has ended the command");
	if (pipe(fds) < 0)
		return 0;
	pid_t child = fork();
	if (child == 0)
		child_run(fds[1]);
	(void) close(fds[1]); /* the child's end says that it has failed */
	if (read(fds[0], &byte, 1) == 1)
		(void) kill(child, number);
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void check(int number)
{
	int status = 0;
	pid_t command = fork();
	if (command == 0) {
		/* Tests may have it ignored. */
		(void) signal(number, SIG_DFL);
		_exit(command_run(number));
	}
	assert_true(command > 0);
	assert_int_equal(waitpid(command, &status, 0), command);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), number);
}

/* A handler of forks cannot be taken back, so there is one, however often a command says this. */
TEST(test_forks_are_handled_once)
{
	sigset_t signals;
	for (int i = 0; i < 3; i++) {
		sw_wait_say("42", "a signal has ended the command");
		sw_wait_signals(&signals, true);
		(void) sigprocmask(SIG_UNBLOCK, &signals, NULL); /* cannot fail */
	}
	assert_int_equal(n_registered, 1);
	(void) signal(SIGINT, SIG_DFL); /* as it was */
	(void) signal(SIGTERM, SIG_DFL);
}

TEST(test_child_ends_by_signal)
{
	check(SIGINT);
	check(SIGTERM);
}
