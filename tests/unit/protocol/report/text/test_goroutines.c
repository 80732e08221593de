/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Goroutines in a report: JSON and back, text, folded stacks, filters. */
#include "report_case.h"
#include "sample_report.h"
#include "cleanup.h"
#include "text.h"
#include "test.h"

SW_DEFINE_CLEANUP(struct sw_report *, sw_report_destroy);

enum { CROWD = 9 };

static const struct sw_report_frame parked[] = {
	{.pc_avma = 0x400300,
	 .module = 0,
	 .has_offset = true,
	 .offset = 0x300,
	 .function = "runtime.gopark",
	 .function_offset = 4,
	 .file = "/go/proc.go",
	 .line = 363,
	 .line_offset = -1,
	 .kind = "go",
	 .by = "go",
	 .trust = "runtime"},
	{.pc_avma = 0x400400,
	 .module = 0,
	 .has_offset = true,
	 .offset = 0x400,
	 .function = "main.serve",
	 .function_offset = 8,
	 .file = "/src/hub.go",
	 .line = 77,
	 .line_offset = -1,
	 .kind = "go",
	 .by = "go",
	 .trust = "runtime"},
};

/* Threads with and without a goroutine, one group of nine, and one of the runtime's own. */
struct scene {
	struct sw_report report;
	struct sw_report_stack stacks[4];
	struct sw_report_goroutine run, crowd[CROWD], own;
};

static void scene_init(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->report = sample_report;
	s->run = (struct sw_report_goroutine){.id = 7,
					      .state = "running",
					      .since_ms = -1,
					      .created_by = "main.main",
					      .tid = 4244};
	for (size_t i = 0; i < CROWD; i++)
		s->crowd[i] =
			(struct sw_report_goroutine){.id = 100 + i,
						     .state = i == 8 ? "runnable" : "waiting",
						     .scanned = i == 1,
						     .wait_reason = i == 8 ? NULL : "chan receive",
						     .since_ms =
							     i == 8 ? -1 : 7200000 + (int64_t) i,
						     .created_by =
							     i == 7 ? "main.other" : "main.main",
						     .created_file = "/src/main.go",
						     .created_line = 31,
						     .created_by_id = i == 2 ? 0 : 1};
	s->own = (struct sw_report_goroutine){.id = 2,
					      .state = "waiting",
					      .wait_reason = "GC worker (idle)",
					      .since_ms = -1};
	memcpy(s->stacks, sample_stacks, sizeof(sample_stacks));
	s->stacks[0].goroutines = &s->run;
	s->stacks[0].n_goroutines = 1;
	s->stacks[2] = (struct sw_report_stack){.id = 5,
						.goroutines = s->crowd,
						.n_goroutines = CROWD,
						.end = "complete",
						.frames = parked,
						.n_frames = 2};
	s->stacks[3] = (struct sw_report_stack){.id = 6,
						.goroutines = &s->own,
						.n_goroutines = 1,
						.end = "complete",
						.frames = parked,
						.n_frames = 1};
	s->report.stacks = s->stacks;
	s->report.n_stacks = 4;
}

static void check_text(const struct sw_report *a, const struct sw_report *b,
		       struct sw_text_options options)
{
	sw_cleanup(sw_free_p) char *x = text_of(a, &options);
	sw_cleanup(sw_free_p) char *y = text_of(b, &options);
	assert_string_equal(x, y);
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
	check_text(&s.report, r, (struct sw_text_options){0});
	check_text(&s.report, r, (struct sw_text_options){.verbose = true});
	check_text(&s.report, r, (struct sw_text_options){.no_group = true});
	assert_int_equal(r->stacks[0].goroutines[0].tid, 4244);
	assert_int_equal(r->stacks[1].n_goroutines, 0);
	assert_int_equal(r->stacks[2].n_threads, 0);
	assert_int_equal(r->stacks[2].n_goroutines, CROWD);
	const struct sw_report_goroutine *g = &r->stacks[2].goroutines[1];
	assert_int_equal(g->id, 101);
	assert_string_equal(g->state, "waiting");
	assert_true(g->scanned);
	assert_string_equal(g->wait_reason, "chan receive");
	assert_int_equal(g->since_ms, 7200001);
	assert_string_equal(g->created_by, "main.main");
	assert_string_equal(g->created_file, "/src/main.go");
	assert_int_equal(g->created_line, 31);
	assert_int_equal(g->created_by_id, 1);
	assert_int_equal(g->tid, 0);
	assert_int_equal(r->stacks[2].goroutines[2].created_by_id, 0);
	assert_null(r->stacks[3].goroutines[0].created_by);
	assert_int_equal(r->stacks[3].goroutines[0].since_ms, -1);
	assert_non_null(strstr(json,
			       "\"threads\":[],\"goroutines\":[{\"id\":2,\"state\":\"waiting\","
			       "\"wait_reason\":\"GC worker (idle)\",\"since_ms\":null,"
			       "\"created_by\":null,\"tid\":null}],"));
	assert_non_null(strstr(json, "\"created_by\":{\"function\":\"main.main\",\"file\":null,"
				     "\"line\":null,\"id\":null},\"tid\":4244}]"));
}

/* A member of it is not as it must be. */
TEST(test_refused)
{
	static const struct {
		const char *from, *to;
	} changes[] = {
		{"\"threads\":[],\"goroutines\":", "\"threads\":[],\"goroutine_\":"},
		{"\"tid\":4244}]", "\"tid\":4242}]"},
		{"\"tid\":4244}]", "\"tid\":9999}]"},
		{"\"line\":31", "\"line\":0"},
		{"\"line\":31", "\"line\":-1"},
		{"\"state\":\"waiting\",\"wait", "\"state\":\"Wai ing\",\"wait"},
		{"{\"id\":100,", "{\"id\":-10,"},
		{"\"created_by\":{\"fun", "\"created_by\":7,\"x\":{\"fun"},
		{"\"goroutines\":[{\"id\":2", "\"goroutines\":[3,{\"id\":2"},
		{"\"wait_reason\":\"chan", "\"wait_reason\":7,\"x\":\"chan"},
	};
	static struct scene s;
	scene_init(&s);
	sw_cleanup(sw_free_p) char *json = json_of(&s.report);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *at = strstr(json, changes[i].from);
		assert_non_null(at);
		sw_cleanup(sw_text_deinit) struct sw_text text = {0};
		sw_text_append(&text, json, (size_t) (at - json));
		sw_text_printf(&text, "%s%s", changes[i].to, at + strlen(changes[i].from));
		struct sw_report *r = NULL;
		assert_int_equal(sw_report_parse(text.data, text.size, &r, NULL), -SW_E_FORMAT);
	}
}

TEST(test_text)
{
	static struct scene s;
	scene_init(&s);
	sw_cleanup(sw_free_p) char *text = text_of(&s.report, NULL);
	expect_in(text, ": 4 threads, 11 goroutines in 3 groups, 4 distinct stacks, ");
	expect_in(text, "  goroutine 7, running, created by main.main\n  #0 ");
	expect_in(text, "\n9 goroutines  (100 101 102 103 104 105 +3 more)\n"
			"  8 waiting: chan receive, for 2 h or longer; 1 runnable\n"
			"  #0   runtime.gopark+4  server  proc.go:363\n"
			"  #1   main.serve+8      server  hub.go:77\n"
			"  created by main.main, main.go:31 (8); main.other, main.go:31 (1)\n");
	expect_in(text, "\n1 goroutine of the runtime itself (--all shows it)\n");
	assert_null(strstr(text, "GC worker"));
	sw_cleanup(sw_free_p) char *all =
		text_of(&s.report, &(struct sw_text_options){.all = true});
	expect_in(all, "\n1 goroutine  (2)\n  waiting: GC worker (idle)\n  #0   runtime.gopark+4");
	assert_null(strstr(all, "0 threads"));
	sw_cleanup(sw_free_p) char *each =
		text_of(&s.report, &(struct sw_text_options){.no_group = true});
	expect_in(each, "\n1 goroutine  (108)\n  runnable\n");
	expect_in(each, "  goroutine 7, running");
}

/* Goroutines of a thread: the first ones, and how many more there are, if there are any. */
TEST(test_many_of_a_thread)
{
	static struct scene s;
	scene_init(&s);
	s.stacks[0].goroutines = s.crowd;
	for (s.stacks[0].n_goroutines = 6; s.stacks[0].n_goroutines < 9;
	     s.stacks[0].n_goroutines++) {
		char more[32];
		sw_cleanup(sw_free_p) char *text = text_of(&s.report, NULL);
		(void) snprintf(more, sizeof(more), "  +%zu more goroutines\n",
				s.stacks[0].n_goroutines - 6);
		assert_int_equal(strstr(text, more) != NULL, s.stacks[0].n_goroutines > 6);
		expect_in(text, "  goroutine 105, waiting");
		assert_null(strstr(text, "  goroutine 106, waiting"));
	}
}

/* Behind the first hundred lines a group is a line, with the program's own functions. */
TEST(test_brief)
{
	static struct sw_report_stack stacks[60];
	static struct scene s;
	scene_init(&s);
	for (size_t i = 0; i < 60; i++)
		stacks[i] = s.stacks[2];
	s.report.stacks = stacks;
	s.report.n_stacks = 60;
	s.report.n_threads = 0;
	sw_cleanup(sw_free_p) char *text = text_of(&s.report, NULL);
	size_t lines = 0;
	for (const char *c = text; *c != '\0'; c++)
		lines += *c == '\n';
	assert_in_range(lines, 120, 170);
	expect_in(text,
		  "\n9 goroutines  (100 101 102 103 104 105 +3 more)  8 waiting: chan receive, "
		  "for 2 h or longer; 1 runnable  main.serve\n");
	expect_in(text, "(--all shows these whole)\n");
}

TEST(test_cut)
{
	static struct scene s;
	scene_init(&s);
	s.stacks[2].end = "memory";
	s.stacks[2].why = "its pages did not come";
	sw_cleanup(sw_free_p) char *text = text_of(&s.report, NULL);
	expect_in(text, " stacks of 9 goroutines cut short;");
}

TEST(test_folded)
{
	static struct scene s;
	char *text;
	size_t size;
	scene_init(&s);
	assert_int_equal(sw_report_folded(&s.report, &text, &size, NULL), 0);
	expect_in(text, "goroutine;main.serve;runtime.gopark 9\n");
	free(text);
}

static struct sw_report *selected(const struct scene *s, struct sw_thread_filter filter)
{
	struct sw_report *r = NULL;
	assert_int_equal(sw_report_select(&s->report, &filter, &r, NULL), 0);
	return r;
}

TEST(test_select)
{
	static struct scene s;
	scene_init(&s);
	struct sw_report *r = selected(&s, (struct sw_thread_filter){.function = "^main\\.serve$"});
	assert_int_equal(r->n_stacks, 1);
	assert_int_equal(r->stacks[0].n_goroutines, CROWD);
	sw_report_destroy(r);
	r = selected(&s, (struct sw_thread_filter){.states = "R"});
	assert_int_equal(r->n_stacks, 2); /* the thread that runs, and who could */
	assert_int_equal(r->stacks[0].n_goroutines, 0);
	assert_int_equal(r->stacks[1].n_goroutines, 1);
	assert_int_equal(r->stacks[1].goroutines[0].id, 108);
	sw_report_destroy(r);
	r = selected(&s, (struct sw_thread_filter){.states = "S"});
	assert_int_equal(r->n_stacks, 3);
	assert_int_equal(r->stacks[0].n_goroutines, 1); /* its thread sleeps */
	assert_int_equal(r->stacks[1].n_goroutines, CROWD - 1);
	assert_int_equal(r->stacks[2].n_goroutines, 1);
	sw_report_destroy(r);
	/* The only thread that is left of the stack does not run it. */
	r = selected(&s, (struct sw_thread_filter){.name = "worker-1"});
	assert_int_equal(r->n_stacks, 1);
	assert_int_equal(r->stacks[0].n_threads, 1);
	assert_int_equal(r->stacks[0].n_goroutines, 0);
	sw_report_destroy(r);
	r = selected(&s, (struct sw_thread_filter){.name = "worker-12"});
	assert_int_equal(r->stacks[0].n_goroutines, 1);
	sw_report_destroy(r);
}

/* Semaphores of the runtime, by the functions of sync that wait for them; the outermost one tells. */
TEST(test_sync)
{
	static const struct {
		const char *reason, *frames[3], *told;
	} cases[] = {
		{"semacquire",
		 {"sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.a"},
		 "waiting for a sync.Mutex (semacquire)"},
		{"sync.Mutex.Lock",
		 {"runtime.gopark", "sync.(*Mutex).Lock", "main.a"},
		 "waiting for a sync.Mutex (sync.Mutex.Lock)"},
		{"semacquire",
		 {"sync.(*Mutex).Lock", "sync.(*RWMutex).Lock", "main.a"},
		 "waiting for a sync.RWMutex to write (semacquire)"},
		{"semacquire",
		 {"sync.runtime_Semacquire", "sync.(*RWMutex).RLock", "main.a"},
		 "waiting for a sync.RWMutex to read (semacquire)"},
		{"semacquire",
		 {"sync.(*Mutex).Lock", "sync.(*Once).doSlow", "sync.(*Once).Do"},
		 "waiting for the function of a sync.Once (semacquire)"},
		{"semacquire",
		 {"sync.(*WaitGroup).Wait", "main.a", "sync.(*Mutex).Lock"},
		 "waiting for a sync.WaitGroup (semacquire)"},
		{"semacquire", {"main.a", "main.b", "main.c"}, "waiting: semacquire"},
		{"select", {"sync.(*Mutex).Lock", "main.b", "main.c"}, "waiting: select"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		static struct scene s;
		struct sw_report_frame frames[3];
		struct sw_text_options options = {.all = true};
		scene_init(&s);
		for (size_t k = 0; k < 3; k++) {
			frames[k] = parked[0];
			frames[k].function = cases[i].frames[k];
		}
		s.own.wait_reason = cases[i].reason;
		s.stacks[3].frames = frames;
		s.stacks[3].n_frames = 3;
		sw_cleanup(sw_free_p) char *text = text_of(&s.report, &options);
		if (strstr(text, cases[i].told) == NULL)
			fail_msg("case %zu: %s is not in %s", i, cases[i].told, text);
	}
}
