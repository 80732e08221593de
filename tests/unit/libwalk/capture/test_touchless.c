/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Windows, one after the other, of a process that changes between two looks as each test says: who is read without a
 * stop, who is stopped, and when the capture is of no use.
 */
#include "capture/touchless.h"
#include "capture/window.h"
#include "capture/window_create.h"
#include "fake.h"
#include "fake_kernel.h"
#include "fake_process.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sys/mman.h>

enum {
	STACK_AVMA = 0x700000,
	STACK_BYTES = 0x4000,
	THREADS = 4, /* space */
	TEAM = 3,
	RIP = 16, /* of struct user_regs_struct, as words */
	CS = 17,
	RSP = 19,
	FS_BASE = 21,
	ORIG_RAX = 15,
	USER_CS = 0x33,
	MS = 1000000,
	STARTTIME = 77,
	MAX_STOP_MS = 8000, /* as long a helper without a turn may take that is not stuck */
};

struct fixture {
	struct sw_take take;
	struct sw_target target;
	struct sw_error err;
	struct sw_tracee tracees[THREADS];
	pid_t tids[THREADS];
	uint32_t pending[THREADS];
	int n_asked, n_permits; /* so often it is permitted */
};

static uint8_t memory[THREADS * STACK_BYTES];
static struct fixture f;

/* Everybody sleeps, and did in the look before. */
static struct fake_look quiet(void)
{
	struct fake_look look = {.n = TEAM};
	for (size_t i = 0; i < TEAM; i++) {
		struct sw_iterate_record *r = &look.records[i];
		*r = (struct sw_iterate_record){.tid = (uint32_t) (11 + i),
						.start_ns = 5000 + i,
						.n_voluntary = 10,
						.runtime_ns = 100,
						.exec_id = 2,
						.is_last = i == TEAM - 1,
						.state = 1};
		r->regs[RIP] = 0x401000 + i;
		r->regs[RSP] = STACK_AVMA + i * STACK_BYTES + 0x1000;
		r->regs[FS_BASE] = STACK_AVMA + i * STACK_BYTES + 0x2000;
		r->regs[ORIG_RAX] = UINT64_MAX;
		r->regs[CS] = USER_CS;
	}
	return look;
}

/* The thread runs, and so far has run longer at each look. */
static void runs(struct fake_look *look, size_t thread, size_t number)
{
	look->records[thread].on_cpu = 1;
	look->records[thread].state = 0;
	look->records[thread].runtime_ns += number;
}

static void start(void (*look)(size_t number, struct fake_look *ret))
{
	f = (struct fixture){.target = {.pid = 11, .pidfd = -EBADF, .starttime = STARTTIME}};
	struct sw_take *take = &f.take;
	*take = (struct sw_take){.snap = fake_snapshot_create(),
				 .target = &f.target,
				 .options = {.stack_bytes = STACK_BYTES,
					     .total_bytes = THREADS * STACK_BYTES,
					     .max_stop_ms = MAX_STOP_MS},
				 .stop = {.tracees = f.tracees,
					  .n = TEAM,
					  .capacity = THREADS,
					  .tids = f.tids,
					  .pending = f.pending,
					  .task_fd = FAKE_TASK_FD,
					  .mem_fd = -EBADF,
					  .pagemap_fd = -EBADF,
					  .statm_fd = -EBADF,
					  .new_threads = true,
					  .max_stop_ns = MAX_STOP_MS * (int64_t) MS},
				 .err = &f.err};
	fake_process = (struct fake_process){.look = look, .stat = {.starttime = STARTTIME}};
	fake_kernel = (struct fake_kernel){.n = TEAM,
					   .n_ranges = 1,
					   .ranges = {{STACK_AVMA, memory, sizeof(memory)}}};
	for (size_t i = 0; i < THREADS; i++) {
		f.tracees[i] = (struct sw_tracee){.tid = (pid_t) (11 + i)};
		(void) fake_snapshot_map(take->snap, STACK_AVMA + i * STACK_BYTES,
					 STACK_AVMA + (i + 1) * STACK_BYTES, "rw-p", "");
	}
	for (size_t i = 0; i < TEAM; i++) {
		struct user_regs_struct *regs = &fake_kernel.threads[i].regs;
		fake_kernel.threads[i].tid = (pid_t) (11 + i);
		*regs = (struct user_regs_struct){.orig_rax = (unsigned long long) -1,
						  .cs = USER_CS,
						  .rip = 0x403000 + i,
						  .rsp = STACK_AVMA + i * STACK_BYTES + 0x1000};
	}
	assert_int_equal(sw_capture_space_create(take->snap, &take->stop, &take->options, THREADS,
						 &take->space, NULL),
			 0);
	take->space->capture = sw_capture_of(take->space);
	assert_int_equal(sw_window_create(take->snap, take->space, &take->stop, &take->window,
					  NULL),
			 0);
}

static void end(void)
{
	fake_snapshot_destroy(f.take.snap);
	fake_process = (struct fake_process){0};
}

/* For each thread: i(terator), p(trace), - (not taken). */
static void assert_taken(const char *wanted)
{
	char got[THREADS + 1] = "";
	for (size_t i = 0; i < f.take.stop.n; i++)
		got[i] = !f.take.window->threads[i].taken      ? '-'
			 : f.take.window->threads[i].by_ptrace ? 'p'
							       : 'i';
	assert_string_equal(got, wanted);
}

static void assert_seized(const char *wanted)
{
	for (size_t i = 0; i < strlen(wanted); i++)
		assert_int_equal(fake_kernel.threads[i].seized, wanted[i] == 's');
}

static void look_quiet(size_t number, struct fake_look *ret)
{
	*ret = quiet();
}

TEST(test_one_window)
{
	start(look_quiet);
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_int_equal(fake_process.n_looks, 2);
	assert_taken("iii");
	assert_seized("---");
	end();
}

/* A thread that begins to run during the copy: its stack is that of the next window, those of the others stay. */
static void look_ran(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	if (number > 0)
		ret->records[1].n_voluntary++;
	if (number == 1)
		runs(ret, 1, number);
	if (number > 1) {
		ret->records[1].regs[RIP] = 0x402000;
		ret->records[0].n_voluntary++; /* it was read before that */
	}
}

TEST(test_runs_during_copy)
{
	start(look_ran);
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_int_equal(fake_process.n_looks, 4);
	assert_taken("iii");
	assert_seized("---");
	assert_int_equal(f.take.snap->threads[0].regs.pc_avma, 0x401000);
	assert_int_equal(f.take.snap->threads[1].regs.pc_avma, 0x402000);
	end();
}

static void look_busy(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	runs(ret, 1, number);
}

/* The only one that runs is the only one that is stopped, and the time is that of the others' copy. */
TEST(test_busy)
{
	start(look_busy);
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_taken("ipi");
	assert_seized("-s-");
	assert_true(fake_kernel.threads[1].detached);
	assert_true(f.take.stop.time_ns <
		    1000 * INT64_C(1000000000) + fake_kernel.threads[1].interrupt_ns);
	assert_false(f.take.stop.timed_out);
	end();
}

/* A thread that ended between the look and the stop. */
static void look_ends(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	runs(ret, 1, number);
	if (fake_kernel.n_seized > 0) {
		ret->records[1] = ret->records[2];
		ret->n = 2;
	}
}

TEST(test_ends_before_stop)
{
	start(look_ends);
	fake_kernel.threads[1].seize_errno = ESRCH;
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_taken("i-i");
	assert_int_equal(f.tracees[1].reason, SW_E_EXITED);
	assert_int_equal(fake_kernel.n_interrupted, 0);
	assert_false(f.take.stop.timed_out);
	end();
	start(look_ends);
	fake_kernel.threads[1].dies = true; /* when it was seized */
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_taken("i-i");
	assert_int_equal(f.tracees[1].reason, SW_E_EXITED);
	assert_true(fake_kernel.threads[1].reaped);
	end();
}

/* Another tracer's thread is not asked to stop. */
static void look_traced(size_t number, struct fake_look *ret)
{
	look_busy(number, ret);
	ret->records[1].traced = 1;
}

TEST(test_traced)
{
	start(look_traced);
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_taken("i-i");
	assert_seized("---");
	assert_int_equal(f.tracees[1].reason, SW_E_STOP_TIMEOUT);
	end();
}

/* The kernel cut the first pass: the thread that is missing there is looked for. */
static void look_cut(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	if (number < 2)
		ret->n = 2;
}

TEST(test_cut_pass)
{
	start(look_cut);
	f.take.stop.n = 2; /* it is new, too */
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_int_equal(f.take.stop.n, 3);
	assert_taken("iii");
	end();
}

/* A program was executed between the two passes, and has ended when the next ones begin. */
static void look_exec(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	for (size_t i = 0; i < TEAM; i++) {
		ret->records[i].in_exec = number == 1 && i == 0;
		ret->records[i].exec_id += number > 1;
	}
}

TEST(test_exec_during_copy)
{
	start(look_exec);
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_int_equal(fake_process.n_looks, 4); /* of the first window nothing counts */
	assert_taken("iii");
	end();
	/* The descriptor that was opened before belongs to the old program: its address space is
	 * empty. */
	start(look_quiet);
	f.take.stop.pagemap_fd = memfd_create("pagemap", MFD_CLOEXEC);
	assert_true(f.take.stop.pagemap_fd >= 0);
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_true(f.take.stop.changed);
	assert_int_equal(fake_process.n_looks, 2);
	assert_int_equal(close(f.take.stop.pagemap_fd), 0);
	end();
}

static bool permit(void *arg, int fd)
{
	return fd >= 0 && ++f.n_asked <= f.n_permits;
}

/* The process is not what it was when it was permitted: asked before the first window, and after the last one. */
TEST(test_permission)
{
	for (int n = 0; n < 3; n++) {
		start(look_quiet);
		f.take.options.permit = permit;
		f.n_permits = n;
		assert_int_equal(sw_take_windows(&f.take), 0);
		assert_int_equal(f.take.stop.refused, n < 2);
		assert_int_equal(f.n_asked, n < 2 ? n + 1 : 2);
		assert_int_equal(fake_process.n_looks, n == 0 ? 0 : 2);
		end();
	}
}

/* The number is another process's by now. */
TEST(test_number_again)
{
	start(look_quiet);
	fake_process.stat.starttime++;
	assert_int_equal(sw_take_windows(&f.take), -SW_E_EXITED);
	assert_string_equal(f.err.message, "process 11 exited meanwhile");
	end();
}

/* Two threads that no stop reaches; the second one begins to run during the stop of the first one. */
static void look_unstoppable(size_t number, struct fake_look *ret)
{
	look_busy(number, ret);
	if (fake_kernel.n_interrupted > 0)
		runs(ret, 2, number);
	else
		ret->records[2].n_voluntary += number; /* it comes and goes */
}

/* All stops together last no longer than the limit of one. */
TEST(test_limit_of_all_stops)
{
	start(look_unstoppable);
	fake_kernel.threads[1].stops_after_ns = fake_kernel.threads[2].stops_after_ns = FAKE_NEVER;
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_taken("i--");
	assert_seized("-ss");
	for (size_t i = 1; i < TEAM; i++)
		assert_int_equal(f.tracees[i].reason, SW_E_STOP_TIMEOUT);
	assert_true(f.take.stop.timed_out);
	assert_true(f.take.stop.stopped_ns <= (MAX_STOP_MS + 10) * (int64_t) MS);
	assert_int_equal(f.take.snap->threads[0].instant, SW_INSTANT_OF_RUNTIMES);
	assert_int_equal(f.take.snap->threads[2].instant, 0); /* copied, and it ran */
	end();
}

/* The first thread is stopped; the second one comes and goes, and runs from then on. */
static void look_in_turn(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	ret->records[2].n_voluntary += number;
	runs(ret, fake_kernel.n_interrupted > 0 ? 2 : 1, number);
}

/* The times of two stops are added up. A thread that is new meanwhile is none that they are for. */
TEST(test_sum_of_stops)
{
	start(look_in_turn);
	fake_kernel.n = THREADS;
	fake_kernel.threads[3].tid = 14;
	fake_kernel.seize_ns = fake_kernel.registers_ns = MS;
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_taken("ipp");
	assert_seized("-ss-");
	int64_t held_ns = 0;
	for (size_t i = 1; i < TEAM; i++)
		held_ns += fake_kernel.threads[i].detach_ns - fake_kernel.threads[i].interrupt_ns;
	assert_true(held_ns >= 2 * MS);
	assert_true(f.take.stop.stopped_ns >= held_ns);
	assert_true(f.take.stop.attach_ns >= 2 * MS);
	end();
}

/* The first pass of all says who is there: once more where the kernel has cut it, and no more than there is space for. */
static void look_first_cut(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	if (number == 0)
		ret->n = 2;
}

TEST(test_first_pass)
{
	for (size_t capacity = TEAM; capacity >= 2; capacity--) {
		size_t n = 0;
		start(look_first_cut);
		f.take.stop.capacity = capacity;
		assert_int_equal(sw_take_first_pass(&f.take, &n), 0);
		assert_int_equal(n, capacity);
		assert_int_equal(f.take.stop.overflow, capacity < TEAM);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(f.tids[i], 11 + i);
			assert_int_equal(f.take.window->threads[i].start_ns, 5000 + i);
		}
		end();
	}
}

/* A hook that copies one word. Whether it was told that nobody runs: in the last window, and in how many. */
static bool told_whole;
static int n_told_whole;

static int copy_word(struct sw_capture *capture)
{
	const uint8_t *data;
	told_whole = sw_capture_is_whole(capture);
	n_told_whole += told_whole;
	assert_true(sw_capture_copy(capture, STACK_AVMA, 8, &data));
	return 0;
}

static void hook_add(void)
{
	static void *found = &found;
	f.take.space->hooks[f.take.space->n_hooks++] = (struct sw_hook){.name = "hook",
									.is_runtime = true,
									.in_window = copy_word,
									.found = &found};
	n_told_whole = 0;
}

/* No thread is on a CPU in any look, and one has run between two of them, for a while. */
static void look_comes_and_goes(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	ret->records[2].n_voluntary += number < 20 ? number : 20;
}

/* Copies of hooks are of one instant only when all threads are stopped, as one runs again and again. */
TEST(test_hooks_need_all)
{
	start(look_comes_and_goes);
	hook_add();
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_seized("sss");
	assert_true(told_whole);
	assert_true(f.take.stopped_for_hooks);
	end();
	/* A stop of some threads leaves others running. */
	start(look_comes_and_goes);
	hook_add();
	f.take.stop.new_threads = false;
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_true(n_told_whole > 0);
	assert_false(told_whole);
	end();
	/* Without a stop no window comes after the last one that could confirm it. */
	start(look_comes_and_goes);
	hook_add();
	f.take.options.stop = SW_STOP_NEVER;
	f.take.options.blocked_only = true;
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_seized("---");
	assert_true(n_told_whole > 0);
	assert_false(told_whole);
	assert_true(f.take.snap->priv->hooks_torn);
	end();
}

/* The thread did not stop in time, and sleeps a moment later: then nothing is missing, and nothing
 * was too late. */
static void look_later(size_t number, struct fake_look *ret)
{
	*ret = quiet();
	if (fake_kernel.n_interrupted == 0)
		runs(ret, 1, number);
}

TEST(test_read_after_vain_stop)
{
	start(look_later);
	fake_kernel.threads[1].stops_after_ns = FAKE_NEVER;
	assert_int_equal(sw_take_windows(&f.take), 0);
	assert_taken("iii");
	assert_int_equal(fake_kernel.n_interrupted, 1);
	assert_int_equal(f.tracees[1].reason, 0);
	assert_false(f.take.stop.timed_out);
	end();
}
