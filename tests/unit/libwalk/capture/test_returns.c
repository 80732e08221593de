/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "cleanup.h"
#include "capture/returns.h"
#include "iterate/record.h"
#include "snapshot/snapshot.h"
#include "test.h"

/* Two threads: the stack of 11 is [0x1000, 0x1040), that of 12 [0x2000, 0x2040). */
enum { PAGE = 0x9000, CODE = 0x5000, N = 2, WORDS = 8, MAX = 8 };

struct fixture {
	struct sw_snapshot snap;
	struct sw_snapshot_priv priv;
	struct sw_thread threads[N];
	struct sw_tracee tracees[N];
	struct sw_stop stop;
	bool chosen[N];
	uint64_t words[N][WORDS];
	struct sw_capture_part parts[N];
	struct sw_iterate_return all[MAX];
	struct sw_returns returns;
	struct sw_capture_space space;
};

static void fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->snap.priv = &f->priv;
	f->snap.threads = f->threads;
	f->snap.n_threads = f->stop.n = f->space.n_parts = N;
	f->stop.tracees = f->tracees;
	for (int i = 0; i < N; i++) {
		f->chosen[i] = f->tracees[i].has_regs = true;
		f->threads[i].tid = f->tracees[i].tid = 11 + i;
		f->parts[i] = (struct sw_capture_part){.avma = 0x1000 * ((uint64_t) i + 1),
						       .bytes = sizeof(f->words[i]),
						       .to = (uint8_t *) f->words[i],
						       .thread = i,
						       .owner = i};
	}
	f->returns = (struct sw_returns){.page_avma = PAGE,
					 .link_fd = -1,
					 .fd = -1,
					 .all = f->all,
					 .max = MAX,
					 .told = true};
	f->space = (struct sw_capture_space){.snap = &f->snap,
					     .stop = &f->stop,
					     .returns = &f->returns,
					     .parts = f->parts,
					     .n_parts = N,
					     .chosen = f->chosen,
					     .only_rest = true};
}

static void add(struct fixture *f, uint32_t tid, uint32_t what, uint64_t at, uint64_t is)
{
	f->all[f->returns.n++] = (struct sw_iterate_return){tid, what, at, is};
}

static void at(struct fixture *f, int thread, uint64_t pc, uint64_t sp)
{
	sw_regs_set(&f->threads[thread].regs, SW_ARCH_RA, pc);
	sw_regs_set(&f->threads[thread].regs, SW_ARCH_SP, sp);
}

static void assert_at(const struct fixture *f, int thread, uint64_t pc, uint64_t sp)
{
	assert_int_equal(f->threads[thread].regs.pc_avma, pc);
	assert_int_equal(f->threads[thread].regs.sp_avma, sp);
}

/* Where the page's address stands, and nowhere else; the page's own entry is no answer. */
TEST(stacks_get_their_addresses)
{
	struct fixture f;
	fixture_init(&f);
	f.words[0][2] = f.words[0][4] = f.words[1][1] = PAGE;
	f.words[0][5] = 77;
	add(&f, 12, SW_ITERATE_RETURN, 0x2008, CODE + 3);
	add(&f, 11, SW_ITERATE_RETURN, 0x1010, PAGE);
	add(&f, 11, SW_ITERATE_RETURN, 0x1010, CODE + 1);
	add(&f, 11, SW_ITERATE_RETURN, 0x1020, CODE + 2);
	add(&f, 11, SW_ITERATE_RETURN, 0x1028, CODE + 4); /* left by longjmp() */
	add(&f, 11, SW_ITERATE_RETURN, 0x103c, CODE + 5); /* half of it was copied */
	sw_returns_put_back(&f.space);
	assert_int_equal(f.words[0][2], CODE + 1);
	assert_int_equal(f.words[0][4], CODE + 2);
	assert_int_equal(f.words[0][5], 77);
	assert_int_equal(f.words[0][7], 0);
	assert_int_equal(f.words[1][1], CODE + 3);
}

/* A thread that ran meanwhile has another stack than the one that was told. */
TEST(not_of_others)
{
	struct fixture f;
	fixture_init(&f);
	f.words[0][2] = f.words[1][1] = PAGE;
	add(&f, 11, SW_ITERATE_RETURN, 0x1010, CODE + 1);
	add(&f, 12, SW_ITERATE_RETURN, 0x2008, CODE + 3);
	f.tracees[1].has_regs = false;
	f.chosen[0] = false;
	sw_returns_put_back(&f.space);
	assert_int_equal(f.words[0][2], PAGE);
	assert_int_equal(f.words[1][1], PAGE);
	f.chosen[0] = true;
	f.returns.told = false;
	sw_returns_put_back(&f.space);
	assert_int_equal(f.words[0][2], PAGE);
}

/* A word for which a thread waits is no part of its stack. */
TEST(not_of_waits)
{
	struct fixture f;
	fixture_init(&f);
	f.words[0][2] = PAGE;
	f.parts[0].wait = true;
	add(&f, 11, SW_ITERATE_RETURN, 0x1010, CODE + 1);
	sw_returns_put_back(&f.space);
	assert_int_equal(f.words[0][2], PAGE);
}

TEST(words_of_32_bits)
{
	struct fixture f;
	fixture_init(&f);
	f.stop.is_32bit = true;
	f.words[0][2] = UINT64_C(0x1234567800000000) | PAGE;
	add(&f, 11, SW_ITERATE_RETURN, 0x1010, CODE);
	sw_returns_put_back(&f.space);
	assert_int_equal(f.words[0][2], UINT64_C(0x1234567800000000) | CODE);
}

/* Each instruction of the kernel's code: to where the function returned. */
TEST(registers_in_the_page)
{
	static const struct {
		uint64_t at;
		int pushed;
	} asks[] = {{0, 0}, {1, 0}, {1, 1}, {2, 2}, {4, 3}, {11, 3}, {13, 3}};
	struct fixture f;
	for (size_t i = 0; i < SW_ARRAY_SIZE(asks); i++) {
		fixture_init(&f);
		add(&f, 11, SW_ITERATE_RETURN, 0x1030, CODE + 2);
		add(&f, 11, SW_ITERATE_RETURN, 0x1028, CODE + 3); /* the next one in, at INT3 */
		add(&f, 11, SW_ITERATE_RETURN, 0x1020, CODE + 1);
		add(&f, 11, SW_ITERATE_RETURN, 0x1008, CODE); /* left by longjmp() */
		at(&f, 0, PAGE + asks[i].at, 0x1028 - 8 * (uint64_t) asks[i].pushed);
		sw_returns_put_back(&f.space);
		assert_at(&f, 0, CODE + 1, 0x1028);
	}
	static const struct {
		uint64_t at;
		uint64_t sp;
	} asked[] = {{13, 0x1010}, {15, 0x1018}, {16, 0x1020}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(asked); i++) {
		fixture_init(&f);
		add(&f, 11, SW_ITERATE_RETURN, 0x1030, CODE + 2);
		f.words[0][4] = CODE + 1; /* the kernel has put it there */
		at(&f, 0, PAGE + asked[i].at, asked[i].sp);
		sw_returns_put_back(&f.space);
		assert_at(&f, 0, CODE + 1, 0x1028);
	}
}

/* An instruction that is probed is executed elsewhere. */
TEST(registers_on_their_way)
{
	struct fixture f;
	fixture_init(&f);
	add(&f, 11, SW_ITERATE_STEP, PAGE + 128, CODE + 64);
	at(&f, 0, PAGE + 128 + 4, 0x1000);
	at(&f, 1, PAGE + 128 + 4, 0x2000);
	sw_returns_put_back(&f.space);
	assert_at(&f, 0, CODE + 64 + 4, 0x1000);
	assert_at(&f, 1, PAGE + 128 + 4, 0x2000);
	at(&f, 0, PAGE + 256, 0x1000);
	sw_returns_put_back(&f.space);
	assert_at(&f, 0, PAGE + 256, 0x1000);
}
