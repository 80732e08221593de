/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Windows program whose threads go from Windows code to Unix code and back all the time, in each way
 * there is: to be stopped at any instant. It says "ready" and goes on until it is killed.
 */
#include <windows.h>

#include <stdio.h>

#define PLAIN __attribute__((noinline, noclone))
/* Keeps a call from being the last instruction. */
#define HERE() __asm__ volatile("nop" ::: "memory")

static volatile unsigned turns;

static PLAIN void system_calls(void)
{
	HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
	for (;;) {
		SetEvent(event);
		WaitForSingleObject(event, 0);
		turns++;
	}
}

/* Asks the Unix side for the time. */
static PLAIN void unix_calls(void)
{
	FILETIME time;
	for (;;) {
		GetSystemTimePreciseAsFileTime(&time);
		turns++;
	}
}

static PLAIN LRESULT CALLBACK procedure(HWND window, UINT message, WPARAM w, LPARAM l)
{
	turns++;
	return DefWindowProcW(window, message, w, l);
}

static PLAIN void callbacks(void)
{
	WNDCLASSW class = {.lpfnWndProc = procedure, .lpszClassName = L"boundaries"};
	RegisterClassW(&class);
	for (;;)
		DestroyWindow(CreateWindowExW(0, L"boundaries", NULL, 0, 0, 0, 0, 0, HWND_MESSAGE,
					      NULL, NULL, NULL));
}

static PLAIN void exceptions(void)
{
	for (;;) {
		__asm__ volatile("int3");
		turns++;
	}
}

static PLAIN LONG CALLBACK vectored(EXCEPTION_POINTERS *pointers)
{
	if (pointers->ExceptionRecord->ExceptionCode != EXCEPTION_BREAKPOINT)
		return EXCEPTION_CONTINUE_SEARCH;
	pointers->ContextRecord->Rip++;
	return EXCEPTION_CONTINUE_EXECUTION;
}

static PLAIN void CALLBACK apc(ULONG_PTR arg)
{
	turns += (unsigned) arg;
}

static PLAIN void apcs(void)
{
	for (;;) {
		QueueUserAPC(apc, GetCurrentThread(), 1);
		SleepEx(0, TRUE);
		HERE();
	}
}

static PLAIN void CALLBACK fiber(void *first)
{
	for (;;) {
		SwitchToFiber(first);
		turns++;
	}
}

/* From stack to stack in Windows code. */
static PLAIN void fibers(void)
{
	void *second = CreateFiber(0, fiber, ConvertThreadToFiber(NULL));
	for (;;) {
		SwitchToFiber(second);
		turns++;
	}
}

static PLAIN void suspended(void)
{
	for (;;)
		turns++;
}

static DWORD WINAPI nothing(void *arg)
{
	(void) arg;
	return turns++;
}

/* Threads that begin and end; and one that is suspended now and then. */
static PLAIN void threads(HANDLE other)
{
	for (;;) {
		HANDLE thread = CreateThread(NULL, 0, nothing, NULL, 0, NULL);
		SuspendThread(other);
		WaitForSingleObject(thread, INFINITE);
		ResumeThread(other);
		CloseHandle(thread);
	}
}

static DWORD WINAPI run(void *function)
{
	((void (*)(void)) function)();
	return 0;
}

int main(void)
{
	static void (*const all[])(void) = {system_calls, unix_calls, callbacks, exceptions,
					    apcs,         fibers,     suspended};
	HANDLE last = NULL;
	AddVectoredExceptionHandler(1, vectored);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		last = CreateThread(NULL, 0, run, (void *) all[i], 0, NULL);
	printf("ready\n");
	fflush(stdout);
	threads(last);
	return 0;
}
