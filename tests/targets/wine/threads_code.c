/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Threads in code that the program writes itself, which is in no module. How to unwind it is told to
 * Windows in three ways, or not at all. */
#include "threads.h"

#include <winternl.h>

enum { CODE_BYTES = 4096, CODE_AT = 0x100, UNWIND_AT = 0x80, TABLE_AT = 0x40 };

/* Calls what rcx points to with rdx. Without a frame pointer: only its table leads out of it. */
static const uint8_t frameless_code[] = {
	0x53,                   /* push rbx */
	0x48, 0x83, 0xec, 0x40, /* sub rsp, 0x40 */
	0x48, 0x89, 0xc8,       /* mov rax, rcx */
	0x48, 0x89, 0xd1,       /* mov rcx, rdx */
	0xff, 0xd0,             /* call rax */
	0x90,                   /* nop */
	0x48, 0x83, 0xc4, 0x40, /* add rsp, 0x40 */
	0x5b,                   /* pop rbx */
	0xc3,                   /* ret */
};
/* UNWIND_INFO: version 1, prologue of 5 bytes, 2 codes: at 5 ALLOC_SMALL 0x40, at 1 PUSH rbx. */
static const uint8_t frameless_unwind[] = {1, 5, 2, 0, 5, 0x72, 1, 0x30};

/* The same with a frame pointer. */
static const uint8_t framed_code[] = {
	0x55,                   /* push rbp */
	0x48, 0x89, 0xe5,       /* mov rbp, rsp */
	0x48, 0x83, 0xec, 0x30, /* sub rsp, 0x30 */
	0x48, 0x89, 0xc8,       /* mov rax, rcx */
	0x48, 0x89, 0xd1,       /* mov rcx, rdx */
	0xff, 0xd0,             /* call rax */
	0x90,                   /* nop */
	0x48, 0x83, 0xc4, 0x30, /* add rsp, 0x30 */
	0x5d,                   /* pop rbp */
	0xc3,                   /* ret */
};
/* At 8 ALLOC_SMALL 0x30, at 4 SET_FPREG rbp, at 1 PUSH rbp. */
static const uint8_t framed_unwind[] = {1, 8, 3, 5, 8, 0x52, 4, 3, 1, 0x50, 0, 0};

typedef void (*code_fn)(void (*called)(struct role *), struct role *role);

static uint8_t *code_make(const uint8_t *code, size_t code_bytes, const uint8_t *unwind,
			  size_t unwind_bytes)
{
	uint8_t *base = VirtualAlloc(NULL, CODE_BYTES, MEM_COMMIT | MEM_RESERVE,
				     PAGE_EXECUTE_READWRITE);
	memset(base, 0xcc, CODE_BYTES);
	memcpy(base + CODE_AT, code, code_bytes);
	memcpy(base + UNWIND_AT, unwind, unwind_bytes);
	RUNTIME_FUNCTION entry = {.BeginAddress = CODE_AT,
				  .EndAddress = CODE_AT + (DWORD) code_bytes,
				  .UnwindData = UNWIND_AT};
	memcpy(base + TABLE_AT, &entry, sizeof(entry));
	return base;
}

static PLAIN void called_from_code(struct role *role)
{
	role_ready(role);
	wait_for_ever();
	HERE();
}

static PLAIN void code_call(uint8_t *base, struct role *role)
{
	((code_fn) (uintptr_t) (base + CODE_AT))(called_from_code, role);
	HERE();
}

PLAIN void run_table(struct role *role)
{
	uint8_t *base = code_make(frameless_code, sizeof(frameless_code), frameless_unwind,
				  sizeof(frameless_unwind));
	RtlAddFunctionTable((RUNTIME_FUNCTION *) (void *) (base + TABLE_AT), 1, (DWORD64) base);
	code_call(base, role);
	HERE();
}

PLAIN void run_growable(struct role *role)
{
	typedef DWORD(WINAPI * add_fn)(void **, RUNTIME_FUNCTION *, DWORD, DWORD, ULONG_PTR,
				       ULONG_PTR);
	add_fn add = (add_fn) (void *) GetProcAddress(GetModuleHandleW(L"ntdll.dll"),
						      "RtlAddGrowableFunctionTable");
	uint8_t *base = code_make(frameless_code, sizeof(frameless_code), frameless_unwind,
				  sizeof(frameless_unwind));
	void *table;
	add(&table, (RUNTIME_FUNCTION *) (void *) (base + TABLE_AT), 1, 4, (ULONG_PTR) base,
	    (ULONG_PTR) base + CODE_BYTES);
	code_call(base, role);
	HERE();
}

static RUNTIME_FUNCTION *callback_find(DWORD64 pc, void *base)
{
	(void) pc;
	return (RUNTIME_FUNCTION *) (void *) ((uint8_t *) base + TABLE_AT);
}

PLAIN void run_callback(struct role *role)
{
	uint8_t *base =
		code_make(framed_code, sizeof(framed_code), framed_unwind, sizeof(framed_unwind));
	RtlInstallFunctionTableCallback((DWORD64) base | 3, (DWORD64) base, CODE_BYTES,
					callback_find, base, NULL);
	code_call(base, role);
	HERE();
}

PLAIN void run_unlisted(struct role *role)
{
	uint8_t *base =
		code_make(framed_code, sizeof(framed_code), framed_unwind, sizeof(framed_unwind));
	code_call(base, role);
	HERE();
}
