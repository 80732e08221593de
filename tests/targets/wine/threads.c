/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Windows program whose threads wait, spin, fault and call back in all the ways there are:
 *
 *	threads.exe [SLEEPERS]		so many plain threads instead
 *
 * It says of each thread what its stack is, as seen from inside:
 *
 *	thread TID NAME WALK function ...	own functions, innermost first; TID is Linux's
 *	walk TID pc ...				by RtlVirtualUnwind, innermost first
 *
 * then "ready". To each line that it reads it answers "alive TICKS RETURNED": how often a thread has
 * woken up, and how many threads have returned from what they should be in for ever.
 */
#include "threads.h"

#include <fcntl.h>
#include <io.h>

enum { WALK_FRAMES_MAX = 256, READY_WAIT_MS = 30000 };

void waits_begin(void);
void frames_begin(void);
void more_begin(void);
void pool_begin(struct role *role);

static volatile LONG ticks, returned;

/* gettid() of Linux: the program's threads are Linux's, but Windows has other numbers for them. */
static uint32_t linux_tid(void)
{
	uint64_t result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(186) : "rcx", "r11", "memory");
	return (uint32_t) result;
}

static void name_set(const char *name)
{
	typedef HRESULT(WINAPI * set_fn)(HANDLE, const wchar_t *);
	set_fn set = (set_fn) (void *) GetProcAddress(GetModuleHandleW(L"kernelbase.dll"),
						      "SetThreadDescription");
	wchar_t wide[16];
	size_t n = 0;
	for (; n < 15 && name[n] != '\0'; n++)
		wide[n] = (wchar_t) name[n];
	wide[n] = 0;
	if (set != NULL)
		set(GetCurrentThread(), wide);
}

void role_ready(struct role *role)
{
	role->tid = linux_tid();
	name_set(role->name);
	InterlockedExchange(&role->ready, 1);
}

static PLAIN DWORD WINAPI thread_main(void *arg)
{
	struct role *role = arg;
	role->run(role);
	InterlockedIncrement(&returned);
	return 0;
}

static DWORD WINAPI ticker(void *arg)
{
	name_set("ticker");
	for (;;) {
		Sleep(1);
		InterlockedIncrement(&ticks);
	}
	return *(DWORD *) arg;
}

static void role_start(struct role *role)
{
	if (role->run == NULL)
		pool_begin(role);
	else
		role->handle = CreateThread(NULL, 0, thread_main, role, 0, NULL);
}

/* How often the thread was given time so far, in units of 100 ns. */
static uint64_t time_used(HANDLE thread)
{
	FILETIME t[4];
	GetThreadTimes(thread, &t[0], &t[1], &t[2], &t[3]);
	return t[3].dwLowDateTime + t[2].dwLowDateTime;
}

/* A thread that said that it is ready still has to get where it stays. */
static void settle(struct role *role)
{
	CONTEXT a = {.ContextFlags = CONTEXT_CONTROL}, b = a;
	uint64_t used;
	for (int i = 0; i < 200; i++) {
		used = time_used(role->handle);
		GetThreadContext(role->handle, &a);
		Sleep(20);
		GetThreadContext(role->handle, &b);
		if (a.Rip == b.Rip && a.Rsp == b.Rsp && used == time_used(role->handle))
			return;
	}
}

static void walk_print(const struct role *role)
{
	CONTEXT c = {.ContextFlags = CONTEXT_FULL};
	SuspendThread(role->handle);
	GetThreadContext(role->handle, &c);
	printf("walk %u", role->tid);
	for (int i = 0; i < WALK_FRAMES_MAX && c.Rip != 0; i++) {
		DWORD64 base, establisher;
		void *data;
		printf(" %llx", (unsigned long long) c.Rip);
		RUNTIME_FUNCTION *f = RtlLookupFunctionEntry(c.Rip, &base, NULL);
		if (f == NULL) {
			if (c.Rsp < 4096 || IsBadReadPtr((void *) c.Rsp, 8))
				break;
			c.Rip = *(DWORD64 *) c.Rsp;
			c.Rsp += 8;
		} else {
			RtlVirtualUnwind(0, base, c.Rip, f, &c, &data, &establisher, NULL);
		}
	}
	printf("\n");
	ResumeThread(role->handle);
}

static void role_print(struct role *role)
{
	static const char *const words[] = {"all", "start", "none"};
	printf("thread %u %s %s %s\n", role->tid, role->name, words[role->walk], role->functions);
	if (role->walk == WALK_NONE)
		return;
	if (strncmp(role->name, "held", 4) == 0)
		SuspendThread(role->handle); /* and stays so */
	else
		settle(role);
	walk_print(role);
}

static void all_start(struct role *roles, size_t n)
{
	for (size_t i = 0; i < n; i++)
		role_start(&roles[i]);
}

static void all_wait(struct role *roles, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (int ms = 0; roles[i].ready == 0 && ms < READY_WAIT_MS; ms++)
			Sleep(1);
		if (roles[i].ready == 0)
			printf("thread 0 %s did not get there\n", roles[i].name);
		else
			role_print(&roles[i]);
	}
}

static void run_sleeper(struct role *role)
{
	role_ready(role);
	wait_for_ever();
}

static void sleepers(size_t n)
{
	struct role *roles = calloc(n, sizeof(*roles));
	for (size_t i = 0; i < n; i++) {
		roles[i] = (struct role){"sleeper", run_sleeper, WALK_NONE, "wait_for_ever"};
		role_start(&roles[i]);
	}
	all_wait(roles, n);
}

int main(int argc, char **argv)
{
	char line[64];
	_setmode(_fileno(stdout), _O_BINARY);
	waits_begin();
	frames_begin();
	more_begin();
	CloseHandle(CreateThread(NULL, 0, ticker, NULL, 0, NULL));
	if (argc > 1) {
		sleepers((size_t) atoi(argv[1]));
	} else {
		all_start(wait_roles, n_wait_roles);
		all_start(frame_roles, n_frame_roles);
		all_start(more_roles, n_more_roles);
		all_wait(wait_roles, n_wait_roles);
		all_wait(frame_roles, n_frame_roles);
		all_wait(more_roles, n_more_roles);
	}
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		printf("alive %ld %ld\n", ticks, returned);
		fflush(stdout);
	}
	return 0;
}
