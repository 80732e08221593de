/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/decide.h"

#include <snapwalk/walk.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
	MS = 1000000,
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
	assert_int_equal(sw_take_how(&r, &got), how);
	assert_int_equal(got, reason);
}

static void test_how(void **state)
{
	struct sw_iterate_record r = sleeper();
	(void) state;
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

static struct sw_round round_of(size_t n_rest, size_t n_rest_running, int64_t elapsed_ms)
{
	return (struct sw_round){.mode = SW_STOP_AUTO,
				 .quiescent = true,
				 .n_rest = n_rest,
				 .n_rest_running = n_rest_running,
				 .elapsed_ns = elapsed_ms * MS,
				 .limit_ns = (int64_t) 100 * MS};
}

static void test_done(void **state)
{
	struct sw_round r = round_of(0, 0, 90);
	(void) state;
	assert_int_equal(sw_next_round(&r), SW_NEXT_DONE);
	r.hooks = true;
	assert_int_equal(sw_next_round(&r), SW_NEXT_DONE);
	r.quiescent = false;
	r.all_stopped = true;
	assert_int_equal(sw_next_round(&r), SW_NEXT_DONE);
}

/* What hooks copied is of one instant, or it is copied again, and at last with all stopped. */
static void test_whole(void **state)
{
	struct sw_round r = round_of(0, 0, 0);
	(void) state;
	r.hooks = true;
	r.quiescent = false;
	r.n_whole = 1;
	assert_int_equal(sw_next_round(&r), SW_NEXT_WHOLE);
	r.n_rest = r.n_rest_running = 1;
	assert_int_equal(sw_next_round(&r), SW_NEXT_WHOLE_RUNNING);
	r.n_waiting = 1; /* another one would run instead */
	assert_int_equal(sw_next_round(&r), SW_NEXT_WHOLE);
	r.n_whole = SW_WHOLE_MAX;
	assert_int_equal(sw_next_round(&r), SW_NEXT_WHOLE_STOP);
	r.n_whole = 1;
	r.elapsed_ns = SW_WAITING_NS + 1;
	assert_int_equal(sw_next_round(&r), SW_NEXT_WHOLE_STOP);
	r.mode = SW_STOP_NEVER;
	r.elapsed_ns = r.limit_ns / 2 - 1;
	assert_int_equal(sw_next_round(&r), SW_NEXT_WHOLE);
	r.elapsed_ns = r.limit_ns / 2;
	assert_int_equal(sw_next_round(&r), SW_NEXT_WHOLE_LAST);
}

/* Who moves is looked at again; stopped only if it stays on a CPU, or the time goes. */
static void test_rest(void **state)
{
	struct sw_round r = round_of(1, 1, 0);
	(void) state;
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST);
	r.n_tries = SW_RUNNING_TRIES - 2;
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST);
	r.n_tries = SW_RUNNING_TRIES - 1;
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST_RUNNING);
	r.n_rest_running = 0; /* it waits: a stop might interrupt its call */
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST);
	r = round_of(2, 2, 11);
	r.n_waiting = 1;
	r.n_tries = 50;
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST);
	r.elapsed_ns = SW_WAITING_NS + 1;
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST_RUNNING);
	r = round_of(1, 0, 30);
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST);
	r.elapsed_ns = SW_MOVING_NS + 1;
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST_STOP);
	r = round_of(1, 0, 11);
	r.limit_ns = (int64_t) 20 * MS; /* half of a short limit */
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST_STOP);
	r.n_stops = SW_STOPS_MAX;
	assert_int_equal(sw_next_round(&r), SW_NEXT_GIVE_UP);
	r = round_of(1, 1, 99);
	r.mode = SW_STOP_NEVER;
	assert_int_equal(sw_next_round(&r), SW_NEXT_REST);
	r.elapsed_ns = r.limit_ns;
	assert_int_equal(sw_next_round(&r), SW_NEXT_GIVE_UP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how),
		cmocka_unit_test(test_done),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_rest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
