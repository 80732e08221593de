/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/hints.h"
#include "sample_report.h"
#include "cleanup.h"
#include "test.h"

/* A report in the making, of which the rest is there: a stack of one frame, two modules. */
struct scene {
	struct sw_runtime runtimes[2];
	struct sw_walks walks;
	struct sw_report_frame frame;
	struct sw_report_goroutine goroutine;
	size_t threads[1];
	struct sw_report_stack stack;
	struct sw_report_module modules[3];
	struct sw_report_registry registry;
	struct sw_report report;
	struct sw_symbols symbols;
	struct sw_arena arena;
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){
		.frame = sample_frame(NULL, 0),
		.threads = {0},
		.modules = {{.path = "/usr/lib/libx.so.1",
			     .format = "elf",
			     .build_id = "ab12",
			     .symbols = "dynsym"},
			    {.path = "/y/libx.so.1", .format = "elf", .symbols = "none"},
			    {.path = "[anon]", .format = "jit", .symbols = "none"}},
		.registry = {.name = "perf-map"},
	};
	s->stack = (struct sw_report_stack){.threads = s->threads,
					    .n_threads = 1,
					    .frames = &s->frame,
					    .n_frames = 1};
	s->walks = (struct sw_walks){.runtimes = s->runtimes, .n_runtimes = 0};
	s->report = (struct sw_report){.stacks = &s->stack,
				       .n_stacks = 1,
				       .modules = s->modules,
				       .n_modules = 3};
	s->report.process.registries = &s->registry;
}

/* "code: message", one below the other. */
static const char *hints_of(struct scene *s)
{
	static char text[2048];
	struct sw_report_builder b = {.walks = &s->walks,
				      .symbols = &s->symbols,
				      .report = &s->report,
				      .arena = &s->arena};
	size_t used = 0;
	s->report.n_hints = 0;
	sw_report_build_hints(&b);
	assert_false(b.failed);
	text[0] = '\0';
	for (size_t i = 0; i < s->report.n_hints; i++)
		used += (size_t) snprintf(text + used, sizeof(text) - used, "%s: %s\n",
					  s->report.hints[i].code, s->report.hints[i].message);
	sw_arena_deinit(&s->arena);
	return text;
}

static void runtime_add(struct scene *s, const char *name, const char *problem)
{
	struct sw_runtime *r = &s->runtimes[s->walks.n_runtimes++];
	r->name = name;
	(void) snprintf(r->problem, sizeof(r->problem), "%s", problem);
}

TEST(test_packages)
{
	struct scene s;
	scene_init(&s);
	s.frame.function = "f";
	s.modules[0].debug_package = s.modules[1].debug_package = "libx1-dbgsym";
	assert_string_equal(hints_of(&s), "debug_package: symbols of libx.so.1 are in packages: "
					  "'sudo apt install libx1-dbgsym'\n");
	s.modules[2] = s.modules[0];
	s.modules[2].path = "z";
	s.modules[2].debug_package = "z-dbg";
	assert_string_equal(hints_of(&s), "debug_package: symbols of libx.so.1, z are in packages: "
					  "'sudo apt install libx1-dbgsym z-dbg'\n");
}

/* However many there are, it is a line. */
TEST(test_many_packages)
{
	struct scene s;
	struct sw_report_module modules[100];
	char names[100][8];
	scene_init(&s);
	for (size_t i = 0; i < 100; i++) {
		(void) snprintf(names[i], sizeof(names[i]), "m%zu", i);
		modules[i] = s.modules[1];
		modules[i].path = modules[i].debug_package = names[i];
	}
	s.report.modules = modules;
	s.report.n_modules = 100;
	assert_string_equal(hints_of(&s), "debug_package: symbols of m0, m1, m2, m3, … are in "
					  "packages: 'sudo apt install m0 m1 m2 m3' and others\n");
}

/* The carrier threads tell that there are virtual threads, whether they carry some now or not. */
TEST(test_virtual_threads)
{
	static const char *const roles[] = {"daemon", "carrier", "idle-carrier", NULL};
	for (size_t i = 0; i < SW_ARRAY_SIZE(roles); i++) {
		struct scene s;
		struct sw_report_managed managed = {.runtime = "hotspot", .role = roles[i]};
		struct sw_report_thread threads[3] = {{.tid = 1},
						      {.tid = 2, .managed = &managed},
						      {.tid = 3, .managed = &managed}};
		scene_init(&s);
		s.frame.function = "f";
		s.report.threads = threads;
		s.report.n_threads = 3;
		assert_string_equal(hints_of(&s),
				    i == 1 || i == 2
					    ? "virtual_threads: virtual threads that no thread "
					      "carries are not here: 'jcmd PID "
					      "Thread.dump_to_file FILE' lists them\n"
					    : "");
	}
}

/* Where their number is known, it is said, and only where some have no thread. */
TEST(test_virtual_threads_counted)
{
	static const struct {
		struct sw_report_virtual_threads counted;
		const char *wanted;
	} cases[] = {
		{{1032, 8, false},
		 "virtual_threads: 1032 virtual threads, 8 mounted: the stacks of the others are "
		 "not here; 'jcmd PID Thread.dump_to_file FILE' lists them\n"},
		{{1, 0, true},
		 "virtual_threads: at least 1 virtual thread, 0 mounted: the stacks of the others "
		 "are not here; 'jcmd PID Thread.dump_to_file FILE' lists them\n"},
		{{8, 8, false}, ""},
		{{0, 0, false}, ""},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct scene s;
		struct sw_report_managed managed = {.runtime = "hotspot", .role = "carrier"};
		struct sw_report_thread threads[1] = {{.tid = 1, .managed = &managed}};
		struct sw_report_runtime runtimes[2] = {{.name = "v8"},
							{.name = "hotspot",
							 .virtual_threads = &cases[i].counted}};
		scene_init(&s);
		s.frame.function = "f";
		s.report.threads = threads;
		s.report.n_threads = 1;
		s.report.process.runtimes = runtimes;
		s.report.process.n_runtimes = 2;
		assert_string_equal(hints_of(&s), cases[i].wanted);
	}
}

TEST(test_file)
{
	struct scene s;
	scene_init(&s);
	const char *wanted =
		"debug_file: libx.so.1 has no symbols: if a server has its debug file, "
		"'debuginfod-find debuginfo ab12' fetches it\n";
	assert_string_equal(hints_of(&s), wanted);
	s.frame.trust = "scan"; /* may be no frame */
	assert_string_equal(hints_of(&s), "");
	s.frame.trust = "cfi";
	s.frame.function = "f";
	assert_string_equal(hints_of(&s), "");
	s.frame.function = NULL;
	s.modules[0].symbols = "symtab";
	assert_string_equal(hints_of(&s), "");
	s.frame.module = 1; /* without a build-id nobody can be asked for it */
	assert_string_equal(hints_of(&s), "");
}

TEST(test_maps)
{
	struct scene s;
	scene_init(&s);
	s.frame.module = 2;
	assert_string_equal(hints_of(&s), ""); /* made by nobody knows whom */
	runtime_add(&s, "v8", "");
	runtime_add(&s, "cpython", "");
	const char *v8 = "perf_map: code of v8 has no names here: start node with "
			 "--perf-basic-prof, deno with --v8-flags=--perf-basic-prof\n";
	assert_string_equal(hints_of(&s), v8);
	s.frame.module = -1;
	assert_string_equal(hints_of(&s), v8);
	s.frame.kind = "kernel";
	assert_string_equal(hints_of(&s), "");
	s.frame.kind = "jit";
	s.frame.function = "f"; /* named: no need for it */
	assert_string_equal(hints_of(&s), "");
	(void) snprintf(s.runtimes[1].problem, sizeof(s.runtimes[1].problem), "unknown version");
	const char *python =
		"perf_map: code of cpython has no names here: start it with -X perf or "
		"PYTHONPERFSUPPORT=1 (Python 3.12)\n";
	assert_string_equal(hints_of(&s), python);
	memcpy(s.runtimes[1].version, "3.15", sizeof("3.15"));
	assert_string_equal(hints_of(&s), python);
	memcpy(s.runtimes[1].version, "3.7", sizeof("3.7")); /* it cannot */
	assert_string_equal(hints_of(&s), "");
	memcpy(s.runtimes[1].version, "3.12.1", sizeof("3.12.1"));
	s.report.process.n_registries = 1; /* it has such a map */
	assert_string_equal(hints_of(&s), "");
}

/* Erlang's map helps where its own functions are not read, and they are compiled. */
TEST(test_erlang)
{
	struct scene s;
	scene_init(&s);
	s.frame.module = 2;
	runtime_add(&s, "erlang", "");
	assert_string_equal(hints_of(&s), ""); /* what has no name is somebody else's */
	(void) snprintf(s.runtimes[0].problem, sizeof(s.runtimes[0].problem), "unknown release");
	assert_string_equal(hints_of(&s), "perf_map: code of erlang has no names here: start it "
					  "with +JPperf true\n");
	s.runtimes[0].map_useless = true; /* the emulator without JIT */
	assert_string_equal(hints_of(&s), "");
}

/* A thread that runs a loop of asyncio. */
TEST(test_tasks)
{
	struct scene s;
	struct sw_task task = {.state = "waiting"};
	struct sw_walk walk = {.task = &task};
	const char *wanted = "tasks: tasks of asyncio that no thread runs are not here: --tasks "
			     "shows them\n";
	scene_init(&s);
	s.frame.function = "BaseEventLoop.run_forever";
	s.frame.kind = "cpython";
	assert_string_equal(hints_of(&s), "");
	s.frame.file = "/usr/lib/python3.11/asyncio/base_events.py";
	assert_string_equal(hints_of(&s), wanted);
	s.walks.tasks_why = "asked for, but not found";
	assert_string_equal(hints_of(&s), "");
	s.walks.tasks_why = NULL;
	s.walks.walks = &walk;
	s.walks.n_walks = 1;
	assert_string_equal(hints_of(&s), "");
	s.walks.n_walks = 0;
	s.frame.kind = "native";
	assert_string_equal(hints_of(&s), "");
}

TEST(test_goroutines)
{
	struct scene s;
	scene_init(&s);
	s.frame.function = "f";
	runtime_add(&s, "go", "");
	s.stack.goroutines = &s.goroutine;
	s.stack.n_goroutines = 1;
	const char *wanted = "goroutines: goroutines that no thread runs are not here: "
			     "--goroutines shows them\n";
	assert_string_equal(hints_of(&s), wanted);
	s.stack.n_threads = 0; /* they are here */
	assert_string_equal(hints_of(&s), "");
	s.stack.n_threads = 1;
	s.walks.goroutines_why = "asked for, but not found";
	assert_string_equal(hints_of(&s), "");
	s.walks.goroutines_why = NULL;
	(void) snprintf(s.runtimes[0].problem, sizeof(s.runtimes[0].problem), "unknown version");
	assert_string_equal(hints_of(&s), "");
}
