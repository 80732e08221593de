/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that are at a random depth, which their functions' names say: d7 calls d8, and d0 is called by
 * turn. Every eighth one has a large array that it does not touch: a hole in the stack. The last one computes, or is in
 * the kernel.
 *
 * A stack is right when the numbers follow each other down to 0.
 *
 * With "alike" they are in a chain of two functions that have the same frame, each called at random: where the
 * innermost function is and its registers do not tell which ones.
 *
 * arguments: threads [alike]
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static __thread uint64_t seed;

static uint64_t draw(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 33;
}

static NOINLINE void spin(void)
{
	for (volatile int i = 0; i < 3000; i++)
		;
}

static NOINLINE void call_kernel(void)
{
	static const char zeros[64];
	for (int i = 0; i < 8; i++)
		if (pwrite(1000, zeros, sizeof(zeros), 0) >= 0) /* there is no such file */
			abort();
}

static NOINLINE void leaf(void)
{
	if (draw() % 4 == 0)
		call_kernel();
	else
		spin();
}

#define PLAIN(n, next)                              \
	static NOINLINE void d##n(unsigned deepest) \
	{                                           \
		if (deepest <= n)                   \
			leaf();                     \
		else                                \
			next;                       \
		asm volatile("");                   \
	}
#define HOLE(n, next)                                \
	static NOINLINE void d##n(unsigned deepest)  \
	{                                            \
		char untouched[8192];                \
		asm volatile("" : : "r"(untouched)); \
		if (deepest <= n)                    \
			leaf();                      \
		else                                 \
			next;                        \
		asm volatile("");                    \
	}

PLAIN(15, leaf())
PLAIN(14, d15(deepest))
PLAIN(13, d14(deepest))
PLAIN(12, d13(deepest))
HOLE(11, d12(deepest))
PLAIN(10, d11(deepest))
PLAIN(9, d10(deepest))
PLAIN(8, d9(deepest))
PLAIN(7, d8(deepest))
PLAIN(6, d7(deepest))
PLAIN(5, d6(deepest))
PLAIN(4, d5(deepest))
HOLE(3, d4(deepest))
PLAIN(2, d3(deepest))
PLAIN(1, d2(deepest))
PLAIN(0, d1(deepest))

#define ALIKE(name)                                   \
	static NOINLINE void name(unsigned more)      \
	{                                             \
		if (more == 0)                        \
			leaf();                       \
		else                                  \
			either[draw() % 2](more - 1); \
		asm volatile("");                     \
	}
static void (*const either[2])(unsigned);
ALIKE(left)
ALIKE(right)
static void (*const either[2])(unsigned) = {left, right};

static bool is_alike;

static NOINLINE void turn(void)
{
	if (is_alike)
		left(3);
	else
		d0((unsigned) (draw() % 16));
	asm volatile("");
}

static NOINLINE void *work(void *arg)
{
	seed = (uint64_t) (uintptr_t) arg;
	for (;;)
		turn();
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	is_alike = argc > 2;
	for (int i = 1; i < n; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, work, (void *) (uintptr_t) i) != 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	work((void *) (uintptr_t) 77);
}
