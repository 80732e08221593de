/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file that becomes shorter and whole again all the time, while code of it is mapped: as when a
 * library is overwritten in place.
 *
 *	hostile_shrink FILE	a scratch copy of an ELF file, which is written to
 */
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* mov $34, %eax; syscall; jmp back: waits in pause() */
static const unsigned char park[] = {0xb8, 34, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7};

int main(int argc, char **argv)
{
	struct stat st;
	if (argc != 2)
		errx(2, "usage: hostile_shrink FILE");
	int fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		err(1, "%s", argv[1]);
	char *content = malloc((size_t) st.st_size);
	if (content == NULL || pread(fd, content, (size_t) st.st_size, 0) != st.st_size)
		err(1, "read %s", argv[1]);
	/* The mapping is private and its page written to: it stays when the file shrinks. */
	char *code = mmap(NULL, (size_t) st.st_size, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE, fd, 0);
	if (code == MAP_FAILED)
		err(1, "mmap");
	char *page = code + (st.st_size / 2 & ~(off_t) (PAGE - 1));
	__builtin_memcpy(page, park, sizeof(park));
	pid_t writer = fork();
	if (writer < 0)
		err(1, "fork");
	if (writer != 0) {
		puts("ready");
		fflush(stdout);
		((void (*)(void)) page)();
	}
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (ftruncate(fd, PAGE / 2) < 0)
			return 0;
		(void) usleep(200);
		if (pwrite(fd, content, (size_t) st.st_size, 0) != st.st_size)
			return 0;
		(void) usleep(200);
	}
}
