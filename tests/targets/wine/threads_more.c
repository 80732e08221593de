/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads in code that tables say nothing of, and in more callbacks than are usual. */
#include "threads.h"

enum { WINDOWS_NESTED = 40 };

/* Assembly without an entry: one function that pushes and spins for ever, one that makes a call. */
void assembly_spins(volatile unsigned *turns);
void assembly_calls(void (*called)(struct role *), struct role *role);
__asm__(".globl assembly_spins\n"
	".def assembly_spins; .scl 2; .type 32; .endef\n"
	"assembly_spins:\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"1:	incl (%rcx)\n"
	"	jmp 1b\n"
	".globl assembly_calls\n"
	".def assembly_calls; .scl 2; .type 32; .endef\n"
	"assembly_calls:\n"
	"	push %rbx\n"
	"	sub $0x20, %rsp\n"
	"	mov %rcx, %rax\n"
	"	mov %rdx, %rcx\n"
	"	call *%rax\n"
	"	nop\n"
	"	add $0x20, %rsp\n"
	"	pop %rbx\n"
	"	ret\n");

static PLAIN void run_asmspin(struct role *role)
{
	static volatile unsigned turns;
	role_ready(role);
	assembly_spins(&turns);
	HERE();
}

static PLAIN void called_from_assembly(struct role *role)
{
	role_ready(role);
	wait_for_ever();
	HERE();
}

static PLAIN void run_asmcall(struct role *role)
{
	assembly_calls(called_from_assembly, role);
	HERE();
}

/* A window whose procedure makes a window, and so on. */
static __thread struct role *deep_role;
static __thread unsigned deep_left;

static PLAIN void deep_make(void)
{
	CreateWindowExW(0, L"deep", NULL, 0, 0, 0, 0, 0, HWND_MESSAGE, NULL, NULL, NULL);
	HERE();
}

static PLAIN LRESULT CALLBACK deep_procedure(HWND window, UINT message, WPARAM w, LPARAM l)
{
	if (message != WM_CREATE)
		return DefWindowProcW(window, message, w, l);
	if (--deep_left == 0) {
		role_ready(deep_role);
		wait_for_ever();
	}
	deep_make();
	return 0;
}

static PLAIN void run_deepwin(struct role *role)
{
	deep_role = role;
	deep_left = WINDOWS_NESTED;
	deep_make();
	HERE();
}

void more_begin(void)
{
	WNDCLASSW class = {.lpfnWndProc = deep_procedure, .lpszClassName = L"deep"};
	RegisterClassW(&class);
}

struct role more_roles[] = {
	{"asmspin", run_asmspin, WALK_NONE, "run_asmspin thread_main"},
	{"asmcall", run_asmcall, WALK_START, "called_from_assembly run_asmcall thread_main"},
	{"deepwin", run_deepwin, WALK_START,
	 "wait_for_ever deep_procedure deep_make deep_procedure deep_make run_deepwin thread_main"},
};
const size_t n_more_roles = sizeof(more_roles) / sizeof(*more_roles);
