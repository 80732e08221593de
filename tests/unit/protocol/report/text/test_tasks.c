/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tasks of asyncio in a report: JSON and back, text, folded stacks, filters. */
#include "report_case.h"
#include "sample_report.h"
#include "cleanup.h"
#include "text.h"
#include "test.h"

SW_DEFINE_CLEANUP(struct sw_report *, sw_report_destroy);

enum { CROWD = 9 };

static const struct sw_report_frame waits[] = {
	{.pc_avma = 0x7000300,
	 .module = -1,
	 .function = "Event.wait",
	 .file = "/usr/lib/python3/asyncio/locks.py",
	 .line = 213,
	 .line_offset = -1,
	 .kind = "cpython",
	 .by = "cpython",
	 .trust = "runtime"},
	{.pc_avma = 0x7000400,
	 .module = -1,
	 .function = "serve",
	 .file = "/srv/app.py",
	 .line = 31,
	 .line_offset = -1,
	 .kind = "cpython",
	 .by = "cpython",
	 .trust = "runtime"},
};

/* A thread that runs a task, and one group of nine. */
struct scene {
	struct sw_report report;
	struct sw_report_stack stacks[3];
	struct sw_report_task run, crowd[CROWD];
};

static void scene_init(struct scene *s)
{
	static const char *const names[CROWD] = {"Task-0", "Task-1", "Task-2",
						 "Task-3", "Task-4", "Task-5",
						 "Task-6", "",       "last, \"ü\""};
	memset(s, 0, sizeof(*s));
	s->report = sample_report;
	s->run = (struct sw_report_task){.address_avma = 0x1000,
					 .name = "main",
					 .state = "running",
					 .tid = 4244};
	for (size_t i = 0; i < CROWD; i++)
		s->crowd[i] = (struct sw_report_task){.address_avma = 0x2000 + 0x100 * i,
						      .name = names[i],
						      .state = i == 8 ? "runnable" : "waiting",
						      .waits_for_avma = i == 8 ? 0 : 0x5000 + i,
						      .waits_for_name = i == 7 ? "Task-5" : NULL};
	memcpy(s->stacks, sample_stacks, sizeof(sample_stacks));
	s->stacks[0].tasks = &s->run;
	s->stacks[0].n_tasks = 1;
	s->stacks[2] = (struct sw_report_stack){.id = 5,
						.tasks = s->crowd,
						.n_tasks = CROWD,
						.end = "complete",
						.frames = waits,
						.n_frames = 2};
	s->report.stacks = s->stacks;
	s->report.n_stacks = 3;
}

TEST(test_there_and_back)
{
	static struct scene s;
	scene_init(&s);
	sw_cleanup(sw_free_p) char *json = json_of(&s.report);
	sw_cleanup(sw_report_destroy_p) struct sw_report *r = NULL;
	assert_int_equal(sw_report_parse(json, strlen(json), &r, NULL), 0);
	sw_cleanup(sw_free_p) char *again = json_of(r);
	assert_string_equal(again, json);
	assert_int_equal(r->stacks[0].tasks[0].tid, 4244);
	assert_int_equal(r->stacks[1].n_tasks, 0);
	assert_int_equal(r->stacks[2].n_tasks, CROWD);
	assert_string_equal(r->stacks[2].tasks[8].name, "last, \"ü\"");
	assert_int_equal(r->stacks[2].tasks[8].waits_for_avma, 0);
	assert_int_equal(r->stacks[2].tasks[6].waits_for_avma, 0x5006);
	assert_null(r->stacks[2].tasks[6].waits_for_name);
	expect_in(json, "{\"address\":\"0x2700\",\"name\":\"\",\"state\":\"waiting\","
			"\"waits_for\":{\"address\":\"0x5007\",\"task\":\"Task-5\"},\"tid\":null}");
	expect_in(json, "\"state\":\"runnable\",\"waits_for\":null,\"tid\":null}");
}

/* Processes of Erlang: what tasks have besides. */
TEST(test_processes)
{
	static struct scene s;
	scene_init(&s);
	for (size_t i = 0; i < CROWD; i++) {
		struct sw_report_task *t = &s.crowd[i];
		*t = (struct sw_report_task){.address_avma = t->address_avma,
					     .name = "<0.81.0>",
					     .state = "waiting",
					     .initial_call = "proc_lib:init_p/5",
					     .registered = i == 0 ? "rex" : NULL,
					     .has_messages = true,
					     .messages = i == 0 ? 7 : 0};
	}
	sw_cleanup(sw_free_p) char *json = json_of(&s.report);
	expect_in(json, "\"tid\":null,\"registered\":\"rex\",\"initial_call\":\"proc_lib:init_p/"
			"5\",\"messages\":7}");
	expect_in(json, "\"tid\":null,\"initial_call\":\"proc_lib:init_p/5\",\"messages\":0}");
	sw_cleanup(sw_report_destroy_p) struct sw_report *r = NULL;
	assert_int_equal(sw_report_parse(json, strlen(json), &r, NULL), 0);
	sw_cleanup(sw_free_p) char *again = json_of(r);
	assert_string_equal(again, json);
	assert_int_equal(r->stacks[2].tasks[0].messages, 7);
	assert_false(r->stacks[0].tasks[0].has_messages);
	sw_cleanup(sw_free_p) char *text = text_of(&s.report, NULL);
	expect_in(text, "(rex <0.81.0>, <0.81.0>");
	expect_in(text, "1 waiting, 7 messages");
}

/* The longest queues are told first; a group says how long the longest one is, and names those who have it. */
TEST(test_mailboxes)
{
	static const int64_t messages[CROWD] = {0, 99, 100, 5000, 0, 250, 1, 5000, 101};
	static const char *const names[CROWD] = {"<0.1.0>", "<0.2.0>", "<0.3.0>",
						 "<0.4.0>", "<0.5.0>", "<0.6.0>",
						 "<0.7.0>", "<0.8.0>", "<0.9.0>"};
	static struct scene s;
	scene_init(&s);
	for (size_t i = 0; i < CROWD; i++)
		s.crowd[i] = (struct sw_report_task){.address_avma = 0x2000 + 0x100 * i,
						     .name = names[i],
						     .state = "waiting",
						     .registered = i == 3 ? "orders" : NULL,
						     .has_messages = true,
						     .messages = messages[i]};
	sw_cleanup(sw_free_p) char *text = text_of(&s.report, NULL);
	expect_in(text, "\n5,000 messages wait for orders <0.4.0>, which is in Event.wait\n"
			"5,000 messages wait for <0.8.0>, which is in Event.wait\n"
			"250 messages wait for <0.6.0>, which is in Event.wait\n"
			"2 more tasks have 100 messages or more\n");
	expect_in(text,
		  "9 tasks  (orders <0.4.0>, <0.8.0>, <0.6.0>, <0.9.0>, <0.3.0>, <0.2.0> +3 more)\n"
		  "  2 waiting; 7 waiting, up to 5,000 messages\n");
	for (size_t i = 0; i < CROWD; i++)
		s.crowd[i].messages = 99;
	sw_cleanup(sw_free_p) char *few = text_of(&s.report, NULL);
	assert_null(strstr(few, "messages wait for"));
}

TEST(test_refused)
{
	static const struct {
		const char *from, *to;
	} changes[] = {
		{"\"tasks\":[{\"address\":\"0x2000\"", "\"task_\":[{\"address\":\"0x2000\""},
		{"\"address\":\"0x2000\"", "\"address\":8192"},
		{"\"name\":\"Task-1\"", "\"name\":null"},
		{"\"state\":\"waiting\"", "\"state\":7"},
		{"\"address\":\"0x5001\"", "\"address\":\"0x0\""},
		{"\"address\":\"0x5001\"", "\"addres_\":\"0x5001\""},
		{"\"tid\":4244}", "\"tid\":4245}"},
		{"\"task\":\"Task-5\"", "\"task\":5"},
	};
	static struct scene s;
	scene_init(&s);
	sw_cleanup(sw_free_p) char *json = json_of(&s.report);
	for (size_t i = 0; i < SW_ARRAY_SIZE(changes); i++) {
		struct sw_text changed = {0};
		struct sw_report *r = NULL;
		const char *at = strstr(json, changes[i].from);
		assert_non_null(at);
		sw_text_append(&changed, json, (size_t) (at - json));
		sw_text_append(&changed, changes[i].to, strlen(changes[i].to));
		at += strlen(changes[i].from);
		sw_text_append(&changed, at, strlen(at));
		if (sw_report_parse(changed.data, changed.size, &r, NULL) == 0)
			fail_msg("taken: %s", changes[i].to);
		sw_text_deinit(&changed);
	}
}

TEST(test_text)
{
	static struct scene s;
	scene_init(&s);
	sw_cleanup(sw_free_p) char *text = text_of(&s.report, NULL);
	expect_in(text, ", 10 tasks in 2 groups, 3 distinct stacks, ");
	expect_in(text, "  task main, running\n  #0 ");
	expect_in(text,
		  "\n9 tasks  (Task-0, Task-1, Task-2, Task-3, Task-4, Task-5 +3 more)\n"
		  "  7 waiting; 1 waiting for the task Task-5; 1 runnable\n  #0   Event.wait");
	assert_null(strstr(text, "goroutine"));
	sw_cleanup(sw_free_p) char *each =
		text_of(&s.report, &(struct sw_text_options){.no_group = true});
	expect_in(each, "\n1 task  (Task-3)\n  waiting\n  #0   Event.wait");
	expect_in(each, "  task main, running\n");
	s.stacks[2].end = "frame_limit";
	s.stacks[2].why = "more frames than --depth allows";
	s.report.complete = false;
	sw_cleanup(sw_free_p) char *cut = text_of(&s.report, NULL);
	expect_in(cut, " stacks of 9 tasks cut short;");
}

TEST(test_folded)
{
	static struct scene s;
	char *text;
	size_t size;
	scene_init(&s);
	assert_int_equal(sw_report_folded(&s.report, &text, &size, NULL), 0);
	expect_in(text, "task;serve;Event.wait 9\n");
	free(text);
}

static struct sw_report *selected(const struct sw_report *report, struct sw_thread_filter filter)
{
	struct sw_report *r = NULL;
	assert_int_equal(sw_report_select(report, &filter, &r, NULL), 0);
	return r;
}

TEST(test_filters)
{
	static struct scene s;
	scene_init(&s);
	sw_cleanup(sw_report_destroy_p) struct sw_report *by_function =
		selected(&s.report, (struct sw_thread_filter){.function = "^serve$"});
	assert_int_equal(by_function->n_stacks, 1);
	assert_int_equal(by_function->stacks[0].n_tasks, CROWD);
	sw_cleanup(sw_report_destroy_p) struct sw_report *by_state =
		selected(&s.report,
			 (struct sw_thread_filter){.states = "R", .function = "^serve$"});
	assert_int_equal(by_state->stacks[0].n_tasks, 1);
	assert_string_equal(by_state->stacks[0].tasks[0].state, "runnable");
	sw_cleanup(sw_report_destroy_p) struct sw_report *by_name =
		selected(&s.report, (struct sw_thread_filter){.name = "nobody"});
	assert_int_equal(by_name->n_stacks, 0);
}
