/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mcp/run.h"
#include "cleanup.h"
#include "common/complain.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	TIMEOUT_MS = 120000,
	GRACE_MS = 2000,              /* from SIGTERM to SIGKILL */
	ENDED_MS = 1000,              /* from the end of the input to SIGTERM */
	OUTPUT_BYTES_MAX = 256 << 10, /* of each: the rest is read and thrown away */
	READ_BYTES = 1 << 16,
	NS_PER_MS = 1000000,
	MS_PER_S = 1000,
	OUT = 0,
	ERR = 1,
	FILES,
};

struct running {
	pid_t pid;
	int fds[FILES]; /* owned */
	struct sw_text text[FILES];
	bool cut[FILES];
};

static void child(const struct sw_mcp_call *call, int out, int err, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void) prctl(PR_SET_PDEATHSIG, SIGTERM); /* cannot fail */
	if (null < 0 || getppid() != parent || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
		_exit(1);
	(void) signal(SIGPIPE, SIG_DFL); /* as this program was started with it */
	(void) execv("/proc/self/exe", call->words);
	_exit(1);
}

static int start(const struct sw_mcp_call *call, struct running *r, struct sw_error *err)
{
	int pipes[FILES][2];
	*r = (struct running){.fds = {-EBADF, -EBADF}};
	if (pipe2(pipes[OUT], O_CLOEXEC) < 0)
		return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
	if (pipe2(pipes[ERR], O_CLOEXEC) < 0) {
		int failed = sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
		(void) close(pipes[OUT][0]); /* pipes, all of them */
		(void) close(pipes[OUT][1]);
		return failed;
	}
	pid_t parent = getpid();
	r->pid = fork();
	if (r->pid == 0)
		child(call, pipes[OUT][1], pipes[ERR][1], parent);
	int failed = r->pid < 0 ? sw_fail_errno(err, SW_E_IO, "cannot fork") : 0;
	for (size_t i = 0; i < FILES; i++) {
		(void) close(pipes[i][1]);
		r->fds[i] = pipes[i][0];
	}
	return failed;
}

static void take(struct running *r, size_t i)
{
	char buffer[READ_BYTES];
	ssize_t n = read(r->fds[i], buffer, sizeof(buffer));
	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		sw_close_p(&r->fds[i]);
		return;
	}
	size_t left = OUTPUT_BYTES_MAX - r->text[i].size;
	r->cut[i] |= (size_t) n > left;
	sw_text_append(&r->text[i], buffer, (size_t) n < left ? (size_t) n : left);
}

enum end { END_ITSELF, END_LATE, END_NO_READER, END_NO_INPUT, END_CANCELLED };

/* A wait for the command and, with a watch, for the client. */
struct wait {
	const struct sw_mcp_watch *watch;
	bool reads, input_ended;
};

/* Reads until both are closed, or something else ends the command. */
static enum end read_both(struct running *r, int64_t ms, struct wait *w)
{
	enum { CLIENT = FILES, INPUT, ALL };
	int64_t end_ns = sw_clock_ns() + ms * NS_PER_MS;
	while (r->fds[OUT] >= 0 || r->fds[ERR] >= 0) {
		struct pollfd fds[ALL] = {
			[OUT] = {.fd = r->fds[OUT], .events = POLLIN},
			[ERR] = {.fd = r->fds[ERR], .events = POLLIN},
			[CLIENT] = {.fd = w != NULL ? STDOUT_FILENO
						    : -1}, /* POLLERR: its reader is gone */
			[INPUT] = {.fd = w != NULL && w->reads ? w->watch->fd : -1,
				   .events = POLLIN}};
		int64_t left_ms = (end_ns - sw_clock_ns()) / NS_PER_MS;
		if (left_ms <= 0)
			return w != NULL && w->input_ended ? END_NO_INPUT : END_LATE;
		if (poll(fds, SW_ARRAY_SIZE(fds), (int) left_ms) < 0 && errno != EINTR)
			return END_LATE;
		if (fds[CLIENT].revents != 0)
			return END_NO_READER;
		for (size_t i = 0; i < FILES; i++)
			if (fds[i].fd >= 0 && fds[i].revents != 0)
				take(r, i);
		enum sw_mcp_next next =
			fds[INPUT].revents != 0 ? w->watch->read(w->watch->arg) : SW_MCP_GO_ON;
		if (next == SW_MCP_CANCEL)
			return END_CANCELLED;
		if (next == SW_MCP_FULL)
			w->reads = false;
		if (next == SW_MCP_INPUT_ENDED) {
			w->reads = false;
			w->input_ended = true;
			end_ns = sw_clock_ns() + (int64_t) ENDED_MS * NS_PER_MS;
		}
	}
	return END_ITSELF;
}

/* The output of the command is read while it ends: it may write its result at SIGTERM, and would wait for a reader. */
static void stop(struct running *r)
{
	(void) kill(r->pid, SIGTERM); /* it lets its target go, and ends */
	if (read_both(r, GRACE_MS, NULL) != END_ITSELF)
		(void) kill(r->pid, SIGKILL); /* it is not waited for yet: the pid is its own */
}

/* At most so many lines, and a line that says how many there are besides. */
static void put_lines(struct sw_text *to, const struct running *r, size_t i, size_t most)
{
	const char *at = r->text[i].data, *end = at + r->text[i].size;
	size_t lines = 0, more = 0;
	if (r->text[i].size == 0)
		return;
	for (const char *line = at; line < end; line++)
		if (*line == '\n' && ++lines <= most)
			at = line + 1;
		else if (*line == '\n')
			more++;
	if (lines < most)
		at = end;
	sw_text_append(to, r->text[i].data, (size_t) (at - r->text[i].data));
	if (more > 0 || r->cut[i])
		sw_text_printf(to, "... %s%zu more line%s: %s\n", r->cut[i] ? "at least " : "",
			       more, sw_plural(more),
			       /* Without more lines it is the size that was too large. */
			       sw_remedy("more_lines", most >= SW_MCP_LINES_MAX || more == 0
							       ? SW_SAID_AT_MOST
							       : 0));
}

static void answer_put(struct sw_mcp_answer *ret, const struct running *r, size_t max_lines,
		       enum end end, int how)
{
	put_lines(&ret->text, r, OUT, max_lines);
	put_lines(&ret->text, r, ERR, max_lines);
	if (end == END_LATE)
		sw_text_printf(&ret->text, "it took longer than %d s, and was ended\n",
			       TIMEOUT_MS / MS_PER_S);
	if (end == END_NO_INPUT)
		sw_text_printf(&ret->text, "it was ended, as the input of the server had ended\n");
	ret->cancelled = end == END_CANCELLED || end == END_NO_READER;
	ret->status = end == END_ITSELF && WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

int sw_mcp_run(const struct sw_mcp_call *call, const struct sw_mcp_watch *watch,
	       struct sw_mcp_answer *ret, struct sw_error *err)
{
	struct running r;
	struct wait w = {.watch = watch, .reads = !watch->ended, .input_ended = watch->ended};
	int how = 0;
	*ret = (struct sw_mcp_answer){.status = -1};
	int failed = start(call, &r, err);
	enum end end =
		failed == 0 ? read_both(&r, w.input_ended ? ENDED_MS : TIMEOUT_MS, &w) : END_ITSELF;
	if (end != END_ITSELF)
		stop(&r);
	while (r.pid > 0 && waitpid(r.pid, &how, 0) < 0 && errno == EINTR)
		;
	if (failed == 0) {
		answer_put(ret, &r, call->max_lines, end, how);
		if (ret->text.failed || r.text[OUT].failed || r.text[ERR].failed)
			failed = sw_fail_nomem(err);
	}
	for (size_t i = 0; i < FILES; i++) {
		sw_close_p(&r.fds[i]);
		sw_text_deinit(&r.text[i]);
	}
	return failed;
}

void sw_mcp_answer_deinit(struct sw_mcp_answer *answer)
{
	sw_text_deinit(&answer->text);
}
