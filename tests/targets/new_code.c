/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compiles all the time: each function is in a page that has just become executable, in space that was
 * set aside long before, so that the size of the memory does not change. run() calls them, they call
 * work(). A page stays executable for the next PAGES / 2 of them, which take seconds, so that whoever
 * reads the maps before and after it stops the program has seen the page in one of them.
 */
#include "target.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 1 << 15, SPINS = 100000 };

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char function[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static NOINLINE void work(void)
{
	for (volatile int i = 0; i < SPINS; i++)
		KEEP();
}

static bool page_make(unsigned char *page)
{
	if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) < 0)
		return false;
	memcpy(page, function, sizeof(function));
	return mprotect(page, PAGE, PROT_READ | PROT_EXEC) == 0;
}

static NOINLINE void run(unsigned char *space)
{
	for (size_t i = 0;; i++) {
		unsigned char *page = space + i % PAGES * PAGE;
		unsigned char *old = space + (i + PAGES / 2) % PAGES * PAGE;
		if (!page_make(page) || mprotect(old, PAGE, PROT_NONE) < 0)
			return;
		((void (*)(void (*)(void)))(void *) page)(work);
	}
}

int main(void)
{
	unsigned char *space = mmap(NULL, (size_t) PAGES * PAGE, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED || !page_make(space)) /* there is such code from the start */
		return 1;
	puts("ready");
	(void) fflush(stdout);
	run(space);
	return 1;
}
