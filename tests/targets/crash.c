/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * crash main|thread HOW: ends by a signal when it is told to by a byte, with two other threads: one waits
 * in read() of a pipe, one spins. Prints the ids of all: "crashes TID", "waits TID", "spins TID".
 */
#include "target.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *what;
static int never[2];
static _Atomic unsigned long spun;
static pthread_barrier_t met;

static NOINLINE void fall(const char *how)
{
	char *volatile nowhere = (char *) 0x10;
	volatile int zero = 0, one = 1;
	if (strcmp(how, "write") == 0)
		*nowhere = 1;
	else if (strcmp(how, "read") == 0)
		one = *nowhere;
	else if (strcmp(how, "jump") == 0)
		((void (*)(void))(uintptr_t) nowhere)();
	else if (strcmp(how, "const") == 0)
		*(char *) (uintptr_t) "constant" = 1;
	else if (strcmp(how, "noncanonical") == 0)
		*(volatile char *) (uintptr_t) (UINT64_C(0xdead) << 48) = 1;
	else if (strcmp(how, "divide") == 0)
		one /= zero; /* SIGFPE */
	else if (strcmp(how, "abort") == 0)
		abort();
	(void) one;
}

static void *crash(void *arg)
{
	(void) arg;
	printf("crashes %ld\n", syscall(SYS_gettid));
	fflush(stdout);
	pthread_barrier_wait(&met);
	while (spun ==
	       0) /* on a loaded machine that thread may have been woken only, and be in futex() still */
		sched_yield();
	ready();
	/* Not before the test says so: that the others are where they are is for it to see. */
	char c;
	if (read(0, &c, 1) == 1)
		fall(what);
	return NULL;
}

static void *wait_in_read(void *arg)
{
	char c;
	(void) arg;
	printf("waits %ld\n", syscall(SYS_gettid));
	fflush(stdout);
	pthread_barrier_wait(&met);
	(void) !read(never[0], &c, 1);
	return NULL;
}

static void *spin(void *arg)
{
	(void) arg;
	printf("spins %ld\n", syscall(SYS_gettid));
	fflush(stdout);
	pthread_barrier_wait(&met);
	for (;;)
		spun++;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc < 3 || pipe(never) < 0)
		return 1;
	what = argv[2];
	(void) signal(SIGQUIT, SIG_DFL); /* who was started in the background ignores it */
	pthread_barrier_init(&met, NULL, 3);
	pthread_create(&thread, NULL, wait_in_read, NULL);
	pthread_create(&thread, NULL, spin, NULL);
	if (strcmp(argv[1], "thread") == 0) {
		pthread_create(&thread, NULL, crash, NULL);
		pthread_join(thread, NULL);
	} else {
		crash(NULL);
	}
	return 0;
}
