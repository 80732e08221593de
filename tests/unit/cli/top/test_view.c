/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "top/view.h"
#include "test.h"

static const int64_t S = 1000000000;
static const char busy[] = "main\n\nwork < main\nwork\nmain";
static const char waiting[] = "http-7\nmutex of 12\ntake < serve\n__lll_lock_wait\ntake\nserve";

static struct sw_top_thread threads[3];

static struct sw_top_list list_of_three(void)
{
	threads[0] = (struct sw_top_thread){.tid = 11,
					    .activity = SW_ACTIVITY_BLOCKED,
					    .since_ns = 840 * S,
					    .cpu_percent = 0,
					    .place = waiting};
	threads[1] = (struct sw_top_thread){.tid = 12,
					    .activity = SW_ACTIVITY_ON_CPU,
					    .cpu_percent = 97.25,
					    .place = busy};
	threads[2] = (struct sw_top_thread){.tid = 13,
					    .activity = SW_ACTIVITY_BLOCKED,
					    .since_ns = -1,
					    .cpu_percent = -1};
	return (struct sw_top_list){.title = "server, pid 11", .threads = threads, .n_threads = 3};
}

static void assert_lines(const struct sw_text *text, const char *const *lines, size_t n)
{
	const char *at = text->data;
	for (size_t i = 0; i < n; i++) {
		size_t size = strcspn(at, "\n");
		assert_string_not_equal(at, "");
		char *line = strndup(at, size);
		assert_non_null(line);
		assert_string_equal(i == 0 ? line + strlen("00:00:00 ") : line, lines[i]);
		free(line);
		at += size + (at[size] == '\n');
	}
	assert_string_equal(at, "");
}

TEST(test_whole)
{
	struct sw_top_list list = list_of_three();
	struct sw_top_view view = {0};
	struct sw_text text = {0};
	static const char *const wanted[] = {
		"server, pid 11: 3 threads, 1 run, 2 blocked; 97 % CPU",
		"by CPU  ?: help  d: dump  space: freeze  q: quit",
		"    TID NAME            STATE    SINCE  %CPU WHERE",
		"     12 main            running      -  97.2 work < main",
		"     11 http-7          blocked    14m   0.0 mutex of 12: take < serve",
		"     13                 blocked      -     - ",
	};
	sw_top_render(&list, &view, 24, 80, &text);
	assert_lines(&text, wanted, 6);
	sw_text_deinit(&text);
}

/* Never more lines or columns than there are; moving ends at the last page. */
TEST(test_small)
{
	struct sw_top_list list = list_of_three();
	struct sw_top_view view = {.first = 100};
	struct sw_text text = {0};
	static const char *const wanted[] = {
		"server, pid 11: 3 th",          "by CPU  ?: help  q: quit",
		"    TID NAME            STATE", "     11 http-7          block",
		"     13                 block",
	};
	sw_top_render(&list, &view, 5, 29, &text);
	assert_lines(&text, wanted, 5);
	assert_int_equal(view.first, 1);
	text.size = 0;
	sw_top_render(&list, &view, 1, 29, &text);
	assert_lines(&text, wanted, 1);
	sw_text_deinit(&text);
}

TEST(test_stacks_and_filter)
{
	struct sw_top_list list = list_of_three();
	struct sw_top_view view = {.stacks = true, .filter = "LLL_lock", .sort = SW_TOP_BY_NAME};
	struct sw_text text = {0};
	static const char *const wanted[] = {
		"server, pid 11: 3 threads, 1 run, 2 blocked; 97 % CPU",
		"by name  ?: help  d: dump  space: freeze  q: quit  only \"LLL_lock\"",
		"    TID NAME            STATE    SINCE  %CPU WHERE",
		"     11 http-7          blocked    14m   0.0 mutex of 12",
		"            __lll_lock_wait",
		"            take",
		"            serve",
	};
	sw_top_render(&list, &view, 24, 80, &text);
	assert_lines(&text, wanted, 7);
	sw_text_deinit(&text);
}

TEST(test_orders)
{
	static const pid_t wanted[][3] = {
		[SW_TOP_BY_CPU] = {12, 11, 13},
		[SW_TOP_BY_STATE] = {12, 11, 13},
		[SW_TOP_BY_SINCE] = {11, 12, 13},
		[SW_TOP_BY_NAME] = {11, 12, 13},
	};
	for (enum sw_top_sort sort = SW_TOP_BY_CPU; sort <= SW_TOP_BY_NAME; sort++) {
		struct sw_top_list list = list_of_three();
		struct sw_top_view view = {.sort = sort};
		struct sw_text text = {0};
		sw_top_print(&list, &view, SIZE_MAX, &text);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(threads[i].tid, wanted[sort][i]);
		text.size = 0;
		sw_top_print(&list, &view, 1, &text);
		assert_null(strstr(text.data, sort < SW_TOP_BY_SINCE ? "http-7" : "work"));
		sw_text_deinit(&text);
	}
}

/* Nothing of the help is cut, however narrow the terminal is; the line of keys loses the filter first. */
TEST(test_help)
{
	static const size_t columns[] = {24, 40, 58, 80, 200};
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		struct sw_top_list list = list_of_three();
		struct sw_top_view view = {.help = true};
		struct sw_text text = {0};
		memset(view.filter, 'x', sizeof(view.filter) - 1);
		sw_top_render(&list, &view, 100, columns[i], &text);
		assert_non_null(strstr(text.data, "?: help"));
		assert_non_null(strstr(text.data, "q: quit"));
		/* The last word of each row. */
		static const char *const words[] = {" name\n",      " again\n", " other\n", " on\n",
						    " directory\n", " end\n",   " help\n"};
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			assert_non_null(strstr(text.data, words[k]));
		for (const char *line = text.data; *line != '\0';) {
			size_t size = strcspn(line, "\n");
			assert_in_range(size, 1, columns[i]);
			line += size + (line[size] == '\n');
		}
		sw_text_deinit(&text);
	}
}

TEST(test_json)
{
	struct sw_top_list list = list_of_three();
	struct sw_top_view view = {0};
	struct sw_text text = {0};
	list.time_ns = 5;
	sw_top_json(&list, &view, 2, &text);
	assert_string_equal(
		text.data,
		"{\"schema\":\"snapwalk.top/1\",\"time_ns\":5,\"process\":\"server, pid 11\","
		"\"n_threads\":3,\"threads\":["
		"{\"tid\":12,\"name\":\"main\",\"state\":\"running\",\"cpu_percent\":97.2,"
		"\"frames\":[\"work\",\"main\"]},"
		"{\"tid\":11,\"name\":\"http-7\",\"state\":\"blocked\",\"since_ms\":840000,"
		"\"cpu_percent\":0.0,\"wait\":\"mutex of 12\","
		"\"frames\":[\"__lll_lock_wait\",\"take\",\"serve\"]}]}\n");
	sw_text_deinit(&text);
}

TEST(test_ages)
{
	static const struct {
		int64_t ns;
		const char *text;
	} ages[] = {{-1, "-"},          {0, "0ms"},         {999999999, "999ms"},
		    {99 * S, "99s"},    {100 * S, "1m"},    {840 * S, "14m"},
		    {90000 * S, "25h"}, {360000 * S, "4d"}, {INT64_MAX, "9999d"}};
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		char age[8];
		sw_top_age(ages[i].ns, age);
		assert_string_equal(age, ages[i].text);
	}
}
