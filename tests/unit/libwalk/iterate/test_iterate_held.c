/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* iterate/bpf/held.bpf.h: what other CPUs do between two steps of a change, over a table that uses places again at once. */
#include "iterate/called.h"
#include "test.h"

enum { PLACES = 2, EACH_TIME = -1 };

static struct place {
	struct sw_called_handle key;
	struct sw_called_held held;
	bool used;
} places[PLACES];
static void (*others)(void); /* what other CPUs do after a look */
static int looks_until_then;
static struct sw_called_setup at_call;

static struct place *place_of(const struct sw_called_handle *key)
{
	for (size_t i = 0; i < PLACES; i++)
		if (places[i].used && memcmp(&places[i].key, key, sizeof(*key)) == 0)
			return &places[i];
	return NULL;
}

static void *bpf_map_lookup_elem(void *table, const void *key)
{
	struct place *ret = place_of(key);
	(void) table;
	void (*now)(void) = others;
	if (now != NULL && (looks_until_then == EACH_TIME || --looks_until_then == 0)) {
		others = NULL;
		now();
		others = looks_until_then == EACH_TIME ? now : NULL;
	}
	return ret == NULL ? NULL : &ret->held;
}

static long bpf_map_update_elem(void *table, const void *key, const void *value, uint64_t flags)
{
	(void) table;
	assert_int_equal(flags, 1);
	if (place_of(key) != NULL)
		return -EEXIST;
	for (size_t i = 0; i < PLACES; i++)
		if (!places[i].used) {
			places[i].used = true;
			memcpy(&places[i].key, key, sizeof(places[i].key));
			memcpy(&places[i].held, value, sizeof(places[i].held));
			return 0;
		}
	return -E2BIG;
}

static long bpf_map_delete_elem(void *table, const void *key)
{
	struct place *place = place_of(key);
	(void) table;
	if (place == NULL)
		return -ENOENT;
	place->used = false;
	return 0;
}

static void (*at_step)(void); /* what another CPU does after a step in the notes on an entry */
static int steps_until_then;

static void step(void)
{
	void (*now)(void) = at_step;
	if (now == NULL || --steps_until_then != 0)
		return;
	at_step = NULL;
	now();
}

static void after(int steps, void (*what)(void))
{
	steps_until_then = steps;
	at_step = what;
}

static uint64_t exchange(uint64_t *word, uint64_t value)
{
	const uint64_t ret = *word;
	*word = value;
	step();
	return ret;
}

static uint64_t thread_read(const uint64_t *word)
{
	const uint64_t ret = *word;
	step();
	return ret;
}

/* held_note() and held_is_by() alone have these; n_entries is no thread. */
#define __sync_lock_test_and_set      exchange
#define __sync_fetch_and_add(word, n) ((n) == 0 ? thread_read(word) : (*(word) += (n)) - (n))
#include "iterate/bpf/held.bpf.h"
#undef __sync_lock_test_and_set
#undef __sync_fetch_and_add

static const struct sw_called_handle x = {.handle = 0x10}, y = {.handle = 0x20},
				     z = {.handle = 0x30};
static struct sw_sampled_counts cpu;

static int setup(void **state)
{
	(void) state;
	memset(places, 0, sizeof(places));
	memset(&at_call, 0, sizeof(at_call));
	memset(&cpu, 0, sizeof(cpu));
	others = NULL;
	return 0;
}

static bool add(const struct sw_called_handle *key)
{
	return held_add(places, key, &at_call, &cpu) != NULL;
}

static enum taken_off take(const struct sw_called_handle *key)
{
	struct sw_called_held was;
	return held_take(places, key, &was);
}

/* 0: it is not in the table. */
static uint32_t count_of(const struct sw_called_handle *key)
{
	const struct place *place = place_of(key);
	return place == NULL ? 0 : (uint32_t) place->held.count;
}

static void then(int looks, void (*what)(void))
{
	looks_until_then = looks;
	others = what;
}

TEST_WITH(test_counts, setup, NULL)
{
	assert_true(add(&x));
	assert_true(add(&x));
	assert_true(add(&y));
	assert_int_equal(count_of(&x), 2);
	assert_int_equal(take(&x), TAKEN_OFF);
	assert_int_equal(take(&x), TAKEN_OFF);
	assert_int_equal(take(&x), NOT_THERE);
	assert_null(place_of(&x));
	assert_int_equal(count_of(&y), 1);
	assert_true(add(&x));
	assert_false(add(&z));
	assert_int_equal(cpu.n_not_held, 1);
}

/* Another CPU is about to take it out, and does not come to that. */
TEST_WITH(test_about_to_go, setup, NULL)
{
	assert_true(add(&x));
	place_of(&x)->held.count--;
	assert_false(add(&x));
	assert_int_equal(cpu.n_unsure, 1);
	assert_int_equal(take(&x), NOT_THERE);
}

static void place_becomes_that_of_y(void)
{
	assert_int_equal(take(&x), TAKEN_OFF);
	assert_true(add(&y));
}

/* Two threads release x, and the place is that of y when the second one changes the count. */
TEST_WITH(test_take_from_another, setup, NULL)
{
	for (int looks = 1; looks <= 2; looks++) {
		setup(NULL);
		assert_true(add(&x));
		then(looks, place_becomes_that_of_y);
		assert_int_equal(take(&x), NOT_THERE);
		assert_null(others);
		assert_int_equal(count_of(&y), 1);
		assert_int_equal(take(&y), TAKEN_OFF);
	}
}

/* The same where x is acquired: y has no count that it does not go back from, and x has its own. */
TEST_WITH(test_add_to_another, setup, NULL)
{
	for (int looks = 1; looks <= 2; looks++) {
		setup(NULL);
		assert_true(add(&x));
		then(looks, place_becomes_that_of_y);
		assert_true(add(&x));
		assert_null(others);
		assert_int_equal(count_of(&y), 1);
		assert_int_equal(count_of(&x), 1);
		assert_int_equal(take(&y), TAKEN_OFF);
		assert_null(place_of(&y));
	}
}

static void x_goes_and_comes(void)
{
	assert_int_equal(take(&x), TAKEN_OFF);
	assert_true(add(&x));
}

/* x is released and acquired again in its place: the new one is counted. */
TEST_WITH(test_same_again, setup, NULL)
{
	for (int looks = 1; looks <= 2; looks++) {
		setup(NULL);
		assert_true(add(&x));
		then(looks, x_goes_and_comes);
		assert_int_equal(take(&x), TAKEN_OFF);
		assert_null(place_of(&x));
	}
	setup(NULL);
	assert_true(add(&x));
	then(EACH_TIME, x_goes_and_comes);
	assert_int_equal(take(&x), UNSURE);
	assert_false(add(&x));
	assert_int_equal(cpu.n_unsure, 1);
	assert_int_equal(count_of(&x), 1);
}

enum { A = 11, B = 12, BEGAN_NS = 100, BEFORE_NS = 50, MEANWHILE_NS = 150 };
static struct sw_called_held noted;
static bool found;

static void a_looks(void)
{
	found = held_is_by(&noted, A, BEGAN_NS);
}

static void b_notes(void)
{
	held_note(&noted, 2, MEANWHILE_NS, B);
}

/* A call of A is an inner one where A has acquired the handle since its call began, and no other thread after it. */
TEST(test_acquired_by)
{
	held_note(&noted, 1, MEANWHILE_NS, A);
	assert_true(held_is_by(&noted, A, BEGAN_NS));
	assert_false(held_is_by(&noted, B, BEGAN_NS));
	held_note(&noted, 1, BEFORE_NS, A);
	assert_false(held_is_by(&noted, A, BEGAN_NS));
	held_note(&noted, 2, MEANWHILE_NS, B);
	assert_false(held_is_by(&noted, A, BEGAN_NS));
}

/* A has acquired the handle before its call, and B acquires it meanwhile: A takes B's time for its own at no step. */
TEST(test_acquired_by_another_meanwhile)
{
	for (int steps = 1; steps <= 2; steps++) {
		held_note(&noted, 1, BEFORE_NS, A);
		found = true;
		after(steps, a_looks);
		b_notes();
		assert_null(at_step);
		assert_false(found);
	}
	held_note(&noted, 1, BEFORE_NS, A);
	after(1, b_notes);
	assert_false(held_is_by(&noted, A, BEGAN_NS));
	assert_null(at_step);
}
