/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Deep recursion: deep DEPTH [PARTS], half a KiB of locals in each frame. With PARTS it computes, for one part in PARTS of
 * the time. */
#include "rest.h"
#include "target.h"

#include <stdlib.h>
#include <string.h>

static long parts;

static NOINLINE void compute(void)
{
	for (;;)
		rest(parts);
}

static NOINLINE int descend(int depth)
{
	volatile char space[512];
	space[0] = (char) depth;
	if (depth == 1 && parts > 0)
		compute();
	else if (depth == 1)
		block();
	else
		return descend(depth - 1) + space[0];
	return space[0];
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 200;
	parts = argc > 2 ? atol(argv[2]) : 0;
	printf("stack %ld block", syscall(SYS_gettid));
	for (int i = 0; i < depth; i++)
		printf(" descend");
	printf(" main\n");
	ready();
	int last = descend(depth);
	KEEP();
	return last;
}
