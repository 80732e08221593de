/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which records a sample reads: of the threads that moved, or of all. */
#include "sample/passes.h"
#include "fake_process.h"
#include "test.h"

enum { TEAM = 3 };

static struct sw_iterate_moved moved;
static size_t n_cut; /* passes over all threads that the kernel cuts short */

static void look(size_t number, struct fake_look *ret)
{
	*ret = (struct fake_look){.n = TEAM, .of_moved = number == 0, .moved = moved};
	for (uint32_t i = 0; i < TEAM; i++)
		ret->records[i] =
			(struct sw_iterate_record){.tid = 11 + i, .is_last = i == TEAM - 1};
	if (number > 0 && number <= n_cut)
		ret->n = TEAM - 1;
}

/* Reads one sample with the passes made before; how many there were. */
static size_t sample(struct sw_sample_passes *p, bool *ret_whole)
{
	const struct sw_target target = {.pid = 11};
	fake_process = (struct fake_process){.look = look};
	assert_int_equal(sw_sample_passes_read(p, &target, ret_whole, NULL), 0);
	size_t n = fake_process.n_looks;
	fake_process = (struct fake_process){0};
	return n;
}

TEST(test_which)
{
	struct sw_sample_passes p;
	bool whole;
	sw_sample_passes_init(&p);
	moved = (struct sw_iterate_moved){.n_threads = TEAM,
					  .n_counted = TEAM,
					  .n = 1,
					  .tids = {12}};
	n_cut = 0;
	assert_int_equal(sample(&p, &whole), 2); /* the first one is of all */
	assert_true(whole);
	assert_int_equal(p.n_records, TEAM);
	assert_int_equal(sample(&p, &whole), 2);
	assert_false(whole);
	assert_int_equal(p.n_records, 1);
	assert_int_equal(p.records[0].tid, 12);
	moved.n_counted++; /* one came while the others were counted */
	assert_int_equal(sample(&p, &whole), 2);
	assert_true(whole);
	assert_int_equal(p.n_records, TEAM);
	moved.n_counted = TEAM;
	moved.more = 1;
	(void) sample(&p, &whole);
	assert_true(whole);
	sw_sample_passes_deinit(&p);
}

/* A thread ends while all are listed, and the kernel ends the pass there: again, and in the next sample, too. */
TEST(test_cut)
{
	struct sw_sample_passes p;
	bool whole;
	sw_sample_passes_init(&p);
	moved = (struct sw_iterate_moved){.n_threads = TEAM, .n_counted = TEAM};
	n_cut = 2;
	assert_int_equal(sample(&p, &whole), 4);
	assert_true(whole);
	assert_int_equal(p.n_records, TEAM);
	p.all_wanted = true;
	n_cut = 9;
	assert_int_equal(sample(&p, &whole), 5);
	assert_false(whole);
	assert_int_equal(p.n_records, TEAM - 1);
	n_cut = 0;
	assert_int_equal(sample(&p, &whole), 2);
	assert_true(whole);
	assert_int_equal(sample(&p, &whole), 1); /* nobody moved */
	assert_false(whole);
	sw_sample_passes_deinit(&p);
}
