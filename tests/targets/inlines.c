/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two levels of inlined calls between real frames: "inlined:" marks them. */
#include "target.h"

static inline __attribute__((always_inline)) void inner(int *n)
{
	*n += 1;
	block();
	KEEP();
}

static inline __attribute__((always_inline)) void middle(int *n)
{
	*n *= 2;
	inner(n);
}

static NOINLINE void outer(int n)
{
	middle(&n);
	printf("%d\n", n);
}

int main(void)
{
	expect_stack("block inlined:inner inlined:middle outer main");
	ready();
	outer(3);
	return 0;
}
