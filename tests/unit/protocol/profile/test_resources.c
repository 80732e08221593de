/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/resources.h"
#include "test.h"

#include <snapwalk/profile.h>

static void add(struct sw_profile *p, uint32_t pid, uint32_t generation, const char *key,
		const char *value)
{
	struct sw_profile_attribute attribute = {.pid = pid, .generation = generation};
	uint32_t index;
	assert_int_equal(sw_profile_string_find(p, key, true, &attribute.key), 1);
	assert_int_equal(sw_profile_string_find(p, value, true, &attribute.value), 1);
	assert_int_equal(sw_profile_attribute_find(p, &attribute, &index), 1);
}

static void expect(const struct sw_profile_resources *resources, uint32_t pid, uint32_t generation,
		   const char *wanted)
{
	const struct sw_profile_process process = {.pid = pid, .generation = generation};
	const struct sw_profile_attribute *a;
	size_t place = sw_profile_resources_first(resources, &process);
	char said[128] = "";
	while ((a = sw_profile_resources_next(resources, &process, &place)) != NULL) {
		strcat(strcat(said, sw_profile_text_of(resources->profile, a->key)), "=");
		strcat(strcat(said, sw_profile_text_of(resources->profile, a->value)), " ");
	}
	assert_string_equal(said, wanted);
}

/* Attributes that came in any order are those of their process, in the order in which they came. */
TEST(by_process)
{
	struct sw_profile *p = NULL;
	struct sw_profile_resources resources;
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	add(p, 7, 0, "z", "1");
	add(p, 9, 1, "a", "2");
	add(p, 7, 1, "a", "3");
	add(p, 7, 0, "a", "4");
	add(p, 5, 0, "b", "5");
	add(p, 9, 1, "b", "6");
	add(p, 7, 0, "z", "7"); /* the last value counts, in the first one's place */
	assert_int_equal(sw_profile_resources_init(&resources, p), 0);
	expect(&resources, 4, 0, "");
	expect(&resources, 5, 0, "b=5 ");
	expect(&resources, 5, 1, "");
	expect(&resources, 6, 0, "");
	expect(&resources, 7, 0, "z=7 a=4 ");
	expect(&resources, 7, 1, "a=3 ");
	expect(&resources, 9, 0, "");
	expect(&resources, 9, 1, "a=2 b=6 ");
	expect(&resources, 10, 0, "");
	sw_profile_resources_deinit(&resources);
	sw_profile_destroy(p);
}

TEST(none)
{
	struct sw_profile *p = NULL;
	struct sw_profile_resources resources;
	assert_int_equal(sw_profile_create(NULL, &p, NULL), 0);
	assert_int_equal(sw_profile_resources_init(&resources, p), 0);
	expect(&resources, 7, 0, "");
	sw_profile_resources_deinit(&resources);
	sw_profile_destroy(p);
}
