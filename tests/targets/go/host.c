/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A C program that calls a library written in Go, from two threads that C made. */
#include <pthread.h>
#include <stdio.h>

int spin_in_go(int n);

static int __attribute__((noinline)) h2(int n)
{
	return spin_in_go(n) + 1;
}

static int __attribute__((noinline)) h1(int n)
{
	return h2(n) + 1;
}

static void *run(void *arg)
{
	volatile int sum = 0;
	(void) arg;
	for (int n = 0;; n++)
		sum += h1(n);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		return 1;
	puts("ready");
	(void) fflush(stdout);
	(void) run(NULL);
	return 0;
}
