/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions in pages of the program that are executable only while they are called, one after another, 400 ms each. That
 * changes neither what is mapped nor the size of the memory. They call pass(), which waits.
 */
#include "target.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, FUNCTIONS = 6, TURN_US = 400000 };

static NOINLINE void pass(void)
{
	(void) usleep(TURN_US);
	KEEP();
}

#define LATE(n)                                                                                    \
	static NOINLINE __attribute__((section(".late" #n), aligned(PAGE))) void late##n(void)     \
	{                                                                                          \
		pass();                                                                            \
		KEEP();                                                                            \
	}

LATE(0)
LATE(1)
LATE(2)
LATE(3)
LATE(4)
LATE(5)
static ALONE __attribute__((section(".late6"), aligned(PAGE))) void rest_of_page(void)
{
}

static void (*const functions[FUNCTIONS])(void) = {late0, late1, late2, late3, late4, late5};

static bool protect(size_t i, int protection)
{
	return mprotect((void *) ((uintptr_t) functions[i] & ~(uintptr_t) (PAGE - 1)), PAGE,
			protection) == 0;
}

static NOINLINE bool turn(size_t i)
{
	if (!protect(i, PROT_READ | PROT_EXEC))
		return false;
	functions[i]();
	return protect(i, PROT_READ);
}

int main(void)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!protect(i, PROT_READ))
			return 1;
	ready();
	for (size_t i = 0; turn(i % FUNCTIONS); i++)
		KEEP();
	return 1;
}
