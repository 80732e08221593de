/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Blocked inside a makecontext() coroutine: its stack ends at the coroutine's own first frame.
 * The second thread blocks after it came back from one. */
#include "target.h"

#include <pthread.h>
#include <ucontext.h>

static __thread ucontext_t home, away;
static __thread char away_stack[65536];
static __thread int stay;
static pthread_barrier_t said;

static NOINLINE void inside(void)
{
	if (stay)
		block();
	KEEP();
}

static NOINLINE void coroutine(void)
{
	inside();
	KEEP();
	swapcontext(&away, &home);
	KEEP();
}

static NOINLINE void run(void)
{
	getcontext(&away);
	away.uc_stack.ss_sp = away_stack;
	away.uc_stack.ss_size = sizeof(away_stack);
	away.uc_link = &home;
	makecontext(&away, coroutine, 0);
	swapcontext(&home, &away);
	KEEP();
}

static NOINLINE void *returned(void *arg)
{
	expect_stack("block returned");
	pthread_barrier_wait(&said);
	run();
	block();
	KEEP();
	return arg;
}

int main(void)
{
	pthread_t thread;
	pthread_barrier_init(&said, NULL, 2);
	if (pthread_create(&thread, NULL, returned, NULL) != 0)
		return 1;
	pthread_barrier_wait(&said);
	expect_stack("block inside coroutine");
	ready();
	stay = 1;
	run();
	return 0;
}
