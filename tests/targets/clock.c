/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that are in the vdso most of the time. */
#include "target.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

static NOINLINE void ask(void)
{
	struct timespec t;
	while (!released) {
		for (int i = 0; i < 64; i++)
			clock_gettime(CLOCK_MONOTONIC, &t);
		clock_getres(CLOCK_REALTIME, &t);
		time(NULL);
	}
}

static pthread_barrier_t named;

static NOINLINE void *worker(void *arg)
{
	prctl(PR_SET_NAME, "worker");
	pthread_barrier_wait(&named);
	ask();
	KEEP();
	return arg;
}

int main(void)
{
	pthread_t thread;
	printf("edge main ask\nedge worker ask\nroot clock main\nroot worker worker\n");
	pthread_barrier_init(&named, NULL, 2);
	if (pthread_create(&thread, NULL, worker, NULL) != 0)
		return 1;
	pthread_barrier_wait(&named);
	ready();
	ask();
	return 0;
}
