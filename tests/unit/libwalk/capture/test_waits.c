/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/waits.h"
#include "capture/window.h"
#include "cleanup.h"
#include "fake_process.h"
#include "snapshot/module.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { N = 4, NOBODY = 1 << 22 }; /* above every thread id: PID_MAX_LIMIT */

/* A process that waits, and what a capture of it knows. Threads 1 to 3 are not there: what is said of
 * them was read of another. */
struct fixture {
	pid_t pid;
	struct sw_context *ctx;
	struct sw_target target;
	struct sw_thread threads[N];
	struct sw_iterate_record records[N];
	struct sw_window_thread window_threads[N];
	struct sw_window window;
	struct sw_stop stop;
	struct sw_take take;
};

static int fixture_make(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char path[64], text[64] = "";
	assert_non_null(f);
	f->pid = fork();
	if (f->pid == 0)
		for (;;)
			pause();
	(void) snprintf(path, sizeof(path), "/proc/%d/task", (int) f->pid);
	f->target = (struct sw_target){.task_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
	(void) snprintf(path, sizeof(path), "%d/wchan", (int) f->pid);
	/* The file has "0" until the thread waits. */
	while (sw_proc_read_small(f->target.task_fd, path, text, sizeof(text)) <= 0 ||
	       strcmp(text, "0") == 0)
		sched_yield();
	assert_int_equal(sw_context_create(&f->ctx, NULL), 0);
	f->take.target = &f->target;
	assert_int_equal(sw_snapshot_create(f->ctx, &f->take.snap, NULL), 0);
	f->take.snap->threads = f->threads;
	f->take.snap->n_threads = N;
	f->take.window = &f->window;
	f->window.threads = f->window_threads;
	f->window.stop = &f->stop;
	f->stop.n = N;
	f->take.link_fd = -1;
	f->window.records[0] = f->records;
	for (int i = 0; i < N; i++) {
		f->threads[i] =
			(struct sw_thread){.tid = i == 0 ? f->pid : NOBODY + i, .state = 'S'};
		f->records[i] =
			(struct sw_iterate_record){.wait_key = 7, .arrived_ns = 100 + (uint64_t) i};
		f->window_threads[i].before = (uint32_t) i + 1;
	}
	*state = f;
	return 0;
}

static int fixture_free(void **state)
{
	struct fixture *f = *state;
	(void) kill(f->pid, SIGKILL);
	(void) waitpid(f->pid, NULL, 0);
	f->take.snap->threads = NULL;
	f->take.snap->n_threads = 0;
	sw_snapshot_destroy(f->take.snap);
	sw_context_destroy(f->ctx);
	(void) close(f->target.task_fd);
	free(f);
	return 0;
}

/* By who waits for longest, in the places where the key is known. */
TEST_WITH(test_shared, fixture_make, fixture_free)
{
	struct fixture *f = *state;
	f->records[2].wait_key = 8;
	f->records[3].wait_key = 0;
	sw_waits_read(&f->take, f->records, N);
	assert_string_not_equal(f->threads[0].wchan, "");
	assert_string_equal(f->threads[1].wchan, f->threads[0].wchan);
	assert_string_equal(f->threads[2].wchan, "");
	assert_string_equal(f->threads[3].wchan, "");
	sw_waits_check(&f->take);
	assert_string_equal(f->threads[1].wchan, f->threads[0].wchan);
}

TEST_WITH(test_longest, fixture_make, fixture_free)
{
	struct fixture *f = *state;
	f->records[3].arrived_ns = 50; /* and it is not there */
	sw_waits_read(&f->take, f->records, N);
	assert_string_equal(f->threads[0].wchan, "");
}

TEST_WITH(test_running, fixture_make, fixture_free)
{
	struct fixture *f = *state;
	f->threads[1].state = 'R';
	f->threads[2].state = 'D';
	sw_waits_read(&f->take, f->records, N);
	assert_string_equal(f->threads[1].wchan, "");
	assert_string_equal(f->threads[2].wchan, f->threads[0].wchan);
}

/* The one that was read may have been at another place by then: nothing is said of all that share it, as there
 * is no later look here. */
TEST_WITH(test_moved, fixture_make, fixture_free)
{
	struct fixture *f = *state;
	sw_waits_read(&f->take, f->records, N);
	assert_string_not_equal(f->threads[2].wchan, "");
	f->window_threads[0].taken = true;
	f->window_threads[0].n_switches = 1;
	f->records[0].n_voluntary++;
	sw_waits_check(&f->take);
	assert_string_equal(f->threads[0].wchan, "");
	assert_string_equal(f->threads[2].wchan, "");
}

static pid_t reread_tid;
static uint64_t reread_switches;

static void look(size_t number, struct fake_look *ret)
{
	*ret = (struct fake_look){.n = 1};
	ret->records[0] = (struct sw_iterate_record){.tid = (uint32_t) reread_tid,
						     .state = 1,
						     .n_voluntary = reread_switches};
}

/* The wait place is read again, and believed if the thread did not run until it was looked at once
 * more. */
TEST_WITH(test_ran_while_read, fixture_make, fixture_free)
{
	struct fixture *f = *state;
	struct sw_iterate_record last[N];
	struct sw_tracee tracees[N];
	f->stop.capacity = N;
	f->stop.tracees = tracees;
	f->window.records[1] = last;
	for (int i = 0; i < N; i++)
		tracees[i] = (struct sw_tracee){.tid = f->threads[i].tid};
	reread_tid = f->pid;
	f->records[0].state = 1;
	f->records[0].n_voluntary = 3;
	sw_waits_read(&f->take, f->records, N);
	f->window_threads[0].taken = true;
	f->window_threads[0].state = 'S';
	f->window_threads[0].n_switches = f->records[0].n_voluntary = 4; /* another wait */
	for (reread_switches = 4; reread_switches < 6; reread_switches++) {
		f->window_threads[0].after = 0;
		f->window_threads[0].before = 1;
		fake_process = (struct fake_process){.look = look};
		sw_waits_check(&f->take);
		assert_int_equal(fake_process.n_looks, 1);
		fake_process = (struct fake_process){0};
		if (reread_switches == 4)
			assert_string_not_equal(f->threads[0].wchan, "");
		else
			assert_string_equal(f->threads[0].wchan, "");
	}
}

/* The state is that of the copy; of who was stopped it is left to sw_wait_stopped(). */
TEST_WITH(test_moved_before_copy, fixture_make, fixture_free)
{
	struct fixture *f = *state;
	sw_waits_read(&f->take, f->records, N);
	f->window_threads[1].taken = f->window_threads[2].taken = f->window_threads[3].taken = true;
	f->window_threads[1].n_switches = 1;
	f->window_threads[2].n_switches = 1;
	f->window_threads[2].by_ptrace = true;
	f->window_threads[3].state = 'R'; /* it has not moved */
	f->window_threads[1].state = f->window_threads[2].state = 'R';
	f->window_threads[1].since_ns = 5;
	sw_waits_check(&f->take);
	assert_int_equal(f->threads[1].state, 'R');
	assert_int_equal(f->threads[1].since_ns, 5);
	assert_string_equal(f->threads[1].wchan, "");
	assert_int_equal(f->threads[2].state, 'S');
	assert_int_equal(f->threads[3].state, 'S');
	assert_string_equal(f->threads[3].wchan, f->threads[0].wchan);
}

TEST_WITH(test_stopped, fixture_make, fixture_free)
{
	enum { ERESTARTSYS = 512, ERESTART_RESTARTBLOCK = 516, RETURNED = 3 };
	static const struct {
		char before;
		int64_t number, result;
		char expected;
	} cases[] = {
		{'S', SYS_futex, -ERESTARTSYS, 'S'},
		{'S', SYS_poll, -ERESTART_RESTARTBLOCK, 'S'},
		{'S', SYS_epoll_wait, -EINTR, 'S'},
		{'R', SYS_futex, -ERESTARTSYS, 'S'}, /* it fell asleep */
		{'S', SYS_futex, 0, 'R'},            /* it was woken */
		{'S', SYS_fcntl, RETURNED, 'R'},
		{'S', -1, -ERESTARTSYS, 'R'}, /* in no call: the program's own number */
		{'D', SYS_read, RETURNED, 'D'},
		{'S', SYS_write, RETURNED, 'S'}, /* some of it */
		{'S', SYS_write, 0, 'R'},
		{'R', SYS_fcntl, 0, 'R'},
		{'R', -1, 0, 'R'},
		{'T', SYS_futex, -ERESTARTSYS, 'T'},
		{'T', -1, 0, 'T'},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_thread t = {.state = cases[i].before, .since_ns = 7, .wchan = "a_place"};
		const struct sw_arch_call call = {.number = cases[i].number,
						  .result = cases[i].result};
		sw_wait_stopped(&t, &call);
		assert_int_equal(t.state, cases[i].expected);
		assert_int_equal(t.since_ns, t.state == cases[i].before ? 7 : -1);
		if (cases[i].before == 'S')
			assert_string_equal(t.wchan, t.state == 'S' ? "a_place" : "");
	}
}

TEST_WITH(test_ended, fixture_make, fixture_free)
{
	struct fixture *f = *state;
	sw_waits_read(&f->take, f->records, N);
	f->window_threads[0].before = 0;
	sw_waits_check(&f->take);
	assert_string_equal(f->threads[2].wchan, "");
}

/* More places than are kept: the rest is read by itself. */
TEST_WITH(test_many, fixture_make, fixture_free)
{
	struct fixture *f = *state;
	enum { MANY = SW_WAITS_MAX + 10 };
	static struct sw_thread threads[MANY];
	static struct sw_iterate_record records[MANY];
	for (int i = 0; i < MANY; i++) {
		threads[i] = (struct sw_thread){.tid = f->pid, .state = 'S'};
		records[i] = (struct sw_iterate_record){.wait_key = 1 + (uint64_t) i};
	}
	f->take.snap->threads = threads;
	sw_waits_read(&f->take, records, MANY);
	for (int i = 0; i < MANY; i++)
		assert_string_not_equal(threads[i].wchan, "");
	assert_int_equal(f->take.waits->n, SW_WAITS_MAX);
}

/* A call that goes on after a stop is told apart by its wait place; sleeping stays what it is. */
TEST(test_restarted)
{
	struct sw_thread threads[] = {
		{.syscall = SYS_restart_syscall, .wchan = "futex_wait_queue"},
		{.syscall = SYS_restart_syscall, .wchan = "poll_schedule_timeout.constprop.0"},
		{.syscall = SYS_restart_syscall, .wchan = "hrtimer_nanosleep"},
		{.syscall = SYS_restart_syscall, .wchan = ""},
		{.syscall = SYS_read, .wchan = "futex_wait_queue"},
	};
	static const int64_t expected[] = {SYS_futex, SYS_poll, SYS_restart_syscall,
					   SYS_restart_syscall, SYS_read};
	sw_waits_restarted(threads, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(threads[i].syscall, expected[i]);
}
