/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes threads in each way that there is, and writes down how many: for a line "go" it prints
 * "NAME made running ended-and-not-joined" for each function and then "done". A line "exec" makes another thread exec
 * the same program.
 */
#include "checked.h"
#include "target.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20, LEFT = 7, RUNNING = 5, STACK_BYTES = 1 << 18 };

static char **arguments;

static void say(const char *name, int made, int running, int left)
{
	printf("%s %d %d %d\n", name, made, running, left);
}

static void *at_once(void *arg)
{
	return arg;
}

static void *for_ever(void *arg)
{
	for (;;)
		(void) pause();
	return arg;
}

/* The kernel has let the thread go. */
static void await_end(pid_t tid)
{
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		(void) usleep(1000);
}

static pid_t thread_number;

static void *tell(void *arg)
{
	__atomic_store_n(&thread_number, gettid(), __ATOMIC_RELEASE);
	return arg;
}

/* Each has ended before the next one is made. */
static void await_told(void)
{
	pid_t tid;
	while ((tid = __atomic_exchange_n(&thread_number, 0, __ATOMIC_ACQ_REL)) == 0)
		(void) usleep(100);
	await_end(tid);
}

ALONE static void joined(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread;
		check(pthread_create(&thread, NULL, at_once, NULL) == 0, "pthread_create");
		check(pthread_join(thread, NULL) == 0, "pthread_join");
	}
	say("joined", ROUNDS, 0, 0);
}

/* Several at once: their stacks are not used again. */
ALONE static void joined_late(void)
{
	pthread_t threads[ROUNDS];
	for (int i = 0; i < ROUNDS; i++)
		check(pthread_create(&threads[i], NULL, tell, NULL) == 0, "pthread_create");
	for (int i = 0; i < ROUNDS; i++)
		check(pthread_join(threads[i], NULL) == 0, "pthread_join");
	thread_number = 0;
	say("joined_late", ROUNDS, 0, 0);
}

ALONE static void detached(void)
{
	pthread_attr_t attr;
	check(pthread_attr_init(&attr) == 0, "attr");
	check(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0, "attr");
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread;
		check(pthread_create(&thread, &attr, tell, NULL) == 0, "pthread_create");
		await_told();
	}
	(void) pthread_attr_destroy(&attr);
	say("detached", ROUNDS, 0, 0);
}

/* Threads that end, and nobody joins them. */
ALONE static void left(void)
{
	for (int i = 0; i < LEFT; i++) {
		pthread_t thread;
		check(pthread_create(&thread, NULL, tell, NULL) == 0, "pthread_create");
		await_told();
	}
	say("left", LEFT, 0, LEFT);
}

/* The same on a stack of the program's own. */
ALONE static void left_on_own_stack(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(stack != MAP_FAILED && pthread_attr_init(&attr) == 0, "attr");
	check(pthread_attr_setstack(&attr, stack, STACK_BYTES) == 0, "setstack");
	check(pthread_create(&thread, &attr, tell, NULL) == 0, "pthread_create");
	await_told();
	(void) pthread_attr_destroy(&attr);
	say("left_on_own_stack", 1, 0, 1);
}

ALONE static void running(void)
{
	for (int i = 0; i < RUNNING; i++) {
		pthread_t thread;
		check(pthread_create(&thread, NULL, for_ever, NULL) == 0, "pthread_create");
	}
	say("running", RUNNING, RUNNING, 0);
}

/* A thread makes threads. */
ALONE static void *by_thread(void *arg)
{
	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		check(pthread_create(&thread, NULL, for_ever, NULL) == 0, "pthread_create");
	}
	return arg;
}

ALONE static void from_thread(void)
{
	pthread_t thread;
	check(pthread_create(&thread, NULL, by_thread, NULL) == 0, "pthread_create");
	check(pthread_join(thread, NULL) == 0, "pthread_join");
	say("from_thread", 1, 0, 0);
	say("by_thread", 2, 2, 0);
}

/* Threads of a child are others. */
ALONE static void in_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		pthread_t thread;
		(void) pthread_create(&thread, NULL, at_once, NULL);
		_exit(0);
	}
	check(waitpid(child, NULL, 0) == child, "waitpid");
	say("in_child", 0, 0, 0);
}

static void *becomes(void *arg)
{
	(void) execl(arguments[0], arguments[0], (char *) NULL);
	return arg;
}

ALONE static void by_exec(void)
{
	pthread_t thread;
	check(pthread_create(&thread, NULL, becomes, NULL) == 0, "pthread_create");
	for (;;)
		(void) pause();
}

int main(int argc, char **argv)
{
	char line[16];
	(void) argc;
	arguments = argv;
	pthread_t thread;
	/* Before anybody looks. */
	check(pthread_create(&thread, NULL, for_ever, NULL) == 0, "pthread_create");
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (strcmp(line, "exec\n") == 0)
			by_exec();
		bool only_ends = strcmp(line, "ends\n") == 0;
		joined();
		joined_late();
		detached();
		left();
		left_on_own_stack();
		if (!only_ends) {
			running();
			from_thread();
		}
		in_child();
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
