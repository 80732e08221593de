/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "test.h"

#include <confine/seccomp.h>

#include <signal.h>
#include <sys/prctl.h>
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
