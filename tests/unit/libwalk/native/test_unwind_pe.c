/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "native/instructions.h"
#include "pe_load.h"
#include "walk_case.h"
#include "snapshot/read.h"
#include "test.h"

/*
 * worker:	0x1000	push %rbx
 *		0x1001	sub $0x20,%rsp
 *		0x1005	call ...
 *		0x100a	nop; add $0x20,%rsp; pop %rbx; ret	(0x1011)
 * start:	0x1020	sub $0x28,%rsp
 *		0x1024	call *%rax
 *		0x1026	nop
 * leaf:	0x1040	nop; ret			no entry
 * trap:	0x1060	nop				below it a machine frame
 * assembly:	0x1090	push %rbx; nop			no entry
 *		0x1094	call ...
 *		0x1099	nop
 *		0x109e	call *%rax
 *		0x10a0	nop
 * own:		0x10b0	mov %rsp,%rax; push %rbx	what it does only its handler knows
 *		0x10b4	nop; pop %rbx; ret
 * away:	0x10c0	mov 8(%rsp),%rsi; call *%rax	no entry
 *		0x10c7	lea (%rsi),%rsp; ret
 */
static const uint8_t text[0x100] = {[0x00] = 0x53,
				    0x48,
				    0x83,
				    0xec,
				    0x20,
				    0xe8,
				    0,
				    0,
				    0,
				    0,
				    0x90,
				    0x48,
				    0x83,
				    0xc4,
				    0x20,
				    0x5b,
				    0xc3,
				    [0x20] = 0x48,
				    0x83,
				    0xec,
				    0x28,
				    0xff,
				    0xd0,
				    0x90,
				    [0x40] = 0x90,
				    0xc3,
				    [0x60] = 0x90,
				    0x90,
				    [0x94] = 0xe8,
				    [0x9e] = 0xff,
				    0xd0,
				    [0xaf] = 0xcc,
				    0x48,
				    0x89,
				    0xe0,
				    0x53,
				    0x90,
				    0x5b,
				    0xc3,
				    [0xc0] = 0x48,
				    0x8b,
				    0x74,
				    0x24,
				    0x08,
				    0xff,
				    0xd0,
				    0x48,
				    0x8d,
				    0x26,
				    0xc3};
static const uint8_t xdata[0x40] = {
	[0x00] = 1, 5, 2, 0, 5, 0x32, 1, 0x30, /* worker: +5 allocate 0x20, +1 push rbx */
	[0x10] = 1, 4, 1, 0, 4, 0x42,          /* start: +4 allocate 0x28 */
	[0x20] = 1, 0, 1, 0, 0, 0x0a,          /* trap: machine frame */
	[0x30] = 9, 0, 0, 0, 0, 0x11,          /* own: nothing but a handler */
};

enum {
	BASE = 0x7b600000,
	WORKER = BASE + 0x1005, /* exact: about to call */
	WORKER_CALLED = BASE + 0x100a,
	START_CALLED = BASE + 0x1026,
	LEAF = BASE + 0x1040,
	TRAP = BASE + 0x1060,
	PUSHED = BASE + 0x1091,
	NO_ENTRY = BASE + 0x10a0,
	OWN = BASE + 0x10b0,
	AWAY = BASE + 0x10c0,
	XDATA = 0x2000,
	TID = 1,
	STACK = FAKE_STACK_AVMA + TID * FAKE_STACK_BYTES,
	TEB = 0x7ffd0000,
};

static void make(struct pe_make *pe)
{
	pe_make_init(pe);
	pe_make_section(pe, ".text", 0x1000, PE_MAKE_CODE, text, sizeof(text));
	pe_make_section(pe, ".xdata", XDATA, PE_MAKE_DATA, xdata, sizeof(xdata));
	pe_make_function(pe, 0x1000, 0x1011, XDATA);
	pe_make_function(pe, 0x1020, 0x1030, XDATA + 0x10);
	pe_make_function(pe, 0x1060, 0x1070, XDATA + 0x20);
	pe_make_function(pe, 0x10b0, 0x10b7, XDATA + 0x30);
	pe_make_finish(pe);
}

/* A process that has the image's bytes in its memory. */
static struct sw_snapshot *snapshot_named(const char *path, const uint8_t *loaded,
					  const struct pe_make *pe)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) fake_snapshot_module(snap, SW_MODULE_PE, path, BASE, BASE, BASE + PE_LOAD_BYTES,
				    pe->bytes, pe->size);
	if (loaded != NULL)
		fake_snapshot_range(snap, BASE, loaded, PE_LOAD_BYTES);
	return snap;
}

static struct sw_snapshot *snapshot(const uint8_t *loaded, const struct pe_make *pe)
{
	return snapshot_named("/w/x.exe", loaded, pe);
}

static struct sw_snapshot *plain_named(const char *path)
{
	struct pe_make pe;
	make(&pe);
	uint8_t *loaded = pe_load(&pe);
	struct sw_snapshot *snap = snapshot_named(path, loaded, &pe);
	free(loaded);
	return snap;
}

static struct sw_snapshot *plain(void)
{
	return plain_named("/w/x.exe");
}

/* A thread whose TEB says where its stack begins. */
static struct sw_thread *thread(struct sw_snapshot *snap, uint64_t pc, const uint64_t *words,
				size_t n, uint64_t stack_base)
{
	const uint64_t teb[] = {0, stack_base, 0, 0, 0, 0, TEB};
	struct sw_thread *t = fake_snapshot_stack(snap, TID, pc, words, n);
	t->gs_base = TEB;
	fake_snapshot_range(snap, TEB, teb, sizeof(teb));
	return t;
}

#define WORDS(...) \
	(const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

/* Through all of a stack, to the frame that was made by hand below the stack's end. */
TEST(test_complete)
{
	struct sw_snapshot *snap = plain();
	(void) thread(snap, WORKER,
		      WORDS(0, 0, 0, 0, 0xb1, WORKER_CALLED, /* worker */
			    0, 0, 0, 0, 0xb2, START_CALLED,  /* worker */
			    0, 0, 0, 0, 0, 0,                /* start: returns to 0 */
			    0, 0, 0, 0),
		      STACK + 22 * 8);
	walk_is(snap, NULL,
		FRAMES({WORKER, STACK, "context", "context", SW_FRAME_EXACT_PC},
		       {WORKER_CALLED, STACK + 0x30, "pe-unwind", "unwind_info", 0},
		       {START_CALLED, STACK + 0x60, "pe-unwind", "unwind_info", 0}),
		SW_END_COMPLETE, NULL);
}

/* The code that runs 32-bit code in a 64-bit process: its callers are right, but between it and
 * them frames are missing. */
TEST(test_runs_32bit)
{
	static const struct {
		const char *path;
		uint32_t flags;
	} files[] = {{"/w/wow64cpu.dll", SW_FRAME_MAY_MISS},
		     {"C:\\windows\\WOW64CPU.DLL", SW_FRAME_MAY_MISS},
		     {"wow64cpu.dll", SW_FRAME_MAY_MISS},
		     {"/w/xwow64cpu.dll", 0}};
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct sw_snapshot *snap = plain_named(files[i].path);
		(void) thread(snap, BASE + 0x1024,
			      WORDS(0, 0, 0, 0, 0, START_CALLED, 0, 0, 0, 0, 0, 0), STACK + 12 * 8);
		walk_is(snap, NULL,
			FRAMES({BASE + 0x1024, STACK, "context", "context", SW_FRAME_EXACT_PC},
			       {START_CALLED, STACK + 0x30, "pe-unwind", "unwind_info",
				files[i].flags}),
			SW_END_COMPLETE, NULL);
	}
}

/* A thread in SwitchToFiber() has the other fiber's stack in its TEB and still runs on its own, of which
 * is known what Windows allocates: the first frame, sp of its caller included, is right below. */
TEST(test_between_fibers)
{
	enum { END = 0x10000, ABOVE = 0x40 };
	for (int below = 0; below < 2; below++) {
		struct sw_snapshot *snap = plain();
		struct sw_thread *t =
			thread(snap, BASE + 0x1024, WORDS(0), STACK - FAKE_STACK_BYTES);
		uint64_t sp = (STACK & -(uint64_t) END) + 2 * END - ABOVE - 0x30 - below * 8;
		static const uint64_t zeros[12];
		sw_regs_set(&t->regs, SW_ARCH_SP, sp);
		fake_snapshot_range(snap, sp, zeros, sizeof(zeros));
		walk_is(snap, NULL,
			FRAMES({BASE + 0x1024, sp, "context", "context", SW_FRAME_EXACT_PC}),
			below ? SW_END_BAD_UNWIND_INFO : SW_END_COMPLETE,
			below ? "the return address is 0, which proves no end" : NULL);
	}
}

/* The same 0 in the middle of a stack, or without a TEB, proves nothing. */
TEST(test_zero_elsewhere)
{
	for (int without_teb = 0; without_teb < 2; without_teb++) {
		struct sw_snapshot *snap = plain();
		struct sw_thread *t = thread(snap, BASE + 0x1024, WORDS(0, 0, 0, 0, 0, 0, 0),
					     STACK + (without_teb ? 10 : 100) * 8);
		if (without_teb)
			t->gs_base = 0;
		walk_is(snap, NULL,
			FRAMES({BASE + 0x1024, STACK, "context", "context", SW_FRAME_EXACT_PC}),
			SW_END_BAD_UNWIND_INFO, "the return address is 0, which proves no end");
	}
}

/* The table of assembly that unwinds by a handler of its own is right only until it pushes
 * something: then its instructions say where its caller is. */
TEST(test_own_handler)
{
	for (uint64_t at = 0; at < 7; at = at == 0 ? 3 : at + 1) {
		bool pushed = at == 4 || at == 5;
		struct sw_snapshot *snap = plain();
		if (pushed)
			(void) thread(snap, OWN + at,
				      WORDS(WORKER, START_CALLED, 0, 0, 0, 0, 0, 0, 0, 0),
				      STACK + 12 * 8);
		else
			(void) thread(snap, OWN + at, WORDS(START_CALLED, 0, 0, 0, 0, 0, 0, 0, 0),
				      STACK + 11 * 8);
		walk_is(snap, NULL,
			FRAMES({OWN + at, STACK, "context", "context", SW_FRAME_EXACT_PC},
			       {START_CALLED, STACK + (pushed ? 16 : 8),
				at > 3 ? "instructions" : "pe-unwind",
				at > 3 ? "instructions" : "unwind_info", 0}),
			SW_END_COMPLETE, NULL);
	}
}

/* In code of Windows a function that was called leaves rsi and rdi alone, too. */
TEST(test_preserved)
{
	struct sw_snapshot *snap = plain();
	struct sw_thread *t = thread(snap, AWAY, WORDS(0, STACK + 16, START_CALLED, 0), STACK + 32);
	fake_snapshot_finish(snap);
	struct walk_cursor w;
	walk_cursor_init(&w, snap, t, true);
	struct sw_stepped s = {0};
	assert_int_equal(sw_unwind_instructions.step(NULL, &w.cursor, &s), SW_STEP_OK);
	assert_int_equal(s.regs.pc_avma, START_CALLED);
	assert_int_equal(s.regs.sp_avma, STACK + 24);
	fake_snapshot_destroy(snap);
}

static const struct sw_walk_options tables_only = {.mode = SW_WALK_TABLES};

/* Code without an entry is a leaf where a thread was stopped, never where a call was made: then the
 * stack is searched for the caller. */
TEST(test_leaf)
{
	static const char why[] = "code that made a call and has no entry in the function table";
	for (int scan = 0; scan < 2; scan++) {
		struct sw_snapshot *snap = plain();
		(void) thread(snap, LEAF,
			      WORDS(NO_ENTRY, 0, START_CALLED, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			      STACK + 13 * 8);
		walk_is(snap, scan ? NULL : &tables_only,
			(const struct walk_frame[]){
				{LEAF, STACK, "context", "context", SW_FRAME_EXACT_PC},
				{NO_ENTRY, STACK + 8, "pe-unwind", "unwind_info", 0},
				{START_CALLED, STACK + 0x18, "stack-scan", "scan_verified", 0}},
			scan ? 3 : 2, scan ? SW_END_COMPLETE : SW_END_NO_UNWIND_INFO,
			scan ? NULL : why);
	}
}

/* Assembly that has pushed something is no leaf, in which what was pushed would be called from, be it
 * an address of code. */
TEST(test_no_leaf)
{
	for (int pushed = 0; pushed < 2; pushed++) {
		struct sw_snapshot *snap = plain();
		const uint64_t rbx = pushed ? LEAF : 0xb0b;
		(void) thread(snap, PUSHED, WORDS(rbx, START_CALLED, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			      STACK + 12 * 8);
		walk_is(snap, &tables_only,
			FRAMES({PUSHED, STACK, "context", "context", SW_FRAME_EXACT_PC}),
			SW_END_NO_UNWIND_INFO, "code without a table entry that is no leaf");
		snap = plain();
		(void) thread(snap, PUSHED, WORDS(rbx, START_CALLED, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
			      STACK + 12 * 8);
		walk_is(snap, NULL,
			FRAMES({PUSHED, STACK, "context", "context", SW_FRAME_EXACT_PC},
			       {START_CALLED, STACK + 0x10, "stack-scan", "scan_verified", 0}),
			SW_END_COMPLETE, NULL);
	}
}

/* The interrupted code of a machine frame is looked up exactly: here the first byte of a
 * function. */
TEST(test_machine_frame)
{
	struct sw_snapshot *snap = plain();
	(void) thread(snap, TRAP,
		      WORDS(BASE + 0x1000, 0x33, 0x202, STACK + 0x28, 0x2b, START_CALLED, 0, 0, 0,
			    0, 0, 0, 0, 0, 0, 0),
		      STACK + 16 * 8);
	walk_is(snap, NULL,
		FRAMES({TRAP, STACK, "context", "context", SW_FRAME_EXACT_PC | SW_FRAME_SIGNAL},
		       {BASE + 0x1000, STACK + 0x28, "pe-unwind", "unwind_info", SW_FRAME_EXACT_PC},
		       {START_CALLED, STACK + 0x30, "pe-unwind", "unwind_info", 0}),
		SW_END_COMPLETE, NULL);
}

/* The file is there, but it is not what the process runs by. */
TEST(test_memory_unreadable)
{
	struct pe_make pe;
	make(&pe);
	uint8_t *loaded = pe_load(&pe);
	struct sw_snapshot *snap = snapshot(NULL, &pe);
	fake_snapshot_range(snap, BASE, loaded, 0x3000); /* without .pdata */
	snap->maps[0].file_off = 0x1000;                 /* nor is that at the same place in it */
	snap->maps[0].prot = SW_MAP_READ | SW_MAP_WRITE | SW_MAP_EXEC;
	(void) thread(snap, WORKER, WORDS(0), STACK + 8);
	walk_is(snap, NULL, FRAMES({WORKER, STACK, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_MEMORY, "the function table could not be read");
	free(loaded);
}

/* A stack in the data of an image, as of a fiber: it changes while it is read, which its frames show.
 * Code and tables of the same image do not. */
TEST(test_stack_in_image)
{
	enum { SP_RVA = 0x1f0000, RETURN_AT = SP_RVA + 0x28 };
	struct pe_make pe;
	make(&pe);
	uint8_t *loaded = pe_load(&pe);
	uint8_t *image = aligned_alloc(FAKE_PAGE, PE_LOAD_BYTES);
	assert_non_null(image);
	memcpy(image, loaded, PE_LOAD_BYTES);
	uint64_t base = (uintptr_t) image, return_avma = base + (START_CALLED - BASE);
	memcpy(image + RETURN_AT, &return_avma, sizeof(return_avma));
	struct sw_snapshot *snap = fake_snapshot_create();
	(void) fake_snapshot_module(snap, SW_MODULE_PE, "/w/x.exe", base, base,
				    base + PE_LOAD_BYTES, pe.bytes, pe.size);
	snap->maps[snap->n_maps - 1].prot |= SW_MAP_WRITE;
	struct sw_thread *t = fake_snapshot_stack(snap, TID, base + (WORKER - BASE), WORDS(0));
	sw_regs_set(&t->regs, SW_ARCH_SP, base + SP_RVA);
	snap->live = true;
	snap->priv->mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(snap->priv->mem_fd >= 0);
	walk_is(snap, NULL,
		FRAMES({base + (WORKER - BASE), base + SP_RVA, "context", "context",
			SW_FRAME_EXACT_PC},
		       {return_avma, base + RETURN_AT + 8, "pe-unwind", "unwind_info",
			SW_FRAME_LIVE_READ}),
		SW_END_BAD_UNWIND_INFO, "the return address is 0, which proves no end");
	free(image);
	free(loaded);
}

/* Code may be read around a pc in vain: it is the stack that is missing. */
TEST(test_stack_unreadable)
{
	struct pe_make pe;
	make(&pe);
	uint8_t *loaded = pe_load(&pe);
	struct sw_snapshot *snap = snapshot(NULL, &pe);
	snap->maps[0].prot = SW_MAP_READ | SW_MAP_WRITE | SW_MAP_EXEC; /* not read from the file */
	fake_snapshot_range(snap, BASE, loaded, PE_MAKE_HEADERS);
	fake_snapshot_range(snap, LEAF, loaded + (LEAF - BASE), FAKE_PAGE - LEAF % FAKE_PAGE);
	fake_snapshot_range(snap, BASE + PE_MAKE_PDATA, loaded + PE_MAKE_PDATA, FAKE_PAGE);
	(void) thread(snap, LEAF, WORDS(0), STACK + 8);
	sw_regs_set(&snap->threads[0].regs, SW_ARCH_SP, 0x1000);
	walk_is(snap, NULL, FRAMES({LEAF, 0x1000, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_MEMORY, "the return address could not be read");
	free(loaded);
}

/* Wine's switch_fiber(), behind "mov 0x98(%rdx),%rsp": the other fiber has its stack and registers, the
 * address to go on at is in its CONTEXT yet. */
TEST(test_fiber_jump)
{
	enum { JUMP = 0x1067, FIBER = 0x7ffd8000 };
	static const uint8_t code[] = {0x48, 0x8b, 0xa2, 0x98, 0, 0, 0, 0xff, 0xa2, 0xf8, 0, 0, 0};
	const uint64_t rip = START_CALLED;
	struct pe_make pe;
	make(&pe);
	uint8_t *loaded = pe_load(&pe);
	memcpy(loaded + JUMP - 7, code, sizeof(code));
	struct sw_snapshot *snap = snapshot(loaded, &pe);
	struct sw_thread *t =
		thread(snap, BASE + JUMP, WORDS(1, 2, 3, 4, 5, 0, 0, 0, 0, 0), STACK + 10 * 8);
	sw_regs_set(&t->regs, SW_X86_64_RDX, FIBER);
	fake_snapshot_range(snap, FIBER + 0xf8, &rip, sizeof(rip));
	walk_is(snap, NULL,
		FRAMES({BASE + JUMP, STACK, "context", "context", SW_FRAME_EXACT_PC},
		       {START_CALLED, STACK, "pe-unwind", "unwind_info", 0}),
		SW_END_COMPLETE, NULL);
	free(loaded);
}

static void bad_table_is(size_t offset, uint8_t value, enum sw_end end, const char *why)
{
	struct pe_make pe;
	make(&pe);
	uint8_t *loaded = pe_load(&pe);
	loaded[offset] = value;
	struct sw_snapshot *snap = snapshot(loaded, &pe);
	(void) thread(snap, WORKER, WORDS(0, 0, 0, 0, 0, START_CALLED), STACK + 8);
	walk_is(snap, &tables_only,
		FRAMES({WORKER, STACK, "context", "context", SW_FRAME_EXACT_PC}), end, why);
	free(loaded);
}

TEST(test_bad_tables)
{
	bad_table_is(0, 'X', SW_END_NO_UNWIND_INFO, "its headers are malformed or not for x86-64");
	bad_table_is(PE_MAKE_HEADER + 4, 0x1d, SW_END_NO_UNWIND_INFO,
		     "its headers are malformed or not for x86-64");
	bad_table_is(PE_MAKE_PDATA + 11, 0x7f, SW_END_BAD_UNWIND_INFO,
		     "the unwind information is not in the image");
	bad_table_is(XDATA, 3, SW_END_BAD_UNWIND_INFO,
		     "unwind information of version 3 is not supported");
}

/* An entry that leads to another one, and one that leads to itself. */
TEST(test_indirect)
{
	struct pe_make pe;
	make(&pe);
	uint8_t *loaded = pe_load(&pe);
	const uint32_t there = PE_MAKE_PDATA + 12 + 1, self = PE_MAKE_PDATA + 1;
	memcpy(loaded + PE_MAKE_PDATA + 8, &there, sizeof(there));
	struct sw_snapshot *snap = snapshot(loaded, &pe);
	(void) thread(snap, WORKER_CALLED, WORDS(0, 0, 0, 0, 0, LEAF, 0), STACK + 8);
	walk_is(snap, &tables_only,
		FRAMES({WORKER_CALLED, STACK, "context", "context", SW_FRAME_EXACT_PC},
		       {LEAF, STACK + 0x30, "pe-unwind", "unwind_info", 0}),
		SW_END_NO_UNWIND_INFO,
		"code that made a call and has no entry in the function table");
	memcpy(loaded + PE_MAKE_PDATA + 8, &self, sizeof(self));
	snap = snapshot(loaded, &pe);
	(void) thread(snap, WORKER_CALLED, WORDS(0), STACK + 8);
	walk_is(snap, NULL, FRAMES({WORKER_CALLED, STACK, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_BAD_UNWIND_INFO, "too many indirect function entries");
	free(loaded);
}

/* Wine 8's RtlCaptureContext(): its entry says that it pushes nothing. */
TEST(test_pushed_flags)
{
	static const uint8_t code[] = {0x9c, 0xc7, 0x41, 0x30, 0x0f, 0x00, 0x10, 0x00, 0x0f,
				       0xae, 0x59, 0x34, 0x8c, 0x49, 0x38, 0x8c, 0x59, 0x3a,
				       0x8c, 0x41, 0x3c, 0x8c, 0x61, 0x3e, 0x8c, 0x69, 0x40,
				       0x8c, 0x51, 0x42, 0x8f, 0x41, 0x44, 0x48};
	struct pe_make pe;
	make(&pe);
	uint8_t *loaded = pe_load(&pe);
	memcpy(loaded + 0x1060, code, sizeof(code));
	loaded[XDATA + 0x22] = 0; /* no codes */
	loaded[PE_MAKE_PDATA + 2 * 12 + 4] = 0x90;
	static const struct {
		uint64_t at, pushed;
	} cases[] = {{0, 0}, {1, 1}, {0x1e, 1}, {0x21, 0}};
	for (size_t i = 0; i < 4; i++) {
		struct sw_snapshot *snap = snapshot(loaded, &pe);
		const uint64_t words[] = {LEAF, LEAF + 1};
		(void) thread(snap, TRAP + cases[i].at, words, 2, STACK + 100 * 8);
		walk_is(snap, NULL,
			FRAMES({TRAP + cases[i].at, STACK, "context", "context", SW_FRAME_EXACT_PC},
			       {words[cases[i].pushed], STACK + 8 + cases[i].pushed * 8,
				"pe-unwind", "unwind_info", 0}),
			SW_END_NO_UNWIND_INFO,
			"code that made a call and has no entry in the function table");
	}
	free(loaded);
}

/* Two processes have the same file in memory, and one has written to its tables. */
TEST(test_two_processes)
{
	struct pe_make pe;
	make(&pe);
	uint8_t *loaded = pe_load(&pe);
	struct sw_snapshot *first = snapshot(loaded, &pe), *second;
	loaded[XDATA + 5] = 0x42; /* 0x28 bytes instead of 0x20 */
	assert_int_equal(sw_snapshot_create(first->ctx, &second, NULL), 0);
	const uint64_t words[] = {0, 0, 0, 0, 0, LEAF, LEAF + 1};
	(void) thread(first, WORKER_CALLED, words, 7, STACK);
	fake_snapshot_finish(first);
	second->maps = first->maps;
	second->n_maps = first->n_maps;
	second->places = first->places;
	second->n_places = first->n_places;
	second->threads = first->threads;
	second->n_threads = first->n_threads;
	struct sw_range range = {BASE, PE_LOAD_BYTES, loaded};
	second->ranges = &range;
	second->n_ranges = 1;
	sw_snapshot_index_copies(second);
	struct sw_walks *a, *b;
	assert_int_equal(sw_walk_all(first, NULL, &a, NULL), 0);
	assert_int_equal(sw_walk_all(second, NULL, &b, NULL), 0);
	assert_int_equal(a->walks[0].frames[1].pc_avma, LEAF);
	assert_int_equal(b->walks[0].frames[1].pc_avma, LEAF + 1);
	sw_walks_destroy(a);
	sw_walks_destroy(b);
	sw_snapshot_destroy(second);
	fake_snapshot_destroy(first);
	free(loaded);
}

static void explained(struct sw_snapshot *snap, uint64_t avma, const char *wanted)
{
	char *all = NULL, *from;
	assert_int_equal(sw_explain(snap, avma, &all, NULL), 0);
	from = strstr(all, "pe-unwind: ");
	assert_non_null(from);
	char *next = strstr(all, "stack-scan: ");
	assert_non_null(next);
	*next = '\0';
	assert_string_equal(from, wanted);
	free(all);
}

TEST(test_explain)
{
	struct sw_snapshot *snap = plain();
	fake_snapshot_finish(snap);
	explained(snap, WORKER,
		  "pe-unwind: table: 4 entries at 0x7b700000\n"
		  "pe-unwind: function: [0x7b601000, 0x7b601011), rva 0x1000..0x1011\n"
		  "pe-unwind: unwind information: rva 0x2000, version 1, flags: none, prologue: 5 "
		  "bytes, codes: 2\n"
		  "pe-unwind:   +0x05: allocate 0x20\n"
		  "pe-unwind:   +0x01: push rbx\n"
		  "instructions: if no table helps: the instructions are followed to a RET\n");
	explained(snap, LEAF,
		  "pe-unwind: table: 4 entries at 0x7b700000\n"
		  "pe-unwind: entry: none covers it: a leaf, if it calls nobody\n"
		  "instructions: if no table helps: the instructions are followed to a RET\n");
	fake_snapshot_destroy(snap);
}
