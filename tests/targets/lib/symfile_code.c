/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The functions that symfile.h loads: they leave nothing in rbp that a chain of frame pointers
 * could follow. Compiled to an object file whose code refers to nothing outside its own section.
 */
#define NOINLINE __attribute__((noipa, used))

typedef void blocker(void);

static NOINLINE void inner(blocker *block)
{
	__asm__ volatile("mov $1, %%ebp" : : : "rbp");
	block();
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void middle(blocker *block)
{
	char space[40];
	__asm__ volatile("" : : "r"(space) : "memory");
	inner(block);
	__asm__ volatile("" : : "r"(space) : "memory");
}

static NOINLINE void outer(blocker *block)
{
	middle(block);
	__asm__ volatile("" : : : "memory", "rbx", "r12");
}
