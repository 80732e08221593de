/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where a thread is, as top shows it: without the frames that a dump hides. */
#include "top/place.h"
#include "test.h"

#include <string.h>

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
	/* All of it is hidden but a signal handler's frame. */
	struct sw_report_frame signal = frames[2];
	signal.signal = true;
	assert_place(&signal, 1, NULL, "t\nread\nvectorcall\nvectorcall");
	assert_place(&frames[2], 1, NULL, "t\nread\n");
}

/* A descriptor of which nothing is known may be a pipe: the call is all that is said of it. */
TEST(test_unknown_file)
{
	const struct sw_report_wait call = {.kind = "file", .fd = 3, .trust = "syscall"};
	const struct sw_report_wait kernel = {.kind = "file", .fd = 3, .trust = "kernel"};
	assert_place(&frames[3], 1, &call, "t\nread\npipe\npipe");
	assert_place(&frames[3], 1, &kernel, "t\nfile\npipe\npipe");
}
