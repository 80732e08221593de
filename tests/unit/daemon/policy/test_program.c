/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy/program.h"
#include "cleanup.h"
#include "test.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A copy of a program that waits, under a name of its own. */
struct fixture {
	char directory[32], program[64], hard[64], link[64], absolute[64], directory_link[64];
	pid_t pid;
	int proc_fd;
};

static void copy(const char *from, const char *to)
{
	char buffer[1 << 16];
	sw_cleanup(sw_close_p) int in = open(from, O_RDONLY | O_CLOEXEC);
	sw_cleanup(sw_close_p) int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ssize_t n;
	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(out, buffer, (size_t) n), n);
	assert_int_equal(n, 0);
}

static void start(struct fixture *f)
{
	char path[32], exe[PATH_MAX] = "";
	f->pid = fork();
	if (f->pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) execl(f->program, "sleep", "1000", NULL);
		_exit(1);
	}
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) f->pid);
	f->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (strcmp(exe, f->program) != 0) { /* until it is executed */
		ssize_t n = readlinkat(f->proc_fd, "exe", exe, sizeof(exe) - 1);
		assert_true(n > 0);
		exe[n] = '\0';
		assert_int_equal(waitpid(f->pid, NULL, WNOHANG), 0);
	}
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	strcpy(f->directory, "/tmp/snapwalk-exe-XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	(void) snprintf(f->program, sizeof(f->program), "%s/program", f->directory);
	(void) snprintf(f->hard, sizeof(f->hard), "%s/hard", f->directory);
	(void) snprintf(f->link, sizeof(f->link), "%s/link", f->directory);
	(void) snprintf(f->absolute, sizeof(f->absolute), "%s/absolute", f->directory);
	(void) snprintf(f->directory_link, sizeof(f->directory_link), "%s/d", f->directory);
	copy("/bin/sleep", f->program);
	assert_int_equal(link(f->program, f->hard), 0);
	assert_int_equal(symlink("program", f->link), 0);
	assert_int_equal(symlink(f->program, f->absolute), 0);
	assert_int_equal(symlink(".", f->directory_link), 0);
	start(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	const char *const names[] = {f->program, f->hard, f->link, f->absolute, f->directory_link};
	assert_int_equal(kill(f->pid, SIGKILL), 0);
	assert_int_equal(waitpid(f->pid, NULL, 0), f->pid);
	(void) close(f->proc_fd);
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++)
		(void) unlink(names[i]);
	assert_int_equal(rmdir(f->directory), 0);
	free(f);
	return 0;
}

static bool is_listed(const struct fixture *f, const char *word)
{
	char *list[] = {"uid:5", "name", "/no/such/program", "/bin/sleep", (char *) word, NULL};
	return sw_program_is_listed(f->proc_fd, list);
}

/* By whatever path its file is found. */
TEST_OF(listed, struct fixture *f)
{
	char text[128];
	assert_true(is_listed(f, f->program));
	assert_true(is_listed(f, f->hard));
	assert_true(is_listed(f, f->link));
	assert_true(is_listed(f, f->absolute));
	(void) snprintf(text, sizeof(text), "%s/d/d/hard", f->directory);
	assert_true(is_listed(f, text));
	assert_false(is_listed(f, "/usr/bin/env"));
	assert_false(is_listed(f, "program"));
	assert_false(is_listed(f, NULL));
	assert_false(sw_program_is_listed(f->proc_fd, NULL));
	assert_true(sw_program_is(f->proc_fd, f->hard));
	assert_false(sw_program_is(f->proc_fd, "/usr/bin/env"));
	assert_false(sw_program_is(f->proc_fd, ""));
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		(void) pause();
	return arg;
}

/* A process whose leader has ended while another thread goes on: the kernel shows the program of that thread alone. */
static pid_t without_leader(void)
{
	pid_t pid = fork();
	pthread_t thread;
	if (pid != 0)
		return pid;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
		pthread_exit(NULL);
	_exit(1);
}

TEST_OF(leader_has_ended, struct fixture *f)
{
	char path[32], self[PATH_MAX] = "", byte;
	char *list[] = {f->absolute, NULL};
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_int_equal(unlink(f->absolute), 0);
	assert_int_equal(symlink(self, f->absolute), 0);
	pid_t pid = without_leader();
	(void) snprintf(path, sizeof(path), "/proc/%d", (int) pid);
	sw_cleanup(sw_close_p) int proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (readlinkat(proc_fd, "exe", &byte, 1) > 0)
		(void) sched_yield();
	assert_true(sw_program_is_listed(proc_fd, list));
	assert_true(sw_program_is(proc_fd, f->absolute));
	assert_false(sw_program_is(proc_fd, f->program));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A link that leads elsewhere is asked again; so is the file that was put in the program's place. */
TEST_OF(changed, struct fixture *f)
{
	assert_int_equal(unlink(f->link), 0);
	assert_int_equal(symlink("/usr/bin/env", f->link), 0);
	assert_false(is_listed(f, f->link));
	assert_int_equal(unlink(f->program), 0);
	copy("/bin/sleep", f->program);
	assert_false(is_listed(f, f->program)); /* by its file; by its path it is */
	assert_true(is_listed(f, f->hard));
}

enum { NO_NAMESPACE = 100, NOT_HIDDEN = 101 };

/* How many of the words are not found where another directory hides the program's. */
static int hidden_look(const struct fixture *f)
{
	const char *const words[] = {f->program, f->hard, f->link, f->absolute};
	int n = 0;
	if (unshare(CLONE_NEWNS) < 0 || mount("none", f->directory, "tmpfs", 0, NULL) < 0)
		return NO_NAMESPACE;
	if (access(f->program, F_OK) == 0 || is_listed(f, "/usr/bin/env"))
		return NOT_HIDDEN;
	for (size_t i = 0; i < SW_ARRAY_SIZE(words); i++)
		n += !is_listed(f, words[i]);
	return n;
}

static int status_of(pid_t pid)
{
	int status;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
								    : NO_NAMESPACE;
}

/* Process 1 of a pid namespace, which sees the program's directory; a child of it does not. */
static int first_process(const struct fixture *f)
{
	if (mount("none", "/proc", "proc", 0, NULL) < 0)
		return NO_NAMESPACE;
	pid_t pid = fork();
	if (pid == 0)
		_exit(hidden_look(f));
	return status_of(pid);
}

/* Paths that only process 1 sees, as under the unit's ProtectHome= and PrivateTmp=: absolute links, too. */
TEST_OF(hidden, struct fixture *f)
{
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(NO_NAMESPACE);
		pid = fork();
		if (pid == 0)
			_exit(first_process(f));
		_exit(status_of(pid));
	}
	int status = status_of(pid);
	if (status == NO_NAMESPACE)
		skip();
	assert_int_equal(status, 0);
}
