/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Windows program that writes a minidump of itself, and the truth about it on standard output:
 *
 *	minidump.exe FILE normal|full wait|crash
 *
 * A line "thread TID NAME FUNCTION..." has the functions of a thread, innermost first; "crash TID ADDRESS" the access
 * that failed. Source: Microsoft, "MiniDumpWriteDump function (minidumpapiset.h)", "MINIDUMP_TYPE".
 */
#include <windows.h>

#include <dbghelp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { THREADS = 6, UNWRITABLE = 0x28 };

/* Source: processthreadsapi.h, which mingw-w64 v10 shows for Windows 10 only. */
WINBASEAPI HRESULT WINAPI SetThreadDescription(HANDLE thread, PCWSTR name);

static HANDLE ready, never;
static const char *file_name;
static MINIDUMP_TYPE type;
static volatile int sink;

static int dump_write(MINIDUMP_EXCEPTION_INFORMATION *exception)
{
	HANDLE file = CreateFileA(file_name, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
	BOOL done = MiniDumpWriteDump(GetCurrentProcess(), GetCurrentProcessId(), file, type,
				      exception, NULL, NULL);
	CloseHandle(file);
	return done ? 0 : 1;
}

/* Waits for ever below a number of calls, so that stacks are told apart. */
static NOINLINE void wait_here(void)
{
	ReleaseSemaphore(ready, 1, NULL);
	WaitForSingleObject(never, INFINITE);
	sink++;
}

static NOINLINE void level_a(int more);

static NOINLINE void level_b(int more)
{
	volatile char frame[512];
	frame[0] = 1;
	if (more > 0)
		level_a(more - 1);
	else
		wait_here();
	sink += frame[0];
}

static NOINLINE void level_a(int more)
{
	level_b(more);
	sink++;
}

static DWORD WINAPI worker(void *arg)
{
	int number = (int) (INT_PTR) arg;
	level_a(number);
	return 0;
}

static LONG WINAPI crashed(EXCEPTION_POINTERS *pointers)
{
	MINIDUMP_EXCEPTION_INFORMATION exception = {GetCurrentThreadId(), pointers, FALSE};
	_exit(dump_write(&exception));
}

static NOINLINE void write_there(volatile int *where)
{
	*where = 1;
	sink++;
}

static NOINLINE void crash_here(void)
{
	write_there((volatile int *) UNWRITABLE);
	sink++;
}

static NOINLINE int dump_here(void)
{
	int result = dump_write(NULL);
	sink++;
	return result;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	file_name = argv[1];
	type = strcmp(argv[2], "full") == 0 ? MiniDumpWithFullMemory : MiniDumpNormal;
	ready = CreateSemaphoreA(NULL, 0, THREADS, NULL);
	never = CreateEventA(NULL, TRUE, FALSE, NULL);
	for (INT_PTR i = 0; i < THREADS; i++) {
		DWORD id;
		wchar_t name[16];
		HANDLE thread = CreateThread(NULL, 0, worker, (void *) i, 0, &id);
		swprintf(name, sizeof(name) / sizeof(name[0]), L"worker-%d", (int) i);
		SetThreadDescription(thread, name);
		printf("thread %lu worker-%d wait_here", id, (int) i);
		for (int k = 0; k <= i; k++)
			printf(" level_b level_a");
		printf(" worker\n");
	}
	for (int i = 0; i < THREADS; i++)
		WaitForSingleObject(ready, INFINITE);
	if (strcmp(argv[3], "crash") == 0) {
		printf("thread %lu - write_there crash_here main\n", GetCurrentThreadId());
		printf("crash %lu %#x\n", GetCurrentThreadId(), UNWRITABLE);
		fflush(stdout);
		SetUnhandledExceptionFilter(crashed);
		crash_here();
		return 1;
	}
	printf("thread %lu - dump_write dump_here main\n", GetCurrentThreadId());
	fflush(stdout);
	return dump_here();
}
