/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unwind/parts: chains of words that do not depend on each other, over memory that is fetched when it is missed. */
#include "unwind/parts.h"
#include "test.h"

enum { CHAINS = 100, LONG = SW_PARTS_ROUNDS_MAX + 5, WORDS = CHAINS * LONG };

/* Word i is there, or is wanted, or neither; each leads to the next one of its chain. */
static struct {
	bool there[WORDS], wanted[WORDS];
	bool gathers, stuck;
	size_t n_turns, length[CHAINS], n_calls[CHAINS], n_done;
} w;

static bool word_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	if (w.gathers && w.stuck)
		return false;
	if (!w.there[avma] && w.gathers) {
		w.wanted[avma] = w.stuck = true;
		return false;
	}
	w.n_turns += !w.there[avma];
	w.there[avma] = true;
	memset(buffer, 0, length);
	return true;
}

static bool part(void *arg)
{
	bool whole = !w.gathers || !w.stuck;
	w.gathers = true;
	w.stuck = false;
	return whole;
}

static bool fetch(void *arg)
{
	bool any = false;
	for (size_t i = 0; i < WORDS; i++) {
		any |= w.wanted[i];
		w.there[i] |= w.wanted[i];
		w.wanted[i] = false;
	}
	w.gathers = false;
	w.n_turns += any;
	return any;
}

static const struct sw_memory_ops plain_ops = {.read = word_read};
static const struct sw_memory_ops ops = {.read = word_read, .part = part, .fetch = fetch};

static void chain_read(void *arg, size_t i)
{
	const struct sw_memory *memory = arg;
	uint64_t word;
	w.n_calls[i]++;
	for (size_t k = 0; k < w.length[i]; k++)
		if (!sw_memory_u64(*memory, i * LONG + k, &word))
			return;
	w.n_done++;
}

static void chains_read(const struct sw_memory_ops *how, size_t length)
{
	const struct sw_memory memory = {how, NULL};
	memset(&w, 0, sizeof(w));
	for (size_t i = 0; i < CHAINS; i++)
		w.length[i] = length;
	sw_parts_do(memory, CHAINS, chain_read, (void *) &memory);
	assert_false(w.gathers);
}

TEST(test_turns)
{
	chains_read(&ops, 3);
	assert_int_equal(w.n_turns, 3);
	assert_int_equal(w.n_done, CHAINS);
	for (size_t i = 0; i < CHAINS; i++)
		assert_int_equal(w.n_calls[i], 4);
}

/* A chain that is there is not read again for the others. */
TEST(test_done)
{
	const struct sw_memory memory = {&ops, NULL};
	memset(&w, 0, sizeof(w));
	w.length[0] = w.length[CHAINS - 1] = 2;
	w.length[7] = 5;
	sw_parts_do(memory, CHAINS, chain_read, (void *) &memory);
	assert_int_equal(w.n_turns, 5);
	assert_int_equal(w.n_done, CHAINS);
	assert_int_equal(w.n_calls[1], 1);
	assert_int_equal(w.n_calls[0], 3);
	assert_int_equal(w.n_calls[CHAINS - 1], 3);
	assert_int_equal(w.n_calls[7], 6);
}

TEST(test_without_parts)
{
	chains_read(&plain_ops, 3);
	assert_int_equal(w.n_turns, 3 * CHAINS);
	assert_int_equal(w.n_done, CHAINS);
	for (size_t i = 0; i < CHAINS; i++)
		assert_int_equal(w.n_calls[i], 1);
}

/* Longer chains than there are rounds are read to their ends. */
TEST(test_long)
{
	chains_read(&ops, LONG);
	assert_int_equal(w.n_done, CHAINS);
	assert_int_equal(w.n_turns, SW_PARTS_ROUNDS_MAX + (LONG - SW_PARTS_ROUNDS_MAX) * CHAINS);
}

TEST(test_nothing)
{
	const struct sw_memory memory = {&ops, NULL};
	memset(&w, 0, sizeof(w));
	sw_parts_do(memory, 0, chain_read, (void *) &memory);
	assert_int_equal(w.n_turns, 0);
}
