/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that lock and unlock at random, in an order in which they cannot wait for each other. Their stacks
 * record who has what: whoever is in insideN() has the lock N, whoever is in lockN() alone wants it, or has
 * it just now or no longer. 0 to 5 are mutexes, one of them recursive, one that checks errors, one adaptive,
 * one robust and one with priority inheritance; 6 and 7 are rwlocks, for writing.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 8, MUTEXES = 6, THREADS = 8 };

static pthread_mutex_t mutexes[MUTEXES];
static pthread_rwlock_t rwlocks[LOCKS - MUTEXES];
static _Thread_local uint64_t seed;
volatile uint64_t sink;

static void take(unsigned which);

static unsigned random_below(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned) (seed >> 33) % n;
}

/* Holds what it has for a while, and takes another one sometimes. */
__attribute__((noipa)) static void hold(unsigned last)
{
	if (last + 1 < LOCKS && random_below(3) == 0)
		take(last + 1 + random_below(LOCKS - 1 - last));
	unsigned what = random_below(8);
	if (what == 0)
		(void) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	for (unsigned i = 0; i < what * 500; i++)
		sink += i;
}

static void acquire(unsigned which)
{
	if (which < MUTEXES)
		(void) pthread_mutex_lock(&mutexes[which]);
	else
		(void) pthread_rwlock_wrlock(&rwlocks[which - MUTEXES]);
}

static void release(unsigned which)
{
	if (which < MUTEXES)
		(void) pthread_mutex_unlock(&mutexes[which]);
	else
		(void) pthread_rwlock_unlock(&rwlocks[which - MUTEXES]);
}

/* The empty statements keep the calls from being the last thing that a function does. */
#define LOCK(n)                                            \
	__attribute__((noipa)) static void inside##n(void) \
	{                                                  \
		hold(n);                                   \
		__asm__ volatile("");                      \
	}                                                  \
	__attribute__((noipa)) static void lock##n(void)   \
	{                                                  \
		acquire(n);                                \
		inside##n();                               \
		release(n);                                \
		__asm__ volatile("");                      \
	}

LOCK(0)
LOCK(1)
LOCK(2)
LOCK(3)
LOCK(4)
LOCK(5)
LOCK(6)
LOCK(7)

static void take(unsigned which)
{
	static void (*const locks[LOCKS])(void) = {lock0, lock1, lock2, lock3,
						   lock4, lock5, lock6, lock7};
	locks[which]();
}

static void *taker(void *arg)
{
	seed = (uintptr_t) arg;
	for (;;)
		take(random_below(LOCKS));
	return NULL;
}

int main(void)
{
	static const int types[MUTEXES] = {PTHREAD_MUTEX_NORMAL,      PTHREAD_MUTEX_RECURSIVE,
					   PTHREAD_MUTEX_ERRORCHECK,  PTHREAD_MUTEX_ADAPTIVE_NP,
					   PTHREAD_MUTEX_NORMAL,      PTHREAD_MUTEX_NORMAL};
	for (unsigned i = 0; i < MUTEXES; i++) {
		pthread_mutexattr_t attr;
		(void) pthread_mutexattr_init(&attr);
		(void) pthread_mutexattr_settype(&attr, types[i]);
		if (i == 4)
			(void) pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
		if (i == 5)
			(void) pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
		(void) pthread_mutex_init(&mutexes[i], &attr);
	}
	for (unsigned i = 0; i < LOCKS - MUTEXES; i++)
		(void) pthread_rwlock_init(&rwlocks[i], NULL);
	for (uintptr_t i = 0; i < THREADS; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, taker, (void *) (i + 1)) != 0)
			return 1;
	}
	printf("ready\n");
	(void) fflush(stdout);
	for (;;)
		(void) pause();
}
