/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "report_case.h"
#include "sample_report.h"
#include "report/frame_kind.h"
#include "cleanup.h"
#include "test.h"

static void assert_text(const struct sw_report *report, const struct sw_text_options *options,
			const char *wanted)
{
	char *text = text_of(report, options);
	assert_string_equal(text, wanted);
	free(text);
}

#define HEAD                                                                                    \
	"server, pid 4242: 4 threads, 2 distinct stacks, .NET 10.0.0, /usr/bin/server\n"        \
	"uid 1000, parent 1, unit x.service, up 81 s\n"                                         \
	"2026-11-20 10:35:50.084 UTC on web1, stopped for 0.85 ms, 1 system call interrupted\n" \
	"Not complete: 1 thread not captured; stacks of 1 thread cut short; see the end\n"

#define VERDICT                                     \
	"\n1 thread runs: ser\\x1b[31mver (4242)\n" \
	"running 1 · in uninterruptible sleep 1 · waiting otherwise 2\n"

#define BUSY                                                              \
	"\n1 thread  ser\\x1b[31mver  (4242)\n"                           \
	"  running; 1.50 s CPU\n"                                         \
	"  #0   0x400100           server\n"                              \
	"       … frames may be missing here\n"                         \
	"  #1  ?libc.so.6+0x20000  [guess: scan]  [read after the stop]"  \
	"  [signal handler called]\n"                                     \
	"  #2  ?0xdead0000         (no module)  [guess: frame pointer]\n" \
	"       the stack is cut here (no_unwind_info): code that belongs to no module\n"

#define FRAMES                                                                      \
	"  #0   __futex_abstimed_wait_common+199  libc.so.6  futex-internal.c:57\n" \
	"  #1   Queue<int>::pop(int&)             (inlined)  queue.h:30\n"          \
	"  #2   worker(void*)+20                  server     main.cc:99\n"

#define TAIL                                                                    \
	"\nThreads without a stack\n"                                           \
	"  4250 bad\xef\xbf\xbd;name: it did not stop in time (stop_timeout); " \
	"in uninterruptible sleep (folio_wait_bit)\n"                           \
	"\nWarnings\n"                                                          \
	"  stop_timeout: one \"thread\" is missing (thread 4250)\n"             \
	"  no_unwind_info: stacks are cut\n"

TEST(test_grouped)
{
	assert_text(&sample_report, NULL,
		    HEAD VERDICT BUSY
		    "\n2 threads  Order\\x1bqueue, worker-12 [finalizer]  (4243 4244)\n"
		    "  sleeping in futex (futex_wait_queue); 0.05 s CPU\n" FRAMES TAIL);
}

TEST(test_not_grouped)
{
	assert_text(&sample_report, &(struct sw_text_options){.no_group = true},
		    HEAD "\n1 thread runs: ser\\x1b[31mver (4242)\n"
			 "running 1 · in uninterruptible sleep 1 · waiting otherwise 2\n" BUSY
			 "\n1 thread  Order\\x1bqueue  (4243)\n"
			 "  sleeping in futex (futex_wait_queue); 0.02 s CPU\n" FRAMES
			 "\n1 thread  worker-12 [finalizer]  (4244)\n"
			 "  sleeping in futex (futex_wait_queue); 0.03 s CPU\n" FRAMES TAIL);
}

TEST(test_verbose)
{
	char *text = text_of(&sample_report, &(struct sw_text_options){.verbose = true});
	expect_in(text, "  #2   worker(void*)+20                  server     /src/main.cc:99\n"
			"        pc 0x401234, offset 0x1234, native, by elf-cfi, trust cfi, "
			"line 5 of the function\n");
	expect_in(text, "  sleeping in futex (futex_wait_queue); 0.05 s CPU\n"
			"  4243: clr thread 7, Order\\x1bqueue, preemptive, comm worker-1\n"
			"  4244: clr thread, worker-12, finalizer\n"
			"  #0 ");
	expect_in(text, "\nRuntimes\n"
			"  clr 10.0.0, /opt/dotnet/libcoreclr.so\n"
			"  wine\n"
			"\nRegistries of generated code\n"
			"  gdb-jit, 1 entry, /lib/libLLVM-15.so.1\n"
			"  perf-map, 9223372036854775807 entries\n"
			"\nModules\n");
	expect_in(
		text,
		"\nModules\n"
		"  0x000000400000-0x000000500000  /usr/bin/server\n"
		"      elf, build-id ab12, names from dwarf\n"
		"  0x7f0000000000-0x7f0000200000  /lib/libc.so.6 (deleted)\n"
		"      elf, build-id none, names from none: it has no lines; it cannot be read\n");
	expect_in(text, "\nTimings\n"
			"  attach 0.30 ms, stopped 0.85 ms (one thread at most 0.84 ms), "
			"copy 0.09 ms,\n"
			"  unwind 0.90 ms, names 2.10 ms, in all 5.20 ms; "
			"dump 20261120T103550.084579-4242-0badcafe\n");
	free(text);
}

/* Takes the escape sequences that are ours out of a text; fails at any other control character. */
static void remove_colors(char *text)
{
	static const char *const ours[] = {"\033[0m", "\033[1m", "\033[2m", "\033[33m",
					   "\033[1;31m"};
	char *to = text;
	for (const char *from = text; *from != '\0';) {
		size_t skip = 0;
		for (size_t i = 0; i < SW_ARRAY_SIZE(ours); i++)
			if (strncmp(from, ours[i], strlen(ours[i])) == 0)
				skip = strlen(ours[i]);
		if (skip == 0) {
			assert_true((unsigned char) *from >= 0x20 || *from == '\n');
			*to++ = *from++;
		}
		from += skip;
	}
	*to = '\0';
}

/* Colour changes nothing else, and no byte of the target steers the terminal. */
TEST(test_color)
{
	char *colored = text_of(&sample_report, &(struct sw_text_options){.color = true});
	char *plain = text_of(&sample_report, NULL);
	assert_null(strchr(plain, '\033'));
	expect_in(colored, "\033[33mlibc.so.6+0x20000\033[0m");
	expect_in(colored, "\033[1;31m       the stack is cut here");
	remove_colors(colored);
	assert_string_equal(colored, plain);
	free(colored);
	free(plain);
}

enum { DEEP = 40 };

static struct sw_report one_stack(struct sw_report_stack *stack, struct sw_report_frame *frames,
				  size_t n_frames)
{
	*stack = (struct sw_report_stack){.threads = sample_busy_threads,
					  .n_threads = 1,
					  .end = "complete",
					  .frames = frames,
					  .n_frames = n_frames};
	struct sw_report report = sample_report;
	report.stacks = stack;
	report.n_stacks = 1;
	return report;
}

/* Depth is not lost: the fold says which frames it stands for. */
TEST(test_recursion)
{
	struct sw_report_frame frames[DEEP];
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, DEEP);
	for (size_t i = 0; i < DEEP; i++)
		frames[i] = i == 0   ? sample_frame("leaf", 1)
			    : i < 30 ? sample_frame("recurse", 2)
				     : sample_frame(i % 2 ? "odd" : "even", 3);
	frames[DEEP - 1] = sample_frame("main", 9);
	expect_text(&report, NULL,
		    "  #0   leaf+0     server  f.c:1\n"
		    "  #1   recurse+0  server  f.c:2\n"
		    "       … 28 more of the same (#2 to #29)\n"
		    "  #30  even+0     server  f.c:3\n"
		    "  #31  odd+0      server  f.c:3\n"
		    "       … 3 more rounds of these 2 (#32 to #37)\n"
		    "  #38  even+0     server  f.c:3\n"
		    "  #39  main+0     server  f.c:9\n");

	char *text = text_of(&report, &(struct sw_text_options){.verbose = true});
	assert_null(strstr(text, "more"));
	free(text);

	/* a guess in the middle is shown */
	frames[15].trust = "scan";
	expect_text(&report, NULL, "  #15 ?recurse+0  server  f.c:2  [guess: scan]\n");
}

/* Frames that rest on a guess are doubtful as well. */
TEST(test_doubt)
{
	struct sw_report_frame frames[3] = {sample_frame("leaf", 1), sample_frame("middle", 2),
					    sample_frame("main", 3)};
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 3);
	frames[1].trust = "frame_pointer";
	expect_text(&report, NULL,
		    "  #0   leaf+0    server  f.c:1\n"
		    "  #1  ?middle+0  server  f.c:2  [guess: frame pointer]\n"
		    "  #2   main+0    server  f.c:3\n");
	frames[2].after_guess = true;
	stack.end = "memory";
	expect_text(&report, NULL,
		    "  #0   leaf+0    server  f.c:1\n"
		    "  #1  ?middle+0  server  f.c:2  [guess: frame pointer]\n"
		    "  #2  ?main+0    server  f.c:3\n"
		    "       the stack is cut here (memory)\n");
}

TEST(test_long_name)
{
	char name[201];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name[199] = 'Z';
	struct sw_report_frame frames[2] = {sample_frame(name, 1), sample_frame("main", 2)};
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 2);
	expect_text(&report, &(struct sw_text_options){.columns = 120},
		    "  #0   nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…"
		    "nnnnnnnnnnnnnnnnnnnnnnnZ+0  server  f.c:1\n"
		    "  #1   main+0                                        server  f.c:2\n");
	expect_text(&report, &(struct sw_text_options){.columns = 120, .verbose = true}, name);
	/* no terminal: a file */
	expect_text(&report, NULL, name);
	/* however narrow */
	expect_text(&report, &(struct sw_text_options){.columns = 1},
		    "  #0   nnnnnnnnnnnnnnnn…nnnnnnnnnnnnnnnnnnnnnnnZ+0  server");
}

/* The class with which a Java program began: the outermost frame of main(), while that goes on. */
TEST(test_java_head)
{
	static const struct sw_report_runtime runtime = {.name = "hotspot",
							 .version = "17.0.15+6-Debian"};
	static const struct sw_report_managed thread = {.runtime = "hotspot",
							.id = -1,
							.name = "main"};
	struct sw_report_frame frames[] = {sample_frame("shop.Stock.main", 1),
					   sample_frame("shop.Orders.main", 2),
					   sample_frame("[call_stub]", 3), sample_frame("main", 4)};
	frames[0].kind = frames[1].kind = frames[2].kind = "jvm";
	frames[2].internal = true;
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 4);
	struct sw_report_thread main_thread = report.threads[0];
	main_thread.managed = &thread;
	main_thread.stack = 0;
	report.threads = &main_thread;
	report.n_threads = 1;
	report.process.runtimes = &runtime;
	report.process.n_runtimes = 1;
	expect_text(&report, NULL, ", java 17.0.15, /usr/bin/server, main class shop.Orders\n");
	stack.end = "memory"; /* what is behind it is not known */
	char *text = text_of(&report, NULL);
	assert_null(strstr(text, "main class"));
	free(text);
}

/* The assembly goes to its own column, parameters go first when a name is too long: the method stays. */
TEST(test_managed_name)
{
	static const char waiting[] =
		"System.Private.CoreLib.dll!System.Threading.ManualResetEventSlim"
		".Wait(int, CancellationToken, ManualResetEventSlim, object)",
			  plain[] = "app.dll!App.<>c.<Main>b__0_0()", native[] = "a!b(int)",
			  label[] = "[fixup precode]", made[] = "Emitted(int) [a!b]";
	struct sw_report_frame frames[5] = {sample_frame(waiting, 1), sample_frame(plain, 0),
					    sample_frame(native, 0), sample_frame(label, 0),
					    sample_frame(made, 0)};
	for (size_t i = 0; i < 5; i++)
		frames[i].kind = i == 2 ? "native" : "clr";
	frames[1].module = -1;
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 5);
	char *text = text_of(&report, &(struct sw_text_options){.columns = 120});
	expect_in(text, "  #0   System.Threading.ManualResetEventSlim.Wait(…)+0  "
			"System.Private.CoreLib.dll  f.c:1\n"
			"  #1   App.<>c.<Main>b__0_0()                        app.dll");
	expect_in(text, "  #2   a!b(int)+0                                    server");
	expect_in(text, "  #3   [fixup precode]+0                             server");
	expect_in(text, "  #4   Emitted(int) [a!b]+0                          server");
	free(text);
	expect_text(&report, &(struct sw_text_options){.verbose = true}, strchr(waiting, '!') + 1);
}

static struct sw_report_frame language_frame(const char *function, uint32_t line)
{
	struct sw_report_frame frame = sample_frame(function, line);
	frame.module = -1;
	frame.has_offset = false;
	frame.file = "/srv/app/parser.py";
	frame.kind = "cpython";
	frame.by = "cpython";
	frame.trust = "runtime";
	return frame;
}

static struct sw_report_frame internal_frame(const char *function)
{
	struct sw_report_frame frame = sample_frame(function, 7);
	frame.internal = true;
	return frame;
}

/* The thread that a warning is about is said once. */
TEST(test_warning_thread)
{
	const struct sw_report_warning warnings[] = {
		{.code = "stack_limit", .tid = 4242, .message = "thread 4242 (w): part of it"},
		{.code = "stack_limit", .tid = 424, .message = "thread 4242 waits for it"},
	};
	struct sw_report report = sample_report;
	report.warnings = (struct sw_report_warning *) warnings;
	report.n_warnings = 2;
	expect_text(&report, NULL,
		    "  stack_limit: thread 4242 (w): part of it\n"
		    "  stack_limit: thread 4242 waits for it (thread 424)\n");
}

/* The machine whose frames are left out is named in the words of the language. */
TEST(test_machines)
{
	static const char *const machines[][2] = {
		{"jvm", "… 1 frame of the VM (-v)\n"},
		{"clr", "… 1 frame of the runtime (-v)\n"},
		{"cpython", "… 1 frame of the interpreter (-v)\n"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(machines); i++) {
		struct sw_report_frame frames[2] = {internal_frame("enter"),
						    language_frame("Parser.parse", 57)};
		frames[1].kind = machines[i][0];
		struct sw_report_stack stack;
		struct sw_report report = one_stack(&stack, frames, 2);
		expect_text(&report, NULL, machines[i][1]);
	}
}

/* The program's frames have the language beside them; the interpreter's are left out and counted. */
TEST(test_interpreter)
{
	struct sw_report_frame frames[8] = {
		sample_frame("re_match", 1), language_frame("Parser.token", 131),
		internal_frame("eval_loop"), internal_frame("vectorcall"),
		internal_frame("guessed"),   language_frame("Parser.parse", 57),
		internal_frame("eval_loop"), sample_frame("main", 2),
	};
	frames[4].trust = "scan";
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 8);
	expect_text(&report, NULL,
		    "  #0   re_match+0    server    f.c:1\n"
		    "  #1   Parser.token  (python)  parser.py:131\n"
		    "  #4  ?guessed+0     server    f.c:7  [guess: scan]\n"
		    "  #5   Parser.parse  (python)  parser.py:57\n"
		    "  #7   main+0        server    f.c:2\n"
		    "       … 3 frames of the interpreter (-v)\n");
	char *text = text_of(&report, &(struct sw_text_options){.verbose = true});
	expect_in(text, "  #2   eval_loop+0   server    f.c:7\n");
	expect_in(text, "(python)  /srv/app/parser.py:57\n"
			"        pc 0, cpython, by cpython, trust runtime\n");
	if (strstr(text, "of the interpreter") != NULL)
		fail_msg("nothing is left out, but said to be");
	free(text);
	static const struct {
		const char *kind, *name;
	} languages[] = {{"jvm", "(java)"}, {"v8js", "(javascript)"}, {"php", "(php)"}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(languages); i++) {
		frames[1].kind = languages[i].kind;
		expect_text(&report, NULL, languages[i].name);
	}
	/* V8's interpreter is in node's file, and so is the frame's address */
	frames[1].kind = "v8js";
	frames[1].module = frames[0].module;
	frames[1].has_offset = true;
	expect_text(&report, NULL, "  #1   Parser.token  (javascript)  parser.py:131\n");
}

/* Frames that are left out in the middle end a fold, and count in the numbers behind it. */
TEST(test_recursion_left_out)
{
	struct sw_report_frame frames[DEEP];
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, DEEP);
	for (size_t i = 0; i < DEEP; i++)
		frames[i] = sample_frame(i < DEEP - 1 ? "recurse" : "main", 2);
	stack.n_left_out = 1000;
	stack.left_out_before = 20;
	stack.end = "frame_limit";
	char *text = text_of(&report, NULL);
	expect_in(text, "       … 19 more of the same (#1 to #19)\n"
			"       … 1000 frames are left out (frame_limit)\n"
			"  #1020 recurse+0  server  f.c:2\n");
	assert_null(strstr(text, "is cut here"));
	free(text);
}

/* A recursion of an interpreter that takes native frames for each round. */
TEST(test_interpreter_recursion)
{
	enum { ROUNDS = 20 };
	struct sw_report_frame frames[3 * ROUNDS];
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 3 * ROUNDS);
	for (size_t i = 0; i < 3 * ROUNDS; i += 3) {
		frames[i] = language_frame("fib", 3);
		frames[i + 1] = internal_frame("eval_loop");
		frames[i + 2] = internal_frame("vectorcall");
	}
	expect_text(&report, NULL,
		    "  #0   fib  (python)  parser.py:3\n"
		    "       … 19 more of the same (#3 to #57)\n"
		    "       … 40 frames of the interpreter (-v)\n");
}

enum { MANY = 40 };

enum { CROWD = 400, KINDS = 200 };

/* A server's threads: who runs and who waits for a lock comes first, who idles is counted. */
TEST(test_crowd)
{
	static struct sw_report_thread threads[CROWD];
	static size_t indices[CROWD];
	static struct sw_report_frame frames[KINDS][2];
	static struct sw_report_stack stacks[KINDS];
	for (size_t i = 0; i < CROWD; i++) {
		threads[i] = (struct sw_report_thread){.tid = (pid_t) (100 + i),
						       .comm = "w",
						       .state = 'S',
						       .captured = true,
						       .syscall = i >= KINDS ? "accept" : "futex",
						       .cpu_ns = -1,
						       .stack = (int32_t) (i < KINDS ? i : 0)};
		indices[i] = i;
	}
	for (size_t i = 0; i < KINDS; i++) {
		frames[i][0] = sample_frame(i == 5 ? "pthread_mutex_lock" : "wait", 1);
		frames[i][1] = sample_frame("main", (uint32_t) i + 1);
		stacks[i] = (struct sw_report_stack){.threads = &indices[i],
						     .n_threads = 1,
						     .end = "complete",
						     .frames = frames[i],
						     .n_frames = 2};
	}
	stacks[0].threads = &indices[KINDS]; /* all that are in accept */
	stacks[0].n_threads = CROWD - KINDS;
	threads[0].stack = 7;
	threads[9].state = 'R';
	struct sw_report report = sample_report;
	report.stacks = stacks;
	report.n_stacks = KINDS;
	report.threads = threads;
	report.n_threads = CROWD;
	report.n_warnings = 0;
	char *text = text_of(&report, NULL);
	size_t lines = 0;
	for (const char *c = text; *c != '\0'; c++)
		lines += *c == '\n';
	assert_in_range(lines, 100, 150);
	expect_in(text, "\n1 thread runs: w (109) in wait\n"
			"running 1 · waiting for a lock 1 · waiting otherwise 198 · idle 200\n"
			"\n1 thread  w  (109)\n");
	const char *lock = strstr(text, "\n1 thread  w  (105)\n");
	assert_non_null(lock);
	assert_true(lock < strstr(text, "\n1 thread  w  (101)\n"));
	expect_in(text, "\n1 thread  w (130)  sleeping in futex  wait < main\n");
	expect_in(text, " other stacks (--all shows them)\n");
	expect_in(text, "\n200 threads are idle: 200 in accept (--all shows them)\n");
	free(text);
	text = text_of(&report, &(struct sw_text_options){.all = true});
	assert_null(strstr(text, "--all"));
	expect_in(text, "\n200 threads  w  (300 301");
	free(text);
}

/* The first forty lines have who holds up others, who runs and who waits, with their reasons, however deep
 * their stacks are. */
TEST(test_crowd_order)
{
	enum { BIG = 500, HOLD = 20, RUN = 2, LOCKED = 200, DEPTH = 50 };
	static struct sw_report_thread threads[BIG];
	static struct sw_report_wait waits[HOLD];
	static struct sw_report_holder holders[HOLD];
	static size_t indices[BIG];
	static struct sw_report_frame frames[BIG][DEPTH];
	static struct sw_report_stack stacks[BIG];
	static char names[DEPTH][16];
	size_t n = 0;
	for (size_t i = 0; i < DEPTH; i++)
		(void) snprintf(names[i], sizeof(names[i]), "f%zu", i);
	for (size_t i = 0; i < BIG; i++) {
		bool lock = i >= HOLD + RUN && i < HOLD + RUN + LOCKED;
		indices[i] = i;
		threads[i] =
			(struct sw_report_thread){.tid = (pid_t) (1000 + i),
						  .comm = "pool-1",
						  .state = i >= HOLD && i < HOLD + RUN ? 'R' : 'S',
						  .captured = true,
						  .syscall = i < HOLD + RUN + LOCKED ? "futex"
										     : "accept",
						  .cpu_ns = -1,
						  .since_ms = 5000,
						  .blocked_on = lock ? &waits[i % HOLD] : NULL,
						  .stack = (int32_t) i};
		for (size_t k = 0; k < DEPTH; k++)
			frames[i][k] = sample_frame(names[k], (uint32_t) i + 1);
		/* one in ten of those that wait has a stack of its own */
		bool own = !lock || (i - HOLD - RUN) % 10 == 0;
		if (own)
			stacks[n++] = (struct sw_report_stack){.threads = &indices[i],
							       .end = "complete",
							       .frames = frames[i],
							       .n_frames = DEPTH};
		stacks[n - 1].n_threads++;
		threads[i].stack = (int32_t) n - 1;
	}
	for (size_t i = 0; i < HOLD; i++) {
		waits[i] = (struct sw_report_wait){.kind = "mutex",
						   .owner_tid = (pid_t) (1000 + i),
						   .fd = -1,
						   .trust = "memory"};
		holders[i] = (struct sw_report_holder){.tid = (pid_t) (1000 + i),
						       .pid = 4242,
						       .waiting = LOCKED / HOLD};
	}
	struct sw_report report = sample_report;
	report.stacks = stacks;
	report.n_stacks = n;
	report.threads = threads;
	report.n_threads = BIG;
	report.n_warnings = 0;
	report.root_holders = holders;
	report.n_root_holders = HOLD;
	char *text = text_of(&report, NULL);
	size_t lines = 0, at_40 = 0;
	for (size_t i = 0; text[i] != '\0'; i++) {
		lines += text[i] == '\n';
		at_40 = lines == 40 && at_40 == 0 ? i : at_40;
	}
	assert_in_range(lines, 100, 150);
	text[at_40] = '\0';
	expect_in(text,
		  "\n10 threads wait for pool-1 (1000), sleeping in futex for 5.0 s, in f0\n");
	expect_in(text, "\n14 more threads that others wait for\n");
	expect_in(text, "\n2 threads run in f0\n");
	expect_in(text, "\n1 thread  pool-1  (1000)\n  sleeping in futex for 5.0 s\n  #0   f0");
	expect_in(text, "\n       … 44 frames (--all)\n\n1 thread  pool-1  (1020)\n  running");
	expect_in(text, "\n10 threads  pool-1  (");
	expect_in(text, "\n  wait 5.0 s: 1 for a mutex, which pool-1 (1002) has; 1 for ");
	expect_in(text, "; 7 others; sleeping in futex\n  #0   f0");
	free(text);
}

/* The first lines: who has an interpreter's lock, and what of the program it runs; other processes. */
TEST(test_verdict)
{
	struct sw_report_frame frames[2] = {sample_frame("float_add", 1),
					    language_frame("spin", 4)};
	static const size_t indices[] = {0, 1, 2, 3};
	struct sw_report_stack stack;
	struct sw_report_wait gil = {.kind = "python_gil",
				     .owner_tid = 10,
				     .fd = -1,
				     .trust = "runtime"},
			      redis = {.kind = "tcp", .owner_pid = 99, .fd = 5, .trust = "kernel"};
	struct sw_report_holder holder = {.tid = 10, .pid = 4242, .waiting = 2};
	struct sw_report_peer peer = {.pid = 99, .comm = "redis-server"};
	struct sw_report_thread threads[4];
	struct sw_report report = one_stack(&stack, frames, 2);
	for (size_t i = 0; i < 4; i++)
		threads[i] = (struct sw_report_thread){.tid = (pid_t) (10 + i),
						       .comm = "python3",
						       .state = i == 0 ? 'R' : 'S',
						       .captured = true,
						       .cpu_ns = -1,
						       .since_ms = -1,
						       .blocked_on = i == 0 ? NULL : &gil};
	static const struct sw_report_managed burn = {.runtime = "cpython",
						      .id = -1,
						      .name = "burn-5"};
	threads[0].managed = &burn;
	stack.threads = indices;
	stack.n_threads = 4;
	report.threads = threads;
	report.n_threads = 4;
	report.root_holders = &holder;
	report.n_root_holders = 1;
	report.peers = &peer;
	report.n_peers = 1;
	holder.waiting = 3;
	char *text = text_of(&report, NULL);
	expect_in(text, "\n3 threads wait for the GIL, which burn-5 (10) has, running in spin "
			"parser.py:4\n");
	expect_in(text, "\n1 thread runs: burn-5 (10) in spin parser.py:4\n");
	free(text);
	threads[0].syscall = "futex"; /* what it is in was said */
	expect_text(&report, NULL,
		    "\n3 threads wait for the GIL, which burn-5 (10) has, running in futex, in "
		    "spin parser.py:4\n");
	threads[0].syscall = NULL;
	threads[2].blocked_on = threads[3].blocked_on = &redis;
	holder.waiting = 1;
	expect_text(&report, NULL, "\n2 threads wait for redis-server (99) (tcp)\n");
}

/* Threads that are runnable in a function that sleeps do not "run"; a process that is stopped says how it goes on. */
/* Threads that run in code without names are told by its file and where they are in it. */
TEST(test_verdict_of_nameless)
{
	struct sw_report_frame frames[2] = {sample_frame(NULL, 0), sample_frame(NULL, 0)};
	static const size_t indices[] = {0, 1};
	struct sw_report_stack stack;
	struct sw_report_thread threads[2];
	struct sw_report report = one_stack(&stack, frames, 2);
	frames[0].offset = 0x2b25;
	for (size_t i = 0; i < 2; i++)
		threads[i] = (struct sw_report_thread){.tid = (pid_t) (10 + i),
						       .comm = "swipl",
						       .state = i == 0 ? 'R' : 'S',
						       .captured = true,
						       .cpu_ns = -1,
						       .since_ms = -1};
	stack.threads = indices;
	stack.n_threads = 2;
	report.threads = threads;
	report.n_threads = 2;
	expect_text(&report, NULL, "\n1 thread runs: swipl (10) in server+0x2b25\n");
	threads[1].state = 'R';
	expect_text(&report, NULL, "\n2 threads run in server, one at server+0x2b25\n");
}

TEST(test_verdict_of_sleepers)
{
	struct sw_report_frame frames[2] = {language_frame("java.lang.Thread.sleep", 450),
					    language_frame("Main.tick", 4)};
	static const size_t indices[] = {0, 1};
	struct sw_report_stack stack;
	struct sw_report_thread threads[2];
	struct sw_report report = one_stack(&stack, frames, 2);
	frames[0].kind = frames[1].kind = "jvm";
	for (size_t i = 0; i < 2; i++)
		threads[i] = (struct sw_report_thread){.tid = (pid_t) (4242 + i),
						       .comm = "java",
						       .state = 'R',
						       .captured = true,
						       .cpu_ns = -1,
						       .since_ms = 7000 + (int64_t) i};
	stack.threads = indices;
	stack.n_threads = 2;
	report.threads = threads;
	report.n_threads = 2;
	expect_text(&report, NULL,
		    "\n2 threads are runnable, about to sleep or just woken in "
		    "java.lang.Thread.sleep\n");
	/* Threads that wait are folded as well. */
	frames[0] = (struct sw_report_frame){.function = "pthread_cond_wait",
					     .module = -1,
					     .kind = "native",
					     .by = "elf-cfi",
					     .trust = "cfi"};
	expect_text(&report, NULL, "\n2 threads are runnable, about to wait or just woken in ");
	frames[0].function = "pthread_mutex_lock"; /* it may spin */
	expect_text(&report, NULL, "\n2 threads run in ");
	threads[0].state = 'T';
	char *text = text_of(&report, NULL);
	assert_null(strstr(text, "is stopped"));
	free(text);
	threads[1].state = 'T';
	text = text_of(&report, NULL);
	expect_in(text, "\nThe process is stopped (SIGSTOP or the like, for 7.0 s; by whom is not "
			"known): kill -CONT");
	expect_in(text, " 4242");
	expect_in(text, "\nstopped 2\n");
	free(text);
	/* The state of a kept dump's process is not known now. */
	text = text_of(&report, &(struct sw_text_options){.kept = true});
	expect_in(text, "\nThe process was stopped (SIGSTOP or the like, for 7.0 s; by whom is not "
			"known)\n");
	assert_null(strstr(text, "kill -CONT"));
	free(text);
}

/* A thread for which another one waits while all is well is no holder: Java's first thread waits
 * for main() to end. */
TEST(test_holder_of_idle)
{
	struct sw_report_wait wait = {.kind = "thread",
				      .owner_tid = 12,
				      .fd = -1,
				      .trust = "memory"};
	struct sw_report_holder holder = {.tid = 12, .pid = 11, .waiting = 1};
	size_t indices[] = {0, 1, 2};
	struct sw_report_thread threads[3];
	struct sw_report_frame frames[2] = {sample_frame("JLI_Launch", 1), sample_frame("main", 1)};
	struct sw_report_stack stacks[2];
	for (size_t i = 0; i < 3; i++)
		threads[i] = (struct sw_report_thread){.tid = (pid_t) (11 + i),
						       .comm = "java",
						       .state = 'S',
						       .captured = true,
						       .cpu_ns = -1,
						       .stack = i > 0};
	for (size_t i = 0; i < 2; i++)
		stacks[i] = (struct sw_report_stack){.threads = &indices[i],
						     .n_threads = 1 + i,
						     .end = "complete",
						     .frames = &frames[i],
						     .n_frames = 1};
	struct sw_report report = sample_report;
	report.stacks = stacks;
	report.n_stacks = 2;
	report.threads = threads;
	report.n_threads = 3;
	report.n_warnings = 0;
	report.root_holders = &holder;
	report.n_root_holders = 1;
	threads[0].blocked_on = &wait;
	char *text = text_of(&report, NULL);
	assert_null(strstr(text, "waits for"));
	expect_in(text, "\n1 thread is idle in the Java launcher (--all shows it)\n");
	free(text);
	threads[2].blocked_on = &wait;
	holder.waiting = 2;
	expect_text(&report, NULL, "\n1 thread waits for java (12)");
}

TEST(test_all_idle)
{
	struct sw_report_thread threads[3];
	for (size_t i = 0; i < 3; i++) {
		threads[i] = sample_threads[1];
		threads[i].syscall = "accept4";
		threads[i].stack = 0;
	}
	static const size_t indices[] = {0, 1, 2};
	struct sw_report_frame frames[1] = {sample_frame("main", 2)};
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 1);
	stack.threads = indices;
	stack.n_threads = 3;
	report.threads = threads;
	report.n_threads = 3;
	expect_text(&report, NULL, "\nAll 3 threads are idle: 3 in accept (--all shows them)\n");
}

/* The stack of an only thread is why one asks, wherever it waits. */
TEST(test_only_idle)
{
	struct sw_report_thread thread = sample_threads[1];
	thread.syscall = "accept4";
	thread.stack = 0;
	struct sw_report_frame frames[1] = {sample_frame("main", 2)};
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 1);
	report.threads = &thread;
	report.n_threads = 1;
	char *text = text_of(&report, NULL);
	expect_in(text, "\nThe only thread is idle in accept\n");
	expect_in(text, "  #0   main+0  server  f.c:2\n");
	assert_null(strstr(text, "--all"));
	free(text);
}

/* A heading stays short, however many threads there are. */
TEST(test_many_threads)
{
	struct sw_report_thread threads[MANY];
	size_t indices[MANY];
	static const char *const comms[] = {"pool-7", "pool-8", "io", "gc1", "other", "more"};
	static const char *const calls[] = {"read", "futex", "poll", "accept", NULL};
	for (size_t i = 0; i < MANY; i++) {
		threads[i] = sample_threads[1];
		threads[i].tid = (pid_t) (100 + i);
		threads[i].comm = comms[i % 6];
		threads[i].syscall = calls[i % 5];
		threads[i].wchan = NULL;
		threads[i].managed = NULL;
		indices[i] = i;
	}
	struct sw_report_frame frames[1] = {sample_frame("main", 2)};
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 1);
	stack.threads = indices;
	stack.n_threads = MANY;
	report.threads = threads;
	report.n_threads = MANY;
	expect_text(&report, NULL,
		    "\n40 threads  pool-* ×14, io ×7, gc1 ×7, 12 others"
		    "  (100 101 102 103 104 105 +34 more)\n"
		    "  8 sleeping in read, 8 sleeping in futex, 8 sleeping in poll, 16 otherwise; "
		    "0.80 s CPU\n");
	expect_text(&report, &(struct sw_text_options){.verbose = true}, " 138 139)\n");
}

/* Names of a runtime's threads are told as far as they say more than comm, and not too many. */
TEST(test_managed_threads)
{
	static const struct sw_report_managed managed[] = {
		{.runtime = "clr", .id = 1, .role = "gc"},
		{.runtime = "clr", .id = 2, .name = "pool-7"},
		{.runtime = "clr", .id = 3, .name = "Server of orders"},
		{.runtime = "clr", .id = 4, .name = "Server of orders", .role = "thread pool"},
	};
	struct sw_report_thread threads[8];
	size_t indices[8];
	for (size_t i = 0; i < 8; i++) {
		threads[i] = sample_threads[1];
		threads[i].tid = (pid_t) (100 + i);
		threads[i].comm = "pool-7";
		threads[i].managed = i < 7 ? &managed[i % 4] : NULL;
		indices[i] = i;
	}
	struct sw_report_frame frames[1] = {sample_frame("main", 2)};
	struct sw_report_stack stack;
	struct sw_report report = one_stack(&stack, frames, 1);
	stack.threads = indices;
	stack.n_threads = 8;
	report.threads = threads;
	report.n_threads = 8;
	char *text = text_of(&report, NULL);
	expect_in(text, "\n8 threads  pool-7 ×5, Server of orders ×3 [gc; thread pool]  "
			"(100 ");
	assert_null(strstr(text, "clr thread"));
	free(text);

	struct sw_report_managed more[3] = {managed[0], managed[0], managed[0]};
	more[0].role = "io";
	more[1].role = "timer";
	more[2].role = "signals";
	threads[1].managed = &more[2];
	threads[5].managed = &more[0];
	threads[6].managed = &more[1];
	expect_text(&report, NULL, " [gc; signals; thread pool; 2 others]  (100 ");

	/* comm has 15 bytes: ten threads of ten names would look the same */
	struct sw_report_managed numbered[8];
	char names[8][32];
	for (size_t i = 0; i < 8; i++) {
		(void) snprintf(names[i], sizeof(names[i]), "http-nio-18081-exec-%zu", i);
		numbered[i] = (struct sw_report_managed){.runtime = "hotspot", .name = names[i]};
		threads[i].comm = "http-nio-18081-";
		threads[i].managed = &numbered[i];
	}
	expect_text(&report, NULL, "\n8 threads  http-nio-18081-exec-*  (100 ");
	for (size_t i = 0; i < 8; i++)
		(void) snprintf(names[i], sizeof(names[i]), "Thread-%zu (burn)", i);
	expect_text(&report, NULL, "\n8 threads  Thread-* (burn)  (100 ");
}

TEST(test_nothing)
{
	static const struct sw_report empty = {.host_name = "h",
					       .process = {.pid = 1, .uptime_ms = -1, .comm = "c"},
					       .complete = true};
	assert_text(&empty, NULL,
		    "c, pid 1: 0 threads, 0 distinct stacks\n"
		    "uid 0, parent 0\n"
		    "1970-01-01 00:00:00.000 UTC on h\n");
}

TEST(test_not_asked_for)
{
	struct sw_report_thread threads[4];
	memcpy(threads, sample_threads, sizeof(threads));
	threads[3].reason = "not_requested";
	threads[3].reason_text = "it was not asked for";
	struct sw_report report = sample_report;
	report.threads = threads;
	char *text = text_of(&report, NULL);
	expect_in(text, "\n1 thread was not asked for\n");
	assert_null(strstr(text, "Threads without a stack"));
	free(text);
}

/* The last part of a path: also of one that only a Windows process has. */
TEST(test_base_name)
{
	assert_string_equal(sw_base_name("/usr/bin/x"), "x");
	assert_string_equal(sw_base_name("x"), "x");
	assert_string_equal(sw_base_name("/usr/bin/"), "/usr/bin/");
	assert_string_equal(sw_base_name("Z:\\dir\\x.exe"), "x.exe");
	assert_string_equal(sw_base_name("/odd\\name"), "odd\\name");
	assert_string_equal(sw_base_name(""), "");
}
