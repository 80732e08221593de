/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample_report.h"
#include "cleanup.h"
#include "test.h"

TEST(test_lines)
{
	char *text;
	size_t size;
	assert_int_equal(sw_report_folded(&sample_report, &text, &size, NULL), 0);
	assert_string_equal(
		text,
		"Order\\x1bqueue;worker(void*);Queue<int>::pop(int&);__futex_abstimed_wait_common "
		"1\n"
		"ser\\x1b[31mver;[cut: no_unwind_info];[unknown] [guess];"
		"libc.so.6+0x20000 [guess];[unknown] 1\n"
		"worker-12;worker(void*);Queue<int>::pop(int&);__futex_abstimed_wait_common 1\n");
	assert_int_equal(size, strlen(text));
	free(text);
}

/* Stacks that differ in addresses only are one line; ';' and newlines never come from a name. */
TEST(test_merges)
{
	struct sw_report_frame first[2] = {sample_frame("a;b\nc", 1), sample_frame("main", 2)};
	struct sw_report_frame second[2] = {sample_frame("a;b\nc", 3), sample_frame("main", 4)};
	static const size_t pair[] = {1, 1}, single[] = {1};
	struct sw_report_stack stacks[2] = {
		{.threads = pair,
		 .n_threads = 2,
		 .end = "complete",
		 .frames = first,
		 .n_frames = 2},
		{.threads = single,
		 .n_threads = 1,
		 .end = "complete",
		 .frames = second,
		 .n_frames = 2},
	};
	struct sw_report report = sample_report;
	report.stacks = stacks;
	char *text;
	size_t size;
	assert_int_equal(sw_report_folded(&report, &text, &size, NULL), 0);
	assert_string_equal(text, "Order\\x1bqueue;main;a:b\\x0ac 3\n");
	free(text);
}

/* Names that differ in their number are one; one that has no other of its kind stays what it is. */
TEST(test_numbered)
{
	static const char *const comms[] = {"io9",     "io10",   "io", "iox3",
					    "python3", "python", "7",  "8"};
	struct sw_report_thread threads[8];
	static const size_t indices[] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct sw_report_frame frames[1] = {sample_frame("main", 2)};
	struct sw_report_stack stack = {.threads = indices,
					.n_threads = 8,
					.end = "complete",
					.frames = frames,
					.n_frames = 1};
	for (size_t i = 0; i < 8; i++) {
		threads[i] = sample_threads[1];
		threads[i].comm = comms[i];
		threads[i].managed = NULL;
	}
	struct sw_report report = sample_report;
	report.threads = threads;
	report.n_threads = 8;
	report.stacks = &stack;
	report.n_stacks = 1;
	char *text;
	size_t size;
	assert_int_equal(sw_report_folded(&report, &text, &size, NULL), 0);
	assert_string_equal(text, "7;main 1\n8;main 1\nio*;main 2\nio;main 1\niox3;main 1\n"
				  "python3;main 1\npython;main 1\n");
	free(text);
}

/* Frames of the interpreter's work for a function count as that function. */
TEST(test_interpreter)
{
	struct sw_report_frame frames[4] = {sample_frame("f", 1), sample_frame("eval_loop", 2),
					    sample_frame("guessed", 3), sample_frame("main", 4)};
	frames[1].internal = true;
	frames[2].internal = true;
	frames[2].trust = "scan";
	static const size_t single[] = {1};
	struct sw_report_stack stack = {.threads = single,
					.n_threads = 1,
					.end = "complete",
					.frames = frames,
					.n_frames = 4};
	struct sw_report report = sample_report;
	report.stacks = &stack;
	report.n_stacks = 1;
	char *text;
	size_t size;
	assert_int_equal(sw_report_folded(&report, &text, &size, NULL), 0);
	assert_string_equal(text, "Order\\x1bqueue;main;guessed [guess];f 1\n");
	free(text);
}

TEST(test_nothing)
{
	struct sw_report report = sample_report;
	report.n_stacks = 0;
	char *text;
	size_t size;
	assert_int_equal(sw_report_folded(&report, &text, &size, NULL), 0);
	assert_string_equal(text, "");
	assert_int_equal(size, 0);
	free(text);
}
