/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * shares BLOCKED BUSY [NEXT]: threads whose time is known. BLOCKED ones wait, one waits now in wait_long()
 * and now in wait_short(), BUSY ones spend three times as much CPU time in work_three() as in work_one().
 * When its input ends it says how many nanoseconds the waiting and the CPU time of all BUSY threads were
 * ("wait_long N" ...), and how much work that was ("work N"). So it does for a line "count". Another line on its
 * input: one more thread, in appeared(), or with "work" in work_later(); "leave": the first thread ends. With
 * NEXT a line instead makes it that program.
 */
#include "target.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LONG_MS = 24, SHORT_MS = 8, UNIT_NS = 4000000, STACK_BYTES = 65536 };

static _Atomic int64_t long_ns, short_ns, three_ns, one_ns, work;
static volatile uint64_t sink;

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (int64_t) t.tv_sec * 1000000000 + t.tv_nsec;
}

static void wait_ms(int ms)
{
	const struct timespec t = {.tv_nsec = ms * 1000000L};
	nanosleep(&t, NULL);
}

static NOINLINE void wait_long(void)
{
	wait_ms(LONG_MS);
	KEEP();
}

static NOINLINE void wait_short(void)
{
	wait_ms(SHORT_MS);
	KEEP();
}

static NOINLINE int64_t work_three(int64_t until_ns)
{
	int64_t n = 0;
	for (; now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns; n++)
		for (volatile int i = 0; i < 5000; i++)
			;
	return n;
}

static NOINLINE int64_t work_one(int64_t until_ns)
{
	int64_t n = 0;
	for (; now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns; n++)
		for (volatile int i = 0; i < 5000; i++)
			;
	return n;
}

static void *waiting(void *arg)
{
	for (;;) {
		int64_t begin = now_ns(CLOCK_MONOTONIC);
		wait_long();
		int64_t middle = now_ns(CLOCK_MONOTONIC);
		wait_short();
		long_ns += middle - begin;
		short_ns += now_ns(CLOCK_MONOTONIC) - middle;
	}
	return arg;
}

static void *working(void *arg)
{
	for (;;) {
		int64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
		int64_t n = work_three(begin + 3 * UNIT_NS);
		int64_t middle = now_ns(CLOCK_THREAD_CPUTIME_ID);
		n += work_one(middle + UNIT_NS);
		work += n;
		three_ns += middle - begin;
		one_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - middle;
	}
	return arg;
}

static NOINLINE void *work_later(void *arg)
{
	for (;;)
		sink++;
	return arg;
}

static NOINLINE void *blocked(void *arg)
{
	block();
	KEEP();
	return arg;
}

static NOINLINE void *appeared(void *arg)
{
	block();
	KEEP();
	return arg;
}

static void start(void *(*function)(void *) )
{
	pthread_t thread;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&thread, &attr, function, NULL) != 0)
		abort();
}

static void say(void)
{
	printf("wait_long %lld\nwait_short %lld\nwork_three %lld\nwork_one %lld\nwork %lld\n",
	       (long long) long_ns, (long long) short_ns, (long long) three_ns, (long long) one_ns,
	       (long long) work);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[64];
	int n_blocked = argc > 1 ? atoi(argv[1]) : 1, n_busy = argc > 2 ? atoi(argv[2]) : 0;
	start(waiting);
	for (int i = 0; i < n_blocked; i++)
		start(blocked);
	for (int i = 0; i < n_busy; i++)
		start(working);
	ready();
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (strcmp(line, "count\n") == 0) {
			say();
			continue;
		}
		if (strcmp(line, "leave\n") == 0)
			pthread_exit(NULL);
		if (argc > 3)
			execv(argv[3], argv + 3);
		start(strcmp(line, "work\n") == 0 ? work_later : appeared);
		ready();
	}
	say();
	return 0;
}
