/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/decide.h"
#include "test.h"

enum {
	MS = 1000000,
	LIMIT = 100 * MS,
	EXITING = 0x4,
	IO_WORKER = 0x10,
	KTHREAD = 0x200000,
	USER_CS = 0x33,
	USER32_CS = 0x23,
	CS = 17, /* of struct user_regs_struct, as a word */
};

static struct sw_iterate_record sleeper(void)
{
	struct sw_iterate_record r = {.tid = 7, .state = 1};
	r.regs[CS] = USER_CS;
	return r;
}

static void assert_how(struct sw_iterate_record r, enum sw_take_how how, int reason)
{
	int got = 77;
	assert_int_equal(sw_take_how(&r, false, &got), how);
	assert_int_equal(got, reason);
}

TEST(how_it_is_taken)
{
	struct sw_iterate_record r = sleeper();
	assert_how(r, SW_TAKE_READ, 0);
	r.on_cpu = 1;
	assert_how(r, SW_TAKE_AGAIN, 0);
	r = sleeper();
	r.in_exec = 1;
	assert_how(r, SW_TAKE_AGAIN, 0);
	r = sleeper();
	r.exit_state = 0x20;
	assert_how(r, SW_TAKE_NOT, SW_E_ZOMBIE);
	r = sleeper();
	r.flags = EXITING;
	assert_how(r, SW_TAKE_NOT, SW_E_EXITED);
	r = sleeper();
	r.flags = IO_WORKER;
	assert_how(r, SW_TAKE_NOT, SW_E_IO_WORKER);
	r.flags = KTHREAD;
	assert_how(r, SW_TAKE_NOT, SW_E_KERNEL_THREAD);
	r = sleeper();
	r.regs[CS] = USER32_CS;
	assert_how(r, SW_TAKE_NOT, SW_E_ARCH);
	r.on_cpu = 1; /* its registers are of before */
	assert_how(r, SW_TAKE_AGAIN, 0);
}

/* After a window that took all but n_rest threads, n_running of which are on a CPU. */
static struct sw_round left(size_t n_rest, size_t n_running, size_t n_waiting)
{
	return (struct sw_round){.mode = SW_STOP_AUTO,
				 .n_whole = 1,
				 .n_rest = n_rest,
				 .n_rest_running = n_running,
				 .n_waiting = n_waiting,
				 .elapsed_ns = 1 * MS,
				 .limit_ns = LIMIT};
}

static enum sw_next after(struct sw_round round, size_t n_tries, int64_t elapsed_ns)
{
	round.n_tries = n_tries;
	round.elapsed_ns = elapsed_ns;
	return sw_next_round(&round);
}

TEST(all_taken)
{
	assert_int_equal(after(left(0, 0, 0), 0, 1 * MS), SW_NEXT_DONE);
	assert_int_equal(after(left(0, 0, 90), 9, 99 * MS), SW_NEXT_DONE);
}

/* Nobody else wants its CPU: it would run on. */
TEST(running_alone)
{
	assert_int_equal(after(left(1, 1, 0), 0, 1 * MS), SW_NEXT_REST);
	assert_int_equal(after(left(1, 1, 0), 1, 1 * MS), SW_NEXT_REST);
	assert_int_equal(after(left(1, 1, 0), 2, 1 * MS), SW_NEXT_REST_RUNNING);
}

/* More threads than CPUs: those on a CPU soon wait for one themselves. */
TEST(running_among_others)
{
	assert_int_equal(after(left(2, 1, 98), 3, 2 * MS), SW_NEXT_REST);
	assert_int_equal(after(left(2, 1, 98), 9, 12 * MS), SW_NEXT_REST);
	assert_int_equal(after(left(2, 1, 98), 9, 13 * MS), SW_NEXT_REST_RUNNING);
}

/* The first window alone took half a second: nothing was tried yet. */
TEST(late_windows_say_nothing)
{
	for (size_t tries = 0; tries < SW_MOVING_TRIES; tries++)
		assert_int_equal(after(left(66, 2, 98), tries, 500 * MS), SW_NEXT_REST);
	assert_int_equal(after(left(66, 2, 98), SW_MOVING_TRIES, 500 * MS), SW_NEXT_REST_RUNNING);
}

/* Threads that are on no CPU are stopped only where the stop of the others was not enough. */
TEST(never_all_at_once)
{
	struct sw_round round = left(66, 2, 98);
	assert_int_equal(after(round, 20, 31 * MS), SW_NEXT_REST_RUNNING);
	round.n_stops = 1;
	assert_int_equal(after(round, 21, 32 * MS), SW_NEXT_REST_STOP);
	round.n_stops = SW_STOPS_MAX;
	round.n_since_stop = SW_AFTER_TRIES;
	assert_int_equal(after(round, 22, 33 * MS), SW_NEXT_GIVE_UP);
}

/* The last stop could not ask it: it began too late, or waited in state D. It is read where it waits
 * next. */
TEST(looks_after_the_last_stop)
{
	struct sw_round round = left(1, 0, 0);
	round.n_stops = SW_STOPS_MAX;
	assert_int_equal(after(round, 22, 33 * MS), SW_NEXT_REST);
	round.n_since_stop = SW_AFTER_TRIES - 1;
	assert_int_equal(after(round, 31, 99 * MS), SW_NEXT_REST);
}

/* A thread that comes and goes is on a CPU in no look. */
TEST(moving)
{
	assert_int_equal(after(left(1, 0, 0), 20, 30 * MS), SW_NEXT_REST);
	assert_int_equal(after(left(1, 0, 0), 20, 31 * MS), SW_NEXT_REST_STOP);
	assert_int_equal(after(left(1, 0, 0), 3, 31 * MS), SW_NEXT_REST);
}

/* The threads that were stopped were not those that were left: the last stop is of all. */
TEST(the_last_stop)
{
	struct sw_round round = left(1, 1, 0);
	round.n_stops = SW_STOPS_MAX - 2;
	assert_int_equal(after(round, 5, 2 * MS), SW_NEXT_REST_RUNNING);
	round.n_stops = SW_STOPS_MAX - 1;
	assert_int_equal(after(round, 5, 2 * MS), SW_NEXT_REST_STOP);
}

TEST(short_limit)
{
	struct sw_round round = left(1, 0, 0);
	round.limit_ns = 2 * MS;
	assert_int_equal(after(round, 4, 1 * MS), SW_NEXT_REST);
	assert_int_equal(after(round, 4, 1 * MS + 1), SW_NEXT_REST_STOP);
	assert_int_equal(after(round, 3, 1 * MS + 1), SW_NEXT_REST);
}

TEST(never_stops)
{
	struct sw_round round = left(2, 1, 0);
	round.mode = SW_STOP_NEVER;
	assert_int_equal(after(round, 90, LIMIT - 1), SW_NEXT_REST);
	assert_int_equal(after(round, 90, LIMIT), SW_NEXT_GIVE_UP);
	assert_int_equal(after(round, 3, 2 * LIMIT), SW_NEXT_REST);
	round.hooks = true;
	assert_int_equal(after(round, 0, LIMIT / 2 - 1), SW_NEXT_WHOLE);
	assert_int_equal(after(round, 0, LIMIT / 2), SW_NEXT_WHOLE_LAST);
}

/* Blocked time is asked for: a thread that runs all the time is no reason to wait. */
TEST(never_waits_for_running)
{
	struct sw_round round = left(2, 2, 0);
	round.mode = SW_STOP_NEVER;
	assert_int_equal(after(round, 1, 0), SW_NEXT_REST);
	round.blocked_only = true;
	assert_int_equal(after(round, 1, 0), SW_NEXT_GIVE_UP);
	round.n_rest_running = 1;
	assert_int_equal(after(round, 1, 0), SW_NEXT_REST);
	round.hooks = true;
	round.n_whole = SW_WHOLE_MAX - 1;
	assert_int_equal(after(round, 0, 0), SW_NEXT_WHOLE);
	round.n_whole = SW_WHOLE_MAX;
	assert_int_equal(after(round, 0, 0), SW_NEXT_WHOLE_LAST);
}

/* The copies for hooks must be of one instant. */
TEST(hooks)
{
	struct sw_round round = left(0, 0, 0);
	round.hooks = true;
	assert_int_equal(after(round, 0, 1 * MS), SW_NEXT_WHOLE);
	round.n_rest = round.n_rest_running = 1;
	assert_int_equal(after(round, 0, 1 * MS), SW_NEXT_WHOLE_RUNNING);
	round.n_waiting = 3;
	assert_int_equal(after(round, 0, 1 * MS), SW_NEXT_WHOLE);
	assert_int_equal(after(round, 0, 13 * MS), SW_NEXT_WHOLE_RUNNABLE);
	round.n_whole = SW_WHOLE_MAX;
	assert_int_equal(after(round, 0, 1 * MS), SW_NEXT_WHOLE_RUNNABLE);
	round.n_waiting = SW_WAITING_MAX + 1; /* as long as a stop of all, which is surer */
	assert_int_equal(after(round, 0, 1 * MS), SW_NEXT_WHOLE_STOP);
	round.n_waiting = SW_WAITING_MAX;
	round.n_runnable = SW_RUNNABLE_MAX - 1;
	assert_int_equal(after(round, 0, 1 * MS), SW_NEXT_WHOLE_RUNNABLE);
	round.n_runnable = SW_RUNNABLE_MAX;
	assert_int_equal(after(round, 0, 1 * MS), SW_NEXT_WHOLE_STOP);
	round.all_stopped = true;
	assert_int_equal(after(round, 0, 1 * MS), SW_NEXT_REST);
	round.all_stopped = false;
	round.quiescent = true;
	round.n_rest = round.n_rest_running = 0;
	assert_int_equal(after(round, 0, 1 * MS), SW_NEXT_DONE);
}
