/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A Windows program whose threads never rest, for looking at random instants. It says which of its
 * functions there are ("own F"), which may call which, also through a library or the kernel ("edge
 * CALLER CALLEE"), and with which one threads begin ("root F").
 */
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN __attribute__((noipa))
/* After a call: keeps it from becoming a tail call, and what comes after it from looking like an
 * epilogue. */
#define KEEP() __asm__ volatile("nop" ::: "memory")

static volatile double sink;
static volatile int released;

static PLAIN int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static PLAIN void recursing(void)
{
	sink = fib(16);
	KEEP();
}

static PLAIN void copying(void)
{
	static char shared[2][70000];
	for (size_t n = 1; n < sizeof(shared[0]) / 8; n = n * 3 + 1) {
		memcpy(shared[0], shared[1], n);
		memmove(shared[1] + 1, shared[1], n);
		memset(shared[0], (int) n, n);
	}
	KEEP();
}

static PLAIN int compare(const void *a, const void *b)
{
	int x = *(const int *) a, y = *(const int *) b;
	return (x > y) - (x < y);
}

static PLAIN void sorting(void)
{
	int numbers[256];
	for (size_t i = 0; i < 256; i++)
		numbers[i] = (int) (i * 7919 % 1009);
	qsort(numbers, 256, sizeof(*numbers), compare);
	sink = numbers[3];
	KEEP();
}

static PLAIN void allocating(void)
{
	void *blocks[32];
	for (size_t i = 0; i < 32; i++)
		blocks[i] = HeapAlloc(GetProcessHeap(), 0, (i * 37 % 50 + 1) << (i % 12));
	for (size_t i = 0; i < 32; i++)
		HeapFree(GetProcessHeap(), 0, blocks[i]);
	KEEP();
}

static PLAIN void printing(void)
{
	char text[256];
	for (int i = 0; i < 10; i++)
		sink = snprintf(text, sizeof(text), "%d %s %.12g %-20x|", i, "text", i / 7.0, i);
	KEEP();
}

/* Not sin(), exp(), pow(), modf(): some of mingw-w64's push values behind the compiler's back, where no
 * table says so (mingw-w64 10.0, math/x86/exp.def.h: "subq $8, %rsp" in inline assembly). */
static PLAIN void computing(void)
{
	double x = 0.1;
	for (int i = 0; i < 5; i++)
		x += _j0(x) + _hypot(x, i) / (i + 1) - _jn(2, x);
	sink = x;
	KEEP();
}

/* A frame that the stack has to be probed for, and one whose size is known only when it runs. */
static PLAIN void large(int n)
{
	volatile char space[20000];
	for (size_t i = 0; i < sizeof(space); i += 1000)
		space[i] = (char) n;
	sink = space[n];
}

static PLAIN void variable(int n)
{
	volatile char *space = alloca((size_t) n * 100 + 1);
	space[0] = 1;
	large(n);
	sink = space[0];
	KEEP();
}

/* Keeps all of the registers that a caller's caller wants back. */
static PLAIN double saving(double a, double b, double c, double d)
{
	double x[12];
	for (int i = 0; i < 12; i++)
		x[i] = a * i + b;
	for (int i = 0; i < 20; i++)
#ifdef __i386__
		__asm__ volatile("" ::: "ebx", "esi", "edi");
#else
		__asm__ volatile("" ::
					 : "rbx", "rsi", "rdi", "r12", "r13", "r14", "r15", "xmm6",
					   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
					   "xmm13", "xmm14", "xmm15");
#endif
	return x[3] + c * d;
}

static PLAIN double jumping(double a) /* a tail call: its epilogue ends with a jump */
{
	volatile double sum = 0;
	for (int i = 0; i < 50; i++)
		sum += a * i;
	return saving(a, a + 1, a + 2, a + 3);
}

static PLAIN void framing(void)
{
	for (int i = 0; i < 20; i++) {
		variable(i * 7);
		sink += jumping(i);
	}
	KEEP();
}

static PLAIN void leap(jmp_buf place, volatile int n)
{
	if (n == 0 && !released)
		longjmp(place, 1);
	if (n > 0)
		leap(place, n - 1);
	KEEP();
}

static PLAIN void leaping(void)
{
	for (int i = 0; i < 5; i++) {
		jmp_buf place;
		if (setjmp(place) == 0)
			leap(place, 5);
	}
	KEEP();
}

static CRITICAL_SECTION section;

static PLAIN void contending(void)
{
	for (int i = 0; i < 20; i++) {
		EnterCriticalSection(&section);
		sink = i;
		LeaveCriticalSection(&section);
	}
	KEEP();
}

static PLAIN void calling(void)
{
	HANDLE event = CreateEventA(NULL, FALSE, FALSE, NULL);
	for (int i = 0; i < 4; i++) {
		SetEvent(event);
		sink = WaitForSingleObject(event, 0);
		void *pages = VirtualAlloc(NULL, 1 << 16, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
		VirtualFree(pages, 0, MEM_RELEASE);
		SwitchToThread();
	}
	CloseHandle(event);
	KEEP();
}

static PLAIN void CALLBACK on_apc(ULONG_PTR arg)
{
	sink = fib((int) arg);
	KEEP();
}

static PLAIN void queueing(void)
{
	QueueUserAPC(on_apc, GetCurrentThread(), 26);
	SleepEx(0, TRUE);
	KEEP();
}

static PLAIN BOOL CALLBACK on_locale(LPWSTR name, DWORD flags, LPARAM arg)
{
	(void) name;
	(void) flags;
	sink = fib(23);
	KEEP();
	return --*(int *) arg > 0;
}

static PLAIN void enumerating(void)
{
	int left = 5;
	EnumSystemLocalesEx(on_locale, 0, (LPARAM) &left, NULL);
	KEEP();
}

static PLAIN LRESULT CALLBACK on_message(HWND window, UINT message, WPARAM w, LPARAM l)
{
	if (message == WM_USER)
		sink = fib((int) w);
	KEEP();
	return DefWindowProcA(window, message, w, l);
}

/* By way of the Unix side: Windows calls window procedures from its kernel. */
static PLAIN void messaging(void)
{
	HWND window = CreateWindowExA(0, "busy", "", 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL);
	SendMessageA(window, WM_USER, 27, 0);
	DestroyWindow(window);
	KEEP();
}

static PLAIN LONG CALLBACK on_exception(EXCEPTION_POINTERS *pointers)
{
	if (pointers->ExceptionRecord->ExceptionCode != 0xe0001234)
		return EXCEPTION_CONTINUE_SEARCH;
	sink = fib(8);
	KEEP();
	return EXCEPTION_CONTINUE_EXECUTION;
}

static PLAIN void raising(void)
{
	RaiseException(0xe0001234, 0, 0, NULL);
	KEEP();
}

struct job {
	const char *name;
	void (*run)(void);
};

static const struct job jobs[] = {
	{"recursing", recursing}, {"copying", copying},     {"sorting", sorting},
	{"printing", printing},   {"computing", computing}, {"allocating", allocating},
	{"framing", framing},     {"leaping", leaping},     {"contending", contending},
	{"raising", raising},
};
/* Jobs that ask Wine's server take a thousand times longer: one of these in each round. */
static const struct job calls[] = {
	{"calling", calling},
	{"queueing", queueing},
	{"enumerating", enumerating},
	{"messaging", messaging},
};
enum { N_JOBS = sizeof(jobs) / sizeof(*jobs), N_CALLS = sizeof(calls) / sizeof(*calls) };
enum { WORKERS = 3, TIMES = 200 };

static PLAIN void work(size_t from)
{
	for (size_t round = from; !released; round++) {
		for (size_t i = 0; i < N_JOBS; i++)
			for (int n = 0; n < TIMES; n++)
				jobs[(round + i) % N_JOBS].run();
		calls[round % N_CALLS].run();
	}
	KEEP();
}

static volatile LONG begun;

static PLAIN DWORD WINAPI worker(void *arg)
{
	InterlockedIncrement(&begun);
	work((size_t) arg);
	KEEP();
	return 0;
}

static void say(void)
{
	_setmode(_fileno(stdout), _O_BINARY);
	printf("root main\nroot worker\nedge main work\nedge worker work\n");
	for (size_t i = 0; i < N_JOBS; i++)
		printf("edge work %s\n", jobs[i].name);
	for (size_t i = 0; i < N_CALLS; i++)
		printf("edge work %s\n", calls[i].name);
	printf("edge recursing fib\nedge fib fib\nedge sorting compare\nedge framing variable\n"
	       "edge variable large\nedge framing jumping\nedge framing saving\nedge leaping leap\n"
	       "edge leap leap\nedge queueing on_apc\nedge on_apc fib\nedge enumerating on_locale\n"
	       "edge on_locale fib\nedge messaging on_message\nedge on_message on_message\n"
	       "edge on_message fib\nedge raising on_exception\nedge on_exception fib\n");
#ifdef __i386__
	printf("edge jumping saving\n"); /* its arguments need more of the stack: no tail call */
#endif
}

int main(void)
{
	const WNDCLASSA class = {.lpfnWndProc = on_message, .lpszClassName = "busy"};
	InitializeCriticalSection(&section);
	RegisterClassA(&class);
	AddVectoredExceptionHandler(1, on_exception);
	for (size_t i = 0; i < WORKERS; i++)
		CreateThread(NULL, 0, worker, (void *) (i * 4 + 1), 0, NULL);
	while (begun < WORKERS)
		Sleep(1);
	say();
	printf("ready\n");
	fflush(stdout);
	work(0);
	return 0;
}
