/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks of their own as D's runtime makes them: what its function fiber_entryPoint returns to is 0. With
 * "other" the function has another name, and the 0 says nothing.
 */
#include "target.h"

#include <stdbool.h>
#include <string.h>

NOINLINE __attribute__((visibility("default"))) void fiber_entryPoint(void)
{
	block();
	KEEP();
}

NOINLINE void other_entryPoint(void)
{
	block();
	KEEP();
	KEEP();
}

int main(int argc, char **argv)
{
	static char stack[65536] __attribute__((aligned(16)));
	bool other = argc > 1 && strcmp(argv[1], "other") == 0;
	void (*entry)(void) = other ? other_entryPoint : fiber_entryPoint;
	expect_stack(other ? "block other_entryPoint" : "block fiber_entryPoint");
	ready();
	/* Zeros above it as well, as in a mapping of its own. */
	__asm__ volatile("mov %0, %%rsp\n\tpush $0\n\tjmp *%1"
			 :
			 : "r"(stack + sizeof(stack) - 64), "r"(entry)
			 : "memory");
	return 1;
}
