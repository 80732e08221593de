/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Several threads that never rest, for looking at random instants. It says which of
 * its functions may call which ("edge CALLER CALLEE") and which function a thread begins with
 * ("root COMM FUNCTION"); "<signal>" is the kernel's call of a handler. A call through libc counts
 * as a call: "edge sorting compare".
 *
 * Argument: PARTS; each thread then computes for one part in PARTS of the time only.
 */
#include "rest.h"
#include "target.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>

static volatile double sink;

static NOINLINE int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static NOINLINE void recursing(void)
{
	sink = fib(18);
	KEEP();
}

static NOINLINE void copying(void)
{
	static __thread char from[70000], to[70000];
	for (size_t n = 1; n < sizeof(from); n = n * 5 / 4 + 1) {
		memcpy(to, from, n);
		memmove(from + 1, from, n - 1);
		memset(to, (int) n, n);
		sink = (double) strnlen(from, n) + (memchr(to, 1, n) != NULL);
	}
	KEEP();
}

static NOINLINE int compare(const void *a, const void *b)
{
	int x = *(const int *) a, y = *(const int *) b;
	return (x > y) - (x < y);
}

static NOINLINE void sorting(void)
{
	int numbers[512];
	for (size_t i = 0; i < 512; i++)
		numbers[i] = (int) (i * 7919 % 1009);
	qsort(numbers, 512, sizeof(*numbers), compare);
	sink = numbers[3];
	KEEP();
}

static NOINLINE void allocating(void)
{
	void *blocks[64];
	for (size_t i = 0; i < 64; i++)
		blocks[i] = malloc((i * 37 % 50 + 1) << (i % 12));
	for (size_t i = 0; i < 64; i += 2)
		blocks[i] = realloc(blocks[i], 100 * i + 1);
	for (size_t i = 0; i < 64; i++)
		free(blocks[i]);
	KEEP();
}

static NOINLINE void printing(void)
{
	char text[256];
	for (int i = 0; i < 20; i++)
		sink = snprintf(text, sizeof(text), "%d %s %.12g %p %-20x|", i, "text", i / 7.0,
				(void *) text, i);
	sink += strtod("2.718281828459045e-3", NULL);
	KEEP();
}

static NOINLINE void computing(void)
{
	double x = 0.1;
	for (int i = 0; i < 200; i++) {
		x += sin(x) * exp(-x) + pow(fabs(x) + 1, 0.3) + atan2(x, 2);
		if (x > 1e3)
			x = fmod(x, 7.0);
	}
	sink = x;
	KEEP();
}

static NOINLINE void calling(void)
{
	int pipes[2];
	char byte = 0;
	if (pipe(pipes) != 0)
		return;
	for (int i = 0; i < 16; i++) {
		sink = (double) getppid();
		if (write(pipes[1], &byte, 1) != 1 || read(pipes[0], &byte, 1) != 1)
			break;
	}
	close(pipes[0]);
	close(pipes[1]);
	KEEP();
}

static NOINLINE void reading_clock(void)
{
	struct timespec t;
	for (int i = 0; i < 100; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	sink = (double) t.tv_nsec;
	KEEP();
}

static NOINLINE void leap(jmp_buf place, volatile int n)
{
	if (n == 0 && !released)
		longjmp(place, 1);
	if (n > 0)
		leap(place, n - 1);
	KEEP();
}

static NOINLINE void leaping(void)
{
	for (int i = 0; i < 200; i++) { /* as long as the other jobs, so that it is met as often */
		jmp_buf place;
		if (setjmp(place) == 0)
			leap(place, 5);
	}
	KEEP();
}

static NOINLINE void locking(void)
{
	static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&shared);
		sink = i;
		pthread_mutex_unlock(&shared);
	}
	KEEP();
}

static NOINLINE void in_handler(void)
{
	char text[64];
	for (int i = 0; i < 2000; i++)
		snprintf(text, sizeof(text), "%d", fib(8));
	KEEP();
}

static NOINLINE void on_timer(int signo)
{
	(void) signo;
	in_handler();
	KEEP();
}

struct job {
	const char *name;
	void (*run)(void);
};

static const struct job jobs[] = {
	{"recursing", recursing}, {"copying", copying},
	{"sorting", sorting},     {"allocating", allocating},
	{"printing", printing},   {"computing", computing},
	{"calling", calling},     {"reading_clock", reading_clock},
	{"leaping", leaping},     {"locking", locking},
};
enum { N_JOBS = sizeof(jobs) / sizeof(*jobs) };

static long parts;

static NOINLINE void work(size_t from)
{
	for (size_t i = from; !released; i++) {
		jobs[i % N_JOBS].run();
		rest(parts);
	}
	KEEP();
}

static pthread_barrier_t named;

static NOINLINE void *worker(void *arg)
{
	prctl(PR_SET_NAME, "worker");
	pthread_barrier_wait(&named);
	work((size_t) arg);
	KEEP();
	return NULL;
}

static void say_edges(void)
{
	printf("root busy main\nroot worker worker\nedge main work\nedge worker work\n");
	for (size_t i = 0; i < N_JOBS; i++)
		printf("edge work %s\n", jobs[i].name);
	printf("edge recursing fib\nedge fib fib\nedge sorting compare\nedge leaping leap\n"
	       "edge leap leap\nedge <signal> on_timer\nedge on_timer in_handler\n"
	       "edge in_handler fib\nedge work rest\n");
}

int main(int argc, char **argv)
{
	parts = argc > 1 ? atol(argv[1]) : 0;
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	struct itimerval timer = {.it_interval = {.tv_usec = 5000}, .it_value = {.tv_usec = 5000}};
	sigaction(SIGPROF, &action, NULL);
	pthread_barrier_init(&named, NULL, 4);
	for (size_t i = 0; i < 3; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, worker, (void *) (i * 3 + 1)) != 0)
			return 1;
	}
	pthread_barrier_wait(&named);
	setitimer(ITIMER_PROF, &timer, NULL);
	say_edges();
	ready();
	work(0);
	return 0;
}
