/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "slots.h"
#include "test.h"

static char order[8];
static size_t n_destroyed;

static void destroyed(void *value)
{
	order[n_destroyed++] = *(const char *) value;
}

/* Values stay where they are, under their keys; the last one is destroyed first, empty ones not at all. */
TEST(test_slots)
{
	static const char keys[3];
	struct sw_slots slots = {0};
	assert_null(sw_slots_find(&slots, &keys[0]));
	void **a = sw_slots_get(&slots, &keys[0], destroyed);
	void **b = sw_slots_get(&slots, &keys[1], destroyed);
	void **none = sw_slots_get(&slots, &keys[2], NULL);
	assert_true(a != NULL && b != NULL && none != NULL && a != b);
	assert_null(*a);
	*a = "a";
	*b = "b";
	assert_ptr_equal(sw_slots_get(&slots, &keys[0], NULL), a);
	assert_string_equal(sw_slots_find(&slots, &keys[0]), "a");
	assert_string_equal(sw_slots_find(&slots, &keys[1]), "b");
	assert_null(sw_slots_find(&slots, &keys[2]));
	n_destroyed = 0;
	sw_slots_deinit(&slots);
	assert_int_equal(n_destroyed, 2);
	assert_memory_equal(order, "ba", 2);
	assert_null(sw_slots_find(&slots, &keys[0]));
}

TEST(test_full)
{
	static const char keys[SW_SLOTS_MAX + 1];
	struct sw_slots slots = {0};
	for (size_t i = 0; i < SW_SLOTS_MAX; i++)
		assert_non_null(sw_slots_get(&slots, &keys[i], NULL));
	assert_null(sw_slots_get(&slots, &keys[SW_SLOTS_MAX], NULL));
	assert_non_null(sw_slots_get(&slots, &keys[0], NULL));
}
