/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which functions somebody means by a name. */
#include "probes/matching.h"
#include "test.h"

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
	/* A constructor has two functions: for whole objects and for parts of others. */
	assert_int_equal(matches("basket::basket", names), 2);
	assert_true(sw_matching_is_one(&matching));
	sw_matching_deinit(&matching);
	/* Two functions of different files. */
	assert_int_equal(matches("init", (const char *const[]){"init", "init", NULL}), 2);
	assert_false(sw_matching_is_one(&matching));
	sw_matching_deinit(&matching);
}

/* A part that was cut off of a function is not the function. */
TEST(test_parts)
{
	static const char *const parts[] = {"_ZN4shop4sendEv.cold", "_ZN4shop4sendEv.part.0",
					    "_ZN4shop4sendEv", NULL};
	assert_int_equal(matches("shop::send", parts), 1);
	assert_int_equal(matching.all[0].svma, 0x3000);
	sw_matching_deinit(&matching);
}

/* A whole name is better than a plain one, and that is better than an end, in each order of the symbols. */
TEST(test_the_best)
{
	static const char *const ends[] = {"_ZN4shop4sendEv", "send", "_ZN5other4sendEv", NULL};
	assert_int_equal(matches("send", ends), 1);
	assert_int_equal(matching.rank, SW_MATCH_WHOLE);
	assert_int_equal(matching.all[0].svma, 0x2000);
	sw_matching_deinit(&matching);
	static const char *const plain[] = {"_ZN2my4shop4sendEv", "_ZN4shop4sendEi", NULL};
	assert_int_equal(matches("shop::send", plain), 1);
	assert_int_equal(matching.rank, SW_MATCH_PLAIN);
	assert_int_equal(matching.all[0].svma, 0x2000);
	sw_matching_deinit(&matching);
}

TEST(test_limits)
{
	/* Two names of one place are one function. */
	const struct sw_function_symbol one = {.name = "init", .svma = 0x1000};
	assert_int_equal(sw_matching_init(&matching, "init"), 0);
	sw_matching_add(&matching, &one);
	sw_matching_add(&matching, &one);
	assert_int_equal(matching.n, 1);
	assert_true(sw_matching_is_one(&matching));
	sw_matching_deinit(&matching);
	/* More of them than are listed are counted. */
	assert_int_equal(sw_matching_init(&matching, "init"), 0);
	for (size_t i = 0; i < SW_MATCHES_MAX + 2; i++) {
		const struct sw_function_symbol many = {.name = "init", .svma = 0x1000 * (i + 1)};
		sw_matching_add(&matching, &many);
	}
	assert_int_equal(matching.n, SW_MATCHES_MAX);
	assert_int_equal(matching.n_more, 2);
	sw_matching_deinit(&matching);
	/* Constructors of one class, of which some are not listed, may be others. */
	assert_int_equal(sw_matching_init(&matching, "basket::basket"), 0);
	const struct sw_function_symbol made = {.name = "_ZN4shop6basketC1Ev", .svma = 0x1000};
	sw_matching_add(&matching, &made);
	assert_true(sw_matching_is_one(&matching));
	matching.n_more = 1;
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
