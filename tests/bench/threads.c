/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * threads N FRAMES: the synthetic workload of the benchmark. N threads, each FRAMES calls deep,
 * wait in turn in pthread_cond_wait, nanosleep, epoll_wait and a read of an empty pipe. Prints
 * "ready" when all are at the bottom; the main thread waits for its standard input to end.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

struct arg {
	long kind;
	int depth;
};

static pthread_barrier_t arrived;

static NOINLINE void wait_condition(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

static NOINLINE void wait_sleep(void)
{
	struct timespec day = {.tv_sec = 86400};
	for (;;)
		nanosleep(&day, NULL);
}

static NOINLINE void wait_epoll(void)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	for (;;)
		epoll_wait(epoll, &event, 1, -1);
}

static NOINLINE void wait_pipe(void)
{
	int pipes[2];
	char byte;
	if (pipe(pipes) != 0)
		abort();
	for (;;)
		if (read(pipes[0], &byte, 1) < 0)
			continue;
}

static NOINLINE int recurse(const struct arg *arg, int depth)
{
	static void (*const waits[])(void) = {wait_condition, wait_sleep, wait_epoll, wait_pipe};
	volatile char space[64];
	space[0] = (char) depth;
	if (depth > 1)
		return recurse(arg, depth - 1) + space[0];
	pthread_barrier_wait(&arrived);
	waits[arg->kind % 4]();
	return space[0];
}

static void *thread_main(void *data)
{
	const struct arg *arg = data;
	recurse(arg, arg->depth);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10;
	int depth = argc > 2 ? atoi(argv[2]) : 30;
	struct arg *args = calloc((size_t) n, sizeof(*args));
	pthread_attr_t attr;
	if (args == NULL || n < 1)
		return 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536 + (size_t) depth * 512);
	pthread_barrier_init(&arrived, NULL, (unsigned) n + 1);
	for (long i = 0; i < n; i++) {
		pthread_t thread;
		args[i] = (struct arg){.kind = i, .depth = depth};
		if (pthread_create(&thread, &attr, thread_main, &args[i]) != 0)
			return 1;
	}
	pthread_barrier_wait(&arrived);
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
