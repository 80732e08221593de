/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "iterate/proof.h"
#include "test.h"

enum { PF_IO_WORKER = 0x10, TEAM = 4 };

static struct sw_iterate_record sleeper(uint32_t tid)
{
	struct sw_iterate_record r = {
		.n_voluntary = 70,
		.n_involuntary = 3,
		.runtime_ns = 1000,
		.start_ns = 5000 + tid,
		.exec_id = 2,
		.tid = tid,
		.is_last = 1,
		.state = 1,
	};
	for (size_t i = 0; i < SW_ITERATE_REGS; i++)
		r.regs[i] = 100 * i;
	return r;
}

TEST(same)
{
	struct sw_iterate_record a = sleeper(10), b = a;
	assert_true(sw_iterate_is_unchanged(&a, &b));
	/* woken, and waits for a CPU; renamed; another thread began: it did not run for that */
	b.state = 0;
	b.queued_ns = 77;
	b.clock_ns = 78;
	b.is_last = 0;
	b.comm[0] = 'x';
	assert_true(sw_iterate_is_unchanged(&a, &b));
}

TEST(each_difference)
{
	struct sw_iterate_record a = sleeper(10);
#define REFUSED(change)                                        \
	do {                                                   \
		struct sw_iterate_record b = sleeper(10);      \
		change;                                        \
		assert_false(sw_iterate_is_unchanged(&a, &b)); \
		assert_false(sw_iterate_is_unchanged(&b, &a)); \
	} while (0)
	REFUSED(b.on_cpu = 1);
	REFUSED(b.n_voluntary++);
	REFUSED(b.n_involuntary++);
	REFUSED(b.runtime_ns++);
	REFUSED(b.tid++);
	REFUSED(b.start_ns++);
	REFUSED(b.exec_id++);
	for (size_t i = 0; i < SW_ITERATE_REGS; i++)
		REFUSED(b.regs[i]++);
#undef REFUSED
	/* the same numbers, but it ran in both passes */
	struct sw_iterate_record b = a;
	a.on_cpu = b.on_cpu = 1;
	assert_false(sw_iterate_is_unchanged(&a, &b));
}

struct windows {
	struct sw_iterate_record before[TEAM + 1], after[TEAM + 1];
	size_t n_before, n_after;
};

static struct windows quiet(void)
{
	struct windows w = {.n_before = TEAM, .n_after = TEAM};
	for (uint32_t i = 0; i < TEAM; i++)
		w.before[i] = w.after[i] = sleeper(10 + i);
	return w;
}

static bool quiescent(const struct windows *w)
{
	return sw_iterate_is_quiescent(w->before, w->n_before, w->after, w->n_after);
}

TEST(quiescence)
{
	struct windows w = quiet();
	assert_true(quiescent(&w));
	for (size_t i = 0; i < TEAM; i++) {
		w = quiet();
		w.after[i].n_voluntary++;
		assert_false(quiescent(&w));
	}
	/* empty: the process is gone */
	w.n_before = w.n_after = 0;
	assert_false(quiescent(&w));
}

TEST(threads_come_and_go)
{
	/* a new one */
	struct windows w = quiet();
	w.after[TEAM] = sleeper(10 + TEAM);
	w.n_after = TEAM + 1;
	assert_false(quiescent(&w));
	/* one less, the last and the first */
	w = quiet();
	w.n_after--;
	assert_false(quiescent(&w));
	memmove(w.after, w.before + 1, (TEAM - 1) * sizeof(w.after[0]));
	assert_false(quiescent(&w));
	/* another one of the same id */
	w = quiet();
	w.after[TEAM - 1].start_ns++;
	assert_false(quiescent(&w));
}

/* The first pass ended at a thread that ended: nobody saw those behind it, in neither pass. */
TEST(early_end)
{
	struct windows w = quiet();
	w.n_before = w.n_after = TEAM - 1;
	w.before[TEAM - 2].is_last = 0;
	assert_false(quiescent(&w));
	w.before[TEAM - 2].is_last = 1;
	assert_true(quiescent(&w));
	/* a worker that was seen is gone */
	w = quiet();
	w.before[1].flags |= PF_IO_WORKER;
	memmove(&w.after[1], &w.after[2], 2 * sizeof(w.after[0]));
	w.n_after--;
	assert_false(quiescent(&w));
}

TEST(workers)
{
	struct windows w = quiet();
	for (size_t i = 1; i < 3; i++)
		w.before[i].flags = w.after[i].flags = PF_IO_WORKER;
	w.after[1].on_cpu = 1;
	w.after[2].n_voluntary += 4;
	assert_true(quiescent(&w));
	/* one more */
	w.after[TEAM] = sleeper(99);
	w.after[TEAM].flags = PF_IO_WORKER;
	w.n_after = TEAM + 1;
	assert_true(quiescent(&w));
	/* that is none */
	w.after[TEAM].flags = 0;
	assert_false(quiescent(&w));
	/* others still count */
	w.n_after = TEAM;
	w.after[3].n_voluntary++;
	assert_false(quiescent(&w));
}
