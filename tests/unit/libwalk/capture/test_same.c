/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/same.h"
#include "capture_case.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <snapwalk/clock.h>

enum { TABLE_BYTES = 40000 }; /* more than one system call reads */

static uint8_t table[TABLE_BYTES];
static uint64_t node;
static struct capture_case c;

static uint64_t at(const void *p)
{
	return (uint64_t) (uintptr_t) p;
}

/* A table that was wanted and copied, and a node that was read. */
static int setup(void **state)
{
	uint64_t value;
	for (size_t i = 0; i < TABLE_BYTES; i++)
		table[i] = (uint8_t) (i >> 8);
	node = 5;
	capture_case_init(&c);
	c.stop.copy_end_ns = INT64_MAX;
	assert_int_equal(sw_capture_want(&c.capture, at(table), sizeof(table)), 0);
	capture_case_copy(&c);
	c.space.n_want = 1;
	sw_capture_same_begin(&c.space);
	assert_true(sw_capture_read(&c.capture, at(&node), &value, sizeof(value)));
	assert_int_equal(c.space.n_notes, 1);
	return 0;
}

static int teardown(void **state)
{
	capture_case_deinit(&c);
	return 0;
}

TEST_WITH(test_same, setup, teardown)
{
	assert_true(sw_capture_same(&c.space));
	assert_true(sw_capture_same(&c.space)); /* of a later window */
	assert_int_equal(c.space.n_notes, 1);
}

TEST_WITH(test_table_changed, setup, teardown)
{
	table[TABLE_BYTES - 1]++;
	assert_false(sw_capture_same(&c.space));
	table[TABLE_BYTES - 1]--;
	assert_true(sw_capture_same(&c.space));
	table[0]++;
	assert_false(sw_capture_same(&c.space));
}

TEST_WITH(test_node_changed, setup, teardown)
{
	node++;
	assert_false(sw_capture_same(&c.space));
}

/* Nothing was there to be read: something may be there now. */
TEST_WITH(test_not_read, setup, teardown)
{
	uint64_t value;
	assert_false(sw_capture_read(&c.capture, 8, &value, sizeof(value)));
	assert_false(sw_capture_same(&c.space));
}

TEST_WITH(test_not_copied, setup, teardown)
{
	c.space.parts[0].bytes--;
	assert_false(sw_capture_same(&c.space));
	c.space.parts[0].bytes++;
	assert_true(sw_capture_same(&c.space));
	c.space.parts[0].absent = true;
	assert_false(sw_capture_same(&c.space));
	c.space.parts[0].absent = false;
	c.space.space_short = true; /* nothing is known of what else was wanted */
	assert_false(sw_capture_same(&c.space));
}

TEST_WITH(test_too_many, setup, teardown)
{
	uint64_t value;
	for (size_t i = 1; i < SW_CAPTURE_NOTES; i++)
		assert_true(sw_capture_read(&c.capture, at(&node), &value, sizeof(value)));
	assert_true(sw_capture_same(&c.space));
	assert_true(sw_capture_read(&c.capture, at(&node), &value, sizeof(value)));
	assert_false(sw_capture_same(&c.space));
}

TEST_WITH(test_late, setup, teardown)
{
	c.stop.copy_end_ns = sw_clock_ns() - 1;
	assert_false(sw_capture_same(&c.space));
}

/* Data of a runtime must go with the stack of its thread, which may be taken in a later window. */
TEST_WITH(test_runtime, setup, teardown)
{
	void *found = NULL;
	c.space.hooks[0] = (struct sw_hook){.is_runtime = true, .found = &found};
	c.space.n_hooks = 1;
	assert_true(sw_capture_same(&c.space)); /* the process is none of its own */
	found = &c;
	assert_false(sw_capture_same(&c.space));
	sw_capture_same_begin(&c.space);
	uint64_t value;
	assert_true(sw_capture_read(&c.capture, at(&node), &value, sizeof(value)));
	assert_int_equal(c.space.n_notes, 0); /* no time is spent on it in the window */
	found = NULL;
	sw_capture_same_begin(&c.space);
	found = &c;
	c.space.hooks[0].is_runtime = false;
	assert_true(sw_capture_same(&c.space));
	c.space.n_hooked = 1; /* further stacks */
	assert_false(sw_capture_same(&c.space));
}
