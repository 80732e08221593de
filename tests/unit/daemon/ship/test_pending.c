/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/pending.h"
#include "test.h"

static void add(struct sw_ship_pending *pending, unsigned number)
{
	char id[16];
	(void) snprintf(id, sizeof(id), "%u", number);
	assert_int_equal(sw_ship_pending_add(pending, id, SW_SHIP_DUMPS), 0);
}

static unsigned at(const struct sw_ship_pending *pending, size_t index)
{
	return (unsigned) atoi(sw_ship_pending_at(pending, index)->id.text);
}

TEST(test_order)
{
	struct sw_ship_pending pending = {0};
	unsigned next = 0, first = 0;
	/* Around the end of the ring, and while it grows. */
	for (int turn = 0; turn < 200; turn++) {
		for (int i = 0; i < 3; i++)
			add(&pending, next++);
		assert_int_equal(at(&pending, 0), first++);
		sw_ship_pending_drop(&pending, 0);
		assert_int_equal(at(&pending, pending.n - 1), next - 1);
	}
	assert_int_equal(pending.n, 400);
	sw_ship_pending_deinit(&pending);
}

TEST(test_drop_in_between)
{
	struct sw_ship_pending pending = {0};
	for (unsigned i = 0; i < 5; i++)
		add(&pending, i);
	sw_ship_pending_drop(&pending, 2);
	static const unsigned left[] = {0, 1, 3, 4};
	assert_int_equal(pending.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(at(&pending, i), left[i]);
	sw_ship_pending_deinit(&pending);
}

TEST(test_limit)
{
	struct sw_ship_pending pending = {0};
	for (unsigned i = 0; i < SW_SHIP_PENDING_MAX; i++)
		add(&pending, i);
	assert_int_equal(sw_ship_pending_add(&pending, "x", SW_SHIP_DUMPS), -SW_E_LIMIT);
	sw_ship_pending_drop(&pending, 0);
	assert_int_equal(sw_ship_pending_add(&pending, "x", SW_SHIP_PROFILES), 0);
	assert_string_equal(sw_ship_pending_at(&pending, pending.n - 1)->id.text, "x");
	sw_ship_pending_deinit(&pending);
}
