/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "test.h"

#include <confine/seccomp.h>

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const unsigned kinds[] = {0, SW_SECCOMP_FILES, SW_SECCOMP_TERMINAL | SW_SECCOMP_CAPTURE,
				 SW_SECCOMP_CAPTURE | SW_SECCOMP_SCREEN};

/* The signal that ends a child which has entered the parser's filter and calls fcntl(2); 0: it goes on. */
static int signal_of(unsigned kind, long command, long argument)
{
	int status;
	struct sw_error err;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || sw_seccomp_parser(kind, &err) < 0)
			(void) syscall(SYS_exit_group, 99);
		(void) syscall(SYS_fcntl, STDIN_FILENO, command, argument);
		(void) syscall(SYS_exit_group, 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	assert_int_equal(WEXITSTATUS(status), 0);
	return 0;
}

TEST(parser_sends_no_signal_by_fcntl)
{
	static const long deadly[][2] = {
		{F_SETOWN, 1},
		{F_SETOWN_EX, 0},
		{F_SETSIG, SIGKILL},
		{F_NOTIFY, 0},
		{F_SETLEASE, 0},
		{F_SETFL, O_ASYNC},
		{F_SETFL, O_ASYNC | O_NONBLOCK},
	};
	for (size_t k = 0; k < SW_ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < SW_ARRAY_SIZE(deadly); i++)
			if (signal_of(kinds[k], deadly[i][0], deadly[i][1]) != SIGSYS)
				fail_msg("kind %u: command %zu is permitted", kinds[k], i);
}

TEST(parser_has_the_commands_that_it_needs)
{
	static const long needed[][2] = {
		{F_GETFD, 0}, {F_SETFD, 0}, {F_GETFL, 0}, {F_DUPFD_CLOEXEC, 3}, {F_SETFL, 0},
	};
	for (size_t k = 0; k < SW_ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < SW_ARRAY_SIZE(needed); i++)
			assert_int_equal(signal_of(kinds[k], needed[i][0], needed[i][1]), 0);
}

/* The progress of a child with SW_SECCOMP_TRAPS, in memory that it shares with the test. */
struct trapped {
	volatile int n_handled, n_lived, call,
		change; /* change: the error of a change of the handler */
	volatile int sockets[2];
};

static struct trapped *trapped;
static sigjmp_buf taken_over;

static void on_trapped(int call, const void *context)
{
	trapped->n_handled++;
	trapped->call = call;
}

static void on_trapped_come_back(int call, const void *context)
{
	on_trapped(call, context);
	siglongjmp(taken_over, 1);
}

/* A handler of the code that has taken the process over. */
static void on_signal_come_back(int number)
{
	trapped->n_handled++;
	siglongjmp(taken_over, 1);
}

/* Makes two deadly calls; the process that comes back from the first one's handler was taken over. */
static void calls_make(bool blocked)
{
	const struct sigaction action = {.sa_handler = on_signal_come_back};
	const uint64_t one = UINT64_C(1) << (SIGSYS - 1);
	if (blocked)
		(void) syscall(SYS_rt_sigprocmask, SIG_BLOCK, &one, NULL, sizeof(one));
	for (volatile int i = 0; i < 2; i++) {
		if (sigsetjmp(taken_over, true) == 0)
			(void) syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, trapped->sockets);
		trapped->n_lived++;
		errno = 0;
		(void) sigaction(SIGSYS, &action, NULL);
		trapped->change = errno;
	}
}

/* SIGSYS ends the child in each case, and no call is made. */
static void trapped_run(unsigned kind, void (*say)(int call, const void *context), bool blocked,
			int n_handled, int n_lived)
{
	int status;
	struct sw_error err;
	trapped = mmap(NULL, sizeof(*trapped), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_ptr_not_equal(trapped, MAP_FAILED);
	trapped->sockets[0] = trapped->sockets[1] = -1;
	const struct sigaction as_usual = {.sa_handler =
						   SIG_DFL}; /* the test program has its own */
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void) sigaction(SIGSYS, &as_usual, NULL);
		if (say != NULL)
			sw_seccomp_trap(say);
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || sw_seccomp_parser(kind, &err) < 0)
			(void) syscall(SYS_exit_group, 99);
		calls_make(blocked);
		(void) syscall(SYS_exit_group, 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
	assert_int_equal(trapped->n_handled, n_handled);
	assert_int_equal(trapped->n_lived, n_lived);
	assert_int_equal(trapped->call, n_handled > 0 ? SYS_socketpair : 0);
	/* Where captures need other changes of handlers, one of this handler kills. */
	assert_int_equal(trapped->change,
			 n_lived > 0 && (kind & SW_SECCOMP_CAPTURE) == 0 ? EPERM : 0);
	assert_int_equal(trapped->sockets[0], -1);
	assert_int_equal(trapped->sockets[1], -1);
	assert_int_equal(munmap(trapped, sizeof(*trapped)), 0);
}

TEST(trapped_calls_are_refused_and_end_the_process)
{
	static const unsigned own[] = {SW_SECCOMP_TERMINAL | SW_SECCOMP_TRAPS,
				       SW_SECCOMP_TERMINAL | SW_SECCOMP_FILES | SW_SECCOMP_TRAPS};
	for (size_t i = 0; i < SW_ARRAY_SIZE(own); i++) {
		trapped_run(own[i], on_trapped, false, 1, 0);
		trapped_run(own[i], NULL, false, 0, 0);
		trapped_run(own[i], on_trapped, true, 0, 0);
		/* A process that was taken over does not come back twice. */
		trapped_run(own[i], on_trapped_come_back, false, 1, 1);
	}
	/* A filter that permits changes of handlers does not permit one of this handler. */
	trapped_run(SW_SECCOMP_TERMINAL | SW_SECCOMP_CAPTURE | SW_SECCOMP_TRAPS, on_trapped, false,
		    1, 0);
	trapped_run(SW_SECCOMP_TERMINAL | SW_SECCOMP_CAPTURE | SW_SECCOMP_TRAPS,
		    on_trapped_come_back, false, 1, 1);
}
