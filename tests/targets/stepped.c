/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A loop for single-stepping: calls through the PLT that bind lazily (stub, resolver, target),
 * prologues, epilogues, variable frames, callbacks, string functions, a longjmp. Prints the address of
 * begin_steps() and end_steps(), then calls the one, does the work, calls the other.
 */
#include "target.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static volatile size_t sink;

void begin_steps(void);
void end_steps(void);

void NOINLINE begin_steps(void)
{
	KEEP();
}

void NOINLINE end_steps(void)
{
	KEEP();
}

static NOINLINE int compare(const void *a, const void *b)
{
	return *(const int *) a - *(const int *) b;
}

static NOINLINE size_t variable(size_t n)
{
	_Alignas(64) volatile char aligned[64];
	volatile char *more = alloca(n);
	aligned[0] = more[n - 1] = 1;
	return (size_t) aligned[0] + (size_t) more[n - 1];
}

static NOINLINE size_t many_arguments(size_t a, size_t b, size_t c, size_t d, size_t e, size_t f,
				      size_t g, size_t h)
{
	return variable(a + b + c + 30) + d + e + f + g + h;
}

static NOINLINE size_t lazily_bound(const char *text)
{
	return strcspn(text, "xyz") + strspn(text, "abc") + (size_t) atoi("17") + (size_t) labs(-4);
}

static NOINLINE size_t sorted(void)
{
	int numbers[] = {5, 3, 9, 1};
	qsort(numbers, 4, sizeof(*numbers), compare);
	return (size_t) numbers[0];
}

static NOINLINE void leap(jmp_buf place, int n)
{
	if (!released)
		longjmp(place, n);
	KEEP();
}

static NOINLINE size_t leaping(int n)
{
	jmp_buf place;
	if (setjmp(place) == 0)
		leap(place, n);
	return 1;
}

static NOINLINE size_t formatted(size_t n)
{
	char text[32];
	return (size_t) snprintf(text, sizeof(text), "%zu %s", n, "abc");
}

static NOINLINE void work(void)
{
	sink = lazily_bound("abcabcz");
	sink += many_arguments(1, 2, 3, 4, 5, 6, 7, 8);
	sink += sorted();
	sink += leaping(3);
	free(malloc(100));
	sink += formatted(sink);
	KEEP();
}

int main(void)
{
	printf("begin %p\nend %p\n", (void *) begin_steps, (void *) end_steps);
	ready();
	getchar();
	begin_steps();
	work();
	end_steps();
	block();
	return 0;
}
