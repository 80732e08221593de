/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "errors.h"
#include "test.h"

#include <snapwalk/diff.h>
#include <json-c/json.h>

/* Two dumps of a process, 2 s apart, and of another one. Threads: 1 moves, 2 and 3 wait for a mutex of 4,
 * which runs; 5 goes, 6 comes, 7 cannot be captured any more, 8 waited for 4 and waits for 2 now. */

static const struct sw_report_frame frames[] = {
	{.function = "read", .module = -1, .kind = "native", .trust = "context"},
	{.function = "loop\033[31m", .module = -1, .kind = "native", .trust = "cfi"},
	{.pc_avma = 0x1234, .module = -1, .kind = "native", .trust = "scan"},
};
static const struct sw_report_wait of_4 = {.kind = "mutex",
					   .has_address = true,
					   .address_avma = 0x1000,
					   .owner_tid = 4,
					   .owner_pid = 1};
static const struct sw_report_wait of_4_pipe = {.kind = "pipe", .owner_pid = 99, .fd = 3};
static const struct sw_report_wait of_2 = {.kind = "mutex",
					   .has_address = true,
					   .address_avma = 0x1000,
					   .owner_tid = 2,
					   .owner_pid = 1};
static const struct sw_report_wait work = {.kind = "condition",
					   .has_address = true,
					   .address_avma = 0x2000};

static struct sw_report_stack old_stacks[] = {
	{.id = 10, .n_threads = 3, .frames = frames, .n_frames = 2},
	{.id = 11, .n_threads = 4, .frames = frames + 1, .n_frames = 2},
};
static struct sw_report_stack new_stacks[] = {
	{.id = 11, .n_threads = 4, .frames = frames + 1, .n_frames = 2},
	{.id = 12, .n_threads = 2, .frames = frames, .n_frames = 1},
};
static struct sw_report_thread old_threads[] = {
	{.tid = 1, .comm = "main", .stack = 0, .cpu_ns = 5},
	{.tid = 2, .comm = "w", .stack = 1, .cpu_ns = 7, .blocked_on = &of_4},
	{.tid = 3, .comm = "w", .stack = 1, .cpu_ns = -1, .blocked_on = &of_4},
	{.tid = 4, .comm = "holder", .stack = 1, .cpu_ns = 100, .blocked_on = &of_4_pipe},
	{.tid = 5, .comm = "gone", .stack = 0, .cpu_ns = 1, .blocked_on = &work},
	{.tid = 7, .comm = "lost", .stack = 0, .cpu_ns = 1},
	{.tid = 8, .comm = "other", .stack = 1, .cpu_ns = 9, .blocked_on = &of_4},
};
static struct sw_report_thread new_threads[] = {
	{.tid = 1, .comm = "main", .stack = 1, .cpu_ns = 9},
	{.tid = 2, .comm = "w", .stack = 0, .cpu_ns = 7, .blocked_on = &of_4},
	{.tid = 3, .comm = "w", .stack = 0, .cpu_ns = 8, .blocked_on = &of_4},
	{.tid = 4, .comm = "holder", .stack = 0, .cpu_ns = 3000100, .blocked_on = &of_4_pipe},
	{.tid = 6, .comm = "new", .stack = 1, .cpu_ns = 1, .blocked_on = &work},
	{.tid = 7, .comm = "lost", .stack = -1, .cpu_ns = 1},
	{.tid = 8, .comm = "other", .stack = 0, .cpu_ns = 9, .blocked_on = &of_2},
};

static struct sw_report report(struct sw_report_thread *threads, size_t n_threads,
			       struct sw_report_stack *stacks, size_t n_stacks, int64_t time_ns)
{
	struct sw_report r = {.id = "an-id",
			      .host_name = "host",
			      .time_ns = time_ns,
			      .threads = threads,
			      .n_threads = n_threads,
			      .stacks = stacks,
			      .n_stacks = n_stacks,
			      .complete = true};
	r.process.pid = 1;
	r.process.starttime = 77;
	r.process.comm = "server";
	r.process.exe = "/bin/server";
	return r;
}

static struct sw_report old_report(void)
{
	return report(old_threads, 7, old_stacks, 2, 1000000000);
}

static struct sw_report new_report(void)
{
	return report(new_threads, 7, new_stacks, 2, 3000000000);
}

static struct sw_diff *build(const struct sw_report *a, const struct sw_report *b)
{
	struct sw_diff *d = NULL;
	struct sw_error err = {0};
	assert_int_equal(sw_diff_build(a, b, &d, &err), 0);
	return d;
}

static char *text_of(const struct sw_diff *d, bool all)
{
	struct sw_text_options options = {.all = all};
	struct sw_error err = {0};
	char *text = NULL;
	size_t size = 0;
	assert_int_equal(sw_diff_text(d, &options, &text, &size, &err), 0);
	assert_int_equal(size, strlen(text));
	return text;
}

TEST(changes)
{
	static const struct {
		pid_t tid;
		enum sw_diff_change change;
	} wanted[] = {{1, SW_DIFF_MOVED}, {2, SW_DIFF_STILL}, {3, SW_DIFF_STILL},
		      {4, SW_DIFF_RAN},   {6, SW_DIFF_CAME},  {7, SW_DIFF_UNKNOWN},
		      {8, SW_DIFF_STILL}, {5, SW_DIFF_WENT}};
	struct sw_report a = old_report(), b = new_report();
	struct sw_diff *d = build(&a, &b);
	assert_true(d->same_process);
	assert_int_equal(d->n_threads, SW_ARRAY_SIZE(wanted));
	for (size_t i = 0; i < d->n_threads; i++) {
		const struct sw_diff_thread *t = &d->threads[i];
		assert_int_equal((t->after != NULL ? t->after : t->before)->tid, wanted[i].tid);
		assert_int_equal(t->change, wanted[i].change);
	}
	assert_int_equal(d->n_changes[SW_DIFF_STILL], 3);
	sw_diff_destroy(d);
	/* The same dump has no changes. */
	d = build(&a, &a);
	assert_int_equal(d->n_changes[SW_DIFF_STILL], 7);
	assert_int_equal(d->n_groups, 0);
	assert_int_equal(d->n_same_groups, 2);
	sw_diff_destroy(d);
}

TEST(locks)
{
	struct sw_report a = old_report(), b = new_report();
	struct sw_diff *d = build(&a, &b);
	/* The mutex by its address, whoever has it; the pipe; no condition. */
	assert_int_equal(d->n_locks, 2);
	assert_string_equal(d->locks[0].after->kind, "mutex");
	assert_int_equal(d->locks[0].n_before, 3);
	assert_int_equal(d->locks[0].n_after, 3);
	assert_int_equal(d->locks[0].n_still, 3);
	assert_int_equal(d->locks[0].still[0], 2);
	assert_int_equal(d->locks[0].still[2], 8);
	assert_string_equal(d->locks[1].after->kind, "pipe");
	assert_int_equal(d->locks[1].n_still, 0); /* it ran in between */
	assert_true(d->locks[1].held);
	sw_diff_destroy(d);
	/* Not held by one that nobody knows. */
	struct sw_report_wait unknown = {.kind = "rwlock", .has_address = true};
	struct sw_report_thread one = {.tid = 1, .comm = "", .stack = 0, .blocked_on = &unknown};
	a = report(&one, 1, old_stacks, 1, 0);
	d = build(&a, &a);
	assert_int_equal(d->n_locks, 1);
	assert_int_equal(d->locks[0].n_still, 1);
	assert_false(d->locks[0].held);
	sw_diff_destroy(d);
}

TEST(groups)
{
	struct sw_report a = old_report(), b = new_report();
	struct sw_diff *d = build(&a, &b);
	assert_int_equal(d->n_groups, 2);
	assert_int_equal(d->n_same_groups, 1);
	assert_int_equal(d->groups[0].before->id, 10); /* three less, then two more */
	assert_null(d->groups[0].after);
	assert_int_equal(d->groups[1].after->id, 12);
	assert_null(d->groups[1].before);
	sw_diff_destroy(d);
}

TEST(other_process)
{
	struct sw_report a = old_report(), b = new_report();
	b.process.starttime++;
	struct sw_diff *d = build(&a, &b);
	assert_false(d->same_process);
	assert_int_equal(d->n_threads, 0);
	assert_int_equal(d->n_locks, 0);
	assert_int_equal(d->n_groups, 2);
	sw_cleanup(sw_free_p) char *text = text_of(d, false);
	assert_non_null(strstr(text, "not the process of the first dump, which is server, pid 1, "
				     "started at another time\n"));
	assert_null(strstr(text, "did not move"));
	sw_diff_destroy(d);
	b = new_report();
	b.process.pid = 2;
	d = build(&a, &b);
	assert_false(d->same_process);
	sw_diff_destroy(d);
	b = new_report();
	b.host_name = "another";
	d = build(&a, &b);
	assert_false(d->same_process);
	sw_diff_destroy(d);
}

TEST(text)
{
	struct sw_report a = old_report(), b = new_report();
	b.complete = false;
	struct sw_diff *d = build(&a, &b);
	sw_cleanup(sw_free_p) char *got = text_of(d, false);
	static const char wanted[] =
		"server, pid 1: the same process\n"
		"1970-01-01 00:00:01 UTC → 1970-01-01 00:00:03 UTC, 2.000 s later\n"
		"7 → 7 threads, 2 → 2 distinct stacks\n"
		"the second dump is not complete: what it lacks may look like a change\n"
		"\n"
		"moved 1 · ran, with the same stack 1 · did not move 3 · came 1 · went 1 · without "
		"a stack 1\n"
		"\n"
		"waited for\n"
		"  mutex 0x1000 of w (2), before of holder (4): 3 → 3 waiting, 3 did not move (2 3 "
		"8)\n"
		"  pipe of thread 99 as before: 1 → 1 waiting\n"
		"\n"
		"stacks that more or fewer threads have\n"
		"  -3  (3 → 0)  read < loop\\x1b[31m\n"
		"  +2  (0 → 2)  read\n"
		"\n"
		"came\n"
		"  new (6)  read\n"
		"\n"
		"went\n"
		"  gone (5)  read < loop\\x1b[31m\n"
		"\n"
		"moved\n"
		"  main (1)  read < loop\\x1b[31m  →  read\n"
		"\n"
		"ran, with the same stack\n"
		"  holder (4)  3 ms CPU in loop\\x1b[31m < ?0x1234\n";
	assert_string_equal(got, wanted);
	sw_cleanup(sw_free_p) char *all = text_of(d, true);
	assert_non_null(strstr(all, "\ndid not move\n  w (2)"));
	sw_diff_destroy(d);
	/* In the wrong order. */
	d = build(&b, &a);
	sw_cleanup(sw_free_p) char *turned = text_of(d, false);
	assert_non_null(strstr(turned, ", 2.000 s EARLIER\n"));
	assert_non_null(strstr(turned, "the first dump is not complete"));
	sw_diff_destroy(d);
}

/* A cycle is the same from whichever thread it is told. */
TEST(deadlocks)
{
	static const pid_t one[] = {2, 3, 8}, turned[] = {8, 2, 3}, reversed[] = {8, 3, 2};
	struct sw_report_deadlock before = {.tids = one, .n = 3}, after = {.tids = turned, .n = 3};
	struct sw_report a = old_report(), b = new_report();
	a.deadlocks = &before;
	b.deadlocks = &after;
	a.n_deadlocks = b.n_deadlocks = 1;
	struct sw_diff *d = build(&a, &b);
	sw_cleanup(sw_free_p) char *same = text_of(d, false);
	assert_non_null(
		strstr(same, "\nDEADLOCK as before: other (8) → w (2) → w (3) → other (8)\n"));
	after.tids = reversed;
	sw_cleanup(sw_free_p) char *other = text_of(d, false);
	assert_non_null(strstr(other, "\nDEADLOCK: other (8)"));
	sw_diff_destroy(d);
}

/* Stacks that read the same are one, whatever an interpreter does below them; those that differ far out are told
 * by more frames. */
TEST(alike)
{
	static const struct sw_report_frame inner[] = {
		{.function = "eval",
		 .module = -1,
		 .kind = "native",
		 .trust = "cfi",
		 .internal = true},
		{.function = "job", .module = -1, .kind = "cpython", .trust = "cfi"}};
	static const struct sw_report_frame other[] = {
		{.function = "job", .module = -1, .kind = "cpython", .trust = "cfi"},
		{.function = "vector",
		 .module = -1,
		 .kind = "native",
		 .trust = "cfi",
		 .internal = true}};
	static const struct sw_report_frame deep[] = {
		{.function = "a", .module = -1, .kind = "native", .trust = "cfi"},
		{.function = "b", .module = -1, .kind = "native", .trust = "cfi"},
		{.function = "c", .module = -1, .kind = "native", .trust = "cfi"},
		{.function = "d", .module = -1, .kind = "native", .trust = "cfi"},
		{.function = "e", .module = -1, .kind = "native", .trust = "cfi"}};
	struct sw_report_frame deeper[SW_ARRAY_SIZE(deep)];
	memcpy(deeper, deep, sizeof(deep));
	deeper[4].function = "f";
	struct sw_report_stack olds[] = {{.id = 1, .n_threads = 1, .frames = inner, .n_frames = 2},
					 {.id = 2, .n_threads = 1, .frames = deep, .n_frames = 5}};
	struct sw_report_stack news[] = {
		{.id = 3, .n_threads = 1, .frames = other, .n_frames = 2},
		{.id = 4, .n_threads = 1, .frames = deeper, .n_frames = 5}};
	struct sw_report_thread before[] = {{.tid = 1, .comm = "in", .stack = 0, .cpu_ns = 1},
					    {.tid = 2, .comm = "far", .stack = 1, .cpu_ns = 1}};
	struct sw_report_thread after[] = {{.tid = 1, .comm = "in", .stack = 0, .cpu_ns = 9},
					   {.tid = 2, .comm = "far", .stack = 1, .cpu_ns = 1}};
	struct sw_report a = report(before, 2, olds, 2, 0), b = report(after, 2, news, 2, 0);
	struct sw_diff *d = build(&a, &b);
	assert_int_equal(d->n_same_groups, 1);
	assert_int_equal(d->n_groups, 2);
	assert_int_equal(d->threads[0].change, SW_DIFF_RAN);
	assert_int_equal(d->threads[1].change, SW_DIFF_MOVED);
	sw_cleanup(sw_free_p) char *got = text_of(d, false);
	assert_non_null(strstr(got, "\nstacks that more or fewer threads have\n"
				    "  +1  (0 → 1)  a < b < c < d < f\n"
				    "  -1  (1 → 0)  a < b < c < d < e\n"
				    "\nmoved\n"
				    "  far (2)  a < b < c < d < e  →  a < b < c < d < f\n"
				    "\nran, with the same stack\n"
				    "  in (1)  less than 1 ms CPU in job\n"));
	sw_diff_destroy(d);
}

/* A thread has moved when its line, its module, its offset or its address is another one, and a line of the text says
 * which. Another process has other addresses, and may be of another build. */
TEST(places)
{
	static struct sw_report_module modules[] = {{.path = "/lib/liba.so"},
						    {.path = "/lib/libb.so"}};
	static const struct {
		struct sw_report_frame before, after;
		const char *text; /* NULL: no difference */
		bool elsewhere;   /* is a difference to another process, too */
	} rows[] = {
		{{.function = "work", .module = 0, .file = "/s/w.c", .line = 10, .kind = "native"},
		 {.function = "work", .module = 0, .file = "/s/w.c", .line = 20, .kind = "native"},
		 "work (w.c:10, liba.so)  →  work (w.c:20, liba.so)\n",
		 false},
		{{.function = "init", .module = 0, .kind = "native"},
		 {.function = "init", .module = 1, .kind = "native"},
		 "init (liba.so)  →  init (libb.so)\n",
		 true},
		{{.function = "f", .module = 0, .has_offset = true, .kind = "native"},
		 {.function = "f",
		  .function_offset = 16,
		  .module = 0,
		  .has_offset = true,
		  .kind = "native"},
		 "f+0 (liba.so)  →  f+16 (liba.so)\n",
		 false},
		{{.pc_avma = 0x1000, .module = -1, .kind = "jit"},
		 {.pc_avma = 0x2000, .module = -1, .kind = "jit"},
		 "0x1000  →  0x2000\n",
		 false},
		{{.module = 0, .has_offset = true, .offset = 16, .kind = "native"},
		 {.module = 0, .has_offset = true, .offset = 32, .kind = "native"},
		 "liba.so+0x10  →  liba.so+0x20\n",
		 true},
		/* The same line, and a method that was compiled anew. */
		{{.function = "work", .module = 0, .file = "w.c", .line = 10, .kind = "native"},
		 {.function = "work",
		  .function_offset = 9,
		  .module = 0,
		  .file = "w.c",
		  .line = 10,
		  .kind = "native"},
		 NULL,
		 false},
		{{.function = "m",
		  .function_offset = 1,
		  .module = 0,
		  .has_offset = true,
		  .kind = "jvm"},
		 {.function = "m",
		  .function_offset = 2,
		  .module = 1,
		  .has_offset = true,
		  .kind = "jvm"},
		 NULL,
		 false},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(rows); i++) {
		struct sw_report_frame one = rows[i].before, two = rows[i].after;
		one.trust = two.trust = "cfi";
		struct sw_report_stack old = {.id = 1,
					      .n_threads = 1,
					      .frames = &one,
					      .n_frames = 1};
		struct sw_report_stack new = {.id = 2,
					      .n_threads = 1,
					      .frames = &two,
					      .n_frames = 1};
		struct sw_report_thread thread = {.tid = 1, .comm = "t", .cpu_ns = -1};
		struct sw_report a = report(&thread, 1, &old, 1, 0),
				 b = report(&thread, 1, &new, 1, 0);
		a.modules = b.modules = modules;
		a.n_modules = b.n_modules = SW_ARRAY_SIZE(modules);
		struct sw_diff *d = build(&a, &b);
		assert_int_equal(d->threads[0].change,
				 rows[i].text != NULL ? SW_DIFF_MOVED : SW_DIFF_STILL);
		assert_int_equal(d->n_groups, rows[i].text != NULL ? 2 : 0);
		sw_cleanup(sw_free_p) char *text = text_of(d, false);
		const char *moved = strstr(text, "\nmoved\n  t (1)  ");
		assert_string_equal(moved != NULL ? moved + strlen("\nmoved\n  t (1)  ") : "",
				    rows[i].text != NULL ? rows[i].text : "");
		sw_diff_destroy(d);
		b.process.pid = 2;
		d = build(&a, &b);
		assert_int_equal(d->n_groups, rows[i].elsewhere ? 2 : 0);
		sw_diff_destroy(d);
	}
}

/* No two lines of groups read the same where the number of threads differs: not where all frames are hidden either. */
TEST(hidden)
{
	static const struct sw_report_frame eval = {.function = "eval",
						    .module = -1,
						    .kind = "native",
						    .trust = "cfi",
						    .internal = true};
	struct sw_report_stack old = {.id = 1, .n_threads = 1, .frames = &eval, .n_frames = 1};
	struct sw_report_stack new = {.id = 2, .n_threads = 1, .frames = &eval, .n_frames = 1};
	struct sw_report_thread thread = {.tid = 1, .comm = "t", .cpu_ns = -1};
	struct sw_report a = report(&thread, 1, &old, 1, 0), b = report(&thread, 1, &new, 1, 0);
	struct sw_diff *d = build(&a, &b);
	assert_int_equal(d->n_groups, 0);
	assert_int_equal(d->threads[0].change, SW_DIFF_STILL);
	sw_diff_destroy(d);
}

/* Frames of the C library say how a thread waits: they are left out unless nothing else tells two stacks apart. */
TEST(own_frames)
{
	static struct sw_report_module libc = {.path = "/lib/libc.so.6"};
	static const struct sw_report_frame reads[] = {
		{.function = "read", .module = 0, .kind = "native", .trust = "cfi"},
		{.function = "loop", .module = -1, .kind = "native", .trust = "cfi"}};
	struct sw_report_frame writes[SW_ARRAY_SIZE(reads)];
	memcpy(writes, reads, sizeof(reads));
	writes[0].function = "write";
	struct sw_report_stack olds[] = {{.id = 1, .n_threads = 1, .frames = reads, .n_frames = 2}};
	struct sw_report_stack news[] = {
		{.id = 2, .n_threads = 1, .frames = writes, .n_frames = 2}};
	struct sw_report_thread before = {.tid = 1, .comm = "t", .stack = 0, .cpu_ns = 1};
	struct sw_report_thread after = {.tid = 1, .comm = "t", .stack = 0, .cpu_ns = 9000000};
	struct sw_report a = report(&before, 1, olds, 1, 0), b = report(&after, 1, news, 1, 0);
	a.modules = b.modules = &libc;
	a.n_modules = b.n_modules = 1;
	struct sw_diff *d = build(&a, &b);
	sw_cleanup(sw_free_p) char *moved = text_of(d, false);
	assert_non_null(strstr(moved, "\nmoved\n  t (1)  read < loop  →  write < loop\n"));
	sw_diff_destroy(d);
	after.stack = 0;
	b.stacks = olds;
	d = build(&a, &b);
	sw_cleanup(sw_free_p) char *ran = text_of(d, false);
	assert_non_null(strstr(ran, "\n  t (1)  8 ms CPU in loop\n"));
	sw_diff_destroy(d);
}

TEST(json)
{
	struct sw_report a = old_report(), b = new_report();
	struct sw_error err = {0};
	sw_cleanup(sw_free_p) char *text_json = NULL;
	size_t size = 0;
	struct sw_diff *d = build(&a, &b);
	assert_int_equal(sw_diff_json(d, &text_json, &size, &err), 0);
	assert_int_equal(size, strlen(text_json));
	assert_ptr_equal(strchr(text_json, '\n'), text_json + size - 1);
	struct json_object *o = json_tokener_parse(text_json);
	assert_non_null(o);
	assert_string_equal(json_object_get_string(json_object_object_get(o, "schema")),
			    SW_DIFF_SCHEMA);
	assert_int_equal(json_object_get_int(json_object_object_get(o, "elapsed_ms")), 2000);
	struct json_object *threads = json_object_object_get(o, "threads");
	assert_int_equal(json_object_array_length(threads), 8);
	assert_string_equal(
		json_object_to_json_string_ext(json_object_array_get_idx(threads, 0), 0),
		"{\"tid\":1,\"comm\":\"main\",\"change\":\"moved\",\"stack_before\":"
		"\"000000000000000a\",\"stack_after\":\"000000000000000c\",\"cpu_ns\":4}");
	assert_string_equal(
		json_object_to_json_string_ext(
			json_object_array_get_idx(json_object_object_get(o, "locks"), 0), 0),
		"{\"kind\":\"mutex\",\"address\":\"0x1000\",\"owner_before\":{\"pid\":1,\"tid\":4},"
		"\"owner_after\":{\"pid\":1,\"tid\":2},\"held\":false,\"waiting_before\":3,"
		"\"waiting_after\":3,\"still\":[2,3,8]}");
	assert_string_equal(
		json_object_to_json_string_ext(json_object_object_get(o, "groups"), 0),
		"[{\"id\":\"000000000000000a\",\"threads_before\":3,\"threads_after\":0},"
		"{\"id\":\"000000000000000c\",\"threads_before\":0,\"threads_after\":2}]");
	(void) json_object_put(o);
	sw_diff_destroy(d);
}

/* A file may have what no dump of ours has: a thread twice, a stack twice. */
TEST(twice)
{
	struct sw_report_thread threads[] = {{.tid = 1, .comm = "a", .stack = 0},
					     {.tid = 1, .comm = "b", .stack = 1},
					     {.tid = 2, .comm = "c", .stack = -1}};
	struct sw_report_stack stacks[] = {{.id = 5, .n_threads = 1}, {.id = 5, .n_threads = 2}};
	struct sw_report a = report(threads, 3, stacks, 2, 0), b = report(threads, 2, stacks, 2, 0);
	struct sw_diff *d = build(&a, &b);
	assert_int_equal(d->n_threads, 2);
	assert_int_equal(d->n_changes[SW_DIFF_WENT], 1);
	sw_cleanup(sw_free_p) char *got = text_of(d, true);
	assert_non_null(got);
	sw_diff_destroy(d);
}
