/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads whose frames are of all kinds: deep, large, with handlers, of another stack, interrupted. */
#include "threads.h"

#include <winternl.h>

static __thread struct role *frame_role; /* for handlers, which get no argument of ours */
static __thread bool wants_vectored;

/* Writes to address 8 with its first instruction. */
void fault_first(void);
__asm__(".globl fault_first\n"
	".def fault_first; .scl 2; .type 32; .endef\n"
	".seh_proc fault_first\n"
	"fault_first:\n"
	"	.seh_endprologue\n"
	"	movl $1, 8\n"
	"	ret\n"
	".seh_endproc\n");

static PLAIN void run_spin(struct role *role)
{
	static volatile unsigned turns;
	role_ready(role);
	for (;;)
		turns++;
}

static PLAIN unsigned recurse(struct role *role, unsigned depth)
{
	if (depth == 0) {
		role_ready(role);
		wait_for_ever();
		return 0;
	}
	return recurse(role, depth - 1) + depth;
}

static PLAIN void run_recurse(struct role *role)
{
	recurse(role, 100);
	HERE();
}

static PLAIN void run_bigframe(struct role *role)
{
	volatile char large[100000];
	large[0] = large[sizeof(large) - 1] = 1;
	role_ready(role);
	wait_for_ever();
	large[1] = 2;
}

static PLAIN void run_alloca(struct role *role)
{
	volatile char *block = __builtin_alloca(strlen(role->name) * 1000);
	block[0] = 1;
	role_ready(role);
	wait_for_ever();
	block[1] = 2;
}

static PLAIN void run_sse(struct role *role)
{
	register double a __asm__("xmm6") = 1, b __asm__("xmm15") = 2;
	__asm__ volatile("" : "+x"(a), "+x"(b));
	role_ready(role);
	wait_for_ever();
	__asm__ volatile("" : "+x"(a), "+x"(b));
}

/* ---- called back by libraries --------------------------------------------------------------- */

static PLAIN int compare(const void *a, const void *b)
{
	(void) a, (void) b;
	role_ready(frame_role);
	wait_for_ever();
	return 0;
}

static PLAIN void run_qsort(struct role *role)
{
	int numbers[] = {3, 2, 1};
	frame_role = role;
	qsort(numbers, 3, sizeof(*numbers), compare);
	HERE();
}

static PLAIN BOOL CALLBACK locale_seen(char *locale)
{
	(void) locale;
	role_ready(frame_role);
	wait_for_ever();
	return FALSE;
}

static PLAIN void run_locales(struct role *role)
{
	frame_role = role;
	EnumSystemLocalesA(locale_seen, LCID_INSTALLED);
	HERE();
}

static PLAIN DWORD WINAPI pool_work(void *arg)
{
	struct role *role = arg;
	role->handle = OpenThread(THREAD_ALL_ACCESS, FALSE, GetCurrentThreadId());
	role_ready(role);
	wait_for_ever();
	return 0;
}

/* ---- exceptions, APCs ------------------------------------------------------------------------ */

EXCEPTION_DISPOSITION __cdecl frame_handler(EXCEPTION_RECORD *record, void *frame,
					    CONTEXT *context, DISPATCHER_CONTEXT *dispatcher);
PLAIN EXCEPTION_DISPOSITION __cdecl frame_handler(EXCEPTION_RECORD *record, void *frame,
						  CONTEXT *context,
						  DISPATCHER_CONTEXT *dispatcher)
{
	(void) record, (void) frame, (void) context, (void) dispatcher;
	role_ready(frame_role);
	wait_for_ever();
	return ExceptionContinueSearch;
}

static PLAIN void guarded_fault(void)
{
	__asm__ volatile(".seh_handler frame_handler, @except\n");
	fault_first();
	HERE();
}

static PLAIN void guarded_raise(void)
{
	__asm__ volatile(".seh_handler frame_handler, @except\n");
	RaiseException(0xe0000001, 0, 0, NULL);
	HERE();
}

static PLAIN void run_fault(struct role *role)
{
	frame_role = role;
	guarded_fault();
	HERE();
}

static PLAIN void run_raise(struct role *role)
{
	frame_role = role;
	guarded_raise();
	HERE();
}

static PLAIN LONG CALLBACK vectored(EXCEPTION_POINTERS *pointers)
{
	(void) pointers;
	if (wants_vectored) {
		role_ready(frame_role);
		wait_for_ever();
	}
	return EXCEPTION_CONTINUE_SEARCH;
}

static PLAIN void run_vectored(struct role *role)
{
	frame_role = role;
	wants_vectored = true;
	fault_first();
	HERE();
}

/* A fault in a window's procedure: an exception within a callback. */
static PLAIN LRESULT CALLBACK fault_procedure(HWND window, UINT message, WPARAM w, LPARAM l)
{
	if (message == WM_CREATE)
		fault_first();
	return DefWindowProcW(window, message, w, l);
}

static PLAIN void run_winfault(struct role *role)
{
	frame_role = role;
	wants_vectored = true;
	CreateWindowExW(0, L"fault", NULL, 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL);
	HERE();
}

static PLAIN void CALLBACK apc(ULONG_PTR arg)
{
	role_ready((struct role *) arg);
	wait_for_ever();
	HERE();
}

static PLAIN void run_apc(struct role *role)
{
	QueueUserAPC(apc, GetCurrentThread(), (ULONG_PTR) role);
	SleepEx(INFINITE, TRUE);
	HERE();
}

/* ---- other stacks ----------------------------------------------------------------------------- */

static PLAIN void CALLBACK fiber(void *arg)
{
	role_ready(arg);
	wait_for_ever();
	HERE();
}

static PLAIN void run_fiber(struct role *role)
{
	ConvertThreadToFiber(NULL);
	SwitchToFiber(CreateFiber(0, fiber, role));
	HERE();
}

/* main() suspends these: their threads are then in a handler of the signal that suspends. */
static PLAIN void run_heldwait(struct role *role)
{
	role_ready(role);
	wait_for_ever();
	HERE();
}

static PLAIN void run_heldspin(struct role *role)
{
	run_spin(role);
	HERE();
}

void frames_begin(void)
{
	WNDCLASSW class = {.lpfnWndProc = fault_procedure, .lpszClassName = L"fault"};
	RegisterClassW(&class);
	AddVectoredExceptionHandler(1, vectored);
}

/* No thread of its own: a worker of the pool becomes it. */
void pool_begin(struct role *role)
{
	QueueUserWorkItem(pool_work, role, WT_EXECUTELONGFUNCTION);
}

struct role frame_roles[] = {
	{"spin", run_spin, WALK_NONE, "run_spin thread_main"},
	{"recurse", run_recurse, WALK_ALL, "wait_for_ever recurse recurse recurse run_recurse"},
	{"bigframe", run_bigframe, WALK_ALL, "run_bigframe thread_main"},
	{"alloca", run_alloca, WALK_ALL, "run_alloca thread_main"},
	{"sse", run_sse, WALK_ALL, "run_sse thread_main"},
	{"qsort", run_qsort, WALK_ALL, "compare run_qsort thread_main"},
	{"locales", run_locales, WALK_ALL, "locale_seen run_locales thread_main"},
	{"pool", NULL, WALK_ALL, "wait_for_ever pool_work"},
	{"fault", run_fault, WALK_ALL,
	 "wait_for_ever frame_handler fault_first guarded_fault run_fault thread_main"},
	{"raise", run_raise, WALK_ALL,
	 "wait_for_ever frame_handler guarded_raise run_raise thread_main"},
	{"vectored", run_vectored, WALK_ALL,
	 "wait_for_ever vectored fault_first run_vectored thread_main"},
	{"winfault", run_winfault, WALK_START,
	 "vectored fault_first fault_procedure run_winfault thread_main"},
	{"apc", run_apc, WALK_ALL, "wait_for_ever apc run_apc thread_main"},
	{"fiber", run_fiber, WALK_ALL, "wait_for_ever fiber"},
	{"heldwait", run_heldwait, WALK_ALL, "wait_for_ever run_heldwait thread_main"},
	{"heldspin", run_heldspin, WALK_ALL, "run_spin run_heldspin thread_main"},
	{"table", run_table, WALK_ALL, "called_from_code code_call run_table thread_main"},
	{"growable", run_growable, WALK_ALL, "called_from_code code_call run_growable thread_main"},
	{"callback", run_callback, WALK_ALL, "called_from_code code_call run_callback thread_main"},
	{"unlisted", run_unlisted, WALK_START,
	 "called_from_code code_call run_unlisted thread_main"},
};
const size_t n_frame_roles = sizeof(frame_roles) / sizeof(*frame_roles);
