// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads that wait for the initialisation of static variables of functions: "waits TID OWNER"; with the argument "cycle" two
 * that need each other's: "cycle TID TID".
 */
#include "target.h"

#include <cstdlib>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static long runner, cycle[2];
static sem_t begun, told;
static pthread_barrier_t both;

static long self()
{
	return syscall(SYS_gettid);
}

struct Slow {
	Slow()
	{
		runner = self();
		sem_post(&begun);
		block();
	}
};

static NOINLINE void use_slow()
{
	static Slow slow;
	KEEP();
}

static NOINLINE void use_second();

struct First {
	First()
	{
		cycle[0] = self();
		pthread_barrier_wait(&both);
		use_second();
	}
};

static NOINLINE void use_first()
{
	static First first;
	KEEP();
}

struct Second {
	Second()
	{
		cycle[1] = self();
		pthread_barrier_wait(&both);
		use_first();
	}
};

static NOINLINE void use_second()
{
	static Second second;
	KEEP();
}

static void *run(void *arg)
{
	if (arg == NULL) {
		printf("waits %ld %ld\n", self(), runner);
		sem_post(&told);
	}
	use_slow();
	return arg;
}

static void *run_cycle(void *arg)
{
	if (arg == NULL)
		use_first();
	else
		use_second();
	return arg;
}

static void start(void *(*function)(void *), void *arg)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, function, arg) != 0)
		abort();
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	sem_init(&begun, 0, 0);
	sem_init(&told, 0, 0);
	pthread_barrier_init(&both, NULL, 3);
	if (argc > 1 && strcmp(argv[1], "cycle") == 0) {
		start(run_cycle, NULL);
		start(run_cycle, &told);
		pthread_barrier_wait(&both);
		printf("cycle %ld %ld\n", cycle[0], cycle[1]);
	} else {
		start(run, &told);
		sem_wait(&begun);
		for (int i = 0; i < 2; i++) {
			start(run, NULL);
			sem_wait(&told);
		}
	}
	ready();
	block();
	return 0;
}
