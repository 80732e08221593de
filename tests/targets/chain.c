/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plain chain of calls in two threads; built in many ways (targets.mk). */
#include "target.h"

#include <pthread.h>

static NOINLINE void third(int n)
{
	char text[64];
	snprintf(text, sizeof(text), "%d", n);
	block();
	KEEP();
}

static NOINLINE void second(int n)
{
	third(n + 1);
	KEEP();
}

static NOINLINE void first(int n)
{
	second(n * 2);
	KEEP();
}

static pthread_barrier_t said;

static NOINLINE void *worker(void *arg)
{
	expect_stack("block third second first worker");
	pthread_barrier_wait(&said);
	first(*(int *) arg);
	KEEP();
	return NULL;
}

int main(void)
{
	pthread_t thread;
	int n = 7;
	pthread_barrier_init(&said, NULL, 2);
	if (pthread_create(&thread, NULL, worker, &n) != 0)
		return 1;
	pthread_barrier_wait(&said);
	expect_stack("block third second first main");
	ready();
	first(n);
	return 0;
}
