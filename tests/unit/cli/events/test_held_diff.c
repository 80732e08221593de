/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/held_diff.h"
#include "test.h"

static struct sw_text text_of(const char *s)
{
	return (struct sw_text){.data = (char *) (uintptr_t) s, .size = strlen(s)};
}

#define HEAD                            \
	"{\"schema\":\"snapwalk.leaks/" \
	"1\",\"of\":\"fds\",\"comm\":\"api\",\"pid\":7,\"duration_ms\":2000,"
#define FRAME(name) "{\"function\":\"" name "\",\"file\":\"/src/a.c\",\"line\":3}"
#define STACK(name, n)         \
	"{\"outstanding\":" #n \
	",\"outstanding_bytes\":null,\"frames\":[" FRAME("open") "," FRAME(name) "]}"

static int diff(const char *old, const char *new, bool json, bool all, struct sw_text *ret)
{
	const struct sw_text sides[] = {text_of(old), text_of(new)};
	const struct sw_held_diff_options how = {.json = json, .all = all};
	return sw_held_diff(sides, &how, ret, NULL);
}

static const char old_text[] = HEAD
	"\"outstanding\":9,\"stacks\":[" STACK("a", 4) "," STACK("b", 5) "," STACK("c", 0) "]}";
/* Two stacks of one name are one. */
static const char new_text[] = HEAD "\"outstanding\":11,\"stacks\":[" STACK("a", 4) "," STACK(
	"b", 1) "," STACK("c", 3) "," STACK("c", 3) "]}";

TEST(test_growth)
{
	struct sw_text text = {0};
	assert_int_equal(diff(old_text, new_text, false, false, &text), 0);
	assert_string_equal(text.data,
			    "outstanding fds of api, pid 7, 2 s: 9, then of api, pid 7, 2 s: 11\n"
			    "\n"
			    "  growth     before      after  where\n"
			    "      +6          0          6  open a.c:3 < c a.c:3\n"
			    "      -4          5          1  open a.c:3 < b a.c:3\n");
	sw_text_deinit(&text);
	assert_int_equal(diff(old_text, old_text, false, false, &text), 0);
	assert_non_null(strstr(text.data, "no stack has changed"));
	sw_text_deinit(&text);
	assert_int_equal(diff(old_text, new_text, false, true, &text), 0);
	assert_non_null(
		strstr(text.data, "      +0          4          4  open a.c:3 < a a.c:3\n"));
	sw_text_deinit(&text);
}

TEST(test_json)
{
	struct sw_text text = {0};
	assert_int_equal(diff(old_text, new_text, true, false, &text), 0);
	assert_string_equal(text.data,
			    "{\"schema\":\"snapwalk.leaks-diff/1\",\"of\":\"fds\",\"stacks\":["
			    "{\"old\":0,\"new\":6,\"old_bytes\":0,\"new_bytes\":0,\"where\":\"open "
			    "a.c:3 < c a.c:3\"},"
			    "{\"old\":4,\"new\":4,\"old_bytes\":0,\"new_bytes\":0,\"where\":\"open "
			    "a.c:3 < a a.c:3\"},"
			    "{\"old\":5,\"new\":1,\"old_bytes\":0,\"new_bytes\":0,\"where\":\"open "
			    "a.c:3 < b a.c:3\"}]}\n");
	sw_text_deinit(&text);
}

/* Results are not believed, whoever wrote them. */
TEST(test_what_is_none)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"{\"schema\":\"snapwalk.leaks/1\"}",
		"{\"schema\":\"snapwalk.leaks/1\",\"of\":\"fds\",\"stacks\":7}",
		"{\"schema\":\"snapwalk.leaks/1\",\"of\":7,\"stacks\":[]}",
		"{\"schema\":\"snapwalk.leaks/1\",\"of\":\"maps\",\"stacks\":[]}",
		"{\"schema\":\"snapwalk.leaks/1\",\"of\":\"fds\",\"stacks\":[}",
	};
	struct sw_text text = {0};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(diff(old_text, bad[i], false, false, &text), -SW_E_FORMAT);
	/* Members of other types, numbers below 0, names with control characters. */
	assert_int_equal(diff("{\"schema\":\"snapwalk.leaks/1\",\"of\":\"fds\",\"stacks\":[7,[],{},"
			      "{\"outstanding\":-3,\"frames\":[7,{\"function\":\"\\u001b[1m\"},{"
			      "\"line\":\"x\"}]}]}",
			      old_text, false, false, &text),
			 0);
	assert_null(strchr(text.data, '\033'));
	/* Each of the three numbers below 0 or of another type is 0. */
	assert_non_null(strstr(text.data, "outstanding fds of pid 0, 0 s: 0, then of api, pid 7"));
	assert_null(strstr(text.data, "-3"));
	sw_text_deinit(&text);
}

/* Frames that are the program's own are compared, and those that a runtime hides are not. */
TEST(test_hidden)
{
	static const char text_of_one[] =
		HEAD "\"outstanding\":1,\"stacks\":[{\"outstanding\":1,\"frames\":["
		     "{\"function\":\"inner\",\"internal\":true}," FRAME("a") "]}]}";
	static const char none[] = HEAD "\"outstanding\":0,\"stacks\":[]}";
	struct sw_text text = {0};
	assert_int_equal(diff(none, text_of_one, false, false, &text), 0);
	assert_non_null(strstr(text.data, "      +1          0          1  a a.c:3\n"));
	sw_text_deinit(&text);
}

TEST(test_things_that_differ)
{
	static const char maps[] =
		"{\"schema\":\"snapwalk.leaks/1\",\"of\":\"maps\",\"stacks\":[]}";
	struct sw_text text = {0};
	struct sw_error err = {0};
	const struct sw_text sides[] = {text_of(old_text), text_of(maps)};
	assert_int_equal(sw_held_diff(sides, &(struct sw_held_diff_options){0}, &text, &err),
			 -SW_E_FORMAT);
	assert_string_equal(err.message, "the two results are of different things");
	sw_text_deinit(&text);
}

TEST(test_is)
{
	const struct sw_text yes = text_of(old_text),
			     no = text_of("{\"schema\":\"snapwalk.dump/1\"}"), empty = {0};
	assert_true(sw_held_diff_is(&yes));
	assert_false(sw_held_diff_is(&no));
	assert_false(sw_held_diff_is(&empty));
}
