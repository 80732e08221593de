/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Stacks of chosen sizes and places. Each thread says "thread KIND TID SP", with an address near its
 * stack pointer, and waits:
 *
 *	shallow    a few frames
 *	deep       1 MiB of frames
 *	alternate  in a signal handler on an alternate stack; SP is one of its own stack
 *	spinning   runs
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_BYTES = 4096, DEEP_FRAMES = 256, ALTERNATE_BYTES = 65536 };

static pthread_barrier_t said;
static volatile int spun;

static NOINLINE void say(const char *kind, const void *sp)
{
	printf("thread %s %ld %#lx\n", kind, syscall(SYS_gettid), (unsigned long) (uintptr_t) sp);
	fflush(stdout);
	pthread_barrier_wait(&said);
}

static NOINLINE void descend(int frames)
{
	volatile char frame[FRAME_BYTES];
	frame[0] = (char) frames;
	if (frames > 0) {
		descend(frames - 1);
		KEEP();
		return;
	}
	say("deep", (const void *) frame);
	block();
}

static void *shallow(void *arg)
{
	char here = 0;
	say("shallow", &here);
	block();
	return arg;
}

static void *deep(void *arg)
{
	descend(DEEP_FRAMES);
	return arg;
}

static void handler(int signo)
{
	(void) signo;
	block();
}

static void *alternate(void *arg)
{
	stack_t stack = {.ss_sp = malloc(ALTERNATE_BYTES), .ss_size = ALTERNATE_BYTES};
	char here = 0;
	sigaltstack(&stack, NULL);
	say("alternate", &here);
	raise(SIGUSR1);
	return arg;
}

static void *spinning(void *arg)
{
	char here = 0;
	say("spinning", &here);
	for (;;)
		spun++;
	return arg;
}

int main(void)
{
	void *(*const kinds[])(void *) = {shallow, deep, alternate, spinning};
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &action, NULL);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		pthread_t thread;
		pthread_barrier_init(&said, NULL, 2);
		if (pthread_create(&thread, NULL, kinds[i], NULL) != 0)
			return 1;
		pthread_barrier_wait(&said);
	}
	ready();
	block();
	return 0;
}
