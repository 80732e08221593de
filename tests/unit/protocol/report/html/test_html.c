/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The page of a dump: one element of JSON with the text's first lines and the dump, out of which no name gets. */
#include "sample_report.h"
#include "test.h"

#include <json-c/json.h>

static const char hostile[] = "</script><script>alert('&')</script><!-- \\ \" \x1b[2J";

static char *page_of(const struct sw_report *report)
{
	char *page = NULL;
	size_t size = 0;
	struct sw_error err = {0};
	assert_int_equal(sw_report_html(report, &page, &size, &err), 0);
	assert_int_equal(size, strlen(page));
	return page;
}

/* The text of the element as the browser takes it: up to the first "</script". */
static struct json_object *data_of(const char *page)
{
	static const char begin[] = "<script id=\"dump\" type=\"application/json\">";
	const char *from = strstr(page, begin);
	assert_non_null(from);
	from += strlen(begin);
	const char *to = strstr(from, "</script");
	assert_non_null(to);
	char *text = strndup(from, (size_t) (to - from));
	assert_non_null(text);
	struct json_object *data = json_tokener_parse(text);
	assert_non_null(data);
	free(text);
	return data;
}

static size_t count_of(const char *text, const char *word)
{
	size_t n = 0;
	for (; (text = strstr(text, word)) != NULL; text += strlen(word))
		n++;
	return n;
}

static const char *line_of(struct json_object *data, const char *paragraph, size_t i)
{
	struct json_object *lines = json_object_object_get(data, paragraph);
	return json_object_get_string(json_object_array_get_idx(lines, i));
}

TEST(test_data)
{
	char *page = page_of(&sample_report), *json = NULL;
	size_t size = 0;
	struct json_object *data = data_of(page);
	assert_int_equal(sw_report_json(&sample_report, &json, &size, NULL), 0);
	struct json_object *dump = json_tokener_parse(json);
	assert_true(json_object_equal(json_object_object_get(data, "dump"), dump));
	assert_non_null(strstr(line_of(data, "head", 0), "server, pid 4242"));
	assert_null(strstr(page, "@DUMP@"));
	/* Nothing is fetched, and nothing of the page may be. */
	assert_non_null(strstr(page, "content=\"default-src 'none'; script-src 'unsafe-inline'; "
				     "style-src 'unsafe-inline'\""));
	assert_null(strstr(page, " src="));
	assert_null(strstr(page, "href="));
	(void) json_object_put(dump);
	(void) json_object_put(data);
	free(json);
	free(page);
}

/* Names of a process, a thread, a function and a file are the target's. */
TEST(test_hostile_names)
{
	struct sw_report report = sample_report;
	struct sw_report_frame frame = sample_waiting[0];
	struct sw_report_thread thread = sample_threads[1];
	static const size_t first[] = {0};
	struct sw_report_stack stack = {.id = 1,
					.threads = first,
					.n_threads = 1,
					.end = "complete",
					.frames = &frame,
					.n_frames = 1};
	char *plain = page_of(&sample_report);
	frame.function = frame.file = hostile;
	thread.comm = hostile;
	thread.managed = NULL;
	thread.state = 'R';
	report.process.comm = report.process.exe = hostile;
	report.threads = &thread;
	report.stacks = &stack;
	report.n_threads = report.n_stacks = 1;
	char *page = page_of(&report);
	static const char *const markup[] = {"<script", "</script", "<!--", "\x1b"};
	for (size_t i = 0; i < sizeof(markup) / sizeof(markup[0]); i++)
		assert_int_equal(count_of(page, markup[i]), count_of(plain, markup[i]));
	struct json_object *data = data_of(page), *dump = json_object_object_get(data, "dump");
	struct json_object *process = json_object_object_get(dump, "process");
	assert_string_equal(json_object_get_string(json_object_object_get(process, "comm")),
			    hostile);
	assert_non_null(strstr(line_of(data, "head", 0), "</script><script>alert('&')"));
	(void) json_object_put(data);
	free(plain);
	free(page);
}

/* A page is read later than it is made: it gives no command for the process. */
TEST(test_stopped)
{
	struct sw_report report = sample_report;
	struct sw_report_thread thread = sample_threads[1];
	static const size_t first[] = {0};
	struct sw_report_stack stack = sample_stacks[0];
	thread.state = 'T';
	stack.threads = first;
	stack.n_threads = 1;
	report.threads = &thread;
	report.stacks = &stack;
	report.n_threads = report.n_stacks = 1;
	char *page = page_of(&report);
	struct json_object *data = data_of(page);
	assert_non_null(strstr(line_of(data, "verdict", 0), "The process was stopped ("));
	assert_null(strstr(page, "kill -CONT"));
	(void) json_object_put(data);
	free(page);
}

/* The page hides the frames that the text hides: not a guess, nor one of a signal handler. */
TEST(test_hidden_frames)
{
	struct sw_report report = sample_report;
	struct sw_report_frame frames[4] = {sample_waiting[0], sample_waiting[0], sample_waiting[0],
					    sample_waiting[0]};
	struct sw_report_stack stacks[2] = {sample_stacks[0], sample_stacks[0]};
	frames[1].internal = frames[2].internal = frames[3].internal = true;
	frames[1].trust = frames[3].trust = "cfi";
	frames[2].trust = "scan";
	stacks[0].frames = stacks[1].frames = frames;
	stacks[0].n_frames = 4;
	stacks[1].n_frames = 1;
	report.stacks = stacks;
	report.n_stacks = 2;
	char *page = page_of(&report);
	struct json_object *data = data_of(page);
	assert_string_equal(json_object_to_json_string_ext(json_object_object_get(data, "hidden"),
							   0),
			    "[[1,3],[]]");
	(void) json_object_put(data);
	free(page);
}
