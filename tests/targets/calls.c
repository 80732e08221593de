/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that wait in one system call after the other, a moment in each: what they call in the kernel and
 * the function that called it belong together.
 */
#include "target.h"

#include <poll.h>
#include <pthread.h>
#include <time.h>

/* From moments that end while somebody looks, to some that outlast a look on a busy machine. */
enum { WORKERS = 4, WAIT_NS = 50000, DOUBLINGS = 8 };

static NOINLINE void in_sleep(long ns)
{
	const struct timespec t = {.tv_nsec = ns};
	nanosleep(&t, NULL);
	KEEP();
}

static NOINLINE void in_poll(long ns)
{
	const struct timespec t = {.tv_nsec = ns};
	ppoll(NULL, 0, &t, NULL);
	KEEP();
}

static NOINLINE void *worker(void *arg)
{
	for (unsigned i = 0; !released; i++) {
		in_sleep((long) WAIT_NS << i % DOUBLINGS);
		in_poll((long) WAIT_NS << i % DOUBLINGS);
	}
	KEEP();
	return arg;
}

int main(void)
{
	for (int i = 0; i < WORKERS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, worker, NULL) != 0)
			return 1;
	}
	ready();
	block();
	return 0;
}
