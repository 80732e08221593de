/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which frame says most of where a thread is. */
#include "report/text/where.h"
#include "sample_report.h"
#include "cleanup.h"
#include "test.h"

enum { FRAMES = 3 };

static struct sw_report_frame frame(const char *kind, const char *function, const char *file)
{
	struct sw_report_frame f = sample_frame(function, 7);
	f.kind = kind;
	f.file = file;
	if (strcmp(kind, "native") != 0)
		f.module = -1;
	return f;
}

static size_t index_of(struct sw_report_frame *frames, size_t n, bool running)
{
	struct sw_report_stack stack = {.frames = frames, .n_frames = n, .end = "complete"};
	return sw_where_index(&sample_report, &stack, running);
}

/* The function with which a thread waits is the language's own: its caller is the program's. */
TEST(test_library)
{
	static const struct {
		const char *kind, *function, *file;
		size_t wanted;
	} cases[] = {
		{"cpython", "Condition.wait", "/usr/lib/python3.11/threading.py", 2},
		{"cpython", "Pool.get", "/usr/lib/python3/dist-packages/pool.py", 1},
		{"cpython", "Pool.get", "/opt/lib/python3.11/site-packages/pool.py", 1},
		{"cpython", "_find_and_load", "<frozen importlib._bootstrap>", 2},
		{"ruby", "wait", "/usr/lib/ruby/3.1.0/monitor.rb", 2},
		{"ruby", "get", "/var/lib/ruby/gems/3.1.0/gems/pool/pool.rb", 1},
		{"ruby", "pop", "<internal:thread_sync>", 2},
		{"v8js", "spawnSync", "node:internal/child_process", 2},
		{"v8js", "get", "/srv/node_modules/pool.js", 1},
		{"jvm", "java.lang.Object.wait", "Object.java", 2},
		{"jvm", "shop.Order.total", "Order.java", 1},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_report_frame frames[FRAMES] = {frame("native", "futex_wait", "f.c"),
							 frame(cases[i].kind, cases[i].function,
							       cases[i].file),
							 frame(cases[i].kind, "order",
							       "/srv/shop")};
		assert_int_equal(index_of(frames, FRAMES, false), cases[i].wanted);
		assert_int_equal(index_of(frames, FRAMES, true), 1); /* it runs there */
		assert_int_equal(index_of(frames, 2, false), 1);     /* there is no other */
	}
}

TEST(test_native)
{
	struct sw_report_frame frames[FRAMES] = {frame("native", NULL, NULL),
						 frame("native", "", NULL),
						 frame("native", "main", "f.c")};
	frames[0].module = 1; /* the C library */
	assert_int_equal(index_of(frames, FRAMES, true), 2);
	assert_int_equal(index_of(frames, 2, true), 1); /* without a name */
	assert_int_equal(index_of(frames, 1, true), 1); /* none */
	assert_int_equal(index_of(frames, 0, true), 0);
}
