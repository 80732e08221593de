/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * locks_memory FILE LIBRARY [spin]: for each line a thread waits with the lock of this memory. The first one unmaps a page of FILE
 * that has to be written first: munmap(2) has the lock for reading by then. The second one waits for the lock to map
 * memory, and whoever comes later waits for that one. LIBRARY is mapped as the loader does it. spin: one more thread
 * is on a CPU all the time, and needs nothing of the memory. The program is linked statically, so that probes in files that
 * other processes map do not wait for this one.
 */
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static char *page;

static void *unmap(void *arg)
{
	munmap(page, PAGE);
	return arg;
}

static _Noreturn void *spin(void *arg)
{
	(void) arg;
	for (;;)
		__asm__ volatile("pause");
}

int main(int argc, char **argv)
{
	pthread_t unmaps, spins;
	char line[16];
	if (argc < 3)
		return 2;
	int file = open(argv[1], O_RDWR), library = open(argv[2], O_RDONLY);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (page == MAP_FAILED ||
	    mmap(NULL, 4 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, library, 0) == MAP_FAILED)
		return 1;
	close(library);
	if (argc > 3 && pthread_create(&spins, NULL, spin, NULL) != 0)
		return 1;
	page[0] = 1;
	ready();
	if (fgets(line, sizeof(line), stdin) != NULL &&
	    pthread_create(&unmaps, NULL, unmap, NULL) != 0)
		return 1;
	if (fgets(line, sizeof(line), stdin) != NULL)
		mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (fgets(line, sizeof(line), stdin) != NULL)
		continue;
	return 0;
}
