/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Intervals against an array that has an owner for each address. */
#include "events/intervals.h"
#include "test.h"

#include <time.h>

enum { ADDRESSES = 64, TURNS = 20000, EMPTY = 0 };

static uint64_t random_state = 7;

static uint32_t pick(uint32_t n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t) (random_state >> 33) % n;
}

static void same(const struct sw_intervals *v, const uint32_t *owners)
{
	uint64_t last = 0;
	uint32_t seen[ADDRESSES] = {EMPTY};
	for (size_t i = 0; i < v->n; i++) {
		assert_true(v->all[i].begin >= last && v->all[i].begin < v->all[i].end);
		last = v->all[i].end;
		for (uint64_t a = v->all[i].begin; a < last; a++)
			seen[a] = v->all[i].owner;
	}
	assert_memory_equal(seen, owners, sizeof(seen));
}

TEST(test_cut_and_put)
{
	struct sw_intervals v = {0};
	uint32_t owners[ADDRESSES] = {EMPTY};
	for (uint32_t i = 1; i <= TURNS; i++) {
		struct sw_intervals taken = {0};
		uint32_t expected[ADDRESSES] = {EMPTY};
		uint64_t begin = pick(ADDRESSES),
			 end = begin + pick((uint32_t) (ADDRESSES - begin));
		for (uint64_t a = begin; a < end; a++) {
			expected[a] = owners[a];
			owners[a] = i % 3 == 0 ? EMPTY : i;
		}
		assert_int_equal(sw_intervals_cut(&v, begin, end, &taken), 0);
		same(&taken, expected);
		if (i % 3 != 0)
			assert_int_equal(sw_intervals_put(&v, begin, end, i), 0);
		same(&v, owners);
		sw_intervals_deinit(&taken);
	}
	assert_true(v.n > 3);
	sw_intervals_deinit(&v);
	assert_int_equal(v.n, 0);
}

TEST(test_find)
{
	struct sw_intervals v = {0};
	assert_int_equal(sw_intervals_put(&v, 10, 20, 1), 0);
	assert_int_equal(sw_intervals_put(&v, 30, 40, 2), 0);
	assert_int_equal(sw_intervals_put(&v, 25, 25, 3), 0); /* is empty */
	assert_int_equal(v.n, 2);
	assert_int_equal(sw_intervals_find(&v, 0), 0);
	assert_int_equal(sw_intervals_find(&v, 19), 0);
	assert_int_equal(sw_intervals_find(&v, 20), 1);
	assert_int_equal(sw_intervals_find(&v, 40), 2);
	assert_int_equal(sw_intervals_cut(&v, 12, 12, NULL), 0);
	assert_int_equal(v.n, 2);
	sw_intervals_deinit(&v);
}

/* A random set: each address of it has an owner. */
static void pick_set(struct sw_intervals *v, uint32_t *owners)
{
	uint64_t at = pick(6);
	for (uint32_t owner = 1; at < ADDRESSES; owner++) {
		uint64_t end = at + 1 + pick(8);
		end = end < ADDRESSES ? end : ADDRESSES;
		assert_int_equal(sw_intervals_put(v, at, end, owner), 0);
		for (uint64_t a = at; a < end; a++)
			owners[a] = owner;
		at = end + pick(6);
	}
}

TEST(test_without)
{
	for (int i = 0; i < TURNS; i++) {
		struct sw_intervals a = {0}, b = {0}, ret = {0};
		uint32_t in_a[ADDRESSES] = {EMPTY}, in_b[ADDRESSES] = {EMPTY};
		pick_set(&a, in_a);
		pick_set(&b, in_b);
		assert_int_equal(sw_intervals_without(&a, &b, &ret), 0);
		for (size_t k = 0; k < ADDRESSES; k++)
			in_a[k] = in_b[k] != EMPTY ? EMPTY : in_a[k];
		same(&ret, in_a);
		sw_intervals_deinit(&a);
		sw_intervals_deinit(&b);
		sw_intervals_deinit(&ret);
	}
}

/* So many mappings as vm.max_map_count of a search engine allows, all of which are in both sets: in time that grows with
 * the square it would be a minute. */
TEST(test_without_of_many)
{
	enum { MANY = 262144 };
	struct sw_intervals a = {0}, ret = {0};
	for (uint64_t i = 0; i < MANY; i++)
		assert_int_equal(sw_intervals_put(&a, 2 * i, 2 * i + 1, 1), 0);
	clock_t begin = clock();
	assert_int_equal(sw_intervals_without(&a, &a, &ret), 0);
	assert_int_equal(ret.n, 0);
	assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
	sw_intervals_deinit(&a);
	sw_intervals_deinit(&ret);
}
