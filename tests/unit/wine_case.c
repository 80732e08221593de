/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wine_case.h"
#include "elf_image.h"
#include "pe_make.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
	TEXT = 0x1000,
	DATA = 0x2000,
	UNWIND = 0x3000,
	FUNCTION_BYTES = 0x40,
	SYSCALL_POINTER = 0,
	UNIX_CALL_POINTER = 8,
	LIST = WINE_LIST - DATA,
	VERSION_TEXT = 0x40,
	UNIX_LOW = WINE_UNIX_END - 0x10000,
};

uint64_t wine_so(uint64_t code_off)
{
	return WINE_UNIX_BIAS + IMAGE_CODE + code_off;
}

void wine_case_init(struct wine_case *w)
{
	memset(w, 0, sizeof(*w));
	wine_put(w, WINE_TEB + 0x08, WINE_WINDOWS_END);
	wine_put(w, WINE_TEB + 0x10, WINE_WINDOWS);
	wine_put(w, WINE_TEB + 0x30, WINE_TEB);
	wine_put(w, WINE_TEB + 0x48, 0x24);
	wine_put(w, WINE_TEB + TEB_SYSCALL_FRAME, WINE_FRAME);
	wine_put(w, WINE_TEB + 0x370, WINE_UNIX);
	w->list[0] = w->list[1] = wine_dll(WINE_LIST);
}

void wine_put(struct wine_case *w, uint64_t avma, uint64_t value)
{
	const struct {
		uint64_t start_avma;
		uint8_t *bytes;
		size_t size;
	} regions[] = {{WINE_TEB, w->teb, sizeof(w->teb)},
		       {WINE_SIGNAL, w->signal, sizeof(w->signal)},
		       {UNIX_LOW, w->unix_stack, sizeof(w->unix_stack)},
		       {WINE_WINDOWS, w->windows, sizeof(w->windows)}};
	for (size_t i = 0; i < sizeof(regions) / sizeof(*regions); i++)
		if (avma >= regions[i].start_avma &&
		    avma + sizeof(value) <= regions[i].start_avma + regions[i].size) {
			memcpy(regions[i].bytes + (avma - regions[i].start_avma), &value,
			       sizeof(value));
			return;
		}
	fail_msg("0x%lx is in no region", avma);
}

/*
 * lea rax, [rip + text]; ret.  mov rbx, [rip + list]; lea rax, [rip + list]; cmp rbx, rax. All else is
 * calls: each even address is one to return to.
 */
static void text_make(uint8_t text[0x1000])
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x05}, mov[] = {0x48, 0x8b, 0x1d},
			     compare[] = {0x48, 0x39, 0xc3};
	for (size_t i = 0; i < 0x1000; i += 2)
		memcpy(text + i, "\xff\xd0", 2); /* call *%rax */
	uint8_t *at = text + WINE_VERSION - TEXT;
	int32_t to = DATA + VERSION_TEXT - (WINE_VERSION + 7);
	memcpy(at, lea, sizeof(lea));
	memcpy(at + 3, &to, sizeof(to));
	at[7] = 0xc3;
	at = text + WINE_DELETE - TEXT;
	to = WINE_LIST - (WINE_DELETE + 7);
	memcpy(at, mov, sizeof(mov));
	memcpy(at + 3, &to, sizeof(to));
	to -= 7;
	memcpy(at + 7, lea, sizeof(lea));
	memcpy(at + 10, &to, sizeof(to));
	memcpy(at + 14, compare, sizeof(compare));
	text[WINE_THUNK - TEXT] = 0xc3;
}

static void data_make(const struct wine_case *w, bool copy, uint8_t data[0x1000])
{
	uint64_t pointers[] = {wine_so(WINE_SYSCALL_DISPATCHER),
			       copy ? wine_dll(WINE_APP) : wine_so(WINE_UNIX_DISPATCHER)};
	memset(data, 0, 0x1000);
	memcpy(data + SYSCALL_POINTER, pointers, sizeof(pointers));
	memcpy(data + LIST, w->list, sizeof(w->list));
	memcpy(data + VERSION_TEXT, "8.0", 4);
}

static void ntdll_make(const struct wine_case *w, bool copy, struct pe_make *pe)
{
	static const struct {
		const char *name;
		uint32_t rva;
	} functions[] = {
		{"KiUserApcDispatcher", WINE_APC},
		{"KiUserCallbackDispatcher", WINE_CALLBACK},
		{"KiUserExceptionDispatcher", WINE_EXCEPTION},
		{"LdrInitializeThunk", WINE_LOADER},
		{"RtlDeleteFunctionTable", WINE_DELETE},
		{"RtlUserThreadStart", WINE_START},
	};
	static const uint8_t unwind[] = {1, 0, 0, 0};
	uint8_t text[0x1000], data[0x1000];
	text_make(text);
	data_make(w, copy, data);
	pe_make_init(pe);
	pe_make_section(pe, ".text", TEXT, PE_MAKE_CODE, text, sizeof(text));
	pe_make_section(pe, ".data", DATA, PE_MAKE_DATA, data, sizeof(data));
	pe_make_section(pe, ".xdata", UNWIND, PE_MAKE_DATA, unwind, sizeof(unwind));
	for (uint32_t rva = WINE_CALLBACK; rva < WINE_THUNK; rva += FUNCTION_BYTES)
		pe_make_function(pe, rva, rva + FUNCTION_BYTES, UNWIND);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!w->no_callbacks || functions[i].rva != WINE_CALLBACK)
			pe_make_export(pe, functions[i].name, functions[i].rva);
	if (!w->no_dispatchers) {
		pe_make_export(pe, "__wine_syscall_dispatcher", DATA + SYSCALL_POINTER);
		pe_make_export(pe, "__wine_unix_call_dispatcher", DATA + UNIX_CALL_POINTER);
	}
	pe_make_export(pe, "wine_get_version", WINE_VERSION);
	pe_make_finish(pe);
}

/* The image in memory: headers and sections where they belong. */
static void ntdll_load(struct sw_snapshot *snap, const struct wine_case *w, uint64_t base)
{
	struct pe_make *pe = malloc(sizeof(*pe));
	assert_non_null(pe);
	ntdll_make(w, base != WINE_NTDLL, pe);
	(void) fake_snapshot_module(snap, SW_MODULE_PE, "/wine/x86_64-windows/ntdll.dll", base,
				    base, base + WINE_IMAGE_BYTES, NULL, 0);
	fake_snapshot_range(snap, base, pe->bytes, PE_MAKE_HEADERS);
	const uint8_t *section = pe->bytes + PE_MAKE_HEADER + 24 + 112 + 16 * 8;
	for (uint32_t i = 0; i < pe->n_sections; i++, section += 40) {
		uint32_t rva, bytes, off;
		memcpy(&rva, section + 12, sizeof(rva));
		memcpy(&bytes, section + 16, sizeof(bytes));
		memcpy(&off, section + 20, sizeof(off));
		fake_snapshot_range(snap, base + rva, pe->bytes + off, bytes);
	}
	free(pe);
}

static void so_load(struct sw_snapshot *snap, const struct wine_case *w)
{
	static const uint8_t code[WINE_CODE_BYTES];
	struct image_fde fdes[] = {
		{.start = WINE_FUNCTION, .end = WINE_SYSCALL_DISPATCHER},
		{.start = WINE_SYSCALL_DISPATCHER, .end = WINE_UNIX_DISPATCHER},
		{.start = WINE_UNIX_DISPATCHER, .end = WINE_CALLS_BACK},
		/* DW_CFA_def_cfa rbp + 0xf0; DW_CFA_offset r12 */
		{.start = WINE_CALLS_BACK,
		 .end = WINE_CODE_BYTES,
		 IMAGE_ROWS(0x0c, 6, 0xf0, 0x01, 0x8c, 4)},
	};
	/* DW_CFA_def_cfa_expression: DW_OP_breg7 16; DW_OP_deref */
	static const uint8_t from_frame[] = {0x0f, 3, 0x77, 16, 0x06};
	if (w->no_dispatchers) {
		fdes[1].rows = from_frame;
		fdes[1].n_rows = sizeof(from_frame);
	}
	const struct image_parts parts = {.code = code,
					  .n_code = sizeof(code),
					  .fdes = fdes,
					  .n_fdes = sizeof(fdes) / sizeof(*fdes)};
	uint8_t *image = elf_image(&parts);
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/wine/x86_64-unix/ntdll.so",
				    WINE_UNIX_BIAS, WINE_UNIX_BIAS, WINE_UNIX_BIAS + IMAGE_BYTES,
				    image, IMAGE_BYTES);
	free(image);
}

struct sw_snapshot *wine_case_snapshot(struct wine_case *w, uint64_t pc, uint64_t sp)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	const struct {
		uint64_t start_avma;
		const uint8_t *bytes;
		size_t size;
	} stacks[] = {{WINE_SIGNAL, w->signal, sizeof(w->signal)},
		      {UNIX_LOW, w->unix_stack, sizeof(w->unix_stack)},
		      {WINE_WINDOWS, w->windows, sizeof(w->windows)}};
	struct sw_thread *thread = NULL;
	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		uint64_t start = stacks[i].start_avma, end = start + stacks[i].size;
		if (sp < start || sp >= end) {
			fake_snapshot_range(snap, start, stacks[i].bytes, stacks[i].size);
			(void) fake_snapshot_map(snap, start, end, "rw-p", "");
			continue;
		}
		const void *words = stacks[i].bytes + (sp - start);
		thread = fake_snapshot_thread(snap, 1, pc, sp, words, (end - sp) / 8);
		fake_snapshot_range(snap, start, stacks[i].bytes, sp - start);
	}
	assert_non_null(thread);
	thread->gs_base = WINE_TEB;
	fake_snapshot_range(snap, WINE_TEB, w->teb, sizeof(w->teb));
	so_load(snap, w);
	if (w->has_copy)
		ntdll_load(snap, w, WINE_NTDLL_COPY);
	ntdll_load(snap, w, WINE_NTDLL);
	return snap;
}
