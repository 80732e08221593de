/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/v8/numbers: the table that V8 has of its builtins. */
#include "cleanup.h"
#include "runtimes/v8/numbers.h"
#include "test.h"

enum { TABLE = 24, ENTRY_MAX = 32, N = 12 };

/* By off; their numbers are in the other direction. */
static struct sw_v8_builtin builtins[N] = {
	{.name = "Abort"},
	{.name = "AsyncFunctionAwaitRejectClosure"},
	{.name = "AsyncFunctionAwaitResolveClosure"},
	{.name = "AsyncGeneratorAwaitRejectClosure"},
	{.name = "AsyncGeneratorAwaitResolveClosure"},
	{.name = "AsyncGeneratorYieldWithAwaitResolveClosure"},
	{.name = "PromiseAllResolveElementClosure"},
	{.name = "PromiseAllSettledResolveElementClosure"},
	{.name = "PromiseAnyRejectElementClosure"},
	{.name = "PromiseCapabilityDefaultReject"},
	{.name = "PromiseCapabilityDefaultResolve"},
	{.name = "RunMicrotasks"},
};
static uint8_t data[TABLE + N * ENTRY_MAX];

static struct sw_v8_program make(size_t entry_bytes)
{
	memset(data, 0, sizeof(data));
	for (uint32_t i = 0; i < N; i++) {
		uint32_t entry[2] = {64 * i, 20 + i};
		builtins[i].off = entry[0];
		builtins[i].bytes = entry[1];
		memcpy(data + TABLE + (N - 1 - i) * entry_bytes, entry, sizeof(entry));
	}
	return (struct sw_v8_program){.builtins = builtins, .n_builtins = N};
}

static bool find(struct sw_v8_program *p, size_t bytes)
{
	sw_v8_numbers_find(p, (struct sw_bytes){data, bytes});
	return p->at.awaits.has_builtins;
}

TEST(test_found)
{
	static const size_t sizes[] = {12, 28, 32};
	for (size_t i = 0; i < SW_ARRAY_SIZE(sizes); i++) {
		struct sw_v8_program p = make(sizes[i]);
		assert_true(find(&p, TABLE + N * sizes[i]));
		for (size_t k = 0; k < N; k++) {
			enum sw_v8_await_builtin b = sw_v8_await_builtin_of(builtins[k].name);
			if (b != SW_V8_AWAIT_BUILTINS)
				assert_int_equal(p.at.awaits.builtins[b], N - 1 - k);
		}
		p = make(sizes[i]); /* cut off */
		assert_false(find(&p, TABLE + (N - 1) * sizes[i]));
	}
}

TEST(test_other_table)
{
	/* A table with an entry that is no builtin, and one with an entry of another length. */
	struct sw_v8_program p = make(12);
	data[TABLE + 5 * 12] ^= 4;
	assert_false(find(&p, sizeof(data)));
	p = make(12);
	data[TABLE + 5 * 12 + 4] ^= 4;
	assert_false(find(&p, sizeof(data)));
}

TEST(test_one_missing)
{
	struct sw_v8_program p = make(12);
	builtins[8].name = "PromiseAnyResolve";
	assert_false(find(&p, sizeof(data)));
	builtins[8].name = "PromiseAnyRejectElementClosure";
	builtins[5].name = "AsyncGeneratorYieldResolveClosure"; /* as 10.2 calls it */
	assert_true(find(&p, sizeof(data)));
	builtins[5].name = "AsyncGeneratorYieldWithAwaitResolveClosure";
}
