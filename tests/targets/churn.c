/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that begin and end all the time, on stacks that are mapped and unmapped: what was read of
 * the process before a stop is out of date in the stop. Says edges and roots as busy.c does.
 */
#include "target.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum { SPAWNERS = 3, AT_ONCE = 4 };

static atomic_uint begun;

static NOINLINE size_t inner(size_t n)
{
	char text[512];
	memset(text, (int) n, sizeof(text));
	return strnlen(text, sizeof(text));
}

static NOINLINE void *short_lived(void *arg)
{
	size_t sum = 0;
	for (size_t i = 0; i < 200; i++)
		sum += inner(i + (size_t) arg % 7);
	return (void *) sum;
}

static NOINLINE void spawn_some(size_t size)
{
	pthread_t threads[AT_ONCE];
	pthread_attr_t attr;
	size_t n = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, size);
	while (n < AT_ONCE && pthread_create(&threads[n], &attr, short_lived, (void *) size) == 0)
		n++;
	while (n > 0)
		pthread_join(threads[--n], NULL);
	pthread_attr_destroy(&attr);
}

static NOINLINE void *spawner(void *arg)
{
	begun++;
	/* Sizes that differ defeat glibc's cache of stacks. */
	for (size_t i = 0; !released; i++)
		spawn_some(((size_t) arg + 1) * 131072 + i % 64 * 65536);
	KEEP();
	return NULL;
}

int main(void)
{
	printf("root churn main\nroot churn spawner\nroot churn short_lived\n"
	       "edge main block\nedge spawner spawn_some\nedge short_lived inner\n");
	for (size_t i = 0; i < SPAWNERS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, spawner, (void *) i) != 0)
			return 1;
	}
	while (begun < SPAWNERS) /* one that was just made has no function of ours on its stack yet */
		sched_yield();
	ready();
	block();
	return 0;
}
