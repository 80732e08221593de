/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Windows program for i386 whose threads are blocked, each at the end of a known chain of functions with
 * different conventions of calling, in each way there is from Windows to Unix code and back. It says
 *
 *	thread TID NAME function ...	own functions, innermost first; TID is Linux's
 *
 * then "ready", and waits.
 */
#include <winsock2.h>
#include <ws2tcpip.h>

#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((noinline, noclone, noipa))
/* After a call that must stay one. */
#define HERE() __asm__ volatile("nop" ::: "memory")

struct role {
	const char *name;
	void (*last)(struct role *role); /* blocks */
	const char *functions;
	volatile LONG ready;
	uint32_t tid;
	HANDLE handle;
};

static volatile int sink, released;
static volatile uintptr_t fault_at = 16;

/* gettid() of Linux. */
static uint32_t linux_tid(void)
{
	uint32_t result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(224) : "memory");
	return result;
}

static void role_ready(struct role *role)
{
	role->tid = linux_tid();
	InterlockedExchange(&role->ready, 1);
}

static PLAIN void block(struct role *role)
{
	role_ready(role);
	while (!released)
		WaitForSingleObject(CreateEventA(NULL, FALSE, FALSE, NULL), INFINITE);
}

static PLAIN void sleeps(struct role *role)
{
	role_ready(role);
	while (!released)
		Sleep(INFINITE);
}

static PLAIN void spins(struct role *role)
{
	role_ready(role);
	while (!released)
		sink++;
}

/* ---- back from Unix code, or from Windows' libraries ---------------------------------------------- */

static __thread struct role *current;

static PLAIN LRESULT CALLBACK on_message(HWND window, UINT message, WPARAM w, LPARAM l)
{
	if (message == WM_USER)
		block(current);
	HERE();
	return DefWindowProcA(window, message, w, l);
}

static PLAIN void messages(struct role *role)
{
	current = role;
	HWND window =
		CreateWindowExA(0, "chain", "", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL);
	SendMessageA(window, WM_USER, 0, 0);
	HERE();
}

/* The window's first message comes from within the system call that makes it. */
static PLAIN LRESULT CALLBACK on_creation(HWND window, UINT message, WPARAM w, LPARAM l)
{
	if (message == WM_CREATE)
		block(current);
	HERE();
	return DefWindowProcA(window, message, w, l);
}

static PLAIN void creates(struct role *role)
{
	current = role;
	CreateWindowExA(0, "creation", "", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL);
	HERE();
}

static PLAIN LONG CALLBACK on_exception(EXCEPTION_POINTERS *pointers)
{
	(void) pointers;
	if (current != NULL)
		block(current);
	HERE();
	return EXCEPTION_CONTINUE_SEARCH;
}

static PLAIN void raises(struct role *role)
{
	current = role;
	RaiseException(0xe0001234, 0, 0, NULL);
	HERE();
}

static PLAIN void faults(struct role *role)
{
	current = role;
	*(volatile int *) fault_at = 1;
	HERE();
}

static PLAIN void CALLBACK on_apc(ULONG_PTR arg)
{
	block((struct role *) arg);
	HERE();
}

static PLAIN void queues(struct role *role)
{
	QueueUserAPC(on_apc, GetCurrentThread(), (ULONG_PTR) role);
	SleepEx(INFINITE, TRUE);
	HERE();
}

static PLAIN int on_pair(const void *a, const void *b)
{
	block(current);
	HERE();
	return a < b;
}

static PLAIN void sorts(struct role *role)
{
	int numbers[] = {3, 1, 2};
	current = role;
	qsort(numbers, 3, sizeof(*numbers), on_pair);
	HERE();
}

static PLAIN BOOL CALLBACK on_locale(LPWSTR name, DWORD flags, LPARAM arg)
{
	(void) name;
	(void) flags;
	block((struct role *) arg);
	HERE();
	return FALSE;
}

static PLAIN void enumerates(struct role *role)
{
	EnumSystemLocalesEx(on_locale, 0, (LPARAM) role, NULL);
	HERE();
}

/* The C library's resolver opens the FIFO that the environment names, and waits: in a unix call. */
static PLAIN void resolves(struct role *role)
{
	struct addrinfo *result;
	role_ready(role);
	getaddrinfo("host", NULL, NULL, &result);
	HERE();
}

/* ---- f1 to f6: the ways in which functions of i386 call each other ---------------------------------- */

static PLAIN void f6(struct role *role)
{
	role->last(role);
	HERE();
}

static PLAIN void WINAPI f5(int a, struct role *role, int b)
{
	f6(role);
	sink = a + b;
}

static PLAIN void __fastcall f4(struct role *role, int a, int b, int c)
{
	f5(a, role, b);
	sink = c;
}

static PLAIN void f3(int n, struct role *role)
{
	volatile char *space = alloca((size_t) n * 100 + 1);
	space[n] = 1;
	f4(role, n, 2, 3);
	sink = space[n];
}

static PLAIN void __thiscall f2(struct role *role, int a)
{
	volatile char space[9000];
	space[a] = 1;
	f3(a, role);
	sink = space[a];
}

static PLAIN int f1(struct role *role)
{
	f2(role, 7);
	HERE();
	return sink;
}

static PLAIN DWORD WINAPI thread_main(void *arg)
{
	f1(arg);
	HERE();
	return 0;
}

#define CHAIN "f6 f5 f4 f3 f2 f1 thread_main"
static struct role roles[] = {
	{"sleeps", sleeps, "sleeps " CHAIN, 0, 0, NULL},
	{"block", block, "block " CHAIN, 0, 0, NULL},
	{"messages", messages, "block on_message messages " CHAIN, 0, 0, NULL},
	{"creates", creates, "block on_creation creates " CHAIN, 0, 0, NULL},
	{"raises", raises, "block on_exception raises " CHAIN, 0, 0, NULL},
	{"faults", faults, "block on_exception faults " CHAIN, 0, 0, NULL},
	{"queues", queues, "block on_apc queues " CHAIN, 0, 0, NULL},
	{"sorts", sorts, "block on_pair sorts " CHAIN, 0, 0, NULL},
	{"enumerates", enumerates, "block on_locale enumerates " CHAIN, 0, 0, NULL},
	{"resolves", resolves, "resolves " CHAIN, 0, 0, NULL},
	{"spins", spins, "spins " CHAIN, 0, 0, NULL},
	{"held", spins, "spins " CHAIN, 0, 0, NULL},
};
enum { N_ROLES = sizeof(roles) / sizeof(*roles) };

int main(void)
{
	const WNDCLASSA class = {.lpfnWndProc = on_message, .lpszClassName = "chain"};
	const WNDCLASSA creation = {.lpfnWndProc = on_creation, .lpszClassName = "creation"};
	WSADATA data;
	char line[64];
	_setmode(_fileno(stdout), _O_BINARY);
	WSAStartup(MAKEWORD(2, 2), &data);
	RegisterClassA(&class);
	RegisterClassA(&creation);
	AddVectoredExceptionHandler(1, on_exception);
	for (size_t i = 0; i < N_ROLES; i++)
		roles[i].handle = CreateThread(NULL, 0, thread_main, &roles[i], 0, NULL);
	for (size_t i = 0; i < N_ROLES; i++) {
		while (roles[i].ready == 0)
			Sleep(1);
		if (strcmp(roles[i].name, "held") == 0)
			SuspendThread(roles[i].handle); /* and stays so */
		printf("thread %u %s %s\n", roles[i].tid, roles[i].name, roles[i].functions);
	}
	printf("ready\n");
	fflush(stdout);
	(void) fgets(line, sizeof(line), stdin);
	return 0;
}
