/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Creates and deletes timers in each way that there is, and writes down how many: for a line "go" it prints "NAME created left" for
 * each function and then "done". A line "exec" makes it another program, which has none. After "churn" a thread creates and deletes
 * timers all the time, until "calm". For "unseen" it creates one and deletes one by calls of 32-bit code, which nobody
 * follows.
 */
#include "call_32.h"
#include "checked.h"
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 40, THREADS = 3, KEEP_EACH = 10, MANY = 300 };

static void say(const char *name, int created, int left)
{
	printf("%s %d %d\n", name, created, left);
}

static timer_t timer_of(int notify)
{
	struct sigevent how = {.sigev_notify = notify, .sigev_signo = SIGUSR1};
	timer_t timer;
	check(timer_create(CLOCK_MONOTONIC, &how, &timer) == 0, "timer_create");
	return timer;
}

/* Each KEEP_EACH-th one is kept. */
ALONE static void by_none(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		timer_t timer = timer_of(SIGEV_NONE);
		if (i % KEEP_EACH != 0)
			check(timer_delete(timer) == 0, "timer_delete");
	}
	say("by_none", ROUNDS, ROUNDS / KEEP_EACH);
}

/* Armed ones, of which all are kept. */
ALONE static void by_signal(void)
{
	const struct itimerspec in_a_day = {.it_value.tv_sec = 86400};
	for (int i = 0; i < KEEP_EACH; i++)
		check(timer_settime(timer_of(SIGEV_SIGNAL), 0, &in_a_day, NULL) == 0,
		      "timer_settime");
	say("by_signal", KEEP_EACH, KEEP_EACH);
}

static void at_end(union sigval value)
{
	(void) value;
}

/* The C library has a thread for these, and numbers of its own. */
ALONE static void by_thread(void)
{
	struct sigevent how = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = at_end};
	timer_t timers[3];
	for (int i = 0; i < 3; i++)
		check(timer_create(CLOCK_REALTIME, &how, &timers[i]) == 0, "SIGEV_THREAD");
	check(timer_delete(timers[1]) == 0, "timer_delete");
	say("by_thread", 3, 2);
}

/* More than the kernel lists at once. */
ALONE static void by_many(void)
{
	for (int i = 0; i < MANY; i++)
		(void) timer_of(SIGEV_NONE); /* it is kept */
	say("by_many", MANY, MANY);
}

/* Calls that fail, and timers that are descriptors, are none. */
ALONE static void by_failure(void)
{
	timer_t timer;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	check(fd >= 0 && close(fd) == 0, "timerfd_create");
	check(timer_create(12345, NULL, &timer) < 0, "timer_create of no clock");
	check(syscall(SYS_timer_delete, 0x7ffffff0) < 0, "timer_delete of none");
	timer = timer_of(SIGEV_NONE);
	check(timer_delete(timer) == 0, "timer_delete");
	check(syscall(SYS_timer_delete, (int) (intptr_t) timer) < 0, "timer_delete again");
	say("by_failure", 1, 0);
}

/* Children have none, and theirs are others. */
ALONE static void in_child(void)
{
	timer_t kept = timer_of(SIGEV_NONE);
	pid_t child = fork();
	if (child == 0) {
		check(timer_delete(kept) < 0, "timer_delete of the parent's");
		/* Numbers of the parent's first ones, anew. */
		for (int i = 0; i < 10; i++)
			check(timer_delete(timer_of(SIGEV_NONE)) == 0, "timer_delete");
		_exit(0);
	}
	int status = 1;
	check(waitpid(child, &status, 0) == child && status == 0, "waitpid");
	say("in_child", 1, 1);
}

static atomic_bool calm;

/* Several threads at the same time; the last one of each is deleted by another thread. */
ALONE static void *in_thread(void *arg)
{
	timer_t *last = arg;
	for (int i = 0; i < 20 * ROUNDS; i++) {
		if (i > 0)
			check(timer_delete(*last) == 0, "timer_delete");
		*last = timer_of(SIGEV_NONE);
	}
	return NULL;
}

static void by_threads(void)
{
	pthread_t threads[THREADS];
	timer_t last[THREADS];
	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, in_thread, &last[i]) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		check(pthread_join(threads[i], NULL) == 0, "pthread_join");
	for (int i = 1; i < THREADS; i++)
		check(timer_delete(last[i]) == 0, "timer_delete");
	say("in_thread", THREADS * 20 * ROUNDS, 1);
}

ALONE static void *churning(void *arg)
{
	while (!atomic_load(&calm)) {
		check(timer_delete(timer_of(SIGEV_NONE)) == 0, "timer_delete");
		(void) usleep(20); /* so that nothing is lost on a busy machine */
	}
	return arg;
}

static void churn(bool begin)
{
	static pthread_t thread;
	atomic_store(&calm, !begin);
	if (begin)
		check(pthread_create(&thread, NULL, churning, NULL) == 0, "pthread_create");
	else
		check(pthread_join(thread, NULL) == 0, "pthread_join");
}

ALONE static void unseen(void)
{
	enum { I386_TIMER_CREATE = 259, I386_TIMER_DELETE = 263 };
	void *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	check(low != MAP_FAILED, "mmap");
	timer_t timer = timer_of(SIGEV_NONE);
	check(call_32(I386_TIMER_DELETE, (long) (intptr_t) timer, 0, 0) == 0,
	      "timer_delete of 32-bit code");
	check(call_32(I386_TIMER_CREATE, CLOCK_MONOTONIC, 0, (long) (intptr_t) low) == 0,
	      "timer_create of 32-bit code");
	say("unseen", 1, 0);
}

int main(int argc, char **argv)
{
	char line[16];
	(void) argc;
	/* Before anybody looks. */
	timer_t before[4];
	bool first = true;
	for (int i = 0; i < 4; i++)
		before[i] = timer_of(SIGEV_NONE);
	ready();
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "exec") == 0)
			(void) execl(argv[0], argv[0], (char *) NULL); /* or it goes on */
		if (strcmp(line, "churn") == 0 || strcmp(line, "calm") == 0) {
			churn(strcmp(line, "churn") == 0);
		} else if (strcmp(line, "many") == 0) {
			by_many();
		} else if (strcmp(line, "unseen") == 0) {
			unseen();
		} else {
			if (first)
				check(timer_delete(before[0]) == 0, "timer_delete");
			first = false;
			by_none();
			by_signal();
			by_thread();
			by_many();
			by_failure();
			in_child();
			by_threads();
		}
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
