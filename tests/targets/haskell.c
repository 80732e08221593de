/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads in code as GHC makes it: one spins in it, one has called C and waits there. The old words of
 * the C stack lie in the 16 KiB that are theirs: return addresses that a scan would take for frames.
 */
#include "target.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

void StgRun(void (*code)(void), void *stack);
void Main_zdwspin_info(void);
void Main_callsC_info(void);
void of_c(void);

static pthread_barrier_t said;

void NOINLINE of_c(void)
{
	block();
	KEEP();
}

static NOINLINE size_t stale(size_t depth)
{
	volatile char space[256];
	memset((char *) space, (int) depth, sizeof(space));
	return depth == 0 ? (size_t) space[0] : stale(depth - 1) + (size_t) space[1];
}

static NOINLINE void schedule(void (*code)(void))
{
	uint64_t stack[64] = {0};
	StgRun(code, stack);
	KEEP();
}

static NOINLINE void *runs(void *arg)
{
	bool spins = arg != NULL;
	expect_stack(spins ? "Main_zdwspin_info schedule runs"
			   : "block of_c Main_callsC_info schedule runs");
	stale(100);
	pthread_barrier_wait(&said);
	schedule(spins ? Main_zdwspin_info : Main_callsC_info);
	return arg;
}

int main(void)
{
	pthread_t thread;
	pthread_barrier_init(&said, NULL, 2);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&thread, NULL, runs, i == 0 ? &said : NULL) != 0)
			return 1;
		pthread_barrier_wait(&said);
	}
	ready();
	block();
	return 0;
}
