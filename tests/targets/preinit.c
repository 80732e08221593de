/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The function that the dynamic loader calls before the program: its DT_PREINIT_ARRAY, as
 * constructors of libraries are. The stack begins in the loader's entry code, which has no tables.
 */
#include "target.h"

static NOINLINE void before_main(void)
{
	expect_stack("block before_main");
	ready();
	for (;;)
		block();
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = before_main;

int main(void)
{
	return 0;
}
