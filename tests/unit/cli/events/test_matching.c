/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which functions somebody means by a name. */
#include "events/matching.h"
#include "test.h"

#include <string.h>

static struct sw_matching matching; /* too large for a stack */

/* Each name has an address of its own: 0x1000, 0x2000, ... */
static size_t matches(const char *wanted, const char *const *names)
{
	assert_int_equal(sw_matching_init(&matching, wanted), 0);
	for (size_t i = 0; names[i] != NULL; i++) {
		const struct sw_function_symbol symbol = {.name = names[i],
							  .svma = 0x1000 * (i + 1)};
		sw_matching_add(&matching, &symbol);
	}
	return matching.n;
}

static const char *const names[] = {
	"main",
	"_ZN4shop6basket3addEi",
	"_ZN4shop6basket3addEPKc",
	"_ZN5other6basket5totalEv",
	"_ZN4shop6basketC1Ev",
	"_ZN4shop6basketC2Ev",
	"work.constprop.0",
	"work.part.0",
	"main.cold",
	"maim",
	NULL,
};

TEST(test_names)
{
	assert_int_equal(matches("main", names), 1);
	assert_int_equal(matching.all[0].svma, 0x1000);
	sw_matching_deinit(&matching);
	assert_int_equal(matches("shop::basket::add(int)", names), 1);
	assert_int_equal(matching.all[0].svma, 0x2000);
	assert_int_equal(matching.rank, SW_MATCH_WHOLE);
	sw_matching_deinit(&matching);
	assert_int_equal(matches("basket::add(char const*)", names), 1);
	assert_int_equal(matching.all[0].svma, 0x3000);
	assert_int_equal(matching.rank, SW_MATCH_END);
	sw_matching_deinit(&matching);
	assert_int_equal(matches("_ZN5other6basket5totalEv", names), 1);
	sw_matching_deinit(&matching);
	assert_int_equal(matches("total", names), 1);
	sw_matching_deinit(&matching);
	assert_int_equal(matches("otal", names), 0);
	sw_matching_deinit(&matching);
	assert_int_equal(matches("work", names), 1);
	assert_int_equal(matching.all[0].svma, 0x7000);
	sw_matching_deinit(&matching);
}

TEST(test_several)
{
	assert_int_equal(matches("shop::basket::add", names), 2);
	assert_false(sw_matching_is_one(&matching));
	sw_matching_deinit(&matching);
	assert_int_equal(matches("shop::basket::add@0x3000", names), 1);
	assert_int_equal(matching.all[0].svma, 0x3000);
	sw_matching_deinit(&matching);
	/* One constructor, for whole objects and for parts of others. */
	assert_int_equal(matches("basket::basket", names), 2);
	assert_true(sw_matching_is_one(&matching));
	sw_matching_deinit(&matching);
	/* Two functions of different files. */
	assert_int_equal(matches("init", (const char *const[]){"init", "init", NULL}), 2);
	assert_false(sw_matching_is_one(&matching));
	sw_matching_deinit(&matching);
}

TEST(test_near_ones)
{
	assert_int_equal(matches("mian", names), 0);
	assert_int_equal(matching.n_near, 1);
	assert_string_equal(matching.near[0], "main");
	sw_matching_deinit(&matching);
}
