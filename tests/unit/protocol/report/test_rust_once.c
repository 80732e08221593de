/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample_report.h"
#include "report/library_waits.h"
#include "cleanup.h"
#include "test.h"

enum {
	N = 3,
	FRAMES = 6,
	WORD = 0x5000,
	STACK = 0x7000,
	RBX = 3,
	RSI = 4,
	RDI = 5,
	RSP = 7,
	FUTEX = 202,
	WAIT_BITSET_PRIVATE = 0x89,
};

/* Threads 10, 11 and 12, each with a stack of its own. */
struct world {
	struct sw_report report;
	struct sw_report_thread threads[N];
	struct sw_report_stack stacks[N];
	struct sw_report_frame frames[N][FRAMES];
	struct sw_snapshot snap;
	struct sw_thread taken[N];
	uint64_t words[N][4];
};

static const char *const waiting[FRAMES] = {"libc", "std::sys::pal::unix::futex::futex_wait",
					    "<std::sys::sync::once::futex::Once>::call", "config"};
static const char *const executing[FRAMES] = {"libc", "slow",
					      "<std::sys::sync::once::futex::Once>::call",
					      "config"};

static void frames_set(struct world *w, size_t i, const char *const names[FRAMES])
{
	size_t n = 0;
	for (; n < FRAMES && names[n] != NULL; n++) {
		w->frames[i][n] = sample_frame(names[n], 1);
		w->frames[i][n].module = strcmp(names[n], "libc") == 0 ? 1 : 0;
	}
	w->stacks[i] = (struct sw_report_stack){.frames = w->frames[i],
						.n_frames = n,
						.n_threads = 1,
						.end = "complete"};
}

static void wait_at(struct sw_thread *t, uint64_t word)
{
	t->syscall = FUTEX;
	t->regs.known |= 1u << RDI | 1u << RSI;
	t->regs.val[RDI] = word;
	t->regs.val[RSI] = WAIT_BITSET_PRIVATE;
}

/* 10 waits for what 11 executes; 12 does something else. */
static void make(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->report = sample_report;
	w->report.threads = w->threads;
	w->report.n_threads = N;
	w->report.stacks = w->stacks;
	w->report.n_stacks = N;
	w->snap.threads = w->taken;
	w->snap.n_threads = N;
	w->snap.live = true;
	for (size_t i = 0; i < N; i++) {
		w->threads[i] =
			(struct sw_report_thread){.tid = (pid_t) (10 + i), .stack = (int32_t) i};
		w->taken[i] = (struct sw_thread){.tid = (pid_t) (10 + i),
						 .captured = true,
						 .syscall = -1,
						 .stack_avma = STACK,
						 .stack = (uint8_t *) w->words[i],
						 .stack_bytes = sizeof(w->words[i])};
		w->taken[i].regs.sp_avma = STACK + sizeof(uint64_t);
		w->taken[i].regs.known = 1u << RSP;
	}
	frames_set(w, 0, waiting);
	frames_set(w, 1, executing);
	frames_set(w, 2, (const char *const[FRAMES]){"libc", "other", "main"});
	wait_at(&w->taken[0], WORD);
	w->words[1][3] = WORD;
}

static pid_t runner(const struct world *w)
{
	return sw_rust_once_runner(&w->report, &w->snap, &w->taken[0], WORD);
}

TEST(test_waits)
{
	static const struct {
		bool waits;
		const char *names[FRAMES];
	} cases[] = {
		{true,
		 {"libc", "std::sys::pal::unix::futex::futex_wait",
		  "<std::sys::sync::once::futex::Once>::call"}},
		{true, {"libc", "std::sys::sync::once::futex::Once::call"}},
		{true, {"libc", "std::sys_common::once::futex::Once::call", "main"}},
		{true, {"libc", "<std::sys::sync::once::futex::Once>::wait"}},
		/* a lock that the function takes; another method; no call of the kernel */
		{false,
		 {"libc", "std::sys::sync::mutex::futex::Mutex::lock_contended", "slow",
		  "std::sys::sync::once::futex::Once::call"}},
		{false, {"libc", "std::sys::sync::once::futex::Once::call_it"}},
		{false, {"std::sys::sync::once::futex::Once::call"}},
		{false, {"libc"}},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct world w;
		make(&w);
		frames_set(&w, 0, cases[i].names);
		if (sw_is_at_rust_once(&w.report, &w.stacks[0]) != cases[i].waits)
			fail_msg("case %zu", i);
	}
	struct world w;
	make(&w);
	assert_false(sw_is_at_rust_once(&w.report, NULL));
}

TEST(test_runner)
{
	struct world w;
	make(&w);
	assert_int_equal(runner(&w), 11);
	/* The address is in a register; below the stack pointer it is of a call that has returned. */
	w.words[1][3] = 0;
	assert_int_equal(runner(&w), 0);
	w.words[1][0] = WORD;
	assert_int_equal(runner(&w), 0);
	w.taken[1].regs.known |= 1u << RBX;
	w.taken[1].regs.val[RBX] = WORD;
	assert_int_equal(runner(&w), 11);
	/* The stack is cut. */
	w.stacks[1].why = "cut";
	assert_int_equal(runner(&w), 0);
}

/* Two Onces that need each other: each thread waits for one and executes the function of the other. */
TEST(test_both)
{
	static const char *const both[FRAMES] = {"libc",
						 "<std::sys::sync::once::futex::Once>::call",
						 "slow",
						 "<std::sys::sync::once::futex::Once>::call"};
	struct world w;
	make(&w);
	frames_set(&w, 1, both);
	wait_at(&w.taken[1], WORD + 16);
	assert_int_equal(runner(&w), 11);
}

TEST(test_unknown)
{
	struct world w;
	/* Another one that waits, one that is about to, and two that may be it. */
	make(&w);
	w.words[2][2] = WORD;
	assert_int_equal(runner(&w), 11);
	frames_set(&w, 2, waiting);
	wait_at(&w.taken[2], WORD);
	assert_int_equal(runner(&w), 11);
	w.taken[2].syscall = -1;
	assert_int_equal(runner(&w), 11);
	frames_set(&w, 2, executing);
	assert_int_equal(runner(&w), 0);
}
