/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A small order service that hangs, for "make try" and the README: three workers wait for a lock
 * that the fourth holds while it waits for a slow database; one thread computes, one accepts.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORKERS = 4 };

static pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t started;
static int database[2]; /* nobody ever answers */
static volatile uint64_t checksum;

static __attribute__((noinline, noclone)) void query_database(const char *query)
{
	char answer;
	if (write(database[0], query, 1) != 1 || read(database[0], &answer, 1) != 1)
		abort();
	checksum++; /* after the call, so that it is no tail call */
}

static __attribute__((noinline, noclone)) void reserve_stock(long order)
{
	pthread_mutex_lock(&stock_lock);
	query_database("UPDATE stock");
	checksum += (uint64_t) order;
	pthread_mutex_unlock(&stock_lock);
}

static __attribute__((noinline, noclone)) void handle_order(long order)
{
	reserve_stock(order);
	checksum++;
}

static void *worker(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	pthread_barrier_wait(&started);
	handle_order((long) arg);
	return NULL;
}

static inline uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	return x * 0xbf58476d1ce4e5b9u;
}

static void *auditor(void *arg)
{
	(void) arg;
	pthread_setname_np(pthread_self(), "auditor");
	pthread_barrier_wait(&started);
	for (uint64_t i = 0;; i++)
		checksum = mix(checksum + i);
	return NULL;
}

static void *listener(void *arg)
{
	(void) arg;
	pthread_setname_np(pthread_self(), "listener");
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	sa_family_t any = AF_UNIX; /* an address chosen by the kernel */
	if (fd < 0 || bind(fd, (struct sockaddr *) &any, sizeof(any)) < 0 || listen(fd, 1) < 0)
		abort();
	pthread_barrier_wait(&started);
	(void) accept(fd, NULL, NULL);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, database) < 0)
		return 1;
	pthread_barrier_init(&started, NULL, WORKERS + 3);
	for (long i = 0; i < WORKERS; i++)
		if (pthread_create(&thread, NULL, worker, (void *) i) != 0)
			return 1;
	if (pthread_create(&thread, NULL, auditor, NULL) != 0 ||
	    pthread_create(&thread, NULL, listener, NULL) != 0)
		return 1;
	pthread_barrier_wait(&started);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
