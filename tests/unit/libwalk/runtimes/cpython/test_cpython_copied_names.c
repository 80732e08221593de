/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names of threads that copies were made of: whose they are, and how many are kept. */
#include "runtimes/cpython/copied_names.h"
#include "cleanup.h"
#include "test.h"

static struct sw_cpython_copied_name *get(struct sw_cpython_copied_names *names, uint64_t state,
					  uint64_t id, uint64_t number)
{
	const struct sw_cpython_copied_key key = {state, id, number};
	struct sw_cpython_copied_name *name = sw_cpython_copied_names_get(names, &key);
	assert_non_null(name);
	return name;
}

TEST(test_a_later_thread_in_the_same_place_has_no_name_yet)
{
	struct sw_cpython_copied_names names = {0};
	struct sw_cpython_copied_name *first = get(&names, 0x1000, 0x7000, 1);
	assert_string_equal(first->text, "");
	assert_int_equal(first->read_ns, 0);
	(void) snprintf(first->text, sizeof(first->text), "first"); /* fits */
	assert_ptr_equal(get(&names, 0x1000, 0x7000, 1), first);
	assert_string_equal(first->text, "first");
	assert_string_equal(get(&names, 0x1000, 0x7000, 2)->text, "");
	assert_string_equal(get(&names, 0x2000, 0x7000, 1)->text, "");
	assert_string_equal(get(&names, 0x1000, 0x8000, 1)->text, "");
	assert_string_equal(get(&names, 0x1000, 0x7000, 1)->text, "first");
	sw_cpython_copied_names_deinit(&names);
}

TEST(test_all_are_dropped_at_the_limit)
{
	struct sw_cpython_copied_names names = {0};
	for (uint64_t i = 0; i < SW_CPYTHON_COPIED_NAMES_MAX; i++)
		get(&names, 0x1000, 0x7000, i)->read_ns = 1;
	assert_int_equal(names.map.count, SW_CPYTHON_COPIED_NAMES_MAX);
	assert_int_equal(get(&names, 0x1000, 0x7000, 0)->read_ns, 1);
	assert_int_equal(get(&names, 0x1000, 0x7000, SW_CPYTHON_COPIED_NAMES_MAX)->read_ns, 0);
	assert_int_equal(names.map.count, 1);
	assert_int_equal(get(&names, 0x1000, 0x7000, 0)->read_ns, 0);
	sw_cpython_copied_names_deinit(&names);
}

/* A name is read again after a second, then after two, and at last each 16 seconds; after a second where it became
 * another one. */
TEST(test_names_that_stay)
{
	const int64_t second_ns = 1000000000;
	struct sw_cpython_copied_name name = {0};
	int64_t now_ns = 5;
	assert_true(sw_cpython_copied_name_is_old(&name, now_ns));
	sw_cpython_copied_name_set(&name, "worker", now_ns);
	static const int64_t believed_s[] = {1, 2, 4, 8, 16, 16};
	for (size_t i = 0; i < SW_ARRAY_SIZE(believed_s); i++) {
		now_ns += believed_s[i] * second_ns;
		assert_false(sw_cpython_copied_name_is_old(&name, now_ns));
		assert_true(sw_cpython_copied_name_is_old(&name, ++now_ns));
		sw_cpython_copied_name_set(&name, "worker", now_ns);
	}
	sw_cpython_copied_name_set(&name, "other", now_ns);
	assert_string_equal(name.text, "other");
	assert_false(sw_cpython_copied_name_is_old(&name, now_ns + second_ns));
	assert_true(sw_cpython_copied_name_is_old(&name, now_ns + second_ns + 1));
}
