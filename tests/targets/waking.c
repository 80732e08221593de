/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program with executable anonymous memory in which no thread ever is, as PCRE2's JIT makes it: threads that wake up
 * all the time, and some that wait for an event with a limit.
 *
 *	waking BLOCKED WAKING
 */
#include "target.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <time.h>

/* libgcc: its list of tables is what snapwalk looks at because of that memory. */
void __register_frame(void *begin);
void (*volatile keep_libgcc)(void *begin) = __register_frame;

enum { CODE_BYTES = 65536, LIMIT_S = 3600, PAUSE_NS = 20000 };

static void *blocked(void *arg)
{
	struct timeval limit = {.tv_sec = LIMIT_S};
	(void) arg;
	(void) select(0, NULL, NULL, NULL, &limit); /* returns early if it is interrupted */
	fprintf(stderr, "select() returned\n");
	exit(1);
}

static void *waking(void *arg)
{
	(void) arg;
	for (;;) {
		const struct timespec pause = {.tv_nsec = PAUSE_NS};
		(void) nanosleep(&pause, NULL); /* shorter by a signal: no matter */
	}
	return NULL;
}

static void threads(int n, void *(*run)(void *) )
{
	for (int i = 0; i < n; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, run, NULL) != 0)
			exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	void *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		return 1;
	*(uint8_t *) code = 0xc3; /* ret */
	threads(atoi(argv[1]), blocked);
	threads(atoi(argv[2]), waking);
	ready();
	for (;;)
		(void) getchar(); /* until we are ended */
}
