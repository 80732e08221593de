/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* native.c for Windows: what the .NET target calls under Wine, and what calls it. */
#include <stdlib.h>
#include <windows.h>

/* Keeps a call from becoming a jump. */
#define NOT_A_TAIL() __asm__ volatile("" ::: "memory")
#define EXPORT       __declspec(dllexport)

/* Linux' own system calls: Wine lets them through. The test knows threads by Linux' numbers. */
enum { LINUX_PRCTL = 157, LINUX_GETTID = 186, LINUX_PR_SET_PDEATHSIG = 1, LINUX_SIGKILL = 9 };

static long long linux_call(long long number, long long a, long long b)
{
	long long result;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return result;
}

EXPORT int sw_tid(void)
{
	return (int) linux_call(LINUX_GETTID, 0, 0);
}

EXPORT void sw_exit(void)
{
	TerminateProcess(GetCurrentProcess(), 0);
}

/* A runtime that hangs would stay behind when the test is killed. */
EXPORT void sw_end_with_parent(void)
{
	(void) linux_call(LINUX_PRCTL, LINUX_PR_SET_PDEATHSIG, LINUX_SIGKILL);
}

EXPORT void sw_block(int value)
{
	(void) value;
	for (;;)
		Sleep(INFINITE);
}

EXPORT int sw_call(int (*function)(int), int value)
{
	int r = function(value);
	NOT_A_TAIL();
	return r + 1;
}

EXPORT void sw_sort(int *values, int n, int (*compare)(const void *, const void *))
{
	qsort(values, (size_t) n, sizeof(*values), compare);
	NOT_A_TAIL();
}

static DWORD WINAPI foreign_main(void *arg)
{
	int (*function)(int) = (int (*)(int)) arg;
	(void) function(7);
	NOT_A_TAIL();
	return 0;
}

/* A thread that the runtime did not make. */
EXPORT void sw_foreign(int (*function)(int))
{
	(void) CreateThread(NULL, 0, foreign_main, (void *) function, 0, NULL);
}

EXPORT void sw_spin(volatile int *until)
{
	while (*until == 0)
		;
}
