/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Computes in code that the program makes itself and that publishes nothing, as PCRE2's compiler and many others do. Prints
 * "busy TID FUNCTION" for each thread that computes, and "interrupted N" at the end of its input: calls of another thread
 * that returned before their time because somebody stopped it.
 *
 *	framed	run_framed() -> made -> made -> work(), and the code in between keeps frame pointers
 *	bare	run_bare() -> made, which computes itself, keeps none, and is made anew at the same address each time: with
 *		another frame
 *
 * With the argument "map" there is a perf map of the code, with the names made_outer, made_inner and made_bare; it goes
 * at the end.
 *
 * These threads never wait: each of their voluntary switches is a stop by ptrace.
 */
#include "jit_code.h"
#include "target.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>

enum { REGION_BYTES = 4096, BARE_OFF = 2048, SPINS = 200000, WAIT_MS = 10 };

static uint8_t *region;
static atomic_bool ended;

static NOINLINE void work(struct step *rest)
{
	(void) rest;
	for (volatile int i = 0; i < SPINS; i++)
		KEEP();
}

static void say(const char *function)
{
	printf("busy %ld %s\n", syscall(SYS_gettid), function);
	fflush(stdout);
}

static NOINLINE void run_framed(struct step *steps)
{
	steps[0].call(steps + 1);
	KEEP();
}

static void *framed(void *arg)
{
	struct step steps[] = {{(void (*)(struct step *))(void *) region},
			       {(void (*)(struct step *))(void *) (region + CODE_BYTES)},
			       {work}};
	say("run_framed");
	while (!ended)
		run_framed(steps);
	return arg;
}

/* sub $frame,%rsp; mov $SPINS,%ecx; 1: dec %ecx; jne 1b; add $frame,%rsp; ret */
static void bare_make(uint8_t *to, uint8_t frame)
{
	uint8_t code[] = {0x48, 0x83, 0xec, frame, 0xb9, 0,    0,    0,     0,
			  0xff, 0xc9, 0x75, 0xfc,  0x48, 0x83, 0xc4, frame, 0xc3};
	put32(code + 5, SPINS);
	memcpy(to, code, sizeof(code));
}

static NOINLINE void run_bare(void (*made)(void))
{
	made();
	KEEP();
}

static void *bare(void *arg)
{
	say("run_bare");
	for (unsigned i = 0; !ended; i++) {
		bare_make(region + BARE_OFF, (uint8_t) (24 + i % 4 * 16));
		run_bare((void (*)(void))(void *) (region + BARE_OFF));
	}
	return arg;
}

/* epoll_wait(2) is not restarted after a stop: signal(7). */
static void *waiting(void *arg)
{
	struct epoll_event event;
	int fd = epoll_create1(EPOLL_CLOEXEC), *n = arg;
	while (!ended && fd >= 0)
		*n += epoll_wait(fd, &event, 1, WAIT_MS) < 0 && errno == EINTR;
	return arg;
}

/* As all runtimes do: a line for each function. */
static void map_write(char *path, size_t bytes)
{
	(void) snprintf(path, bytes, "/tmp/perf-%d.map", (int) getpid()); /* fits */
	FILE *file = fopen(path, "we");
	if (file == NULL)
		exit(1);
	fprintf(file, "%p %x made_outer\n%p %x made_inner\n%p %x made_bare\n", (void *) region,
		CODE_BYTES, (void *) (region + CODE_BYTES), CODE_BYTES, (void *) (region + BARE_OFF),
		CODE_BYTES);
	fclose(file);
}

int main(int argc, char **argv)
{
	char map[64] = "";
	void *(*const all[])(void *) = {framed, bare, waiting};
	pthread_t threads[3];
	int interrupted = 0;
	region = region_map(REGION_BYTES);
	(void) code_write(region, CODE_FRAME_POINTER); /* its size is not wanted, as below */
	(void) code_write(region + CODE_BYTES, CODE_FRAME_POINTER);
	if (argc > 1 && strcmp(argv[1], "map") == 0)
		map_write(map, sizeof(map));
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, all[i], &interrupted) != 0)
			return 1;
	ready();
	while (getchar() != EOF) {
	}
	ended = true;
	if (map[0] != '\0')
		(void) unlink(map); /* somebody may have done it */
	for (int i = 0; i < 3; i++)
		(void) pthread_join(threads[i], NULL); /* it was started */
	printf("interrupted %d\n", interrupted);
	return 0;
}
