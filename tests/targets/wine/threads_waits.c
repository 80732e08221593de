/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads that wait: in system calls, in calls to Unix libraries, for windows and for each other. */
#include "threads.h"

PLAIN void wait_for_ever(void)
{
	Sleep(INFINITE);
	HERE();
}

static PLAIN void run_sleep(struct role *role)
{
	role_ready(role);
	wait_for_ever();
	HERE();
}

static PLAIN void run_event(struct role *role)
{
	HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL);
	role_ready(role);
	WaitForSingleObject(event, INFINITE);
	HERE();
}

static PLAIN void run_many(struct role *role)
{
	HANDLE events[3];
	for (int i = 0; i < 3; i++)
		events[i] = CreateEventW(NULL, TRUE, FALSE, NULL);
	role_ready(role);
	WaitForMultipleObjects(3, events, FALSE, INFINITE);
	HERE();
}

static CRITICAL_SECTION section;
static SRWLOCK lock = SRWLOCK_INIT;
static CONDITION_VARIABLE condition = CONDITION_VARIABLE_INIT;

static PLAIN void run_section(struct role *role)
{
	role_ready(role);
	EnterCriticalSection(&section); /* main() has it */
	HERE();
}

static PLAIN void run_srwlock(struct role *role)
{
	role_ready(role);
	AcquireSRWLockExclusive(&lock); /* main() has it */
	HERE();
}

static PLAIN void run_condition(struct role *role)
{
	SRWLOCK own = SRWLOCK_INIT;
	AcquireSRWLockExclusive(&own);
	role_ready(role);
	SleepConditionVariableSRW(&condition, &own, INFINITE, 0);
	HERE();
}

static PLAIN void run_completion(struct role *role)
{
	HANDLE port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
	DWORD bytes;
	ULONG_PTR key;
	OVERLAPPED *overlapped;
	role_ready(role);
	GetQueuedCompletionStatus(port, &bytes, &key, &overlapped, INFINITE);
	HERE();
}

static PLAIN void run_pipe(struct role *role)
{
	char name[64], byte;
	DWORD got;
	snprintf(name, sizeof(name), "\\\\.\\pipe\\snapwalk-%lu", GetCurrentProcessId());
	HANDLE server = CreateNamedPipeA(name, PIPE_ACCESS_DUPLEX, PIPE_WAIT, 1, 64, 64, 0, NULL);
	HANDLE client = CreateFileA(name, GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL);
	(void) server;
	role_ready(role);
	ReadFile(client, &byte, 1, &got, NULL);
	HERE();
}

static PLAIN void run_socket(struct role *role)
{
	char byte;
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	SOCKET s = socket(AF_INET, SOCK_DGRAM, 0);
	bind(s, (struct sockaddr *) &address, sizeof(address));
	role_ready(role);
	recv(s, &byte, 1, 0);
	HERE();
}

/* A call to a Unix library, no system call: the resolver's library opens HOSTALIASES, and the test
 * has put a FIFO there that nobody writes to. */
static PLAIN void run_unixcall(struct role *role)
{
	struct addrinfo *result;
	role_ready(role);
	getaddrinfo("nobody", NULL, NULL, &result);
	HERE();
}

static PLAIN void run_message(struct role *role)
{
	MSG msg;
	PeekMessageW(&msg, NULL, 0, 0, PM_NOREMOVE);
	role_ready(role);
	GetMessageW(&msg, NULL, 0, 0);
	HERE();
}

/* ---- windows: Unix code calls back ---------------------------------------------------------- */

static __thread struct role *window_role;

static PLAIN LRESULT CALLBACK window_procedure(HWND window, UINT message, WPARAM w, LPARAM l)
{
	if (message == WM_CREATE) {
		role_ready(window_role);
		wait_for_ever();
	}
	return DefWindowProcW(window, message, w, l);
}

/* The outer window's procedure makes the inner window: a callback in a callback. */
static PLAIN LRESULT CALLBACK outer_procedure(HWND window, UINT message, WPARAM w, LPARAM l)
{
	if (message == WM_CREATE)
		CreateWindowExW(0, L"inner", NULL, 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL);
	return DefWindowProcW(window, message, w, l);
}

static PLAIN LRESULT CALLBACK spin_procedure(HWND window, UINT message, WPARAM w, LPARAM l)
{
	static volatile unsigned turns;
	if (message == WM_CREATE) {
		role_ready(window_role);
		for (;;)
			turns++;
	}
	return DefWindowProcW(window, message, w, l);
}

static PLAIN void window_make(struct role *role, const wchar_t *class)
{
	window_role = role;
	CreateWindowExW(0, class, NULL, 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL);
	HERE();
}

static PLAIN void run_window(struct role *role)
{
	window_make(role, L"inner");
	HERE();
}

static PLAIN void run_nested(struct role *role)
{
	window_make(role, L"outer");
	HERE();
}

static PLAIN void run_winspin(struct role *role)
{
	window_make(role, L"spin");
	HERE();
}

void waits_begin(void)
{
	static const struct {
		const wchar_t *name;
		WNDPROC procedure;
	} classes[] = {{L"inner", window_procedure},
		       {L"outer", outer_procedure},
		       {L"spin", spin_procedure}};
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		WNDCLASSW class = {.lpfnWndProc = classes[i].procedure,
				   .lpszClassName = classes[i].name};
		RegisterClassW(&class);
	}
	WSADATA data;
	WSAStartup(MAKEWORD(2, 2), &data);
	InitializeCriticalSection(&section);
	EnterCriticalSection(&section);
	AcquireSRWLockExclusive(&lock);
}

struct role wait_roles[] = {
	{"sleep", run_sleep, WALK_ALL, "wait_for_ever run_sleep thread_main"},
	{"event", run_event, WALK_ALL, "run_event thread_main"},
	{"many", run_many, WALK_ALL, "run_many thread_main"},
	{"section", run_section, WALK_ALL, "run_section thread_main"},
	{"srwlock", run_srwlock, WALK_ALL, "run_srwlock thread_main"},
	{"condition", run_condition, WALK_ALL, "run_condition thread_main"},
	{"completion", run_completion, WALK_ALL, "run_completion thread_main"},
	{"pipe", run_pipe, WALK_ALL, "run_pipe thread_main"},
	{"socket", run_socket, WALK_ALL, "run_socket thread_main"},
	{"unixcall", run_unixcall, WALK_ALL, "run_unixcall thread_main"},
	{"message", run_message, WALK_ALL, "run_message thread_main"},
	{"window", run_window, WALK_START,
	 "wait_for_ever window_procedure window_make run_window thread_main"},
	{"nested", run_nested, WALK_START,
	 "wait_for_ever window_procedure outer_procedure window_make run_nested thread_main"},
	{"winspin", run_winspin, WALK_NONE, "spin_procedure window_make run_winspin thread_main"},
};
const size_t n_wait_roles = sizeof(wait_roles) / sizeof(*wait_roles);
