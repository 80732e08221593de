/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions whose returns a tool probes: prints their names, reads, and then calls them and blocks. */
#include "target.h"

NOINLINE void innermost(void)
{
	block();
	KEEP();
}

NOINLINE void recursive(int depth)
{
	if (depth > 0)
		recursive(depth - 1);
	else
		innermost();
	KEEP();
}

/* Jumps to the next one, so that one place has the returns of two. */
NOINLINE void jumps(int depth)
{
	recursive(depth);
}

NOINLINE void plain(int depth)
{
	jumps(depth);
	KEEP();
}

int main(void)
{
	printf("functions innermost recursive jumps plain\n");
	ready();
	getchar();
	expect_stack("block innermost recursive recursive recursive plain main");
	plain(2);
	return 0;
}
