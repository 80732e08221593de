/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample_report.h"
#include "cleanup.h"
#include "report/text/waits.h"
#include "test.h"

enum { N = 6 };

struct world {
	struct sw_report report;
	struct sw_report_thread threads[N];
	struct sw_report_wait waits[N];
};

static const size_t indices[N] = {0, 1, 2, 3, 4, 5};

static void make(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->report.process.pid = 9;
	w->report.threads = w->threads;
	w->report.n_threads = N;
	for (size_t i = 0; i < N; i++) {
		w->threads[i] = (struct sw_report_thread){.tid = (pid_t) (10 + i),
							  .comm = "t",
							  .state = 'S',
							  .syscall = "futex",
							  .captured = true,
							  .since_ms = -1};
		w->waits[i] = (struct sw_report_wait){.kind = "mutex", .fd = -1, .trust = "memory"};
		w->threads[i].blocked_on = &w->waits[i];
	}
}

static void assert_waits(const struct world *world, size_t n, const char *wanted)
{
	const struct sw_text_options options = {0};
	struct sw_text_writer w = {.report = &world->report, .options = &options};
	sw_text_waits(&w, indices, n);
	assert_string_equal(w.text.data, wanted);
	sw_text_deinit(&w.text);
}

static void assert_one(const char *kind, pid_t owner, const char *target, const char *wanted)
{
	struct world w;
	make(&w);
	w.waits[0].kind = kind;
	w.waits[0].owner_tid = owner;
	w.waits[0].target = target;
	assert_waits(&w, 1, wanted);
}

/* The object of a wait is named whether somebody has it or not. */
TEST(test_kinds)
{
	assert_one("mutex", 12, NULL, "  waits for a mutex, which t (12) has; sleeping in futex");
	assert_one("mutex", 0, NULL, "  waits for a mutex, no owner is known; sleeping in futex");
	assert_one("rwlock", 0, NULL,
		   "  waits for a read-write lock, no owner is known; sleeping in futex");
	assert_one("condition", 0, NULL, "  waits for a condition variable; sleeping in futex");
	assert_one("semaphore", 0, NULL, "  waits for a semaphore; sleeping in futex");
	assert_one("barrier", 0, NULL, "  waits for a barrier; sleeping in futex");
	assert_one("thread", 12, NULL, "  waits for t (12) to end; sleeping in futex");
	assert_one("python_gil", 12, NULL,
		   "  waits for the GIL, which t (12) has; sleeping in futex");
	assert_one("java_lock", 0, "com.shop.Stock",
		   "  waits for the lock com.shop.Stock, no owner is known; sleeping in futex");
	assert_one("timer", 0, "ends in 24 h", "  sleeping in futex, ends in 24 h");
	assert_one("futex", 0, NULL, "  sleeping in futex");
}

/* A virtual thread that no thread runs has a name alone; a thread of the process is told rather than that. */
TEST(test_virtual_owner)
{
	struct world w;
	make(&w);
	w.waits[0] = (struct sw_report_wait){.kind = "java_lock",
					     .target = "L",
					     .fd = -1,
					     .owner_name = "orders (#31)",
					     .trust = "runtime"};
	w.waits[1] = w.waits[0];
	w.waits[1].owner_name = "stock (#32)";
	assert_waits(&w, 1,
		     "  waits for the lock L, which the virtual thread orders (#31) has; sleeping "
		     "in futex");
	assert_waits(
		&w, 2,
		"  wait: 1 for the lock L, which the virtual thread orders (#31) has; 1 for the "
		"lock L, which the virtual thread stock (#32) has; sleeping in futex");
	w.waits[0].owner_tid = 12;
	assert_waits(&w, 1, "  waits for the lock L, which t (12) has; sleeping in futex");
}

/* The kernel's function is read of most threads, not of all: a state that is told without it is no second one. */
TEST(test_same_state)
{
	struct world w;
	make(&w);
	for (size_t i = 0; i < N; i++)
		w.threads[i].blocked_on = NULL;
	w.threads[1].wchan = w.threads[3].wchan = "futex_wait_queue";
	assert_waits(&w, 4, "  sleeping in futex (futex_wait_queue)");
	w.threads[2].wchan = "futex_other";
	assert_waits(&w, 3,
		     "  2 sleeping in futex (futex_wait_queue), 1 sleeping in futex (futex_other)");
	w.threads[2].syscall = "read";
	w.threads[2].wchan = NULL;
	assert_waits(&w, 4, "  3 sleeping in futex (futex_wait_queue), 1 sleeping in read");
}

static void assert_state(const struct world *world, const char *wanted)
{
	const struct sw_text_options options = {0};
	struct sw_text_writer w = {.report = &world->report, .options = &options};
	sw_text_state(&w, &world->threads[0]);
	assert_string_equal(w.text.data, wanted);
	sw_text_deinit(&w.text);
}

/* The state of a thread for which others wait, behind its name. */
TEST(test_state)
{
	struct world w;
	struct sw_report_crash crash = {.tid = 11};
	make(&w);
	w.threads[0].since_ms = 1600;
	w.threads[0].wchan = "futex_wait_queue";
	assert_state(&w, "waiting 1.6 s for a mutex, no owner is known");
	w.waits[0].owner_tid = 12;
	assert_state(&w, "waiting 1.6 s for a mutex, which t (12) has");
	w.waits[0] = (struct sw_report_wait){.kind = "timer",
					     .target = "ends in 9 min",
					     .trust = "memory"};
	assert_state(&w, "asleep for 1.6 s (wakes in 9 min)");
	w.threads[0].since_ms = 0;
	assert_state(&w, "asleep (wakes in 9 min)");
	w.threads[0].since_ms = 3000;
	w.waits[0] = (struct sw_report_wait){.kind = "file", .target = "/var/x", .trust = "kernel"};
	assert_state(&w, "sleeping in futex for 3.0 s (/var/x)");
	w.threads[0].blocked_on = NULL;
	assert_state(&w, "sleeping in futex for 3.0 s");
	w.threads[0].state = 'D';
	w.threads[0].syscall = NULL;
	assert_state(&w, "in uninterruptible sleep in futex_wait_queue for 3.0 s");
	w.threads[0].wchan = NULL;
	w.threads[0].state = 'T';
	assert_state(&w, "stopped for 3.0 s");
	w.threads[0].since_ms = -1;
	w.threads[0].state = 'R';
	assert_state(&w, "running");
	w.report.process.crash = &crash;
	w.threads[0].state = 'S';
	w.threads[0].syscall = "futex";
	assert_state(&w, "which was sleeping in futex at the crash");
	crash.tid = 10;
	assert_state(&w, "which crashed in futex");
}

TEST(test_since)
{
	struct world w;
	make(&w);
	w.threads[0].since_ms = 14 * 60000;
	w.waits[0].owner_tid = 15;
	assert_waits(&w, 1, "  waits 14 min for a mutex, which t (15) has; sleeping in futex");
	w.threads[1].since_ms = 12 * 60000;
	w.waits[1].owner_tid = 15;
	assert_waits(&w, 2, "  wait 12–14 min for a mutex, which t (15) has; sleeping in futex");
	w.threads[1].since_ms = -1; /* one is not known: then nothing is said */
	assert_waits(&w, 2, "  wait for a mutex, which t (15) has; sleeping in futex");
	w.threads[0].blocked_on = NULL;
	assert_waits(&w, 1, "  sleeping in futex for 14 min");
	w.threads[0].since_ms = 999;
	assert_waits(&w, 1, "  sleeping in futex");
}

/* Threads of one stack that wait for each other, or for several owners. */
TEST(test_several)
{
	struct world w;
	make(&w);
	w.waits[0].owner_tid = 11;
	w.waits[1].owner_tid = 10;
	assert_waits(&w, 2,
		     "  wait: 1 for a mutex, which t (11) has; 1 for a mutex, which t (10) has; "
		     "sleeping in futex");
	w.waits[2].owner_tid = 12;
	w.waits[3].owner_tid = 10;
	w.waits[4].owner_tid = 13;
	w.waits[5].owner_tid = 14;
	assert_waits(&w, 6,
		     "  wait: 1 for a mutex, which t (11) has; 2 for a mutex, which t (10) has; "
		     "1 for a mutex, which t (12) has; 2 others; sleeping in futex");
	w.threads[1].blocked_on = NULL;
	assert_waits(&w, 2, "  wait: 1 for a mutex, which t (11) has; 1 other; sleeping in futex");
	w.threads[0].blocked_on = NULL;
	assert_waits(&w, 2, "  sleeping in futex");
}

TEST(test_peer)
{
	struct world w;
	struct sw_report_peer peer = {.pid = 99, .tid = 99, .comm = "db"};
	make(&w);
	w.report.peers = &peer;
	w.report.n_peers = 1;
	w.waits[0] = (struct sw_report_wait){.kind = "pipe",
					     .owner_pid = 99,
					     .fd = 3,
					     .trust = "kernel"};
	assert_waits(&w, 1, "  waits for db (99) (pipe); sleeping in futex");
	w.waits[0].kind = "file_lock";
	w.waits[0].target = "/var/lock/x";
	assert_waits(&w, 1,
		     "  waits for a file lock, which db (99) has, /var/lock/x; sleeping in futex");
}

/* An owner in another process is never called a thread: its name, or that it is a process. */
TEST(test_processes)
{
	static struct sw_report_peer peer = {.pid = 999, .tid = 1001, .comm = "redis-server"};
	struct world w;
	make(&w);
	w.report.peers = &peer;
	w.report.n_peers = 1;
	w.waits[0].kind = "tcp";
	w.waits[0].owner_pid = 999;
	assert_waits(&w, 1, "  waits for redis-server (999) (tcp); sleeping in futex");
	w.waits[0].owner_pid = 1001; /* the number of a thread of another one */
	assert_waits(&w, 1, "  waits for process 1001 (tcp); sleeping in futex");
	w.waits[0].kind = "file_lock";
	assert_waits(&w, 1, "  waits for a file lock, which process 1001 has; sleeping in futex");
}

/* In a core file: what was, at the crash; the state of most is not written there. */
TEST(test_at_the_crash)
{
	struct sw_report_crash crash = {.signal = "SIGSEGV", .tid = 10};
	struct world w;
	make(&w);
	w.report.process.crash = &crash;
	for (size_t i = 0; i < N; i++)
		w.threads[i].blocked_on = NULL;
	w.threads[0].syscall = NULL;
	w.threads[0].state = 'R';
	assert_waits(&w, 1, "  crashed");
	w.threads[0].syscall = "tgkill";
	assert_waits(&w, 1, "  crashed in tgkill");
	crash.sender_pid = 7; /* the thread has done nothing */
	assert_waits(&w, 1, "  was in tgkill");
	crash.tid = 11;
	w.threads[0].state = '?';
	assert_waits(&w, 1, "  was in tgkill at the crash");
	w.threads[0].syscall = NULL;
	assert_waits(&w, 1, "  was there at the crash");
	w.threads[0].state = 'R';
	assert_waits(&w, 1, "  running at the crash");
}
