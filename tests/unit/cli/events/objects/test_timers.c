/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Timers are paired by the events of a process that is this one: what the kernel lists of it is the check in the end. */
#include "events/objects/timers.h"
#include "held_case.h"

#include <snapwalk/clock.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

enum { ROW = 4, NONE = 0x7fff0000 /* no timer has this number */ };

static const struct sw_held_kind *const of = &sw_held_timers;

/* The kernel's own number. */
static int32_t created(void)
{
	struct sigevent how = {.sigev_notify = SIGEV_NONE};
	int32_t id;
	assert_int_equal(syscall(SYS_timer_create, CLOCK_MONOTONIC, &how, &id), 0);
	return id;
}

static void deleted(int32_t id)
{
	assert_int_equal(syscall(SYS_timer_delete, id), 0);
}

static void begin(void)
{
	begin_of(of, getpid());
}

static void tell(enum sw_event_kind kind, int32_t id, uint32_t row)
{
	const struct sw_event event = {.number = number++,
				       .time_ns = sw_clock_ns(),
				       .kind = kind,
				       .n_handles = kind == SW_EVENT_PROGRAM ? 0 : 1,
				       .handles = {{.number = (uint32_t) id}}};
	assert_int_equal(of->event(held, &event, row, NULL), 0);
}

static void finish(void)
{
	assert_int_equal(sw_held_check(held, NULL), 0);
	finish_run();
}

static void figures(uint64_t before, uint64_t before_released, uint64_t unknown, uint64_t unseen)
{
	assert_int_equal(held->before, before);
	assert_int_equal(held->before_released, before_released);
	assert_int_equal(held->unknown_origin, unknown);
	assert_int_equal(held->closed_unseen, unseen);
}

TEST(test_pairs)
{
	int32_t old = created(), older = created();
	begin();
	int32_t ids[3];
	for (int i = 0; i < 3; i++) {
		ids[i] = created();
		tell(SW_EVENT_ACQUIRED, ids[i], ROW);
	}
	deleted(ids[1]);
	tell(SW_EVENT_RELEASED, ids[1], SW_RECORDER_NO_ROW);
	deleted(old);
	tell(SW_EVENT_RELEASED, old, SW_RECORDER_NO_ROW);
	finish();
	assert_int_equal(row_of(ROW)->acquired, 3);
	assert_int_equal(row_of(ROW)->released, 1);
	assert_int_equal(row_of(ROW)->outstanding, 2);
	assert_int_equal(held->n_there, 3);
	figures(1, 1, 0, 0);
	deleted(ids[0]);
	deleted(ids[2]);
	deleted(older);
	end();
}

/* Another thread deletes a timer before the call that created it has returned. */
TEST(test_deleted_first)
{
	begin();
	tell(SW_EVENT_RELEASED, NONE, SW_RECORDER_NO_ROW);
	tell(SW_EVENT_ACQUIRED, NONE, ROW);
	/* Once: the number may be used again. */
	int32_t id = created();
	tell(SW_EVENT_RELEASED, id, SW_RECORDER_NO_ROW);
	tell(SW_EVENT_ACQUIRED, id, ROW);
	tell(SW_EVENT_ACQUIRED, id, ROW);
	finish();
	assert_int_equal(row_of(ROW)->acquired, 3);
	assert_int_equal(row_of(ROW)->released, 2);
	assert_int_equal(row_of(ROW)->outstanding, 1);
	figures(0, 0, 0, 0);
	deleted(id);
	end();
}

/* A timer that was listed before, and whose creation is an event, was not there before. */
TEST(test_listed_and_created)
{
	int32_t id = created();
	begin();
	tell(SW_EVENT_ACQUIRED, id, ROW);
	finish();
	assert_int_equal(row_of(ROW)->outstanding, 1);
	figures(0, 0, 0, 0);
	deleted(id);
	end();
}

TEST(test_what_nobody_saw)
{
	begin();
	int32_t id = created();
	tell(SW_EVENT_ACQUIRED, NONE, ROW);
	finish();
	assert_int_equal(row_of(ROW)->unseen, 1);
	assert_int_equal(row_of(ROW)->outstanding, 0);
	figures(0, 0, 1, 1);
	deleted(id);
	end();
}

/* Timers that change after the list was begun are neither unknown nor unseen. */
TEST(test_after_the_check)
{
	int32_t old = created();
	begin();
	int32_t seen = created(), unheard = created();
	tell(SW_EVENT_ACQUIRED, seen, ROW);
	assert_int_equal(sw_held_check(held, NULL), 0);
	tell(SW_EVENT_ACQUIRED, NONE, ROW + 1);
	tell(SW_EVENT_RELEASED, seen, SW_RECORDER_NO_ROW);
	tell(SW_EVENT_RELEASED, old, SW_RECORDER_NO_ROW);
	tell(SW_EVENT_RELEASED, unheard, SW_RECORDER_NO_ROW);
	finish_run();
	assert_int_equal(held->n_there, 3);
	assert_int_equal(row_of(ROW)->outstanding, 0);
	assert_int_equal(row_of(ROW + 1)->outstanding, 1);
	figures(0, 1, 0, 0);
	deleted(seen);
	deleted(unheard);
	deleted(old);
	end();
}

TEST(test_program)
{
	int32_t old = created();
	begin();
	int32_t id = created();
	tell(SW_EVENT_ACQUIRED, id, ROW);
	deleted(id);
	deleted(old);
	tell(SW_EVENT_PROGRAM, 0, SW_RECORDER_NO_ROW);
	finish();
	assert_int_equal(row_of(ROW)->released, 1);
	figures(0, 1, 0, 0);
	end();
}

TEST(test_many_in_the_list)
{
	enum { MANY = 300 };
	int32_t ids[MANY];
	for (int i = 0; i < MANY; i++)
		ids[i] = created();
	begin();
	finish();
	figures(MANY, 0, 0, 0);
	for (int i = 0; i < MANY; i++)
		deleted(ids[i]);
	end();
}
