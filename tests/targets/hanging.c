/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread whose stack has a page that nobody can read: whoever tries waits for a userfaultfd whose
 * handler never answers (userfaultfd(2)), as for a page of a file system whose server is gone.
 * Prints "unavailable REASON" where such a thing cannot be made.
 */
#include "target.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, STACK_BYTES = 64 * PAGE, SPACE_BYTES = 16 * PAGE, HOLE_PAGES_BELOW_TOP = 6 };

static pthread_barrier_t waits;

/* The hole is in the middle of space: nothing that is needed is lost. */
static NOINLINE void wait_below(void)
{
	char space[SPACE_BYTES];
	__asm__ volatile("" : : "r"(space) : "memory");
	(void) pthread_barrier_wait(&waits);
	block();
	__asm__ volatile("" : : "r"(space) : "memory");
}

static void *thread(void *arg)
{
	wait_below();
	KEEP();
	return arg;
}

static void hole_make(char *stack)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register all = {.range = {(unsigned long) stack, STACK_BYTES},
				      .mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = (int) syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &all) < 0) {
		printf("unavailable %s\n", strerror(errno));
		return;
	}
	if (madvise(stack + STACK_BYTES - HOLE_PAGES_BELOW_TOP * PAGE, PAGE, MADV_DONTNEED) < 0)
		err(1, "madvise");
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t id;
	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		err(1, "mmap");
	(void) pthread_barrier_init(&waits, NULL, 2);
	(void) pthread_attr_init(&attr);
	(void) pthread_attr_setstack(&attr, stack, STACK_BYTES);
	if (pthread_create(&id, &attr, thread, NULL) != 0)
		errx(1, "pthread_create");
	(void) pthread_barrier_wait(&waits);
	hole_make(stack);
	puts("ready");
	(void) fflush(stdout);
	block();
}
