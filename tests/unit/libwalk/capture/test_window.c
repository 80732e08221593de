/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A window: two passes that are files, and a copy out of a table. */
#include "capture/window.h"
#include "capture/stacks.h"
#include "capture/window_create.h"
#include "iterate/thread.h"
#include "fake.h"
#include "fake_kernel.h"
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
	IO_WORKER = 0x10,
};

struct fixture {
	struct sw_snapshot *snap;
	struct sw_stop stop;
	struct sw_tracee tracees[THREADS];
	struct sw_capture_space *space;
	struct sw_window *window;
	/* The two passes, to be changed by the test. */
	struct sw_iterate_record records[2][THREADS + 1];
	size_t n[2];
};

static uint8_t memory[THREADS * STACK_BYTES];

static struct sw_iterate_record sleeper(size_t i)
{
	struct sw_iterate_record r = {.tid = (uint32_t) (11 + i),
				      .start_ns = 5000 + i,
				      .n_voluntary = 10,
				      .runtime_ns = 100,
				      .exec_id = 2,
				      .is_last = i >= TEAM - 1,
				      .state = 1};
	r.regs[RIP] = 0x401000 + i;
	r.regs[RSP] = STACK_AVMA + i * STACK_BYTES + 0x1000;
	r.regs[FS_BASE] = STACK_AVMA + i * STACK_BYTES + 0x2000;
	r.regs[ORIG_RAX] = UINT64_MAX;
	r.regs[CS] = USER_CS;
	return r;
}

static struct fixture *start(void)
{
	static struct fixture f;
	const struct sw_snapshot_options options = {.stack_bytes = STACK_BYTES,
						    .total_bytes = THREADS * STACK_BYTES};
	f = (struct fixture){.snap = fake_snapshot_create(), .n = {TEAM, TEAM}};
	fake_kernel = (struct fake_kernel){.n_ranges = 1,
					   .ranges = {{STACK_AVMA, memory, sizeof(memory)}}};
	for (size_t i = 0; i < THREADS; i++) {
		f.records[0][i] = f.records[1][i] = sleeper(i);
		f.tracees[i] = (struct sw_tracee){.tid = (pid_t) (11 + i), .phase = SW_TRACEE_LOST};
		(void) fake_snapshot_map(f.snap, STACK_AVMA + i * STACK_BYTES,
					 STACK_AVMA + (i + 1) * STACK_BYTES, "rw-p", "");
	}
	f.stop = (struct sw_stop){.tracees = f.tracees,
				  .n = TEAM,
				  .capacity = THREADS,
				  .mem_fd = -EBADF,
				  .new_threads = true,
				  .deadline_ns = INT64_MAX,
				  .copy_end_ns = INT64_MAX};
	assert_int_equal(sw_capture_space_create(f.snap, &f.stop, &options, THREADS, &f.space,
						 NULL),
			 0);
	f.space->capture = sw_capture_of(f.space);
	assert_int_equal(sw_window_create(f.snap, f.space, &f.stop, &f.window, NULL), 0);
	f.window->whole = f.window->with_passes = true;
	return &f;
}

static int pass_open(const struct fixture *f, size_t i)
{
	size_t bytes = f->n[i] * sizeof(f->records[i][0]);
	int fd = memfd_create("pass", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, f->records[i], bytes), bytes);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void passes_open(struct fixture *f)
{
	for (size_t i = 0; i < 2; i++)
		f->window->pass_fds[i] = pass_open(f, i);
}

static void passes_close(struct fixture *f)
{
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(close(f->window->pass_fds[i]), 0);
}

static void run(struct fixture *f)
{
	f->window->judged = f->window->chosen = f->window->failed = false;
	passes_open(f);
	sw_window_fill(f->window, &f->stop);
	sw_window_settle(f->window);
	passes_close(f);
}

static void hand_over(struct fixture *f)
{
	f->stop.finished = true;
	sw_capture_space_finish(f->space);
}

static void end(struct fixture *f)
{
	fake_snapshot_destroy(f->snap);
}

static void assert_taken(const struct fixture *f, const char *expected)
{
	for (size_t i = 0; i < strlen(expected); i++) {
		assert_int_equal(f->window->threads[i].taken, expected[i] == 't');
		assert_int_equal(f->tracees[i].has_regs, expected[i] == 't');
	}
}

TEST(test_all_sleep)
{
	struct fixture *f = start();
	run(f);
	assert_taken(f, "ttt");
	assert_true(f->window->quiescent);
	assert_true(f->window->seems_whole);
	assert_int_equal(f->window->n_rest, 0);
	hand_over(f);
	for (size_t i = 0; i < TEAM; i++) {
		assert_true(f->snap->threads[i].stack_bytes > 0x1000);
		assert_int_equal(f->snap->threads[i].regs.pc_avma, 0x401000 + i);
	}
	assert_int_equal(fake_kernel.readv_pid, 11);
	end(f);
}

/* A thread that ran in between is not taken, and what was copied of it is thrown away. */
TEST(test_ran)
{
	struct fixture *f = start();
	f->records[1][1].n_voluntary++;
	run(f);
	assert_taken(f, "tnt");
	assert_false(f->window->quiescent);
	assert_int_equal(f->window->n_rest, 1);
	assert_int_equal(f->window->n_rest_running, 0);
	hand_over(f);
	assert_int_equal(f->snap->threads[1].stack_bytes, 0);
	assert_true(f->snap->threads[2].stack_bytes > 0);
	end(f);
}

enum {
	VARIABLE = 0x40,
	RECORD = 0x3000
}; /* the first is below the thread pointer; both in a thread's part */

static void put_word(size_t i, uint64_t at, uint64_t word)
{
	memcpy(memory + i * STACK_BYTES + at, &word, sizeof(word));
}

/*
 * The context of a thread belongs to its registers: it is copied for each alone, also where their records are in the same bytes,
 * and thrown away for a thread that ran. A thread that keeps nothing has none.
 */
TEST(test_contexts)
{
	struct fixture *f = start();
	f->space->context = (struct sw_way){{(uint64_t) -VARIABLE, 0}, 2};
	memset(memory, 0, sizeof(memory));
	put_word(0, 0x2000 - VARIABLE, STACK_AVMA + RECORD);
	put_word(1, 0x2000 - VARIABLE, STACK_AVMA + RECORD + 8);
	put_word(0, RECORD, 1);
	put_word(0, RECORD + 8, 2);
	f->records[1][1].n_voluntary++;
	run(f);
	assert_taken(f, "tnt");
	/* Before the second window of the thread, all records change. */
	f->window->whole = false;
	f->records[0][1].n_voluntary++;
	put_word(0, RECORD, 3);
	put_word(0, RECORD + 8, 4);
	run(f);
	assert_taken(f, "ttt");
	hand_over(f);
	for (size_t i = 0; i < 2; i++) {
		const struct sw_thread *t = &f->snap->threads[i];
		uint64_t words[2];
		assert_int_equal(t->context_bytes, SW_CONTEXT_BYTES);
		memcpy(words, t->context, sizeof(words));
		assert_int_equal(words[0], i == 0 ? 1 : 4);
	}
	assert_int_equal(f->snap->threads[2].context_bytes, 0);
	end(f);
}

/* A thread that was not taken at all, and a pointer to nowhere. */
TEST(test_contexts_lost)
{
	struct fixture *f = start();
	f->space->context = (struct sw_way){{(uint64_t) -VARIABLE, 0}, 2};
	memset(memory, 0, sizeof(memory));
	put_word(0, 0x2000 - VARIABLE, STACK_AVMA + RECORD);
	put_word(1, 0x2000 - VARIABLE, 0x10);
	put_word(2, 0x2000 - VARIABLE, UINT64_MAX - 8);
	f->records[1][0].n_voluntary++;
	run(f);
	assert_taken(f, "ntt");
	hand_over(f);
	for (size_t i = 0; i < TEAM; i++)
		assert_int_equal(f->snap->threads[i].context_bytes, 0);
	end(f);
}

TEST(test_on_a_cpu)
{
	struct fixture *f = start();
	f->records[0][2].on_cpu = f->records[1][2].on_cpu = 1;
	run(f);
	assert_taken(f, "ttn");
	assert_false(f->window->seems_whole);
	assert_false(f->window->quiescent);
	assert_int_equal(f->window->n_rest_running, 1);
	end(f);
}

/* The thread stood still in the first pass and was gone in the second. */
TEST(test_gone_meanwhile)
{
	struct fixture *f = start();
	f->n[1] = 2;
	run(f);
	assert_taken(f, "ttn");
	assert_false(f->window->quiescent);
	end(f);
}

/* In the next window of the rest, only that one is copied; the others stay as they are. */
TEST(test_rest)
{
	struct fixture *f = start();
	f->records[1][1].n_voluntary++;
	run(f);
	f->window->whole = false;
	f->records[0][1].n_voluntary++;
	f->records[0][1].regs[RIP] = f->records[1][1].regs[RIP] = 0x402000;
	f->records[1][0].n_voluntary = 99; /* it ran since: nothing to the copy that is there */
	run(f);
	assert_taken(f, "ttt");
	assert_int_equal(f->window->n_rest, 0);
	hand_over(f);
	assert_int_equal(f->snap->threads[1].regs.pc_avma, 0x402000);
	for (size_t i = 0; i < TEAM; i++)
		assert_true(f->snap->threads[i].stack_bytes > 0);
	end(f);
}

/* A window of the rest that gave nothing uses up no space. */
TEST(test_rest_in_vain)
{
	struct fixture *f = start();
	f->records[1][1].n_voluntary++;
	run(f);
	size_t used = f->space->used, n_parts = f->space->n_parts;
	f->window->whole = false;
	run(f);
	assert_taken(f, "tnt");
	assert_int_equal(f->space->used, used);
	assert_int_equal(f->space->n_parts, n_parts);
	end(f);
}

/* The thread through which memory was read executed a program: then nothing that was read counts. */
TEST(test_carrier)
{
	struct fixture *f = start();
	f->records[1][0].exec_id++;
	run(f);
	assert_taken(f, "nnn");
	assert_false(f->window->quiescent);
	end(f);
	f = start();
	f->records[1][0].in_exec = 1;
	run(f);
	assert_taken(f, "nnn");
	end(f);
	/* A thread that ran is no harm to the others. */
	f = start();
	f->records[1][0].n_voluntary++;
	run(f);
	assert_taken(f, "ntt");
	end(f);
}

/* Another thread with the id of one that was there before. */
TEST(test_id_again)
{
	struct fixture *f = start();
	f->records[1][2].start_ns++;
	run(f);
	assert_taken(f, "ttn");
	end(f);
	f = start();
	f->window->threads[2].start_ns = 1; /* of an earlier pass */
	run(f);
	assert_taken(f, "ttnt");
	assert_int_equal(f->stop.n, 4);
	assert_int_equal(f->tracees[2].reason, SW_E_EXITED);
	end(f);
}

TEST(test_new_thread)
{
	struct fixture *f = start();
	f->n[0] = f->n[1] = 4;
	run(f);
	assert_int_equal(f->stop.n, 4);
	assert_taken(f, "tttt");
	assert_int_equal(f->tracees[3].tid, 14);
	end(f);
	/* Only between the passes: left to the next one, and somebody ran. */
	f = start();
	f->n[1] = 4;
	run(f);
	assert_int_equal(f->stop.n, 3);
	assert_false(f->window->quiescent);
	end(f);
}

/* More than there is space for. */
TEST(test_overflow)
{
	struct fixture *f = start();
	f->stop.capacity = TEAM;
	f->n[0] = f->n[1] = 4;
	run(f);
	assert_true(f->stop.overflow);
	assert_false(f->window->quiescent);
	assert_taken(f, "ttt");
	end(f);
}

/* As many as there is space for in the first pass, and one more in the second: somebody ran. */
TEST(test_overflow_meanwhile)
{
	struct fixture *f = start();
	for (size_t k = 0; k < 2; k++) {
		f->records[k][2].is_last = 0;
		f->n[k] = THREADS;
	}
	run(f);
	assert_true(f->window->quiescent);
	end(f);
	f = start();
	for (size_t k = 0; k < 2; k++) {
		f->records[k][2].is_last = 0;
		f->n[k] = THREADS + k;
	}
	f->records[1][THREADS] = sleeper(THREADS);
	run(f);
	assert_taken(f, "tttt");
	assert_true(f->stop.overflow);
	assert_false(f->window->quiescent);
	end(f);
}

/* A thread in execve() is on no CPU as it waits for the disk: the memory changes nevertheless. */
TEST(test_in_exec)
{
	struct fixture *f = start();
	f->records[0][1].in_exec = f->records[1][1].in_exec = 1;
	run(f);
	assert_taken(f, "tnt");
	assert_false(f->window->seems_whole);
	assert_false(f->window->quiescent);
	end(f);
}

/* All threads once more: who was read in the window before and runs now is not taken as it was then. */
TEST(test_whole_again)
{
	struct fixture *f = start();
	run(f);
	assert_taken(f, "ttt");
	f->records[0][2].on_cpu = f->records[1][2].on_cpu = 1;
	run(f);
	assert_taken(f, "ttn");
	hand_over(f);
	assert_int_equal(f->snap->threads[2].stack_bytes, 0);
	end(f);
}

/* The stack of a coroutine, and the thread's own stack besides: of a thread that ran neither counts. */
TEST(test_ran_on_another_stack)
{
	for (int ran = 0; ran < 2; ran++) {
		struct fixture *f = start();
		f->records[0][1].regs[RSP] = f->records[1][1].regs[RSP] =
			STACK_AVMA + (THREADS - 1) * STACK_BYTES + 0x1000;
		f->records[1][1].n_voluntary += (uint64_t) ran;
		run(f);
		hand_over(f);
		assert_int_equal(f->snap->threads[1].stack_bytes > 0, !ran);
		assert_int_equal(f->snap->n_ranges, !ran);
		end(f);
	}
}

/* A thread that is taken is described as it was in the pass before its copy. */
TEST(test_told)
{
	struct fixture *f = start();
	f->records[0][1].state = f->records[1][1].state = 2;
	f->records[0][1].clock_ns = 1000;
	f->records[1][1].clock_ns = 2000;
	f->records[0][1].arrived_ns = f->records[1][1].arrived_ns = 400;
	f->records[0][2].n_involuntary = 5;
	run(f);
	assert_taken(f, "ttn");
	assert_int_equal(f->window->threads[0].state, 'S');
	assert_int_equal(f->window->threads[1].state, 'D');
	assert_int_equal(f->window->threads[1].since_ns, 600);
	assert_int_equal(f->window->threads[2].n_switches, 15);
	assert_int_equal(sw_window_switches(f->window, 0), 11);
	assert_int_equal(sw_window_switches(f->window, 2), 0); /* not taken */
	f->window->threads[0].by_ptrace = true;
	assert_int_equal(sw_window_switches(f->window, 0), 0);
	end(f);
}

/* Threads that wait for a CPU, which those of the kernel do not count as; and a new one that no stop reaches. */
TEST(test_waiting)
{
	struct fixture *f = start();
	for (size_t k = 0; k < 2; k++)
		f->records[k][1].state = f->records[k][2].state = 0;
	f->records[0][2].flags = f->records[1][2].flags = IO_WORKER;
	f->n[0] = f->n[1] = 4;
	f->records[0][3].state = f->records[1][3].state = 2;
	run(f);
	assert_int_equal(f->window->n_waiting, 1);
	assert_true(f->window->threads[1].runnable);
	assert_false(f->window->threads[2].runnable);
	assert_true(f->tracees[3].uninterruptible);
	assert_false(f->tracees[0].uninterruptible);
	end(f);
}

static int hook_copies;
static bool wanted_came;

static int copy_one(struct sw_capture *capture)
{
	const uint8_t *data;
	uint8_t bytes[8];
	hook_copies += sw_capture_copy(capture, STACK_AVMA, 8, &data);
	wanted_came = sw_capture_wanted(capture, STACK_AVMA + 0x100, bytes, sizeof(bytes));
	return 0;
}

/* A window that is repeated begins anew: what hooks had copied is forgotten, and what they want is read again. */
TEST(test_hooks_again)
{
	struct fixture *f = start();
	void *found = &found;
	struct sw_hook hook = {.name = "hook", .in_window = copy_one, .found = &found};
	hook_copies = 0;
	assert_int_equal(sw_capture_want(&f->space->capture, STACK_AVMA + 0x100, 8), 0);
	f->space->n_want = f->space->n_parts;
	f->space->hooks[f->space->n_hooks++] = hook;
	fake_kernel.ranges[0].start_avma += STACK_BYTES; /* it cannot be read yet */
	run(f);
	assert_int_equal(hook_copies, 0);
	assert_false(wanted_came);
	fake_kernel.ranges[0].start_avma -= STACK_BYTES;
	for (int i = 1; i < 3; i++) {
		run(f);
		assert_int_equal(hook_copies, i);
		assert_true(wanted_came);
		assert_int_equal(f->snap->n_ranges, 1);
	}
	end(f);
}

/* No thread was taken in a window with all of them: what hooks have copied in it stays while the rest is read. */
TEST(test_rest_beside_hooks)
{
	struct fixture *f = start();
	void *found = &found;
	struct sw_hook hook = {.name = "hook", .in_window = copy_one, .found = &found};
	f->space->hooks[f->space->n_hooks++] = hook;
	memory[0] = 0xa5;
	for (size_t i = 0; i < TEAM; i++) {
		f->records[0][i].regs[RSP] += 0x2000; /* it has more of a stack in the next one */
		f->records[1][i].n_voluntary++;
	}
	run(f);
	assert_taken(f, "nnn");
	assert_int_equal(f->snap->n_ranges, 1);
	f->window->whole = false;
	for (size_t i = 0; i < TEAM; i++)
		f->records[0][i] = f->records[1][i];
	run(f);
	assert_taken(f, "ttt");
	assert_int_equal(f->snap->n_ranges, 1);
	assert_int_equal(f->snap->ranges[0].data[0], 0xa5);
	memory[0] = 0;
	end(f);
}

/* The kernel ended the first pass early: who is not in it may be there. */
TEST(test_cut)
{
	struct fixture *f = start();
	f->n[0] = 2;
	run(f);
	assert_taken(f, "ttn");
	assert_int_equal(f->tracees[2].reason, 0);
	assert_int_equal(f->window->n_rest, 1);
	assert_false(f->window->seems_whole);
	end(f);
	f = start();
	f->n[0] = f->n[1] = 2;
	f->records[0][1].is_last = f->records[1][1].is_last = 1;
	run(f);
	assert_int_equal(f->tracees[2].reason, SW_E_EXITED);
	assert_int_equal(f->window->n_rest, 0);
	end(f);
}

TEST(test_workers)
{
	struct fixture *f = start();
	f->records[0][1].flags = f->records[1][1].flags = IO_WORKER;
	f->records[0][1].on_cpu = 1;
	run(f);
	assert_taken(f, "tnt");
	assert_int_equal(f->tracees[1].reason, SW_E_IO_WORKER);
	assert_true(f->window->quiescent);
	end(f);
}

/* Threads that a stop holds need no proof, and memory is read through them. */
TEST(test_held)
{
	struct fixture *f = start();
	f->tracees[2].phase = SW_TRACEE_STOPPED;
	f->tracees[2].has_regs = true;
	sw_iterate_registers(&f->records[0][2], &f->tracees[2].regs);
	f->tracees[2].regs.rip = 0x403000;
	f->records[0][2].on_cpu = 1; /* as it was just before */
	f->records[1][2].n_voluntary++;
	f->records[1][0].exec_id++; /* nothing to those that are held */
	run(f);
	assert_taken(f, "ntt");
	assert_int_equal(fake_kernel.readv_pid, 13);
	assert_true(f->window->threads[2].by_ptrace);
	assert_false(f->window->threads[1].by_ptrace);
	hand_over(f);
	assert_int_equal(f->snap->threads[2].regs.pc_avma, 0x403000);
	end(f);
}

/* Nobody asked for it. */
TEST(test_skipped)
{
	struct fixture *f = start();
	f->tracees[1].reason = SW_E_SKIPPED;
	run(f);
	assert_taken(f, "tnt");
	assert_int_equal(f->tracees[1].reason, SW_E_SKIPPED);
	assert_int_equal(f->window->n_rest, 0);
	end(f);
}

/* Hooks are not told that nobody runs where no second pass will confirm it. */
TEST(test_doubtful)
{
	struct fixture *f = start();
	f->window->doubtful = true;
	run(f);
	assert_false(f->window->seems_whole);
	assert_false(f->window->quiescent);
	end(f);
}

/* The second pass cannot be read: nothing is proven. */
TEST(test_no_second_pass)
{
	struct fixture *f = start();
	passes_open(f);
	int second = f->window->pass_fds[1];
	f->window->pass_fds[1] = -EBADF;
	sw_window_fill(f->window, &f->stop);
	assert_true(f->window->failed);
	sw_window_settle(f->window);
	assert_taken(f, "nnn");
	assert_int_equal(f->window->n_rest, 3);
	f->window->pass_fds[1] = second;
	passes_close(f);
	hand_over(f);
	for (size_t i = 0; i < TEAM; i++)
		assert_int_equal(f->snap->threads[i].stack_bytes, 0);
	end(f);
}

/* The helper was killed after the copy: the second pass is made afterwards, and decides. */
TEST(test_killed)
{
	struct fixture *f = start();
	f->records[1][1].n_voluntary++;
	passes_open(f);
	sw_window_fill(f->window, &f->stop);
	f->window->judged = false;
	for (size_t i = 0; i < TEAM; i++)
		f->window->threads[i].taken = false;
	assert_int_equal(lseek(f->window->pass_fds[1], 0, SEEK_SET), 0);
	sw_window_settle(f->window);
	assert_taken(f, "tnt");
	passes_close(f);
	end(f);
	/* Hooks may not have come to their end. */
	f = start();
	passes_open(f);
	sw_window_fill(f->window, &f->stop);
	assert_true(f->window->quiescent);
	f->window->judged = false;
	assert_int_equal(lseek(f->window->pass_fds[1], 0, SEEK_SET), 0);
	sw_window_settle(f->window);
	assert_taken(f, "ttt");
	assert_false(f->window->quiescent);
	passes_close(f);
	end(f);
}

static void assert_since(const struct fixture *f, enum sw_since first, enum sw_since second,
			 enum sw_since third)
{
	assert_int_equal(sw_window_since(f->window, 0), first);
	assert_int_equal(sw_window_since(f->window, 1), second);
	assert_int_equal(sw_window_since(f->window, 2), third);
}

static void look_again(struct fixture *f)
{
	int fd = pass_open(f, 1);
	sw_window_look_again(f->window, fd);
	assert_int_equal(close(fd), 0);
}

/* The activity of the threads that were taken, by one look more. */
TEST(test_since)
{
	struct fixture *f = start();
	run(f);
	assert_taken(f, "ttt");
	assert_since(f, SW_SINCE_STAYED, SW_SINCE_STAYED, SW_SINCE_STAYED);
	f->records[1][1].state = 0;
	f->records[1][2].n_involuntary++;
	look_again(f);
	assert_since(f, SW_SINCE_STAYED, SW_SINCE_WOKEN, SW_SINCE_RAN);
	f->records[1][2].n_involuntary--;
	f->records[1][1].on_cpu = 1;
	f->n[1] = 2;
	look_again(f);
	assert_since(f, SW_SINCE_STAYED, SW_SINCE_RAN, SW_SINCE_RAN);
	assert_ptr_equal(sw_window_last(f->window, 0), &f->window->records[1][0]);
	assert_null(sw_window_last(f->window, 2));
	/* About to sleep it still runs. */
	f->records[1][1].state = 1;
	f->n[1] = 3;
	f->records[1][2].start_ns++; /* another one has its id */
	look_again(f);
	assert_since(f, SW_SINCE_STAYED, SW_SINCE_RAN, SW_SINCE_RAN);
	end(f);
}

/* The threads that did not run from the first look of all to the last one. */
TEST(test_stayed)
{
	struct fixture *f = start();
	f->records[0][0].on_cpu = 1; /* this one ran at first */
	f->records[0][1].n_voluntary--;
	run(f);
	assert_taken(f, "nnt");
	assert_false(sw_window_stayed(f->window, 0)); /* not taken */
	assert_true(sw_window_stayed(f->window, 2));
	/* In the next window both are taken, but waited for something else before. */
	f->records[0][0] = f->records[1][0];
	f->records[0][1] = f->records[1][1];
	f->window->whole = false;
	run(f);
	assert_taken(f, "ttt");
	assert_since(f, SW_SINCE_STAYED, SW_SINCE_STAYED, SW_SINCE_STAYED);
	assert_false(sw_window_stayed(f->window, 0));
	assert_false(sw_window_stayed(f->window, 1));
	assert_true(sw_window_stayed(f->window, 2));
	/* The instant of each: the third was not read anew. */
	assert_int_equal(f->window->threads[0].instant, 2);
	assert_int_equal(f->window->threads[1].instant, 2);
	assert_int_equal(f->window->threads[2].instant, SW_INSTANT_OF_RUNTIMES);
	/* The thread was woken, runs now, ran since, or was stopped, with nobody to look at the
	 * others. */
	f->records[1][2].state = 0;
	look_again(f);
	assert_false(sw_window_stayed(f->window, 2));
	f->records[1][2].state = 1;
	f->records[1][2].on_cpu = 1;
	look_again(f);
	assert_false(sw_window_stayed(f->window, 2));
	f->records[1][2].on_cpu = 0;
	look_again(f);
	assert_true(sw_window_stayed(f->window, 2));
	f->records[1][2].n_involuntary++;
	look_again(f);
	assert_false(sw_window_stayed(f->window, 2));
	f->records[1][2].n_involuntary--;
	look_again(f);
	f->window->threads[2].by_ptrace = true;
	f->window->with_passes = false;
	assert_false(sw_window_stayed(f->window, 2));
	/* A window with all of them reads data of runtimes, and all threads, anew. */
	f->window->threads[2].by_ptrace = false;
	f->window->with_passes = f->window->whole = true;
	run(f);
	assert_taken(f, "ttt");
	for (size_t i = 0; i < TEAM; i++)
		assert_int_equal(f->window->threads[i].instant, SW_INSTANT_OF_RUNTIMES);
	end(f);
}

TEST(test_nobody_seen)
{
	struct fixture *f = start();
	f->records[1][1].n_voluntary++;
	run(f);
	sw_window_look_again(f->window, -EBADF);
	assert_taken(f, "tnt");
	assert_since(f, SW_SINCE_RAN, SW_SINCE_STAYED, SW_SINCE_RAN);
	/* Held, it was on a CPU before: unless no others were read. */
	f->window->threads[0].by_ptrace = true;
	assert_since(f, SW_SINCE_RAN, SW_SINCE_STAYED, SW_SINCE_RAN);
	f->window->with_passes = false;
	assert_since(f, SW_SINCE_STAYED, SW_SINCE_STAYED, SW_SINCE_RAN);
	end(f);
}

/* The second pass says whether the process has threads that are not listed, as long as it is whole. */
TEST(test_all_listed)
{
	struct fixture *f = start();
	run(f);
	assert_true(f->window->all_listed);
	f->window->with_passes = false; /* all are stopped: nobody has looked */
	run(f);
	assert_false(f->window->all_listed);
	end(f);
	f = start(); /* a thread comes between the passes */
	f->n[1] = THREADS;
	run(f);
	assert_false(f->window->all_listed);
	end(f);
	f = start(); /* a thread comes before the first pass */
	f->n[0] = f->n[1] = THREADS;
	run(f);
	assert_int_equal(f->stop.n, THREADS);
	assert_true(f->window->all_listed);
	end(f);
	f = start(); /* the last thread of the second pass is not the youngest */
	f->records[1][TEAM - 1].is_last = 0;
	run(f);
	assert_false(f->window->all_listed);
	end(f);
}

/* More threads by now are no reason to say that some were left out. */
TEST(test_look_finds_no_new)
{
	struct fixture *f = start();
	run(f);
	f->stop.capacity = TEAM;
	f->n[1] = THREADS;
	look_again(f);
	assert_true(f->window->passes[1].overflow);
	assert_false(f->stop.overflow);
	assert_int_equal(f->stop.n, TEAM);
	assert_since(f, SW_SINCE_STAYED, SW_SINCE_STAYED, SW_SINCE_STAYED);
	end(f);
}
