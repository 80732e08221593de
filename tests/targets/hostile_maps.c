/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Many mappings with odd names.
 *
 *	hostile_maps N FILE...	N anonymous executable mappings that cannot be merged, and each FILE
 *				mapped executable
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

int main(int argc, char **argv)
{
	if (argc < 2)
		errx(2, "usage: hostile_maps N FILE...");
	for (int i = 2; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0 ||
		    mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			err(1, "%s", argv[i]);
		(void) close(fd);
	}
	long n = atol(argv[1]);
	char *space = mmap(NULL, (size_t) n * 2 * PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (space == MAP_FAILED)
		err(1, "mmap");
	long done = 0;
	while (done < n && mprotect(space + done * 2 * PAGE, PAGE, PROT_READ | PROT_EXEC) == 0)
		done++; /* stops at vm.max_map_count */
	printf("mapped %ld\nready\n", done);
	fflush(stdout);
	return getchar() == EOF;
}
