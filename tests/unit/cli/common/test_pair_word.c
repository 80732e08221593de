/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "common/pair_word.h"
#include "test.h"

static struct sw_usage usage;

static struct sw_pair_list *parse(const char *text)
{
	struct sw_pair_list *list = calloc(1, sizeof(*list));
	assert_non_null(list);
	if (sw_pair_parse(list, text, "libdefault", &usage))
		return list;
	sw_pair_list_destroy(list);
	return NULL;
}

TEST(test_pairs)
{
	struct sw_pair_list *list = parse("libx.so:new+dup@arg1/drop, open@*arg5@ok=0/close@arg2");
	assert_non_null(list);
	assert_int_equal(list->n, 5);
	assert_int_equal(list->n_pairs, 2);
	assert_string_equal(list->all[0].module, "libx.so");
	assert_string_equal(list->all[0].name, "new");
	assert_int_equal(list->all[0].handle.argument, 0);
	assert_string_equal(list->all[1].name, "dup");
	assert_int_equal(list->all[1].handle.argument, 2);
	assert_true(list->all[2].releases);
	assert_string_equal(list->all[2].name, "drop");
	assert_int_equal(list->all[2].handle.argument, 1);
	assert_int_equal(list->all[3].pair, 1);
	assert_string_equal(list->all[3].name, "open");
	assert_string_equal(list->all[3].module, "libx.so");
	assert_int_equal(list->all[3].handle.argument, 6);
	assert_true(list->all[3].handle.pointed);
	assert_true(list->all[3].only_zero);
	assert_int_equal(list->all[4].handle.argument, 3);
	sw_pair_list_destroy(list);
}

TEST(test_names_of_cxx)
{
	struct sw_pair_list *list =
		parse("a::Pool::get(int, std::pair<int, long>)@size=arg1/a::Pool::put(void*)");
	assert_non_null(list);
	assert_int_equal(list->n, 2);
	assert_string_equal(list->all[0].module, "libdefault");
	assert_string_equal(list->all[0].name, "a::Pool::get(int, std::pair<int, long>)");
	assert_int_equal(list->all[0].size.argument, 2);
	assert_string_equal(list->all[1].name, "a::Pool::put(void*)");
	sw_pair_list_destroy(list);
	list = parse("get@0x1230@outside/put@0x40");
	assert_non_null(list);
	assert_string_equal(list->all[0].name, "get@0x1230");
	assert_true(list->all[0].outside);
	assert_string_equal(list->all[1].name, "put@0x40");
	sw_pair_list_destroy(list);
}

TEST(test_sizes)
{
	struct sw_pair_list *list = parse("a@size=arg0*arg1+b@size=*arg2/c");
	assert_non_null(list);
	assert_int_equal(list->all[0].size.argument, 1);
	assert_int_equal(list->all[0].size_times, 2);
	assert_int_equal(list->all[1].size.argument, 3);
	assert_true(list->all[1].size.pointed);
	assert_int_equal(list->all[1].size_times, 0);
	sw_pair_list_destroy(list);
}

TEST(test_function_on_both_sides)
{
	struct sw_pair_list *list = parse("get+move/put+move,get/put");
	assert_non_null(list);
	assert_int_equal(list->n, 6);
	sw_pair_list_destroy(list);
}

TEST(test_what_is_refused)
{
	static const struct {
		const char *text, *why;
	} all[] = {
		{"", "has no function that releases"},
		{"a", "has no function that releases"},
		{"a/", "has no name"},
		{"/b", "has no name"},
		{"a+/b", "has no name"},
		{"a/b/c", "two of them"},
		{"a/b,", "no function that releases"},
		{":a/b", "no library is named"},
		{"a@arg6/b", "'@arg6' of a means"},
		{"a@/b", "'@' of a means"},
		{"a@arg10/b", "'@arg10' of a means"},
		{"a/b@ok=0", "'@ok=0' of b means"},
		{"a@size=arg0*/b", "'@size=arg0*' of a means"},
		{"a@size=arg0**arg1/b", "'@size=arg0**arg1' of a means"},
		{"a+b+a/c", "a is given twice"},
		{"a/b+b", "b is given twice"},
		{"x/y,a/a", "a acquires and releases, and no other function does"},
		{"a/b@size=arg0", "'@size=arg0' of b means"},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_null(parse(all[i].text));
		assert_non_null(strstr(usage.message, all[i].why));
	}
}

TEST(test_too_many)
{
	char text[8 * SW_EVENT_PLACES_MAX + 16] = "a";
	for (int i = 0; i < SW_EVENT_PLACES_MAX; i++)
		(void) snprintf(text + strlen(text), 8, "+a%d", i);
	strcat(text, "/b");
	assert_null(parse(text));
	assert_non_null(strstr(usage.message, "more than 128 functions"));
}
