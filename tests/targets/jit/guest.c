/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program for an emulator: computes for ever in inner <- middle <- outer. */
#include <stdio.h>

static volatile unsigned sink;

__attribute__((noinline)) static unsigned inner(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink = (sink + i * 7) % 1000003;
	return sink;
}

__attribute__((noinline)) static unsigned middle(unsigned n)
{
	return inner(n) + 1;
}

__attribute__((noinline)) static unsigned outer(unsigned n)
{
	return middle(n) + 1;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		sink += outer(1000000);
}
