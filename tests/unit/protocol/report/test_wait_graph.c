/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sample_report.h"
#include "report/waits.h"
#include "test.h"

enum { N = 8 };

struct world {
	struct sw_report *report;
	struct sw_report_thread threads[N];
	struct sw_report_wait waits[N];
	struct sw_wait_proof proofs[N];
};

/* Thread i has the id 10 + i, and waits for who has owners[i]; 0: it does not wait. */
static void make(struct world *w, const pid_t owners[N])
{
	memset(w, 0, sizeof(*w));
	w->report = sw_report_create();
	assert_non_null(w->report);
	w->report->threads = w->threads;
	w->report->n_threads = N;
	w->report->process.pid = 10;
	for (size_t i = 0; i < N; i++) {
		w->waits[i] = (struct sw_report_wait){.kind = "mutex", .owner_tid = owners[i]};
		w->threads[i] =
			(struct sw_report_thread){.tid = (pid_t) (10 + i),
						  .comm = "t",
						  .blocked_on =
							  owners[i] != 0 ? &w->waits[i] : NULL};
		w->proofs[i] = (struct sw_wait_proof){.proven = true, .stayed = true};
	}
}

static void build(struct world *w)
{
	struct sw_report_builder b = {.report = w->report, .arena = &w->report->priv->arena};
	sw_report_build_wait_graph(&b, w->proofs);
	assert_false(b.failed);
}

static void assert_holder(const struct world *w, size_t i, pid_t tid, size_t waiting)
{
	assert_int_equal(w->report->root_holders[i].tid, tid);
	assert_int_equal(w->report->root_holders[i].pid, 10);
	assert_int_equal(w->report->root_holders[i].waiting, waiting);
}

TEST(test_chains)
{
	struct world w;
	/* 12 → 11 → 10, 13 → 10, 15 → 14, 16 → one that is not a thread */
	make(&w, (const pid_t[N]){0, 10, 11, 10, 0, 14, 99, 0});
	build(&w);
	assert_int_equal(w.report->n_deadlocks, 0);
	assert_int_equal(w.report->n_root_holders, 2);
	assert_holder(&w, 0, 10, 3);
	assert_holder(&w, 1, 14, 1);
	sw_report_destroy(w.report);
}

/* 12 → 11 → 10: a join of one that waits for events holds nobody up, but who waits for what the joining one has is held up. */
TEST(test_joins)
{
	static const struct {
		const char *kind; /* of what 10 waits for; NULL: for nothing */
		bool rests;
	} cases[] = {{"epoll", true}, {"poll", true},    {"connection", true}, {"timer", true},
		     {"sleep", true}, {"socket", false}, {"condition", false}, {NULL, false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;
		make(&w, (const pid_t[N]){0, 10, 11, 0, 0, 0, 0, 0});
		w.waits[1].kind = "thread";
		w.waits[0] = (struct sw_report_wait){.kind = cases[i].kind};
		w.threads[0].blocked_on = cases[i].kind != NULL ? &w.waits[0] : NULL;
		build(&w);
		assert_int_equal(w.report->n_root_holders, 1);
		assert_holder(&w, 0, cases[i].rests ? 11 : 10, cases[i].rests ? 1 : 2);
		sw_report_destroy(w.report);
	}
}

TEST(test_cycles)
{
	struct world w;
	/* 10 → 11 → 12 → 10, which 13 waits for, too; 14 waits for itself; 15 ↔ 16 */
	make(&w, (const pid_t[N]){11, 12, 10, 10, 14, 16, 15, 0});
	build(&w);
	/* its victim is counted at the one that it waits for */
	assert_int_equal(w.report->n_root_holders, 1);
	assert_holder(&w, 0, 10, 1);
	assert_int_equal(w.report->n_deadlocks, 3);
	const struct sw_report_deadlock *d = w.report->deadlocks;
	assert_int_equal(d[0].n, 3);
	assert_int_equal(d[0].tids[0], 10);
	assert_int_equal(d[0].tids[1], 11);
	assert_int_equal(d[0].tids[2], 12);
	assert_int_equal(d[1].n, 1);
	assert_int_equal(d[1].tids[0], 14);
	assert_int_equal(d[2].n, 2);
	assert_int_equal(d[2].tids[0], 15);
	sw_report_destroy(w.report);
}

/* A thread of a cycle may have run while others were read: then there need not have been a
 * cycle. */
TEST(test_not_proven)
{
	struct world w;
	make(&w, (const pid_t[N]){11, 10, 13, 12, 0, 0, 0, 0});
	w.proofs[1].proven = false;
	build(&w);
	assert_int_equal(w.report->n_deadlocks, 1);
	assert_int_equal(w.report->deadlocks[0].tids[0], 12);
	sw_report_destroy(w.report);
}

/*
 * Some ran during the capture: the cycle is one where those waited at the same instant. An owner that was read at an earlier
 * one may have given the lock up since, unless it stayed, too: 10, taken at first, waits for 11, which unlocks that and
 * then waits for 12.
 */
TEST(test_instants)
{
	enum { STAYED = 0x100, AT = 0xff };
	static const struct {
		uint32_t of[3];
		bool found;
	} cases[] = {
		{{STAYED, STAYED, STAYED}, true},
		{{STAYED | 1, STAYED | 2, STAYED | 3}, true},
		{{STAYED | 1, 2, STAYED | 1}, false},
		{{STAYED | 2, 2, STAYED | 2}, true},
		{{STAYED | 1, STAYED | 2, 2}, true},
		{{STAYED | 1, STAYED | 1, 2}, false},
		{{STAYED | 1, STAYED | 2, STAYED | 2}, true},
		{{2, STAYED | 1, STAYED | 2}, true},
		{{1, 2, STAYED | 2}, false},
		{{3, 3, 3}, true},
		{{2, 2, 1}, false},
		{{STAYED | 1, STAYED | 1, 0}, false}, /* not known when */
		{{0, 0, 0}, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world w;
		make(&w, (const pid_t[N]){11, 12, 10, 0, 0, 0, 0, 0});
		for (size_t k = 0; k < 3; k++) {
			w.proofs[k].stayed = (cases[i].of[k] & STAYED) != 0;
			w.proofs[k].instant = cases[i].of[k] & AT;
		}
		build(&w);
		assert_int_equal(w.report->n_deadlocks, cases[i].found);
		sw_report_destroy(w.report);
	}
}

/* By way of processes with one thread: 11 → 77 → 78 → 12 → 11; 13 → 79, which waits for nobody known. */
TEST(test_others)
{
	for (int proven = 0; proven < 2; proven++) {
		struct world w;
		struct sw_report_peer peers[] = {
			{.pid = 77, .tid = 77, .owner_tid = 78, .proven = true},
			{.pid = 78, .tid = 78, .owner_tid = 12, .proven = proven},
			{.pid = 79, .tid = 79},
			{.pid = 80, .tid = 80, .owner_tid = 80, .proven = true},
		};
		make(&w, (const pid_t[N]){0, 77, 11, 79, 80, 0, 0, 0});
		w.report->peers = peers;
		w.report->n_peers = 4;
		build(&w);
		assert_int_equal(w.report->n_deadlocks, proven);
		const pid_t wanted[] = {11, 77, 78, 12};
		assert_true(!proven || w.report->deadlocks[0].n == 4);
		for (size_t i = 0; proven && i < 4; i++)
			assert_int_equal(w.report->deadlocks[0].tids[i], wanted[i]);
		assert_int_equal(w.report->n_root_holders, 0);
		sw_report_destroy(w.report);
	}
}

/* 11 → 10 → 77 → 78 → 79, of which no more is known; 13 → 12 → 80 ↔ 81, which is a cycle of others. */
TEST(test_behind)
{
	struct world w;
	struct sw_report_peer peers[] = {
		{.pid = 77, .owner_pid = 78}, {.pid = 78, .owner_pid = 79}, {.pid = 79},
		{.pid = 80, .owner_pid = 81}, {.pid = 81, .owner_pid = 80},
	};
	make(&w, (const pid_t[N]){0, 10, 0, 12, 0, 0, 0, 0});
	w.waits[0] = (struct sw_report_wait){.kind = "pipe", .owner_pid = 77};
	w.waits[2] = (struct sw_report_wait){.kind = "pipe", .owner_pid = 80};
	w.threads[0].blocked_on = &w.waits[0];
	w.threads[2].blocked_on = &w.waits[2];
	w.report->peers = peers;
	w.report->n_peers = 5;
	build(&w);
	assert_int_equal(w.report->n_root_holders, 2);
	assert_holder(&w, 0, 10, 1);
	assert_holder(&w, 1, 12, 1);
	const struct sw_report_holder *h = w.report->root_holders;
	assert_int_equal(h[0].n_waits_for, 3);
	assert_int_equal(h[0].waits_for[0], 77);
	assert_int_equal(h[0].waits_for[1], 78);
	assert_int_equal(h[0].waits_for[2], 79);
	assert_int_equal(h[1].n_waits_for, 2);
	assert_int_equal(h[1].waits_for[0], 80);
	assert_int_equal(h[1].waits_for[1], 81);
	sw_report_destroy(w.report);
}
