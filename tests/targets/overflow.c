/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Uses a stack up: overflow main | worker. With "poke" a thread writes below its stack while there is plenty of
 * it left, which is no overflow. It says where the kernel has mapped that stack, and how large it is.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;

/* Not a tail call: something is done after it. */
__attribute__((noinline)) static int deep(int n)
{
	volatile char frame[1000];
	frame[n % (int) sizeof(frame)] = (char) n;
	if (n >= 0) /* always */
		sink += deep(n + 1);
	return frame[0];
}

/* The mapping that an address is in. */
static void mapping_of(uintptr_t address, uintptr_t *start, uintptr_t *end)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		unsigned long from, to;
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && address >= from && address < to) {
			*start = from;
			*end = to;
		}
	}
	if (maps != NULL)
		(void) fclose(maps);
}

static void *run(void *kind)
{
	int here = 0;
	uintptr_t start = 0, end = 0;
	mapping_of((uintptr_t) &here, &start, &end);
	printf("stack %lu\nready\n", (unsigned long) (end - start));
	(void) fflush(stdout);
	(void) getchar(); /* until somebody has read that */
	if (strcmp(kind, "poke") == 0)
		*(volatile char *) (start - 64) = 1;
	else
		sink += deep(0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc > 1 && strcmp(argv[1], "main") == 0)
		return run(argv[1]) != NULL;
	if (pthread_create(&thread, NULL, run, argc > 1 ? argv[1] : "worker") != 0)
		return 1;
	return pthread_join(thread, NULL);
}
