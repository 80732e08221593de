/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "native/popped.h"
#include "pe_load.h"
#include "walk_case.h"
#include "test.h"

#include <dwarf.h>

/*
 * start:	0x1000	call *%eax			table: CFA = esp+4
 *		0x1002	nop
 * caller:	0x1010	push $1				table: CFA = esp+4, behind it esp+8, behind the call
 *		0x1012	call callee			esp+4
 *		0x1017	ret
 * callee:	0x1020	push %ebx			no table
 *		0x1021	call *%eax
 *		0x1023	pop %ebx
 *		0x1024	ret $4
 * leaf:	0x1030	ret				no table
 * either:	0x1040	je 0x1043; ret			no table
 *		0x1043	ret $8
 * jumps:	0x1050	jmp *0x702000
 * ends:	0x1060	int3
 * aborts:	0x1070	je 0x1075			table: it is followed by padding
 *		0x1072	ret $4
 *		0x1075	call *%eax			does not return
 *		0x1077	nop; ret $8
 * goes_on:	0x1080	call *%eax; ret $12		table: it ends with the ret
 */
static const uint8_t text[0x100] = {[0x00] = 0xff,
				    0xd0,
				    0x90,
				    [0x10] = 0x6a,
				    1,
				    0xe8,
				    9,
				    0,
				    0,
				    0,
				    0xc3,
				    [0x20] = 0x53,
				    0xff,
				    0xd0,
				    0x5b,
				    0xc2,
				    4,
				    0,
				    [0x30] = 0xc3,
				    [0x40] = 0x74,
				    1,
				    0xc3,
				    0xc2,
				    8,
				    0,
				    [0x50] = 0xff,
				    0x25,
				    0,
				    0x20,
				    0x70,
				    0,
				    [0x60] = 0xcc,
				    [0x70] = 0x74,
				    3,
				    0xc2,
				    4,
				    0,
				    0xff,
				    0xd0,
				    0x90,
				    0xc2,
				    8,
				    0,
				    [0x80] = 0xff,
				    0xd0,
				    0xc2,
				    12,
				    0};
static const uint8_t frames[] = {16, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x7c, 8,
				 DW_CFA_def_cfa, 4, 4, DW_CFA_offset | 8, 1, DW_CFA_nop, DW_CFA_nop,
				 /* start */
				 12, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0x40, 0, 0x10, 0, 0, 0,
				 /* caller */
				 20, 0, 0, 0, 0, 0, 0, 0, 0x10, 0x10, 0x40, 0, 0x10, 0, 0, 0,
				 DW_CFA_advance_loc | 2, DW_CFA_def_cfa_offset, 8,
				 DW_CFA_advance_loc | 5, DW_CFA_def_cfa_offset, 4, DW_CFA_nop,
				 DW_CFA_nop,
				 /* aborts, goes_on */
				 12, 0, 0, 0, 0, 0, 0, 0, 0x70, 0x10, 0x40, 0, 7, 0, 0, 0, 12, 0, 0,
				 0, 0, 0, 0, 0, 0x80, 0x10, 0x40, 0, 5, 0, 0, 0};

enum {
	BASE = 0x700000,
	START_CALLED = BASE + 0x1002,
	CALLER_CALLED = BASE + 0x1017,
	CALLEE_CALLED = BASE + 0x1023,
	LEAF = BASE + 0x1030,
	EITHER = BASE + 0x1040,
	JUMPS = BASE + 0x1050,
	ENDS = BASE + 0x1060,
	ABORTS = BASE + 0x1070,
	GOES_ON = BASE + 0x1080,
	STACK = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
	TEB = 0x7ffd0000,
	N_WORDS = 16,
};

/* A 32-bit process with the image, and a thread at pc; words are of 4 bytes. */
static struct sw_snapshot *snapshot(uint32_t pc, const uint32_t words[N_WORDS], uint32_t stack_base)
{
	struct pe_make pe;
	const uint32_t teb[] = {0, stack_base, 0, 0, 0, 0, TEB};
	const uint32_t data[] = {BASE + 0x1024};
	uint64_t pairs[N_WORDS / 2];
	pe_make_init_32(&pe);
	pe_make_section(&pe, ".text", 0x1000, PE_MAKE_CODE, text, sizeof(text));
	pe_make_section(&pe, ".data", 0x2000, PE_MAKE_DATA, data, sizeof(data));
	pe_make_section(&pe, ".debug_frame", 0x3000, PE_MAKE_DATA, frames, sizeof(frames));
	pe_make_finish(&pe);
	uint8_t *loaded = pe_load(&pe);
	struct sw_snapshot *snap = fake_snapshot_create();
	snap->process.elf_class = 32;
	(void) fake_snapshot_module(snap, SW_MODULE_PE, "/w/x.exe", BASE, BASE,
				    BASE + PE_LOAD_BYTES, pe.bytes, pe.size);
	fake_snapshot_range(snap, BASE, loaded, PE_LOAD_BYTES);
	free(loaded);
	memcpy(pairs, words, sizeof(pairs));
	fake_snapshot_stack(snap, 1, pc, pairs, N_WORDS / 2)->gs_base = TEB;
	fake_snapshot_range(snap, TEB, teb, sizeof(teb));
	return snap;
}

/*
 * Out of code without tables by its instructions, to code with: callee() takes its argument from the stack
 * itself, but caller's table counts from the call.
 */
TEST(test_stdcall)
{
	static const uint32_t words[N_WORDS] = {CALLEE_CALLED, 0xb, CALLER_CALLED, 1,
						START_CALLED,  0};
	struct sw_snapshot *snap = snapshot(LEAF, words, STACK + N_WORDS * 4);
	walk_is(snap, NULL,
		FRAMES({LEAF, STACK, "context", "context", SW_FRAME_EXACT_PC},
		       {CALLEE_CALLED, STACK + 4, "instructions", "instructions", 0},
		       {CALLER_CALLED, STACK + 12, "instructions", "instructions", 0},
		       {START_CALLED, STACK + 20, "pe-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* A return address of 0 ends the stack only where stacks begin. */
TEST(test_zero_elsewhere)
{
	static const uint32_t words[N_WORDS] = {0};
	struct sw_snapshot *snap = snapshot(BASE + 0x1000, words, STACK + 0x1000);
	walk_is(snap, NULL, FRAMES({BASE + 0x1000, STACK, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_BAD_UNWIND_INFO,
		"the call frame information leads to what is no return address");
	snap = snapshot(BASE + 0x1000, words, STACK + 8);
	walk_is(snap, NULL, FRAMES({BASE + 0x1000, STACK, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_COMPLETE, NULL);
}

/* The function that callee() has called takes 0 bytes or 8: callee's stack pointer is not known.
 * The frames on the stack are then only guessed. */
TEST(test_unknown)
{
	static const uint32_t words[N_WORDS] = {CALLEE_CALLED, 0xb, CALLER_CALLED, 1,
						START_CALLED,  0};
	struct sw_snapshot *snap = snapshot(EITHER, words, STACK + N_WORDS * 4);
	walk_is(snap, NULL,
		FRAMES({EITHER, STACK, "context", "context", SW_FRAME_EXACT_PC},
		       {CALLEE_CALLED, STACK + 4, "instructions", "instructions", 0},
		       {CALLER_CALLED, STACK + 12, "stack-scan", "scan", SW_FRAME_MAY_MISS},
		       {START_CALLED, STACK + 20, "pe-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

static void popped_is(struct sw_snapshot *snap, uint64_t avma, bool known, uint64_t wanted)
{
	struct sw_snapshot_memory memory = {.snap = snap};
	uint64_t bytes = 99;
	size_t left = 1000, none = 0;
	assert_int_equal(sw_popped_bytes(snap, sw_snapshot_memory(&memory), avma, &left, &bytes),
			 known);
	assert_int_equal(bytes, known ? wanted : 99);
	assert_true(!known || left < 1000);
	assert_false(sw_popped_bytes(snap, sw_snapshot_memory(&memory), avma, &none, &bytes));
}

TEST(test_popped)
{
	static const uint32_t words[N_WORDS];
	struct sw_snapshot *snap = snapshot(LEAF, words, STACK);
	fake_snapshot_finish(snap);
	popped_is(snap, LEAF, true, 0);
	popped_is(snap, CALLEE_CALLED, true, 4);
	popped_is(snap, BASE + 0x1020, true, 4);
	popped_is(snap, JUMPS, true, 4);
	popped_is(snap, EITHER, false, 0);
	popped_is(snap, ENDS, false, 0);
	popped_is(snap, ABORTS, true, 4);
	popped_is(snap, ABORTS + 5, false, 0);
	popped_is(snap, GOES_ON, true, 12);
	popped_is(snap, STACK, false, 0);
	fake_snapshot_destroy(snap);
}
