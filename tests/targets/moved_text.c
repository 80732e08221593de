/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program that has moved its code to anonymous memory at the same address, as for huge pages. */
#include "target.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern const char etext; /* the linker's: where the code ends */

static NOINLINE void moved(void)
{
	expect_stack("block moved caller main");
	ready();
	block();
	KEEP();
}

static NOINLINE void caller(void)
{
	moved();
	KEEP();
}

static NOINLINE void move_text(int (*code)(void))
{
	enum { PAGE = 4096 };
	uintptr_t start = (uintptr_t) code & ~(uintptr_t) (PAGE - 1);
	uintptr_t end = ((uintptr_t) &etext + PAGE - 1) & ~(uintptr_t) (PAGE - 1);
	void *copy =
		mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		exit(1);
	memcpy(copy, (const void *) start, end - start);
	if (mprotect(copy, end - start, PROT_READ | PROT_EXEC) != 0 ||
	    mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED, (void *) start) ==
		    MAP_FAILED)
		exit(1);
}

int main(void)
{
	move_text(main);
	caller();
	return 0;
}
