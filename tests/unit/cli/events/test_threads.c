/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads by their events. The process is this one, which has one thread: what it has is the check in the end. */
#include "events/threads.h"
#include "held_case.h"

#include <snapwalk/clock.h>

enum { TID = 4000000, ROW = 2, PAGE = 4096 };

static const struct sw_held_kind *const of = &sw_held_threads;

static void begin(void)
{
	begin_of(of, getpid());
}

static void tell(enum sw_event_kind kind, pid_t tid, uint64_t pointer)
{
	const struct sw_event event = {.number = number++,
				       .time_ns = sw_clock_ns(),
				       .kind = kind,
				       .tid = getpid(),
				       .n_handles = 1,
				       .handles = {{.number = (uint32_t) tid,
						    .pointer_avma = pointer}}};
	assert_int_equal(of->event(held, &event, ROW, NULL), 0);
}

static void finish(void)
{
	assert_int_equal(sw_held_check(held, NULL), 0);
	finish_run();
}

static const struct sw_held_row *row(void)
{
	for (size_t i = 0; i < held->n_rows; i++)
		if (held->rows[i].row == ROW)
			return &held->rows[i];
	return NULL;
}

/* The C library of made-up threads is not there: whether they were joined is not known. */
TEST(test_made_and_ended)
{
	begin();
	for (int i = 0; i < 4; i++)
		tell(SW_EVENT_ACQUIRED, TID + i, (uint64_t) (i + 1) * PAGE);
	tell(SW_EVENT_RELEASED, TID, 0);
	tell(SW_EVENT_RELEASED, TID + 1, 0);
	tell(SW_EVENT_ACQUIRED, TID + 4, PAGE); /* the first one's stack was given back */
	assert_int_equal(row()->released, 1);
	tell(SW_EVENT_ACQUIRED, TID + 5, 0); /* without a thread pointer of its own */
	tell(SW_EVENT_RELEASED, TID + 5, 0);
	assert_int_equal(row()->released, 2);
	assert_int_equal(sw_held_check(held, NULL), 0);
	tell(SW_EVENT_ACQUIRED, TID + 6, 9 * PAGE); /* after the check */
	run.end_ns = sw_clock_ns();
	assert_int_equal(sw_held_finish(held), 0);
	assert_int_equal(row()->acquired, 7);
	assert_int_equal(row()->released, 3);
	assert_int_equal(held->joins_unknown, 1);
	assert_int_equal(held->not_joined, 0);
	/* Three are in no list: their end was not seen. */
	assert_int_equal(held->closed_unseen, 3);
	assert_int_equal(row()->unseen, 3);
	assert_int_equal(row()->outstanding, 1);
	assert_int_equal(held->before, 1);
	assert_int_equal(held->unknown_origin, 0);
	end();
}

TEST(test_another_program)
{
	begin();
	tell(SW_EVENT_ACQUIRED, TID, PAGE);
	tell(SW_EVENT_ACQUIRED, TID + 1, 2 * PAGE);
	tell(SW_EVENT_RELEASED, TID, 0);
	/* The second one calls execve(2): the first thread ends, and the second one has its number. */
	tell(SW_EVENT_RELEASED, getpid(), 0);
	tell(SW_EVENT_PROGRAM, getpid(), 0);
	finish();
	assert_int_equal(row()->released, 2);
	assert_int_equal(row()->outstanding, 0);
	assert_int_equal(held->before, 1);
	assert_int_equal(held->before_released, 0);
	assert_int_equal(held->closed_unseen, 0);
	end();
}

/* A number is used again, and the event of the end was lost. */
TEST(test_number_again)
{
	begin();
	tell(SW_EVENT_ACQUIRED, TID, 0);
	tell(SW_EVENT_ACQUIRED, TID, 0);
	finish();
	assert_int_equal(row()->acquired, 2);
	assert_int_equal(row()->released, 1);
	assert_int_equal(row()->unseen, 1);
	end();
}

TEST(test_unknown_origin)
{
	begin();
	tell(SW_EVENT_RELEASED, getpid(), 0); /* the first thread stays in the list */
	finish();
	assert_int_equal(held->unknown_origin, 0);
	assert_int_equal(held->before, 0);
	end();
}
