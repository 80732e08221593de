/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A series of samples of a process that changes between two of them as each test says: who is read, and what is told. */
#include "fake_kernel.h"
#include "fake_process.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <snapwalk/sampler.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { TEAM = 3, FIRST = 11, STARTTIME = 77 };

struct fixture {
	struct sw_context *ctx;
	struct sw_target target;
	struct sw_sampler *sampler;
	struct sw_sample sample;
	struct sw_error err;
};

/* The process, to be changed by the test between two samples. */
static struct {
	struct sw_iterate_record threads[FAKE_RECORDS_MAX];
	size_t n;
	uint32_t moved[TEAM]; /* threads that may have run since the last sample */
	uint32_t n_moved;
	size_t counted_at; /* a second look at who moved, beside the first one; 0: none */
	/* The results of captures. */
	int results[TEAM], n_captures;
	pid_t missed, unknown, gone;
	int reason; /* of the missed one */
	char asked[64];
} world;

static void look(size_t number, struct fake_look *ret)
{
	*ret = (struct fake_look){.n = world.n,
				  .of_moved = number == 0 || number == world.counted_at};
	memcpy(ret->records, world.threads, sizeof(ret->records));
	ret->records[world.n - 1].is_last = 1;
	ret->moved = (struct sw_iterate_moved){.n_threads = (uint32_t) world.n,
					       .n_counted = (uint32_t) world.n,
					       .n = world.n_moved};
	memcpy(ret->moved.tids, world.moved, sizeof(world.moved));
}

static bool is_asked(const struct sw_snapshot_options *options, pid_t tid)
{
	for (size_t i = 0; i < options->n_tids; i++)
		if (options->tids[i] == tid)
			return true;
	return options->tids == NULL;
}

static void thread_give(struct sw_snapshot *snap, pid_t tid, int reason)
{
	snap->threads[snap->n_threads++] = (struct sw_thread){
		.tid = tid, .captured = reason == 0, .reason = reason, .state = 'S', .comm = "t"};
}

/* All threads, as a capture has them: those that were not asked for are skipped. */
static int capture(struct sw_context *ctx, const struct sw_snapshot_options *options,
		   struct sw_snapshot **ret)
{
	static struct sw_map map = {.start_avma = 0x1000, .end_avma = 0x2000, .path = "[uprobes]"};
	struct sw_snapshot *snap;
	int result = world.results[world.n_captures++];
	size_t length = strlen(world.asked);
	for (size_t i = 0; options->tids != NULL && i < options->n_tids; i++)
		length += (size_t) snprintf(world.asked + length, sizeof(world.asked) - length,
					    " %d", (int) options->tids[i]);
	(void) snprintf(world.asked + length, sizeof(world.asked) - length,
			options->tids == NULL ? " all;" : ";");
	if (world.gone != 0)
		fake_kernel.threads[world.gone - FIRST].tid = 0;
	if (result != 0)
		return result;
	assert_int_equal(sw_snapshot_create(ctx, &snap, NULL), 0);
	snap->threads =
		sw_arena_calloc(&snap->priv->arena, FAKE_RECORDS_MAX, sizeof(*snap->threads));
	assert_non_null(snap->threads);
	snap->maps = &map; /* no code that the way for native code reads */
	snap->n_maps = 1;
	for (size_t i = 0; i < world.n; i++) {
		pid_t tid = (pid_t) world.threads[i].tid;
		int reason = tid == world.missed ? world.reason : 0;
		thread_give(snap, tid, is_asked(options, tid) ? reason : SW_E_SKIPPED);
	}
	if (world.unknown != 0)
		thread_give(snap, world.unknown, 0);
	snap->n_stopped = 1;
	snap->times.stopped_ns = 70;
	snap->times.longest_thread_ns = 50;
	*ret = snap;
	return 0;
}

static int setup(void **state)
{
	static struct fixture f;
	const struct sw_snapshot_options options = {.returns_fd = 1};
	int fd = memfd_create("program", MFD_CLOEXEC);
	const struct sw_sampler_programs programs = {.threads_fd = fd, .moved_fd = fd};
	memset(&world, 0, sizeof(world));
	world.n = TEAM;
	fake_kernel = (struct fake_kernel){.n = TEAM};
	for (size_t i = 0; i < FAKE_RECORDS_MAX; i++)
		world.threads[i] = (struct sw_iterate_record){.tid = (uint32_t) (FIRST + i),
							      .start_ns = 5000 + i,
							      .n_voluntary = 10,
							      .runtime_ns = 100,
							      .exec_id = 2,
							      .state = 1};
	for (size_t i = 0; i < TEAM; i++)
		fake_kernel.threads[i].tid = (pid_t) (FIRST + i);
	fake_process = (struct fake_process){.look = look,
					     .capture = capture,
					     .stat = {.starttime = STARTTIME, .state = 'S'}};
	f = (struct fixture){.target = {.pid = FIRST,
					.pidfd = (int) syscall(SYS_pidfd_open, getpid(), 0),
					.proc_fd = -EBADF,
					.task_fd = FAKE_TASK_FD,
					.starttime = STARTTIME}};
	assert_int_equal(sw_context_create(&f.ctx, NULL), 0);
	assert_int_equal(sw_sampler_create_lent(f.ctx, &f.target, &options, &programs, &f.sampler,
						&f.err),
			 0);
	assert_int_equal(close(fd), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	sw_sampler_destroy(f->sampler);
	sw_context_destroy(f->ctx);
	assert_int_equal(close(f->target.pidfd), 0);
	fake_process = (struct fake_process){0};
	return 0;
}

/* Takes a sample; the threads that were asked for, and the changes: read, state, missed, ended. */
static void assert_sample(struct fixture *f, const char *asked, const char *changes)
{
	char got[128] = "";
	fake_process.n_looks = 0;
	world.n_captures = 0;
	world.asked[0] = '\0';
	assert_int_equal(sw_sampler_next(f->sampler, &f->sample, &f->err), 0);
	for (size_t i = 0; i < f->sample.n_changes; i++) {
		const struct sw_sample_change *c = &f->sample.changes[i];
		size_t length = strlen(got);
		(void) snprintf(got + length, sizeof(got) - length, " %d%c", (int) c->tid,
				"rsme"[c->kind]);
	}
	assert_string_equal(world.asked, asked);
	assert_string_equal(got, changes);
}

/* Some threads have run, and sleep again. */
static void moves(size_t n, const size_t *threads)
{
	world.n_moved = (uint32_t) n;
	for (size_t i = 0; i < n; i++) {
		world.moved[i] = world.threads[threads[i]].tid;
		world.threads[threads[i]].n_voluntary++;
	}
}

static const struct sw_sample_change *change_of(const struct fixture *f, pid_t tid)
{
	for (size_t i = 0; i < f->sample.n_changes; i++)
		if (f->sample.changes[i].tid == tid)
			return &f->sample.changes[i];
	return NULL;
}

/* The first sample reads all, the next ones those that moved. */
TEST_OF(test_who_moved, struct fixture *f)
{
	assert_sample(f, " all;", " 11r 12r 13r");
	assert_int_equal(f->sample.n_threads, TEAM);
	assert_int_equal(f->sample.stopped_ns, 70);
	assert_int_equal(f->sample.longest_ns, 50);
	assert_sample(f, "", "");
	assert_null(f->sample.snap);
	moves(1, (const size_t[]){1});
	assert_sample(f, " 12;", " 12r");
	assert_non_null(f->sample.snap);
	world.unknown = 99; /* it came after the pass: the next one shows it */
	moves(2, (const size_t[]){0, 2});
	assert_sample(f, " 11 13;", " 11r 13r");
	assert_int_equal(f->sample.n_threads, TEAM);
}

/* The times that a thread waits for a CPU go on while it waits. */
TEST_OF(test_times, struct fixture *f)
{
	world.threads[1].state = 0;
	world.threads[1].run_delay_ns = 30;
	world.threads[1].clock_ns = 1000;
	world.threads[1].queued_ns = 960;
	assert_sample(f, " all;", " 11r 12r 13r");
	const struct sw_sample_change *c = change_of(f, 12);
	assert_int_equal(c->activity, SW_ACTIVITY_RUNNABLE);
	assert_int_equal(c->times.cpu_ns, 100);
	assert_int_equal(c->times.queued_ns, 70);
	assert_int_equal(c->times.since_ns, 40);
	assert_int_equal(c->times.n_waits, 10);
}

/* A thread that was on a CPU has run since, though it was never switched out. */
TEST_OF(test_was_on_cpu, struct fixture *f)
{
	world.threads[1].on_cpu = 1;
	world.threads[1].state = 0;
	assert_sample(f, " all;", " 11r 12r 13r");
	assert_int_equal(change_of(f, 12)->activity, SW_ACTIVITY_ON_CPU);
	world.moved[0] = 12;
	world.n_moved = 1;
	world.threads[1].on_cpu = 0;
	assert_sample(f, " 12;", " 12r");
	/* Woken where it slept, it has the stack that it had. */
	world.threads[1].state = 1;
	assert_sample(f, "", " 12s");
	assert_int_equal(change_of(f, 12)->activity, SW_ACTIVITY_BLOCKED);
	/* A thread that ran as well is read, which tells its state, too. */
	world.threads[1].n_involuntary++;
	world.threads[1].state = 0;
	assert_sample(f, " 12;", " 12r");
	assert_int_equal(change_of(f, 12)->activity, SW_ACTIVITY_RUNNABLE);
}

/* A thread that has ended is told, also where another one has its number. */
TEST_OF(test_ends, struct fixture *f)
{
	assert_sample(f, " all;", " 11r 12r 13r");
	world.n = 2;
	world.counted_at = 1; /* one is missing: who? */
	assert_sample(f, "", " 13e");
	assert_int_equal(f->sample.n_threads, 2);
	world.counted_at = 0;
	moves(1, (const size_t[]){1});
	world.threads[1].start_ns++;
	world.threads[1].n_voluntary = 10;
	assert_sample(f, " 12;", " 12e 12r");
	assert_int_equal(f->sample.n_threads, 2);
}

/* Another program: all threads that were known have ended. */
TEST_OF(test_exec, struct fixture *f)
{
	assert_sample(f, " all;", " 11r 12r 13r");
	assert_false(f->sample.new_program);
	world.n = 1;
	world.threads[0].exec_id++;
	moves(1, (const size_t[]){0});
	assert_sample(f, " 11;", " 11e 12e 13e 11r");
	assert_true(f->sample.new_program);
	assert_int_equal(f->sample.n_threads, 1);
	assert_sample(f, "", "");
	assert_false(f->sample.new_program);
}

/* A thread whose stack could not be had is read again, though it did not run: the pass after the next one has its record. */
TEST_OF(test_missed, struct fixture *f)
{
	for (int again = 0; again < 2; again++) {
		assert_sample(f, again ? "" : " all;", again ? "" : " 11r 12r 13r");
		moves(1, (const size_t[]){1});
		world.missed = 12;
		world.reason = again ? SW_E_STOP_TIMEOUT : SW_E_RUNNING;
		assert_sample(f, " 12;", " 12m");
		assert_int_equal(change_of(f, 12)->reason, world.reason);
		world.n_moved = 0;
		assert_sample(f, "", "");
		world.missed = 0;
		assert_sample(f, " 12;", " 12r");
		assert_sample(f, "", "");
	}
	/* A thread without a stack has none in the next sample either. */
	moves(1, (const size_t[]){1});
	world.missed = 12;
	world.reason = SW_E_IO_WORKER;
	assert_sample(f, " 12;", " 12m");
	world.n_moved = 0;
	assert_sample(f, "", "");
	assert_sample(f, "", "");
}

/* A sample that fails loses nothing: who ended is told by the next one, which reads all others. */
TEST_OF(test_fails, struct fixture *f)
{
	assert_sample(f, " all;", " 11r 12r 13r");
	world.n = 2;
	world.counted_at = 2; /* behind that of the one that moved */
	moves(1, (const size_t[]){1});
	world.results[0] = -SW_E_NOMEM;
	fake_process.n_looks = 0;
	world.n_captures = 0;
	assert_int_equal(sw_sampler_next(f->sampler, &f->sample, &f->err), -SW_E_NOMEM);
	world.results[0] = 0;
	world.counted_at = 0;
	world.n_moved = 0;
	assert_sample(f, " 11 12;", " 13e 11r 12r");
	assert_sample(f, "", "");
}

/* A thread ended before the capture: once more without it. */
TEST_OF(test_gone, struct fixture *f)
{
	assert_sample(f, " all;", " 11r 12r 13r");
	moves(2, (const size_t[]){1, 2});
	world.gone = 13;
	world.results[0] = -SW_E_NO_THREAD;
	assert_sample(f, " 12 13; 12;", " 12r");
	for (int i = 0; i < TEAM; i++)
		world.results[i] = -SW_E_NO_THREAD;
	fake_process.n_looks = 0;
	world.n_captures = 0;
	moves(1, (const size_t[]){1});
	assert_int_equal(sw_sampler_next(f->sampler, &f->sample, &f->err), -SW_E_NO_THREAD);
	assert_int_equal(world.n_captures, 3);
}
