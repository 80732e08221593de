/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Out of memory at each allocation of an index of ranges: it is said, and what was there stays as it was. */
#include "errors.h"
#include "range_index.h"
#include "skip.h"
#include "test.h"

#ifndef __SANITIZE_ADDRESS__
#include "refuse_malloc.h"

enum { FIRST = 256 }; /* ranges for which there is space at first */

static int refused_after(size_t n, int (*call)(struct sw_jit_ranges *), struct sw_jit_ranges *r)
{
	refuse.left = n;
	refuse.armed = true;
	int rc = call(r);
	refuse.armed = false;
	return rc;
}

static int add_one(struct sw_jit_ranges *r)
{
	return sw_jit_ranges_add(r, 0x100000, 0x10, 7);
}

TEST(test_add)
{
	struct sw_jit_ranges r = {0};
	assert_int_equal(refused_after(0, add_one, &r), -SW_E_NOMEM);
	assert_int_equal(r.n, 0);
	for (uint32_t i = 0; i < FIRST; i++)
		assert_int_equal(sw_jit_ranges_add(&r, 0x1000 + i, 1, i), 0);
	assert_int_equal(refused_after(0, add_one, &r), -SW_E_NOMEM);
	assert_int_equal(r.n, FIRST);
	assert_int_equal(sw_jit_ranges_finish(&r), 0);
	assert_int_equal(sw_jit_ranges_find(&r, 0x1000 + FIRST - 1)->value, FIRST - 1);
	sw_jit_ranges_deinit(&r);
}

/* To sort takes an allocation, and to cut ranges that overlap two more. */
TEST(test_finish)
{
	struct sw_jit_ranges r = {0};
	assert_int_equal(sw_jit_ranges_add(&r, 0x1000, 0x100, 1), 0);
	assert_int_equal(sw_jit_ranges_add(&r, 0x1040, 0x10, 2), 0);
	for (size_t n = 0; n < 3; n++) {
		assert_int_equal(refused_after(n, sw_jit_ranges_finish, &r), -SW_E_NOMEM);
		assert_int_equal(r.n, 2);
	}
	assert_int_equal(refused_after(3, sw_jit_ranges_finish, &r), 0);
	assert_int_equal(sw_jit_ranges_find(&r, 0x1040)->value, 2);
	assert_int_equal(sw_jit_ranges_find(&r, 0x1050)->value, 1);
	sw_jit_ranges_deinit(&r);
}
#else
TEST(test_add)
{
	SKIP_SANITIZED();
}
#endif
