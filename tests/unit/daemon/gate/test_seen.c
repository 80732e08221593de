/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "gate/seen.h"
#include "test.h"

TEST(test_key)
{
	struct sw_alert a = {.fingerprint = "f1", .starts_at = "t1"};
	struct sw_alert later = {.fingerprint = "f1", .starts_at = "t2"};
	struct sw_alert other = {.fingerprint = "f2", .starts_at = "t1"};
	struct sw_alert shifted = {.fingerprint = "f", .starts_at = "1t1"};
	uint64_t key = sw_gate_seen_key(&a);
	assert_int_not_equal(key, 0);
	assert_true(key == sw_gate_seen_key(&a));
	assert_true(key != sw_gate_seen_key(&later)); /* it fired anew */
	assert_true(key != sw_gate_seen_key(&other));
	assert_true(key != sw_gate_seen_key(&shifted));
	a.starts_at = NULL;
	assert_true(sw_gate_seen_key(&a) == 0);
	other.fingerprint = NULL;
	assert_true(sw_gate_seen_key(&other) == 0);
}

TEST(test_ring)
{
	static struct sw_gate_seen seen;
	assert_false(sw_gate_seen_has(&seen, 7));
	sw_gate_seen_add(&seen, 7);
	sw_gate_seen_add(&seen, 7);
	assert_true(sw_gate_seen_has(&seen, 7));
	assert_int_equal(seen.n, 1);
	/* An alert that cannot be told apart is never a repetition. */
	sw_gate_seen_add(&seen, 0);
	assert_false(sw_gate_seen_has(&seen, 0));
	for (uint64_t key = 100; key < 100 + SW_GATE_SEEN - 1; key++)
		sw_gate_seen_add(&seen, key);
	assert_int_equal(seen.n, SW_GATE_SEEN);
	assert_true(sw_gate_seen_has(&seen, 7));
	sw_gate_seen_add(&seen, 99);
	assert_int_equal(seen.n, SW_GATE_SEEN);
	assert_false(sw_gate_seen_has(&seen, 7));
	assert_true(sw_gate_seen_has(&seen, 100));
	assert_true(sw_gate_seen_has(&seen, 99));
}
