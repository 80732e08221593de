/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report/text/frames.h"
#include "sample_report.h"
#include "cleanup.h"
#include "test.h"

enum { DEEP = 40, LINES = 6 };

static struct sw_report_frame nameless(uint64_t offset)
{
	struct sw_report_frame f = sample_frame(NULL, 0);
	f.offset = f.pc_avma = offset;
	f.file = NULL;
	return f;
}

static struct sw_report_frame ruby(const char *function, uint32_t line)
{
	struct sw_report_frame f = sample_frame(function, line);
	f.module = -1;
	f.kind = "ruby";
	f.file = "/srv/d.rb";
	return f;
}

static void assert_some(struct sw_report_frame *frames, size_t n, char state, const char *wanted)
{
	static const size_t index = 0;
	struct sw_report_thread thread = {.tid = 1, .comm = "t", .state = state, .stack = 0};
	struct sw_report_stack stack = {.threads = &index,
					.n_threads = 1,
					.end = "complete",
					.frames = frames,
					.n_frames = n};
	struct sw_report report = sample_report;
	const struct sw_text_options options = {0};
	report.threads = &thread;
	report.n_threads = 1;
	report.stacks = &stack;
	report.n_stacks = 1;
	struct sw_text_writer w = {.report = &report, .options = &options};
	sw_text_frames_some(&w, &stack, LINES);
	assert_string_equal(w.text.data, wanted);
	sw_text_deinit(&w.text);
}

/* A thread in an extension of a language: the frames that the verdict names are among those that are shown. */
TEST(test_extension)
{
	struct sw_report_frame frames[DEEP];
	for (size_t i = 0; i < DEEP; i++)
		frames[i] = i < 10   ? sample_frame("transform", 1)
			    : i < 14 ? ruby("checksum", (uint32_t) i)
				     : sample_frame("outer", (uint32_t) i);
	for (size_t i = 0; i < 10; i++)
		frames[i].function_offset = 16 * i;
	assert_some(frames, DEEP, 'R',
		    "  #0   transform+0   server  f.c:1\n"
		    "  #1   transform+16  server  f.c:1\n"
		    "       … 8 frames (--all)\n"
		    "  #10  checksum      (ruby)  d.rb:10\n"
		    "  #11  checksum      (ruby)  d.rb:11\n"
		    "  #12  checksum      (ruby)  d.rb:12\n"
		    "  #13  checksum      (ruby)  d.rb:13\n"
		    "       … 26 frames (--all)\n");
	/* The frames are near enough: nothing is folded in between. */
	frames[4] = ruby("digest", 3);
	assert_some(frames, DEEP, 'R',
		    "  #0   transform+0   server  f.c:1\n"
		    "  #1   transform+16  server  f.c:1\n"
		    "  #2   transform+32  server  f.c:1\n"
		    "  #3   transform+48  server  f.c:1\n"
		    "  #4   digest        (ruby)  d.rb:3\n"
		    "  #5   transform+80  server  f.c:1\n"
		    "       … 34 frames (--all)\n");
}

/* Code without names is no part of the C library, which is left out before the program's own. */
TEST(test_nameless)
{
	struct sw_report_frame frames[DEEP];
	for (size_t i = 0; i < DEEP; i++)
		frames[i] = nameless(0x1000 + i);
	assert_some(frames, DEEP, 'R',
		    "  #0   server+0x1000\n"
		    "  #1   server+0x1001\n"
		    "  #2   server+0x1002\n"
		    "  #3   server+0x1003\n"
		    "  #4   server+0x1004\n"
		    "  #5   server+0x1005\n"
		    "       … 34 frames (--all)\n");
	frames[DEEP - 1] = sample_frame("main", 1);
	assert_some(frames, DEEP, 'R',
		    "  #0   server+0x1000\n"
		    "  #1   server+0x1001\n"
		    "       … 37 frames (--all)\n"
		    "  #39  main+0         server  f.c:1\n");
	for (size_t i = 0; i < 4; i++)
		frames[i] = (struct sw_report_frame){.module = 1,
						     .function = "poll",
						     .kind = "native",
						     .trust = "cfi",
						     .line_offset = -1};
	assert_some(frames, DEEP - 1, 'S',
		    "  #0   poll+0         libc.so.6\n"
		    "  #1   poll+0         libc.so.6\n"
		    "  #2   poll+0         libc.so.6\n"
		    "  #3   poll+0         libc.so.6\n"
		    "  #4   server+0x1004\n"
		    "  #5   server+0x1005\n"
		    "       … 33 frames (--all)\n");
}
