/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks of their own as D's runtime makes them: what its function fiber_entryPoint returns to is 0. With
 * "other" the function has another name, and the 0 says nothing. With "mapped" it is the last word of memory that was
 * mapped for the stack, as with Crystal.
 */
#include "target.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

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
	bool mapped = argc > 1 && strcmp(argv[1], "mapped") == 0;
	bool other = mapped || (argc > 1 && strcmp(argv[1], "other") == 0);
	char *end = stack + sizeof(stack) - 64; /* zeros above it as well */
	if (mapped) {
		char *memory = mmap(NULL, 3 * sizeof(stack), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED ||
		    mprotect(memory + sizeof(stack), sizeof(stack), PROT_READ | PROT_WRITE) != 0)
			return 1;
		end = memory + 2 * sizeof(stack);
	}
	void (*entry)(void) = other ? other_entryPoint : fiber_entryPoint;
	expect_stack(other ? "block other_entryPoint" : "block fiber_entryPoint");
	ready();
	__asm__ volatile("mov %0, %%rsp\n\tpush $0\n\tjmp *%1"
			 :
			 : "r"(end), "r"(entry)
			 : "memory");
	return 1;
}
