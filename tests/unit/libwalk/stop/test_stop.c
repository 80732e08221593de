/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stop/stop.h"
#include "cleanup.h"
#include "process/proc.h"
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

/* A child that waits, and a stop of it. */
struct fixture {
	pid_t child;
	struct sw_stop stop;
	struct sw_tracee tracee;
	pid_t tid;
	uint32_t pending;
	bool answer;
	bool stopped_before; /* as permit() saw it */
	int n_permit, n_stopped;
};

static bool permit(void *arg, int task_fd)
{
	struct fixture *f = arg;
	char text[64] = "";
	sw_cleanup(sw_close_p) int fd = openat(task_fd, "comm", O_RDONLY | O_CLOEXEC);
	f->n_permit += fd >= 0 && read(fd, text, sizeof(text) - 1) > 0;
	f->stopped_before = f->n_stopped > 0;
	return f->answer;
}

static void stopped(void *arg, struct sw_stop *stop)
{
	struct fixture *f = arg;
	f->n_stopped += stop->tracees == &f->tracee;
}

/* Wait until it waits in its system call. */
static void wait_for_sleep(pid_t pid)
{
	char path[64];
	struct sw_proc_stat stat = {.state = '?'};
	(void) snprintf(path, sizeof(path), "/proc/%d/stat", (int) pid);
	while (stat.state != 'S') {
		assert_true(sw_proc_stat_read(AT_FDCWD, path, &stat));
		(void) sched_yield();
	}
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	f->child = fork();
	if (f->child == 0) {
		struct epoll_event event;
		int fd = epoll_create1(0);
		for (;;)
			(void) epoll_wait(fd, &event, 1, -1);
	}
	assert_true(f->child > 0);
	wait_for_sleep(f->child);
	char path[64];
	(void) snprintf(path, sizeof(path), "/proc/%d/task", (int) f->child);
	f->tracee.tid = f->child;
	f->stop = (struct sw_stop){
		.task_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.mem_fd = -EBADF,
		.pagemap_fd = -EBADF,
		.max_stop_ns = INT64_C(10000000000),
		.tracees = &f->tracee,
		.n = 1,
		.capacity = 1,
		.tids = &f->tid,
		.pending = &f->pending,
		.stopped = stopped,
		.arg = f,
		.permit_arg = f,
	};
	assert_true(f->stop.task_fd >= 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	(void) kill(f->child, SIGKILL);
	(void) waitpid(f->child, NULL, 0);
	(void) close(f->stop.task_fd);
	free(f);
	return 0;
}

TEST_OF(test_nobody_asked, struct fixture *f)
{
	assert_int_equal(sw_stop_run(&f->stop, NULL), 0);
	assert_int_equal(f->n_permit, 0);
	assert_int_equal(f->n_stopped, 1);
	assert_false(f->stop.refused);
	assert_true(f->tracee.has_regs);
}

TEST_OF(test_permitted, struct fixture *f)
{
	f->stop.permit = permit;
	f->answer = true;
	assert_int_equal(sw_stop_run(&f->stop, NULL), 0);
	assert_int_equal(f->n_permit, 1);
	assert_false(f->stopped_before);
	assert_int_equal(f->n_stopped, 1);
	assert_false(f->stop.refused);
	assert_int_equal(f->tracee.phase, SW_TRACEE_RELEASED);
}

TEST_OF(test_refused, struct fixture *f)
{
	f->stop.permit = permit;
	assert_int_equal(sw_stop_run(&f->stop, NULL), 0);
	assert_int_equal(f->n_permit, 1);
	assert_int_equal(f->n_stopped, 0);
	assert_true(f->stop.refused);
	assert_int_equal(f->tracee.phase, SW_TRACEE_RELEASED);
	/* The thread's epoll_wait() does not end because of the stop, although nothing was
	 * copied. */
	assert_true(f->tracee.hide_stop);
}

/* Nothing is held: there is nothing to ask about. */
TEST_OF(test_gone, struct fixture *f)
{
	f->stop.permit = permit;
	assert_int_equal(kill(f->child, SIGKILL), 0);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t) f->child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(sw_stop_run(&f->stop, NULL), 0);
	assert_int_equal(f->n_permit, 0);
	assert_false(f->stop.refused);
	assert_int_equal(f->tracee.phase, SW_TRACEE_LOST);
}
