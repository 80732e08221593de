/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread that spins in a leaf without a frame: CFA is rsp + 8 and nothing was pushed. */
#include "target.h"

static volatile unsigned long counter;

static NOINLINE void spin(void)
{
	while (!released)
		counter++;
}

static NOINLINE void caller(void)
{
	spin();
	KEEP();
}

int main(void)
{
	expect_stack("spin caller main");
	ready();
	caller();
	return 0;
}
