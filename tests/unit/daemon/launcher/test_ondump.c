/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "launcher/ondump.h"
#include "cleanup.h"
#include "text.h"
#define TEST_OWN_MAIN
#include "test.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "skip.h"

enum { WAIT_MS = 20000, NOBODY = 65534 };

struct fixture {
	char dir[64];
	char script[128], out[128];
	char *on_dump[4];
	char user[16];
	struct sw_config config;
	struct sw_on_dump *commands;
};

static void put_script(const struct fixture *f, const char *text)
{
	int fd = open(f->script, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

/* A script that is called with a directory to write to. */
static void start(struct fixture *f, const char *script, uint32_t timeout_ms)
{
	struct sw_error err = {0};
	*f = (struct fixture){.dir = "/tmp/snapwalk-ondump-XXXXXX", .user = "nobody"};
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(chmod(f->dir, 0777), 0);
	snprintf(f->script, sizeof(f->script), "%s/script", f->dir);
	snprintf(f->out, sizeof(f->out), "%s/out", f->dir);
	put_script(f, script);
	f->on_dump[0] = f->script;
	f->on_dump[1] = f->dir;
	f->config.on_dump = f->on_dump;
	f->config.on_dump_user = f->user;
	f->config.on_dump_timeout_ms = timeout_ms;
	if (sw_on_dump_create(&f->config, &f->commands, &err) != 0)
		fail_msg("%s", err.message);
	assert_non_null(f->commands);
}

static void end(struct fixture *f)
{
	char command[128];
	sw_on_dump_destroy(f->commands);
	snprintf(command, sizeof(command), "rm -r %s", f->dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	assert_int_equal(errno, ECHILD);
}

static int run(struct fixture *f, const char *id, const char *reason, const char *json,
	       struct sw_error *err)
{
	struct sw_store_entry entry = {.id = id, .pid = 42, .comm = "a\n\xff", .summary = "{}"};
	return sw_on_dump_start(f->commands, &entry, reason, json, strlen(json), err);
}

static struct sw_on_dump_result result(struct fixture *f)
{
	struct sw_on_dump_result r;
	struct sw_error err = {0};
	struct pollfd event = {.fd = sw_on_dump_fd(f->commands), .events = POLLIN};
	assert_int_equal(poll(&event, 1, WAIT_MS), 1);
	assert_int_equal(sw_on_dump_next(f->commands, &r, &err), 1);
	return r;
}

static struct sw_text read_out(const struct fixture *f)
{
	struct sw_text text = {0};
	assert_int_equal(sw_text_read_at(&text, AT_FDCWD, f->out, 1 << 20), 0);
	return text;
}

/* The command's input, environment and ids. */
TEST(surroundings)
{
	struct fixture f;
	struct sw_error err = {0};
	char expect[1024];
	setenv("SECRET", "of the daemon", 1);
	start(&f,
	      "#!/bin/sh\nexec >$1/out\ncat\necho\nenv | grep -v -e ^_= -e ^PWD= | sort\n"
	      "id -u\npwd\numask\nls /proc/$$/fd\n"
	      "grep -E '^(CapPrm|CapInh|CapAmb|NoNewPrivs|Seccomp):' /proc/$$/status | tr '\\t' ' "
	      "'\n"
	      "ulimit -c\nulimit -n\nexit 3\n",
	      WAIT_MS);
	assert_int_equal(run(&f, "20261120T103550.084579-42-deadbeef", "why\x1b", "{\"a\":1}",
			     &err),
			 0);
	struct sw_on_dump_result r = result(&f);
	assert_string_equal(r.id, "20261120T103550.084579-42-deadbeef");
	assert_true(WIFEXITED(r.status));
	assert_int_equal(WEXITSTATUS(r.status), 3);
	assert_int_equal(r.timed_out, 0);
	sw_cleanup(sw_text_deinit) struct sw_text out = read_out(&f);
	/* 10: dash keeps the script open there; everything else would be ours. */
	snprintf(expect, sizeof(expect),
		 "{\"a\":1}\nLANG=C.UTF-8\nPATH=/usr/local/bin:/usr/bin:/bin\nSNAPWALK_COMM=a??\n"
		 "SNAPWALK_ID=20261120T103550.084579-42-deadbeef\nSNAPWALK_PID=42\n"
		 "SNAPWALK_REASON=why?\n%u\n/\n0077\n0\n1\n10\n2\n"
		 "CapInh: 0000000000000000\nCapPrm: 0000000000000000\n"
		 "CapAmb: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n0\n256\n",
		 geteuid() == 0 ? NOBODY : geteuid());
	assert_string_equal(out.data, expect);
	assert_int_equal(sw_on_dump_next(f.commands, &r, &err), 0);
	end(&f);
}

/* A large dump, which nobody can change, and no reason. */
TEST(large)
{
	enum { SIZE = 3 << 20 };
	struct fixture f;
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *json = malloc(SIZE + 1);
	memset(json, 'x', SIZE);
	json[SIZE] = '\0';
	start(&f,
	      "#!/bin/sh\n(wc -c; (echo y >/proc/$$/fd/0) 2>/dev/null || echo sealed;"
	      " env | grep -c REASON) >$1/out\n",
	      WAIT_MS);
	assert_int_equal(run(&f, "x", NULL, json, &err), 0);
	struct sw_on_dump_result r = result(&f);
	assert_int_equal(WEXITSTATUS(r.status), 1); /* of grep: nothing found */
	sw_cleanup(sw_text_deinit) struct sw_text out = read_out(&f);
	assert_string_equal(out.data, "3145728\nsealed\n0\n");
	end(&f);
}

static bool lives(const char *path)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	char stat[64];
	if (sw_text_read_at(&text, AT_FDCWD, path, 64) < 0 || text.size == 0)
		return false;
	snprintf(stat, sizeof(stat), "/proc/%ld/exe", strtol(text.data, NULL, 10));
	return access(stat, F_OK) == 0 || (errno != ENOENT && errno != ESRCH);
}

/* The command and its children are killed at the time limit. */
TEST(too_long)
{
	struct fixture f;
	struct sw_error err = {0};
	char path[128];
	start(&f, "#!/bin/sh\ntail -f /dev/null &\necho $! >$1/child\necho $$ >$1/out\nwait\n",
	      300);
	assert_int_equal(run(&f, "x", NULL, "{}", &err), 0);
	struct sw_on_dump_result r = result(&f);
	assert_int_equal(r.timed_out, 1);
	assert_true(WIFSIGNALED(r.status));
	assert_int_equal(WTERMSIG(r.status), SIGKILL);
	snprintf(path, sizeof(path), "%s/child", f.dir);
	while (lives(path)) /* killed, but not yet gone */
		(void) poll(NULL, 0, 1);
	assert_false(lives(f.out));
	end(&f);
}

/* Processes that a command leaves behind when it ends are ended. */
TEST(left_behind)
{
	struct fixture f;
	struct sw_error err = {0};
	start(&f, "#!/bin/sh\ntail -f /dev/null &\necho $! >$1/out\n", WAIT_MS);
	assert_int_equal(run(&f, "x", NULL, "{}", &err), 0);
	struct sw_on_dump_result r = result(&f);
	assert_int_equal(r.status, 0);
	assert_int_equal(r.timed_out, 0);
	while (lives(f.out))
		(void) poll(NULL, 0, 1);
	end(&f);
}

/* Four at once; the fifth is refused, and there is space again when one has ended. */
TEST(many)
{
	struct fixture f;
	struct sw_error err = {0};
	char fifo[128];
	start(&f, "#!/bin/sh\nread line <$1/fifo\n", WAIT_MS);
	snprintf(fifo, sizeof(fifo), "%s/fifo", f.dir);
	assert_int_equal(mkfifo(fifo, 0666), 0);
	assert_int_equal(chmod(fifo, 0666), 0);
	for (int i = 0; i < SW_ON_DUMP_MAX; i++)
		assert_int_equal(run(&f, "x", NULL, "{}", &err), 0);
	assert_int_equal(run(&f, "x", NULL, "{}", &err), -SW_E_LIMIT);
	assert_string_equal(err.message, "OnDump=: 4 commands run already");
	sw_cleanup(sw_close_p) int fd = open(fifo, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "\n", 1), 1);
	(void) result(&f);
	assert_int_equal(run(&f, "x", NULL, "{}", &err), 0);
	end(&f); /* with four that wait */
}

/* A program that is not there: status 127, and why on standard error. */
TEST(not_there)
{
	struct fixture f;
	struct sw_error err = {0};
	char line[256] = "", expect[256];
	int pipes[2], old = dup(STDERR_FILENO);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(dup2(pipes[1], STDERR_FILENO), STDERR_FILENO);
	start(&f, "", WAIT_MS);
	assert_int_equal(dup2(old, STDERR_FILENO), STDERR_FILENO);
	assert_int_equal(unlink(f.script), 0);
	assert_int_equal(run(&f, "x", NULL, "{}", &err), 0);
	struct sw_on_dump_result r = result(&f);
	assert_true(WIFEXITED(r.status));
	assert_int_equal(WEXITSTATUS(r.status), 127);
	ssize_t n = read(pipes[0], line, sizeof(line) - 1);
	assert_true(n > 0);
	snprintf(expect, sizeof(expect), "snapwalkd: OnDump=%s: No such file or directory\n",
		 f.script);
	assert_string_equal(line, expect);
	for (size_t i = 0; i < 2; i++)
		(void) close(pipes[i]);
	(void) close(old);
	end(&f);
}

/* The only child; -1: /proc does not list it. */
static pid_t child_find(void)
{
	char children[64];
	int pid = -1;
	snprintf(children, sizeof(children), "/proc/self/task/%d/children", (int) getpid());
	sw_cleanup(sw_fclose_p) FILE *list = fopen(children, "re");
	return list != NULL && fscanf(list, "%d", &pid) == 1 ? pid : -1;
}

/* A launcher that gets a signal. */
static void start_signalled(struct fixture *f, int number)
{
	start(f, "#!/bin/sh\n", WAIT_MS);
	const pid_t launcher = child_find();
	if (launcher < 0)
		SKIP("no list of children in /proc", "a kernel with CONFIG_PROC_CHILDREN");
	if (kill(launcher, number) < 0) { /* another user, and we are not root */
		end(f);
		SKIP_NOT_ROOT();
	}
}

/* A launcher that a command has stopped is not waited for: it is ended. */
TEST(launcher_stopped)
{
	struct fixture f;
	start_signalled(&f, SIGSTOP);
	alarm(WAIT_MS / 1000); /* the test ends by it where it waits for ever */
	end(&f);
	(void) alarm(0);
}

/* The launcher is killed: an error, and the daemon goes on. */
TEST(launcher_killed)
{
	struct fixture f;
	struct sw_error err = {0};
	struct sw_on_dump_result r;
	start_signalled(&f, SIGKILL);
	struct pollfd event = {.fd = sw_on_dump_fd(f.commands), .events = POLLIN};
	assert_int_equal(poll(&event, 1, WAIT_MS), 1);
	assert_int_equal(sw_on_dump_next(f.commands, &r, &err), -SW_E_IO);
	assert_string_equal(err.message, "OnDump=: the launcher of commands is gone");
	assert_int_equal(run(&f, "x", NULL, "{}", &err), -SW_E_IO);
	end(&f);
}

/* An earlier call's errno says nothing of the launcher, which is gone. */
TEST(launcher_gone)
{
	struct fixture f;
	struct sw_on_dump_result r;
	struct sw_error err = {0};
	start(&f, "#!/bin/sh\n", WAIT_MS);
	assert_int_equal(sw_on_dump_next(f.commands, &r, &err), 0); /* no command has ended */
	assert_int_equal(shutdown(sw_on_dump_fd(f.commands), SHUT_RDWR), 0);
	errno = EAGAIN;
	assert_int_equal(sw_on_dump_next(f.commands, &r, &err), -SW_E_IO);
	assert_string_equal(err.message, "OnDump=: the launcher of commands is gone");
	end(&f);
}

TEST(configuration)
{
	static char relative[] = "script", absolute[] = "/bin/true", root[] = "root",
		    unknown[] = "no-such-user-here";
	char *on_dump[] = {relative, NULL};
	struct sw_config config = {.on_dump_user = root};
	struct sw_on_dump *commands = (struct sw_on_dump *) &config;
	struct sw_error err = {0};
	assert_int_equal(sw_on_dump_create(&config, &commands, &err), 0);
	assert_null(commands); /* none wanted */
	sw_on_dump_destroy(commands);
	config.on_dump = on_dump;
	assert_int_equal(sw_on_dump_create(&config, &commands, &err), -SW_E_INVALID);
	assert_string_equal(err.message, "OnDump=script: not an absolute path");
	if (geteuid() != 0)
		return;
	on_dump[0] = absolute;
	assert_int_equal(sw_on_dump_create(&config, &commands, &err), -SW_E_NOT_FOUND);
	assert_string_equal(err.message, "OnDumpUser=root: commands are not run as root");
	config.on_dump_user = unknown;
	assert_int_equal(sw_on_dump_create(&config, &commands, &err), -SW_E_NOT_FOUND);
	assert_string_equal(err.message, "OnDumpUser=no-such-user-here: there is no such user");
}

int main(void)
{
	(void) signal(SIGPIPE, SIG_IGN);
	return TEST_RUN(NULL, NULL);
}
