/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server of hundreds of threads, which says what they do:
 *
 *	runs TID	computes
 *	holds TID	has the lock, and reads from a pipe that nobody writes to
 *	waits TID	for the lock
 *	idle COUNT	in accept
 *	queue COUNT	on a condition variable, behind calls of different depth
 *
 * Arguments: the number of threads, main's apart (default 500); PARTS: the one that computes does so for one part in PARTS
 * of the time only.
 */
#include "rest.h"
#include "target.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { WAITERS = 20, DEPTHS = 60, ROUND = 1000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t held, told;
static int listener, answer[2];
static volatile unsigned long sum;
static long parts;

static void named(const char *name, long number)
{
	char text[16];
	snprintf(text, sizeof(text), "%s-%ld", name, number);
	pthread_setname_np(pthread_self(), text);
}

static NOINLINE void *compute(void *arg)
{
	named("compute", 0);
	printf("runs %ld\n", syscall(SYS_gettid));
	pthread_barrier_wait(&held);
	while (!released) {
		for (int i = 0; i < ROUND && !released; i++)
			sum += (unsigned long) arg;
		rest(parts);
	}
	return NULL;
}

static NOINLINE void *hold(void *arg)
{
	char byte;
	named("hold", 0);
	pthread_mutex_lock(&lock);
	printf("holds %ld\n", syscall(SYS_gettid));
	pthread_barrier_wait(&held);
	if (read(answer[0], &byte, 1) != 1)
		abort();
	pthread_mutex_unlock(&lock);
	return arg;
}

static NOINLINE void reserve(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	KEEP();
}

static NOINLINE void *wait_for_lock(void *arg)
{
	named("order", (long) arg);
	printf("waits %ld\n", syscall(SYS_gettid));
	pthread_barrier_wait(&told);
	reserve();
	KEEP();
	return NULL;
}

static NOINLINE void *serve(void *arg)
{
	named("http", (long) arg);
	while (accept(listener, NULL, NULL) >= 0)
		;
	return NULL;
}

static NOINLINE void wait_deep(long depth)
{
	if (depth > 0) {
		wait_deep(depth - 1);
	} else {
		pthread_mutex_lock(&queue_lock);
		while (!released)
			pthread_cond_wait(&queue, &queue_lock);
		pthread_mutex_unlock(&queue_lock);
	}
	KEEP();
}

static NOINLINE void *take_job(void *arg)
{
	named("job", (long) arg);
	wait_deep((long) arg % DEPTHS);
	return NULL;
}

static void start(void *(*function)(void *), long arg)
{
	pthread_t thread;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	if (pthread_create(&thread, &attr, function, (void *) arg) != 0)
		abort();
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 500, jobs = n / 4;
	long idle = n - jobs - WAITERS - 2;
	parts = argc > 2 ? atol(argv[2]) : 0;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	pthread_barrier_init(&held, NULL, 3);
	pthread_barrier_init(&told, NULL, WAITERS + 1);
	if (pipe(answer) < 0 || listen(listener, 16) < 0)
		abort();
	setvbuf(stdout, NULL, _IOLBF, 0);
	start(compute, 3);
	start(hold, 0);
	pthread_barrier_wait(&held);
	for (long i = 0; i < WAITERS; i++)
		start(wait_for_lock, i);
	pthread_barrier_wait(&told);
	for (long i = 0; i < jobs; i++)
		start(take_job, i);
	for (long i = 0; i < idle; i++)
		start(serve, i);
	printf("idle %ld\nqueue %ld\n", idle, jobs);
	ready();
	block();
	return 0;
}
