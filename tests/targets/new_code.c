/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compiles all the time: each function is in a page that has just become executable, in room that was
 * set aside long before, so that the size of the memory does not change. run() calls them, they call
 * work().
 */
#include "target.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 1 << 16, SPINS = 20000 };

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char function[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

static NOINLINE void work(void)
{
	for (volatile int i = 0; i < SPINS; i++)
		KEEP();
}

static NOINLINE int run(unsigned char *room)
{
	for (size_t i = 0; i < PAGES; i++) {
		unsigned char *page = room + i * PAGE;
		if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) < 0)
			return 1;
		memcpy(page, function, sizeof(function));
		if (mprotect(page, PAGE, PROT_READ | PROT_EXEC) < 0)
			return 1;
		((void (*)(void (*)(void)))(void *) page)(work);
	}
	return 0;
}

int main(void)
{
	unsigned char *room = mmap(NULL, (size_t) PAGES * PAGE, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return 1;
	puts("ready");
	(void) fflush(stdout);
	while (run(room) == 0)
		if (mprotect(room, (size_t) PAGES * PAGE, PROT_NONE) < 0)
			break;
	return 1;
}
