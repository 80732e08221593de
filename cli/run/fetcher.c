/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Source: debuginfod-find(1) and debuginfod-client-config(7) of elfutils 0.188. */
#include "run/fetcher.h"
#include "cleanup.h"
#include "errors.h"
#include "parts.h"
#include "run/asked.h"

#include <confine/caps.h>
#include <confine/descriptors.h>
#include <confine/seccomp.h>
#include <snapwalk/clock.h>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum {
	MS_PER_S = 1000,
	ID_BYTES_MAX = 128, /* in hex */
	SAID_BYTES = 512,
};

static const char program[] = "debuginfod-find";

/* The answers of the child. FAILED: no server could be asked. */
enum answer { ANSWER_NONE = 'n', ANSWER_FOUND = 'f', ANSWER_SILENT = 's', ANSWER_FAILED = 'e' };

struct reply {
	char answer;
	char why[SW_FETCHER_WHY_BYTES]; /* of ANSWER_FAILED; a string */
};

/* The last bytes that the program has said. */
struct said {
	int fd;          /* owned; nonblocking */
	int terminal_fd; /* borrowed; -EBADF: nobody sees what it says */
	char text[SAID_BYTES + 1];
	size_t size;
};

/* ---- the child ------------------------------------------------------------------------------ */

__attribute__((noreturn)) static void find(const char *build_id, int said_fd, bool progress)
{
	char *const words[] = {(char *) program, (char *) "debuginfo", (char *) build_id, NULL};
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
	if (dup2(said_fd, STDERR_FILENO) < 0)
		_exit(127);
	if (progress)
		(void) setenv("DEBUGINFOD_PROGRESS", "1", 1);
	(void) execvp(program, words);
	_exit(127);
}

/* False: there is no more for now. */
static bool said_take(struct said *said)
{
	char bytes[SAID_BYTES];
	ssize_t n = read(said->fd, bytes, sizeof(bytes));
	if (n <= 0)
		return false;
	if (said->terminal_fd >= 0)
		(void) !write(said->terminal_fd, bytes, (size_t) n); /* only to be seen */
	size_t kept = SAID_BYTES - (size_t) n < said->size ? SAID_BYTES - (size_t) n : said->size;
	memmove(said->text, said->text + said->size - kept, kept);
	memcpy(said->text + kept, bytes, (size_t) n);
	said->size = kept + (size_t) n;
	said->text[said->size] = '\0';
	return true;
}

/* Reads the message of a program that failed. Source: debuginfod-find.c of elfutils 0.188, "Server query failed: %s\n". */
static enum answer failure_read(const struct said *said, char why[static SW_FETCHER_WHY_BYTES])
{
	static const char prefix[] = "Server query failed: ";
	static const char no_file[] = "No such file or directory", timeout[] = "Timer expired";
	const char *at = strstr(said->text, prefix);
	if (at == NULL)
		return ANSWER_NONE;
	at += strlen(prefix);
	size_t length = strcspn(at, "\r\n");
	if (length == strlen(no_file) && strncmp(at, no_file, length) == 0)
		return ANSWER_NONE;
	if (length == strlen(timeout) && strncmp(at, timeout, length) == 0)
		return ANSWER_SILENT;
	(void) snprintf(why, SW_FETCHER_WHY_BYTES, "%.*s", (int) length, at); /* cut if longer */
	return ANSWER_FAILED;
}

/* Waits for the program until the deadline, or until nobody waits for its answer. */
static enum answer answer_wait(pid_t pid, struct said *said, int ask_fd, int64_t deadline_ns,
			       char why[static SW_FETCHER_WHY_BYTES])
{
	sw_cleanup(sw_close_p) int pid_fd = (int) syscall(SYS_pidfd_open, pid, 0);
	struct pollfd polled[] = {{.fd = pid_fd, .events = POLLIN},
				  {.fd = ask_fd},
				  {.fd = said->fd, .events = POLLIN}};
	int status = 0;
	do {
		if (poll(polled, SW_ARRAY_SIZE(polled), sw_clock_left_ms(deadline_ns)) <= 0)
			break;
		if (polled[2].revents != 0 && !said_take(said))
			polled[2].fd = -EBADF; /* it was closed */
	} while (polled[0].revents == 0 && polled[1].revents == 0);
	bool ended = polled[0].revents & POLLIN;
	if (!ended)
		(void) kill(pid, SIGKILL); /* ours, and not waited for yet */
	if (waitpid(pid, &status, 0) != pid || !ended)
		return ANSWER_SILENT;
	while (said_take(said))
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ANSWER_FOUND
							     : failure_read(said, why);
}

static void reply_make(struct reply *reply, const char *build_id, int terminal_fd, int ask_fd,
		       int64_t deadline_ns)
{
	struct said said = {.terminal_fd = terminal_fd};
	int fds[2];
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	pid_t pid = fork();
	if (pid == 0)
		find(build_id, fds[1], terminal_fd >= 0);
	(void) close(fds[1]); /* a pipe */
	said.fd = fds[0];
	if (pid > 0)
		reply->answer = (char) answer_wait(pid, &said, ask_fd, deadline_ns, reply->why);
	(void) close(said.fd); /* likewise */
}

/* A build id is given to a program: nothing but digits. */
static bool is_build_id(const char *text)
{
	return text[0] != '\0' && text[strspn(text, "0123456789abcdef")] == '\0';
}

static void serve(int fd, int terminal_fd, int64_t deadline_ns)
{
	char build_id[ID_BYTES_MAX + 1];
	for (;;) {
		ssize_t n = read(fd, build_id, sizeof(build_id) - 1);
		if (n <= 0)
			return;
		build_id[n] = '\0';
		struct reply reply = {.answer = ANSWER_NONE};
		if (is_build_id(build_id))
			reply_make(&reply, build_id, terminal_fd, fd, deadline_ns);
		if (write(fd, &reply, sizeof(reply)) != sizeof(reply))
			return;
	}
}

/*
 * The client's own limit of a connection without data is in seconds: the first that is not before the deadline, which says that a server
 * was silent. Its messages are read: not translated.
 */
static void environment_set(const char *urls, const char *cache, int64_t deadline_ns)
{
	char seconds[16];
	int s = sw_clock_left_ms(deadline_ns) / MS_PER_S + 1;
	(void) setenv("LC_ALL", "C", 1);
	(void) setenv("DEBUGINFOD_URLS", urls, 1);
	(void) setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	if (deadline_ns == 0)
		return;
	(void) snprintf(seconds, sizeof(seconds), "%d", s); /* fits */
	(void) setenv("DEBUGINFOD_TIMEOUT", seconds, 1);
}

struct fetching {
	const char *urls, *cache; /* borrowed */
	int64_t deadline_ns;
};

static void child(const void *arg, int fd)
{
	const struct fetching *f = arg;
	struct sw_error ignored;
	struct sigaction as_usual = {.sa_handler = SIG_DFL};
	int terminal_fd = isatty(STDERR_FILENO) ? dup(STDERR_FILENO) : -EBADF;
	(void) sigaction(SIGBUS, &as_usual, NULL); /* ours speaks to the user */
	(void) sigaction(SIGPIPE, &as_usual, NULL);
	(void) prctl(PR_SET_NAME, "snapwalk-fetch");
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL); /* cannot fail */
	environment_set(f->urls, f->cache, f->deadline_ns);
	sw_confine_descriptors((int *const[]){&fd, &terminal_fd}, 2);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && sw_caps_keep(0, &ignored) == 0 &&
	    sw_seccomp_program(&ignored) == 0)
		serve(fd, terminal_fd, f->deadline_ns);
}

/* ---- the parent ----------------------------------------------------------------------------- */

static bool is_installed(void)
{
	const char *path = getenv("PATH");
	char name[PATH_MAX];
	while (path != NULL && *path != '\0') {
		size_t length = strcspn(path, ":");
		int n = snprintf(name, sizeof(name), "%.*s/%s", (int) length, path, program);
		if (length > 0 && n > 0 && (size_t) n < sizeof(name) && access(name, X_OK) == 0)
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

int sw_fetcher_start(struct sw_fetcher *ret, const char *urls, const char *cache,
		     int64_t deadline_ns, struct sw_error *err)
{
	const struct fetching f = {urls, cache, deadline_ns};
	*ret = (struct sw_fetcher){.fd = -EBADF, .deadline_ns = deadline_ns};
	if (!is_installed())
		return sw_fail(err, SW_E_NOT_FOUND, "%s is not installed (package debuginfod)",
			       program);
	return sw_asked_start(child, &f, &ret->fd, err);
}

bool sw_fetcher_fetch(void *arg, const char *build_id)
{
	struct sw_fetcher *f = arg;
	struct pollfd p = {.fd = f->fd, .events = POLLIN};
	const size_t n = strlen(build_id);
	struct reply reply = {.answer = ANSWER_SILENT};
	if (f->fd < 0 || n > ID_BYTES_MAX || write(f->fd, build_id, n) != (ssize_t) n)
		return false;
	if (poll(&p, 1, sw_clock_left_ms(f->deadline_ns)) != 1 ||
	    read(f->fd, &reply, sizeof(reply)) != sizeof(reply))
		reply.answer = ANSWER_SILENT;
	f->is_silent = reply.answer == ANSWER_SILENT;
	f->is_failed = reply.answer == ANSWER_FAILED;
	memcpy(f->why, reply.why, sizeof(f->why) - 1); /* which ends with a 0 */
	if (f->is_silent || f->is_failed)
		sw_close_p(&f->fd); /* a late answer would be taken for that to the next question */
	return reply.answer == ANSWER_FOUND;
}

void sw_fetcher_end(struct sw_fetcher *f)
{
	sw_close_p(&f->fd);
}
