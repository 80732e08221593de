/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptors are paired by the events of a process that is this one: what it has open is the check in the end. */
#include "events/descriptors.h"
#include "held_case.h"

#include <snapwalk/clock.h>

enum { FIRST = 300, ROW = 4 };

static const struct sw_held_kind *const of = &sw_held_descriptors;

static void begin(void)
{
	begin_of(of, getpid());
}

static void tell(enum sw_event_kind kind, uint32_t fd, uint64_t file, uint32_t row)
{
	const struct sw_event event = {.number = number++,
				       .time_ns = sw_clock_ns(),
				       .kind = kind,
				       .n_handles = 1,
				       .handles = {{.number = fd, .inode = 1, .file = file}}};
	assert_int_equal(of->event(held, &event, row, NULL), 0);
}

static void opened(int fd)
{
	assert_int_equal(dup2(STDIN_FILENO, fd), fd);
}

static void finish(void)
{
	assert_int_equal(sw_held_check(held, NULL), 0);
	finish_run();
}

TEST(test_pairs)
{
	begin();
	for (int i = 0; i < 3; i++) {
		opened(FIRST + i);
		tell(SW_EVENT_ACQUIRED, (uint32_t) (FIRST + i), 7, ROW);
	}
	tell(SW_EVENT_RELEASED, FIRST, 7, SW_RECORDER_NO_ROW);
	assert_int_equal(close(FIRST), 0);
	/* Over one that is open: that one is given up. */
	tell(SW_EVENT_ACQUIRED, FIRST + 1, 8, ROW + 1);
	/* Another thread has closed it again before this one said that it has it. */
	tell(SW_EVENT_RELEASED, FIRST, 9, SW_RECORDER_NO_ROW);
	tell(SW_EVENT_ACQUIRED, FIRST, 0, ROW + 1);
	finish();
	const struct sw_held_row *first = row_of(ROW), *second = row_of(ROW + 1);
	assert_int_equal(first->acquired, 3);
	assert_int_equal(first->released, 2);
	assert_int_equal(first->outstanding, 1);
	assert_int_equal(first->first, 0);
	assert_int_equal(first->last, 2);
	assert_true(first->oldest_ns >= 0 && first->oldest_ns <= run.end_ns - run.begin_ns);
	assert_int_equal(second->acquired, 2);
	assert_int_equal(second->released, 1);
	assert_int_equal(second->outstanding, 1);
	assert_ptr_equal(&held->rows[0], first->outstanding < second->outstanding ? second : first);
	assert_int_equal(held->acquired, 5);
	assert_int_equal(held->released, 3);
	assert_int_equal(held->unknown_origin, 0);
	assert_int_equal(held->closed_unseen, 0);
	(void) close(FIRST + 1); /* they were opened */
	(void) close(FIRST + 2);
	end();
}

TEST(test_what_nobody_saw)
{
	begin();
	opened(FIRST);     /* got unseen */
	opened(FIRST + 1); /* given up unseen */
	tell(SW_EVENT_ACQUIRED, FIRST + 1, 7, ROW);
	assert_int_equal(close(FIRST + 1), 0);
	opened(FIRST + 2); /* without a stack */
	tell(SW_EVENT_ACQUIRED, FIRST + 2, 7, SW_RECORDER_NO_ROW);
	finish();
	assert_int_equal(held->unknown_origin, 1);
	assert_int_equal(held->closed_unseen, 1);
	assert_int_equal(held->without_stack, 1);
	assert_int_equal(row_of(ROW)->unseen, 1);
	assert_int_equal(row_of(ROW)->outstanding, 0);
	(void) close(FIRST); /* they were opened */
	(void) close(FIRST + 2);
	end();
}

/* Descriptors of after the list was read are neither unknown nor unseen. */
TEST(test_after_the_check)
{
	begin();
	opened(FIRST);
	tell(SW_EVENT_ACQUIRED, FIRST, 7, ROW);
	assert_int_equal(sw_held_check(held, NULL), 0);
	tell(SW_EVENT_RELEASED, FIRST, 7, SW_RECORDER_NO_ROW);
	tell(SW_EVENT_ACQUIRED, FIRST + 1, 8, ROW);
	run.end_ns = sw_clock_ns();
	assert_int_equal(sw_held_finish(held), 0);
	assert_int_equal(held->unknown_origin, 0);
	assert_int_equal(held->closed_unseen, 0);
	assert_int_equal(row_of(ROW)->outstanding, 1);
	(void) close(FIRST); /* it was opened */
	end();
}

TEST(test_ranges_and_tables)
{
	static const uint8_t bits[FIRST / 8 + 2] = {0xff, 0xff, [FIRST / 8] = 1 << (FIRST + 2) % 8};
	begin();
	for (uint32_t i = 0; i < 5; i++)
		tell(SW_EVENT_ACQUIRED, FIRST + i, 7, ROW);
	const struct sw_event range = {.kind = SW_EVENT_RANGE,
				       .n_handles = 2,
				       .handles = {{.number = FIRST + 3}, {.number = UINT32_MAX}}};
	assert_int_equal(of->event(held, &range, SW_RECORDER_NO_ROW, NULL), 0);
	assert_int_equal(held->released, 2);
	struct sw_event table = {.kind = SW_EVENT_TABLE, .bytes = bits, .bytes_size = sizeof(bits)};
	assert_int_equal(of->event(held, &table, SW_RECORDER_NO_ROW, NULL), 0);
	assert_int_equal(held->released, 4);
	/* A table that is cut says nothing about larger numbers. */
	tell(SW_EVENT_ACQUIRED, FIRST + 200, 7, ROW);
	table.cut = true;
	assert_int_equal(of->event(held, &table, SW_RECORDER_NO_ROW, NULL), 0);
	assert_int_equal(held->released, 4);
	table.cut = false;
	assert_int_equal(of->event(held, &table, SW_RECORDER_NO_ROW, NULL), 0);
	assert_int_equal(held->released, 5);
	end();
}

/* A list that fails says nothing of the process; nor does that of a process that has ended. */
TEST(test_no_check)
{
	for (int i = 0; i < 2; i++) {
		begin();
		int directory = run.proc_fd;
		tell(SW_EVENT_ACQUIRED, FIRST, 7, ROW); /* which is in no list */
		run.ended = i == 1;
		run.proc_fd = i == 0 ? STDIN_FILENO : directory;
		finish();
		run.proc_fd = directory;
		assert_int_equal(held->not_checked.code, i == 0 ? SW_E_IO : 0);
		assert_int_equal(held->check_ns, 0);
		assert_int_equal(held->n_there, 0);
		assert_int_equal(held->closed_unseen, 0);
		assert_int_equal(held->outstanding, 1);
		end();
	}
}
