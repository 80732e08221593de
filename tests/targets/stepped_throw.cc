/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Exceptions for single-stepping, as stepped.c: thrown through destructors, thrown again, caught in frames
 * with and without a frame pointer, where arguments are on the stack. All is done once before, so that
 * the dynamic linker has no part in it.
 */
#include "target.h"

#include <alloca.h>
#include <stdexcept>

static volatile size_t sink;

NOINLINE void begin_steps()
{
	KEEP();
}

NOINLINE void end_steps()
{
	KEEP();
}

struct Guard {
	NOINLINE ~Guard()
	{
		sink = sink + 1;
	}
};

NOINLINE void thrower(int depth)
{
	Guard guard;
	if (depth == 0)
		throw 17;
	thrower(depth - 1);
	KEEP();
}

NOINLINE void eight(int depth, int b, int c, int d, int e, int f, int g, int h)
{
	thrower(depth);
	sink = sink + static_cast<size_t>(b + c + d + e + f + g + h);
}

/* The arguments of eight() are on the stack when it throws. */
NOINLINE void catcher(int n)
{
	int a = n + 1, b = n + 2, c = n + 3;
	try {
		Guard guard;
		eight(n, a, b, c, a + b, b + c, a + c, a + b + c);
	} catch (int) {
		sink = sink + static_cast<size_t>(a + b + c);
	}
	KEEP();
}

/* The frame has no fixed size: its table counts from rbp. */
NOINLINE void variable(size_t n)
{
	volatile char *more = static_cast<volatile char *>(alloca(n));
	more[n - 1] = 1;
	try {
		catcher(1);
		thrower(0);
	} catch (...) {
		sink = sink + static_cast<size_t>(more[n - 1]);
	}
	KEEP();
}

NOINLINE void rethrower(int depth)
{
	try {
		thrower(depth);
	} catch (...) {
		sink = sink + 1;
		throw;
	}
}

NOINLINE void work()
{
	variable(sink % 7 + 40);
	try {
		rethrower(0);
	} catch (int) {
		sink = sink + 1;
	}
	KEEP();
}

int main()
{
	std::printf("begin %p\nend %p\n", reinterpret_cast<void *>(begin_steps),
		    reinterpret_cast<void *>(end_steps));
	work();
	ready();
	getchar();
	begin_steps();
	work();
	end_steps();
	block();
	return 0;
}
