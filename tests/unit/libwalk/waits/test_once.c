/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The runner of the function of a pthread_once_t, by stacks that are made of literals. */
#include "arch/arch.h"
#include "fake.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sys/syscall.h>

enum {
	LIBRARY = 0x10000, /* the C library's code */
	ROUTINE = LIBRARY + 0x100,
	WAIT = LIBRARY + 0x800,
	PROXY = 0x20100, /* std::call_once()'s, in another library */
	ONCE = 0x30040,
	STACK = 0x700000,
	WORDS = 8,
};

struct world {
	struct sw_snapshot *snap;
	struct sw_thread threads[4];
	uint64_t stacks[4][WORDS];
};

/* Threads 100 to 103; the first one waits in pthread_once(), the others are elsewhere, with nothing on their stacks. */
static void make(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->snap = fake_snapshot_create();
	(void) fake_snapshot_map(w->snap, LIBRARY, LIBRARY + 0x1000, "r-xp", "/libc.so.6");
	(void) fake_snapshot_map(w->snap, PROXY - 0x100, PROXY + 0xf00, "r-xp", "/libstdc++.so.6");
	(void) fake_snapshot_map(w->snap, ONCE & ~0xfff, (ONCE & ~0xfff) + 0x1000, "rw-p", "");
	for (size_t i = 0; i < 4; i++) {
		struct sw_thread *t = &w->threads[i];
		t->tid = (pid_t) (100 + i);
		t->captured = true;
		t->syscall = -1;
		t->stack_avma = STACK + i * 0x1000;
		t->stack = (const uint8_t *) w->stacks[i];
		t->stack_bytes = sizeof(w->stacks[i]);
		t->regs.sp_avma = t->stack_avma + 8;
		t->regs.pc_avma = WAIT;
	}
	w->snap->threads = w->threads;
	w->snap->n_threads = 4;
}

static void end(struct world *w)
{
	w->snap->threads = NULL;
	w->snap->n_threads = 0;
	fake_snapshot_destroy(w->snap);
}

static void put(struct world *w, size_t thread, size_t at, uint64_t routine)
{
	w->stacks[thread][at] = routine;
	w->stacks[thread][at + 1] = ONCE;
}

static void wait_at(struct world *w, size_t thread, uint64_t word)
{
	w->threads[thread].syscall = SYS_futex;
	sw_regs_set(&w->threads[thread].regs, SW_X86_64_RDI, word);
	sw_regs_set(&w->threads[thread].regs, SW_X86_64_RSI, 0);
}

static pid_t runner(struct world *w)
{
	wait_at(w, 0, ONCE);
	return sw_once_runner(w->snap, &w->threads[0], ONCE);
}

TEST(test_runner)
{
	struct world w;
	make(&w);
	assert_int_equal(runner(&w), 0);
	put(&w, 2, 3, ROUTINE);
	assert_int_equal(runner(&w), 102);
	wait_at(&w, 2, ONCE + 4); /* for something else */
	assert_int_equal(runner(&w), 102);
	put(&w, 1, 5, ROUTINE); /* a second one */
	assert_int_equal(runner(&w), 0);
	w.threads[1].captured = false;
	assert_int_equal(runner(&w), 102);
	end(&w);
}

/* The first word is below the stack pointer: what was there before. */
TEST(test_no_runner)
{
	static const struct {
		size_t at;
		uint64_t routine;
		pid_t found;
	} cases[] = {
		{1, ROUTINE, 102}, {6, ROUTINE, 102},           {0, ROUTINE, 0},
		{3, PROXY, 0},     {3, ONCE + 8, 0} /* data */, {3, 0x90000, 0} /* nothing */,
		{3, 0, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;
		make(&w);
		put(&w, 2, cases[i].at, cases[i].routine);
		assert_int_equal(runner(&w), cases[i].found);
		end(&w);
	}
}

/* Two that wait have the pair in a caller's frame, as __gthread_once() of libstdc++ without optimization keeps its arguments
 * where all is one static program; the one that runs is not copied so far. Neither waits for the other. */
TEST(test_waiters)
{
	struct world w;
	make(&w);
	put(&w, 0, 2, ROUTINE);
	put(&w, 1, 2, ROUTINE);
	wait_at(&w, 1, ONCE);
	assert_int_equal(runner(&w), 0);
	assert_int_equal(sw_once_runner(w.snap, &w.threads[1], ONCE), 0);
	put(&w, 3, 2, ROUTINE);
	assert_int_equal(runner(&w), 103);
	end(&w);
}
