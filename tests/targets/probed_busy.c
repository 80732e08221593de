/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions whose returns a tool probes, called again and again: a thread computes, at any instant somewhere
 * in main -> top -> middle -> deeper (21 times at most). Prints their names, reads, and begins.
 */
#include "target.h"

enum { DEPTH = 20 };

static volatile unsigned sum;

NOINLINE void deeper(int depth)
{
	for (int i = 0; i < 200; i++)
		sum += (unsigned) i;
	if (depth > 0)
		deeper(depth - 1);
	for (int i = 0; i < 200; i++)
		sum += (unsigned) i;
	KEEP();
}

NOINLINE void middle(void)
{
	deeper(DEPTH);
	KEEP();
}

NOINLINE void top(void)
{
	middle();
	KEEP();
}

int main(void)
{
	printf("functions deeper middle top\n");
	ready();
	getchar();
	while (!released)
		top();
	return 0;
}
