/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/recipe: the Thread object that the kernel copies at an event. */
#include "copies/execute.h"
#include "copies/record.h"
#include "fake.h"
#include "runtimes/clr/recipe.h"
#include "runtimes/clr/threads.h"
#include "test.h"

enum {
	FS = 0x10000,
	PTHREAD_TID = 0x2d0,
	STORE_VARIABLE = 0x20000,
	STORE = 0x21000,
	THREADS = 0x30000,
	BYTES = 0x400, /* from one Thread to the next */
	FIRST = 24,    /* in the store */
	NEXT = 40,     /* in a Thread */
	OSID = 32,
	N = 3,
};

static uint64_t tid, store_variable, store[8], threads[N][BYTES / 8],
	record[SW_SAMPLED_BYTES_MAX / 8];
static struct sw_copy_part parts[SW_COPY_PARTS_MAX];

/* The copy of a thread with that number, of N whose numbers are 100 and on. */
static struct sw_copy execute(uint64_t number)
{
	static const struct sw_clr_layout at = {.store_avma = STORE_VARIABLE,
						.store_first = FIRST,
						.thread_next = NEXT,
						.thread_osid = OSID};
	struct fake_memory fake =
		FAKE_MEMORY({FS + PTHREAD_TID, &tid, 8}, {STORE_VARIABLE, &store_variable, 8},
			    {STORE, store, sizeof(store)}, {THREADS, threads, sizeof(threads)});
	const uint64_t regs[SW_ITERATE_REGS] = {0};
	const struct sw_recipe_thread thread = {regs, FS};
	struct sw_recipe recipe = {0};
	struct sw_copy copy;
	sw_clr_recipe_make(&at, &recipe);
	assert_true(sw_recipe_finish(&recipe));
	/* The word behind the number is another one's. */
	tid = number | UINT64_C(7) << 32;
	size_t bytes =
		sw_recipe_execute(&recipe.steps, fake_memory(&fake), &thread, (uint8_t *) record);
	assert_true(sw_copy_parse((const uint8_t *) record, bytes, parts, &copy));
	return copy;
}

static int setup(void **state)
{
	store_variable = STORE;
	memset(threads, 0, sizeof(threads));
	store[FIRST / 8] = THREADS + NEXT;
	for (uint64_t i = 0; i < N; i++) {
		threads[i][OSID / 8] = (100 + i) | UINT64_C(9) << 32;
		threads[i][NEXT / 8] = i + 1 < N ? THREADS + BYTES * (i + 1) + NEXT : 0;
	}
	return 0;
}

TEST_WITH(test_found, setup, NULL)
{
	for (uint64_t i = 0; i < N; i++) {
		struct sw_copy copy = execute(100 + i);
		assert_int_equal(copy.n_parts, 1);
		assert_int_equal(copy.parts[0].avma, THREADS + BYTES * i);
		assert_int_equal(copy.parts[0].bytes, SW_CLR_THREAD_BYTES);
	}
}

TEST_WITH(test_not_found, setup, NULL)
{
	assert_int_equal(execute(99).n_parts, 0);
	/* A list that leads back, and none at all. */
	threads[N - 1][NEXT / 8] = THREADS + NEXT;
	struct sw_copy copy = execute(99);
	assert_int_equal(copy.n_parts, 0);
	assert_int_equal(copy.head.flags & SW_SAMPLED_CUT, 0);
	store_variable = 0;
	assert_int_equal(execute(100).n_parts, 0);
}
