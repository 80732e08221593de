/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a known number of things, from functions that are known: for each line that it reads, then it prints "done".
 *
 *	make	THREADS threads by maker(), PROCESSES processes by forker(), of which each makes a thread
 *	map	MAPS mappings of 1 MiB and LARGE of 64 MiB, by mapper()
 *	touch	WRITTEN pages that are written to first and READ that are read, by toucher()
 *	wait	SHORT waits of 1 ms and LONG of 1 s, by waiter()
 *	exec	becomes the same program again
 */
#include "target.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS = 5,
	PROCESSES = 3,
	MAPS = 7,
	LARGE = 2,
	WRITTEN = 64,
	READ = 8,
	SHORT = 20,
	LONG = 3
};

static void *ends(void *arg)
{
	return arg;
}

static NOINLINE void maker(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, ends, NULL) == 0)
		(void) pthread_join(thread, NULL); /* it was started */
}

static NOINLINE void forker(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		maker();
		_exit(0);
	}
	(void) waitpid(pid, NULL, 0); /* it is ours */
}

static NOINLINE void mapper(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory != MAP_FAILED)
		(void) munmap(memory, bytes); /* it was mapped */
}

static NOINLINE void toucher(void)
{
	enum { PAGE = 4096, BYTES = (WRITTEN + READ) * PAGE };
	volatile char *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise((void *) memory, BYTES, MADV_NOHUGEPAGE) != 0)
		return;
	for (size_t i = 0; i < WRITTEN + READ; i++)
		if (i < WRITTEN)
			memory[i * PAGE] = 1;
		else
			(void) memory[i * PAGE];
	(void) munmap((void *) memory, BYTES); /* it was mapped */
}

static NOINLINE void waiter(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
	(void) clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL); /* nobody sends a signal */
	KEEP();
}

static void obey(const char *line)
{
	for (int i = 0; i < THREADS && strcmp(line, "make") == 0; i++)
		maker();
	for (int i = 0; i < PROCESSES && strcmp(line, "make") == 0; i++)
		forker();
	for (int i = 0; i < MAPS + LARGE && strcmp(line, "map") == 0; i++)
		mapper(i < MAPS ? 1 << 20 : 64 << 20);
	for (int i = 0; i < SHORT + LONG && strcmp(line, "wait") == 0; i++)
		waiter(i < SHORT ? 1 : 1000);
	if (strcmp(line, "touch") == 0)
		toucher();
}

int main(int argc, char **argv)
{
	char line[16];
	(void) argc;
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		obey(line);
		if (strcmp(line, "exec") == 0)
			(void) execv("/proc/self/exe", argv); /* it fails: no "ready" comes */
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
