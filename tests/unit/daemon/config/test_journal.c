/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config/journal.h"
#include "test.h"

static int before = -1, pipe_fds[2];

static void listen_begin(void)
{
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	before = dup(STDERR_FILENO);
	assert_true(before >= 0 && dup2(pipe_fds[1], STDERR_FILENO) >= 0);
}

static void listen_end(const char *wanted)
{
	char said[2048];
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	(void) close(before);
	(void) close(pipe_fds[1]);
	ssize_t n = read(pipe_fds[0], said, sizeof(said) - 1);
	(void) close(pipe_fds[0]);
	assert_true(n >= 0);
	said[n] = '\0';
	assert_string_equal(said, wanted);
}

/* A line is one line of text that steers no terminal, C1 and the direction of writing included; the journal hides
 * a message that is something else. */
TEST(plain)
{
	const struct sw_log_capture failure = {.pid = 7,
					       .comm = "a\xc2\x9b"
						       "2J\xff",
					       .reason = "",
					       .error = "no\n<0>forged \u202e\u00e9"};
	assert_int_equal(setenv("INVOCATION_ID", "0123", 1), 0);
	listen_begin();
	sw_log(SW_LOG_WARNING, "\033[2J \xc2\x85%s", "\u00e9");
	sw_log_captured(&failure);
	listen_end("<4>snapwalkd: ?[2J ??\u00e9\n"
		   "<5>snapwalkd: capture of 7 (a??2J?) failed: no?<0>forged ???\u00e9\n");
}

/* Without a service manager that reads priorities nobody sees them: in a file, a pipe or a container's log. */
TEST(without_manager)
{
	assert_int_equal(unsetenv("INVOCATION_ID"), 0);
	listen_begin();
	sw_log(SW_LOG_WARNING, "x");
	listen_end("snapwalkd: x\n");
}
