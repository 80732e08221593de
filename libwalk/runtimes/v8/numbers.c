/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/v8/numbers.h"
#include "cleanup.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	enum sw_v8_await_builtin builtin;
	const char *name;
} await_builtins[] = {
	{SW_V8_AWAIT_RESOLVE, "AsyncFunctionAwaitResolveClosure"},
	{SW_V8_AWAIT_REJECT, "AsyncFunctionAwaitRejectClosure"},
	{SW_V8_GENERATOR_RESOLVE, "AsyncGeneratorAwaitResolveClosure"},
	{SW_V8_GENERATOR_REJECT, "AsyncGeneratorAwaitRejectClosure"},
	{SW_V8_GENERATOR_YIELD, "AsyncGeneratorYieldWithAwaitResolveClosure"},
	{SW_V8_GENERATOR_YIELD, "AsyncGeneratorYieldResolveClosure"}, /* 10.2 */
	{SW_V8_CAPABILITY_RESOLVE, "PromiseCapabilityDefaultResolve"},
	{SW_V8_ALL_ELEMENT, "PromiseAllResolveElementClosure"},
	{SW_V8_SETTLED_ELEMENT, "PromiseAllSettledResolveElementClosure"},
	{SW_V8_ANY_ELEMENT, "PromiseAnyRejectElementClosure"},
};

enum sw_v8_await_builtin sw_v8_await_builtin_of(const char *name)
{
	for (size_t i = 0; i < SW_ARRAY_SIZE(await_builtins); i++)
		if (strcmp(name, await_builtins[i].name) == 0)
			return await_builtins[i].builtin;
	return SW_V8_AWAIT_BUILTINS;
}

static int compare_offs(const void *a, const void *b)
{
	const struct sw_v8_builtin *x = a, *y = b;
	return (x->off > y->off) - (x->off < y->off);
}

static const struct sw_v8_builtin *builtin_exactly(const struct sw_v8_program *p, uint32_t off,
						   uint32_t bytes)
{
	const struct sw_v8_builtin wanted = {.off = off};
	const struct sw_v8_builtin *b =
		bsearch(&wanted, p->builtins, p->n_builtins, sizeof(*p->builtins), compare_offs);
	return b != NULL && b->bytes == bytes ? b : NULL;
}

/*
 * The data of the blob: three hashes, then for each builtin, by its number, where its code is and how long, and more, which
 * differs in its size. It is that table if each of its entries is one of the builtins that symbols have.
 * Source: src/snapshot/embedded/embedded-data.h, struct LayoutDescription.
 */
static bool numbers_fill(struct sw_v8_program *p, struct sw_bytes data, size_t entry_bytes)
{
	enum { TABLE = 24 };
	int32_t numbers[SW_V8_AWAIT_BUILTINS];
	for (size_t i = 0; i < SW_V8_AWAIT_BUILTINS; i++)
		numbers[i] = SW_V8_NONE;
	for (size_t i = 0; i < p->n_builtins; i++) {
		uint32_t off, bytes;
		if (!sw_bytes_u32(data, TABLE + i * entry_bytes, &off) ||
		    !sw_bytes_u32(data, TABLE + i * entry_bytes + 4, &bytes))
			return false;
		const struct sw_v8_builtin *b = builtin_exactly(p, off, bytes);
		if (b == NULL)
			return false;
		enum sw_v8_await_builtin which = sw_v8_await_builtin_of(b->name);
		if (which < SW_V8_AWAIT_BUILTINS)
			numbers[which] = (int32_t) i;
	}
	for (size_t i = 0; i < SW_V8_AWAIT_BUILTINS; i++)
		if (numbers[i] == SW_V8_NONE)
			return false;
	memcpy(p->at.awaits.builtins, numbers, sizeof(numbers));
	return true;
}

void sw_v8_numbers_find(struct sw_v8_program *p, struct sw_bytes data)
{
	enum { ENTRY_MIN = 8, ENTRY_MAX = 64 };
	for (size_t bytes = ENTRY_MIN; bytes <= ENTRY_MAX && !p->at.awaits.has_builtins; bytes += 4)
		p->at.awaits.has_builtins = numbers_fill(p, data, bytes);
}
