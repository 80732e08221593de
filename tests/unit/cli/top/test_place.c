/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a thread is, as top shows it: without the frames that a dump hides. */
#include "top/place.h"
#include "test.h"

static struct sw_report_module modules[] = {{.path = "/lib/libc.so.6"},
					    {.path = "/usr/lib/libpython.so"}};

static const struct sw_report_frame frames[] = {
	{.function = "read", .module = 0, .kind = "native", .trust = "context"},
	{.function = "os_read", .module = 1, .kind = "native", .trust = "cfi"},
	{.function = "vectorcall", .module = 1, .kind = "native", .trust = "cfi", .internal = true},
	{.function = "pipe", .module = -1, .kind = "cpython", .trust = "cfi"},
	{.function = "eval", .module = 1, .kind = "native", .trust = "cfi", .internal = true},
	{.function = "Thread.run", .module = -1, .kind = "cpython", .trust = "cfi"},
};

static void assert_place(const struct sw_report_frame *of, size_t n,
			 const struct sw_report_wait *wait, const char *wanted)
{
	struct sw_report_stack stack = {.frames = of, .n_frames = n, .n_threads = 1};
	const struct sw_report report = {.modules = modules,
					 .n_modules = 2,
					 .stacks = &stack,
					 .n_stacks = 1};
	const struct sw_report_thread thread = {
		.tid = 1, .comm = "t", .state = 'S', .syscall = "read", .blocked_on = wait};
	struct sw_text text = {0};
	sw_top_place(&report, &thread, &text);
	assert_string_equal(text.data, wanted);
	sw_text_deinit(&text);
}

TEST(test_interpreter)
{
	assert_place(frames, 6, NULL,
		     "t\nread\nos_read < pipe < Thread.run\nread\nos_read\npipe\nThread.run");
	/* Frames that a dump shows are shown here: a signal handler's, a guess, one below which others may be missing. */
	struct sw_report_frame seen[] = {frames[3], frames[2], frames[2], frames[2]};
	seen[1].signal = true;
	seen[2].trust = "scan";
	seen[3].may_miss = true;
	assert_place(seen, 4, NULL,
		     "t\nread\npipe < vectorcall < vectorcall < vectorcall\npipe\nvectorcall\n"
		     "vectorcall\nvectorcall");
	/* A stack is never empty. */
	static const struct sw_report_frame hidden[] = {{.function = "vectorcall",
							 .module = 1,
							 .kind = "native",
							 .trust = "cfi",
							 .internal = true},
							{.function = "eval",
							 .module = 1,
							 .kind = "native",
							 .trust = "cfi",
							 .internal = true}};
	assert_place(hidden, 2, NULL, "t\nread\nvectorcall < eval\nvectorcall\neval");
}

/* A descriptor of which nothing is known may be a pipe: the call is all that is said of it. */
TEST(test_unknown_file)
{
	const struct sw_report_wait call = {.kind = "file", .fd = 3, .trust = "syscall"};
	const struct sw_report_wait kernel = {.kind = "file", .fd = 3, .trust = "kernel"};
	assert_place(&frames[3], 1, &call, "t\nread\npipe\npipe");
	assert_place(&frames[3], 1, &kernel, "t\nfile\npipe\npipe");
}
