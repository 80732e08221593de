/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* middle() ends with a jump to last(): it is not on the stack and must not be shown. */
#include "target.h"

static NOINLINE int last(int n)
{
	block();
	return n + 1;
}

static NOINLINE int middle(int n)
{
	return last(n * 3);
}

static NOINLINE int first(int n)
{
	return middle(n + 5) + 1;
}

int main(void)
{
	expect_stack("block last first main");
	ready();
	int n = first(1);
	KEEP();
	return n;
}
