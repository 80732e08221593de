/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Functions that the .NET target calls, and that call it. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Keeps a call from becoming a jump. */
#define NOT_A_TAIL() __asm__ volatile("" ::: "memory")

int sw_tid(void);
void sw_exit(void);
void sw_end_with_parent(void);
void sw_block(int value);
int sw_call(int (*function)(int), int value);
void sw_sort(int *values, int n, int (*compare)(const void *, const void *));
void sw_foreign(int (*function)(int));
void sw_spin(volatile int *until);

int sw_tid(void)
{
	return (int) syscall(SYS_gettid);
}

void sw_exit(void)
{
	_exit(0);
}

/* A runtime that hangs would stay behind when the test is killed. */
void sw_end_with_parent(void)
{
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void sw_block(int value)
{
	(void) value;
	for (;;)
		pause();
}

int sw_call(int (*function)(int), int value)
{
	int r = function(value);
	NOT_A_TAIL();
	return r + 1;
}

void sw_sort(int *values, int n, int (*compare)(const void *, const void *))
{
	qsort(values, (size_t) n, sizeof(*values), compare);
	NOT_A_TAIL();
}

static void *foreign_main(void *arg)
{
	int (*function)(int) = (int (*)(int)) arg;
	(void) function(7);
	NOT_A_TAIL();
	return NULL;
}

/* A thread that the runtime did not make. */
void sw_foreign(int (*function)(int))
{
	pthread_t thread;
	(void) pthread_create(&thread, NULL, foreign_main, (void *) function);
}

void sw_spin(volatile int *until)
{
	while (*until == 0)
		;
}
