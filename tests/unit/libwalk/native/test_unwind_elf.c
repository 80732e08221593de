/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "walk_case.h"
#include "test.h"

enum { BIAS = 0x550000000000, CODE = BIAS + IMAGE_CODE, SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES };

/*
 *	00 _start:	xor %ebp,%ebp		31 ed
 *	02		call main		e8 09 00 00 00
 *	07		hlt			f4
 *	10 main:	push %rbx		53
 *	11		call leaf		e8 0a 00 00 00
 *	16		pop %rbx		5b
 *	17		ret			c3
 *	20 leaf:	sub $0x10,%rsp		48 83 ec 10
 *	24		...
 *	30 fatal:	push %rbx		53
 *	31		call abort_		e8 0a 00 00 00
 *	36 (the next function: the call never returns)
 *	40 abort_:	nop			90
 */
static const uint8_t code[0x48] = {
	[0x00] = 0x31, 0xed,          0xe8,          0x09, 0,    0,    0,
	0xf4,          [0x10] = 0x53, 0xe8,          0x0a, 0,    0,    0,
	0x5b,          0xc3,          [0x20] = 0x48, 0x83, 0xec, 0x10, 0x90,
	[0x30] = 0x53, 0xe8,          0x0a,          0,    0,    0,    [0x40] = 0x90,
};

static const struct image_fde fdes[] = {
	{.start = 0x00, .end = 0x08, IMAGE_ROWS(0x07, 16)},
	/* push: CFA = rsp+16, rbx = [CFA-16]; pop: CFA = rsp+8 */
	{.start = 0x10, .end = 0x18, IMAGE_ROWS(0x41, 0x0e, 16, 0x83, 2, 0x46, 0x0e, 8)},
	{.start = 0x20, .end = 0x30, IMAGE_ROWS(0x44, 0x0e, 24)},
	{.start = 0x30, .end = 0x36, IMAGE_ROWS(0x41, 0x0e, 16, 0x83, 2)},
	/* what follows it has another CFA: pc - 1 or not makes a difference */
	{.start = 0x36, .end = 0x40, IMAGE_ROWS(0x0e, 64)},
	{.start = 0x40, .end = 0x48},
};

static const struct image_parts program = {.code = code,
					   .n_code = sizeof(code),
					   .fdes = fdes,
					   .n_fdes = 6};

static struct sw_snapshot *snapshot(const struct image_parts *parts)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	walk_module(snap, BIAS, parts);
	return snap;
}

TEST(test_whole_stack)
{
	static const uint64_t stack[] = {
		0,           0, /* leaf's */
		CODE + 0x16,    /* into main */
		0xbb,           /* rbx of _start */
		CODE + 0x07,    /* into _start */
		1,              /* argc */
	};
	struct sw_snapshot *snap = snapshot(&program);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x24, stack, 6);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x24, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x16, SP + 24, "elf-cfi", "cfi", 0},
		       {CODE + 0x07, SP + 40, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* In the epilogue, after pop %rbx: the row of exactly that instruction counts. */
TEST(test_epilogue)
{
	static const uint64_t stack[] = {CODE + 0x07, 1};
	struct sw_snapshot *snap = snapshot(&program);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x17, stack, 2);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x17, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x07, SP + 8, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* A call that does not return may end its function: its return address belongs to the next. */
TEST(test_noreturn_at_the_end)
{
	static const uint64_t stack[] = {CODE + 0x36, 0xbb, CODE + 0x07, 1};
	struct sw_snapshot *snap = snapshot(&program);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x40, stack, 4);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x40, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x36, SP + 8, "elf-cfi", "cfi", 0},
		       {CODE + 0x07, SP + 24, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* Callee-saved registers come back as they were pushed. */
TEST(test_registers)
{
	static const uint64_t stack[] = {0xbb, CODE + 0x07, 1};
	struct sw_snapshot *snap = snapshot(&program);
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, CODE + 0x16, stack, 3);
	sw_regs_set(&thread->regs, SW_X86_64_RBX, 0x1111);
	sw_regs_set(&thread->regs, SW_X86_64_RBP, 0x2222);
	sw_regs_set(&thread->regs, SW_X86_64_RAX, 0x3333);
	fake_snapshot_finish(snap);
	struct walk_cursor w;
	walk_cursor_init(&w, snap, &snap->threads[0], true);
	struct sw_stepped stepped = {0};
	assert_int_equal(walk_unwinder("elf-cfi")->step(NULL, &w.cursor, &stepped), SW_STEP_OK);
	assert_int_equal(stepped.regs.pc_avma, CODE + 0x07);
	assert_int_equal(stepped.regs.sp_avma, SP + 16);
	assert_int_equal(walk_reg(&stepped.regs, SW_X86_64_RBX), 0xbb);
	assert_int_equal(walk_reg(&stepped.regs, SW_X86_64_RBP), 0x2222);
	/* rbx, rbp, rsp, ra: all that is known */
	assert_int_equal(stepped.regs.known, 1u << 3 | 1u << 6 | 1u << 7 | 1u << 16);
	assert_int_equal(stepped.flags, 0);
	assert_false(stepped.callee_signal);
	fake_snapshot_destroy(snap);
}

/*
 * A signal interrupts leaf at its first instruction, when pc - 1 would be in main's row; the
 * trampoline's FDE says 'S' and gives everything from the kernel's frame.
 *	50 trampoline:	mov $0xf,%rax; syscall
 */
TEST(test_signal_frame_by_table)
{
	const struct image_fde with_trampoline[] = {
		{.start = 0x00, .end = 0x08, IMAGE_ROWS(0x07, 16)},
		{.start = 0x10, .end = 0x20, IMAGE_ROWS(0x0e, 128)},
		{.start = 0x20, .end = 0x30, IMAGE_ROWS(0x44, 0x0e, 24)},
		/* begins one byte early, as glibc's does; CFA = [rsp+16], ra = [rsp+24] */
		{.start = 0x4f,
		 .end = 0x59,
		 .signal = true,
		 IMAGE_ROWS(0x0f, 3, 0x77, 16, 0x06, 0x10, 16, 2, 0x77, 24)},
		{.start = 0x60, .end = 0x70},
	};
	static const uint64_t stack[] = {
		CODE + 0x50,             /* handler's return address: the trampoline */
		0,           0, SP + 40, /* rsp of the interrupted code */
		CODE + 0x20,             /* its rip */
		CODE + 0x07, 1,
	};
	struct image_parts parts = program;
	parts.fdes = with_trampoline;
	parts.n_fdes = 5;
	struct sw_snapshot *snap = snapshot(&parts);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x60, stack, 7);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x60, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x50, SP + 8, "elf-cfi", "cfi", SW_FRAME_SIGNAL},
		       {CODE + 0x20, SP + 40, "elf-cfi", "cfi", SW_FRAME_EXACT_PC},
		       {CODE + 0x07, SP + 48, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* The same without a table for the trampoline (musl, static programs of other languages): it is
 * known by its instructions. */
TEST(test_signal_frame_by_instructions)
{
	uint8_t with_trampoline[0x60];
	memcpy(with_trampoline, code, sizeof(code));
	memcpy(with_trampoline + 0x50, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	uint64_t stack[1 + 22 + 2] = {CODE + 0x50};
	stack[1 + 20] = SP + 23 * 8; /* rsp: [rsp+160] of the trampoline's frame */
	stack[1 + 21] = CODE + 0x20; /* rip */
	stack[23] = CODE + 0x07;
	struct image_parts parts = program;
	parts.code = with_trampoline;
	parts.n_code = sizeof(with_trampoline);
	struct sw_snapshot *snap = snapshot(&parts);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x40, stack, 25);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x40, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x50, SP + 8, "elf-cfi", "cfi", SW_FRAME_SIGNAL},
		       {CODE + 0x20, SP + 184, "elf-cfi", "cfi", SW_FRAME_EXACT_PC},
		       {CODE + 0x07, SP + 192, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* A signal that arrives on an alternate stack above the interrupted one: sp goes down once. */
TEST(test_alternate_signal_stack)
{
	uint8_t with_trampoline[0x60];
	memcpy(with_trampoline, code, sizeof(code));
	memcpy(with_trampoline + 0x50, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	static const uint64_t normal[] = {CODE + 0x07, 1};
	const uint64_t below = SP - 0x8000;
	uint64_t stack[1 + 22] = {CODE + 0x50};
	stack[1 + 20] = below;
	stack[1 + 21] = CODE + 0x20;
	struct image_parts parts = program;
	parts.code = with_trampoline;
	parts.n_code = sizeof(with_trampoline);
	struct sw_snapshot *snap = snapshot(&parts);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x40, stack, 23);
	(void) fake_snapshot_map(snap, below - 0x1000, below + 0x1000, "rw-p", "");
	fake_snapshot_range(snap, below, normal, sizeof(normal));
	walk_is(snap, NULL,
		FRAMES({CODE + 0x40, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x50, SP + 8, "elf-cfi", "cfi", SW_FRAME_SIGNAL},
		       {CODE + 0x20, below, "elf-cfi", "cfi", SW_FRAME_EXACT_PC},
		       {CODE + 0x07, below + 8, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* musl's clone has no table, or a wrong one that leads into the void: the code says it is the end.
 *	50: xor %ebp,%ebp; pop %rdi; call *%r9; mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall */
TEST(test_musl_thread_start)
{
	uint8_t with_clone[0x60];
	memcpy(with_clone, code, sizeof(code));
	memcpy(with_clone + 0x50, "\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05", 14);
	const struct image_fde wrong[] = {{.start = 0x40, .end = 0x48},
					  {.start = 0x50, .end = 0x60}};
	static const uint64_t stack[] = {CODE + 0x56, CODE + 0x56, CODE + 0x56};
	struct image_parts parts = {.code = with_clone,
				    .n_code = sizeof(with_clone),
				    .fdes = wrong,
				    .n_fdes = 2};
	struct sw_snapshot *snap = snapshot(&parts);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x40, stack, 3);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x40, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x56, SP + 8, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

/* The process's entry code without a table, known by e_entry and by clearing rbp. */
TEST(test_entry_without_table)
{
	static const uint64_t stack[] = {CODE + 0x07, 1};
	struct image_parts parts = program;
	parts.fdes = fdes + 1;
	parts.n_fdes = 5;
	parts.entry = IMAGE_CODE;
	struct sw_snapshot *snap = snapshot(&parts);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x40, stack, 2);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x40, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x07, SP + 8, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
}

static const struct sw_walk_options tables_only = {.mode = SW_WALK_TABLES};

TEST(test_bad_ends)
{
	/* no table for the code */
	static const uint64_t stack[] = {0x1234, 0, 0};
	struct sw_snapshot *snap = snapshot(&program);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x100, stack, 2);
	walk_is(snap, &tables_only,
		FRAMES({CODE + 0x100, SP, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_NO_UNWIND_INFO, "the module has no unwind information for this code");
	/* the return address leads into nothing, and is not replaced by a guess */
	snap = snapshot(&program);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x40, stack, 2);
	walk_is(snap, NULL, FRAMES({CODE + 0x40, SP, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_BAD_UNWIND_INFO, "the return address is not in executable memory");
	/* 0 is no proof of an end */
	snap = snapshot(&program);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x40, stack + 1, 2);
	walk_is(snap, NULL, FRAMES({CODE + 0x40, SP, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_BAD_UNWIND_INFO, "the return address is 0, which proves no end");
}

/*
 * Code by .NET's NativeAOT compiler, in its section; the table ends with the prologue:
 *
 *	00 push %rbp; 01 push %rbx; 02 sub $0x20, %rsp; 06 nop
 *	07 add $0x20, %rsp; 0b pop %rbx; 0c pop %rbp; 0d ret
 *	0e jmp *%rax (of a switch); 10 rex.W jmp *%rax (out of the function); 13 jmp _start
 */
TEST(test_managed_epilogue)
{
	enum {
		OFF = IMAGE_SECTIONS - IMAGE_CODE,
		RET = CODE + 0x07,
		NO_CALL = CODE + 0x41,
		DATA = 0x1234
	};
	static const uint8_t managed[] = {0x55, 0x53, 0x48, 0x83, 0xec, 0x20, 0x90, 0x48,
					  0x83, 0xc4, 0x20, 0x5b, 0x5d, 0xc3, 0xff, 0xe0,
					  0x48, 0xff, 0xe0, 0xe9, 0xe8, 0xcf, 0xff, 0xff};
	static const struct image_section section = {.name = "__managedcode",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .data = managed,
						     .size = sizeof(managed)};
	struct image_fde all[7];
	memcpy(all, fdes, sizeof(fdes));
	all[6] = (struct image_fde){.start = OFF,
				    .end = OFF + sizeof(managed),
				    IMAGE_ROWS(0x41, 0x0e, 16, 0x86, 2, 0x41, 0x0e, 24, 0x83, 3,
					       0x44, 0x0e, 56)};
	struct image_parts parts = program;
	parts.fdes = all;
	parts.n_fdes = 7;
	parts.sections = &section;
	parts.n_sections = 1;
	static const struct {
		unsigned off, sp; /* sp: words from here to the caller's frame */
		const char *by, *trust;
		uint64_t stack[8];
	} cases[] = {
		{0x06, 7, "elf-cfi", "cfi", {0, 0, 0, 0, 0xb, 0xbb, RET, 1}},
		{0x0b, 3, "instructions", "instructions", {0xb, 0xbb, RET, 1}},
		{0x0c, 2, "instructions", "instructions", {0xbb, RET, 1}},
		{0x0d, 1, "instructions", "instructions", {RET, 1}},
		{0x0d, 7, "elf-cfi", "cfi", {DATA, 0, 0, 0, 0xb, 0xbb, RET, 1}},
		{0x0e, 7, "elf-cfi", "cfi", {RET, 0, 0, 0, 0xb, 0xbb, RET, 1}},
		{0x10, 1, "instructions", "instructions", {RET, 1}},
		{0x13, 1, "instructions", "instructions", {RET, 1}},
		{0x13, 7, "elf-cfi", "cfi", {NO_CALL, 0, 0, 0, 0xb, 0xbb, RET, 1}},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_snapshot *snap = snapshot(&parts);
		uint64_t pc = CODE + OFF + cases[i].off;
		(void) fake_snapshot_stack(snap, 1, pc, cases[i].stack, 8);
		walk_is(snap, NULL,
			FRAMES({pc, SP, "context", "context", SW_FRAME_EXACT_PC},
			       {RET, SP + 8 * cases[i].sp, cases[i].by, cases[i].trust, 0}),
			SW_END_COMPLETE, NULL);
	}
}

static struct sw_map map_as(const struct sw_map *map, const char *path, bool writable)
{
	struct sw_map m = *map;
	m.path = path;
	m.prot = writable ? SW_MAP_READ | SW_MAP_WRITE : SW_MAP_READ;
	return m;
}

/* The return address 0 is an end where the frame is the last of its memory, as a fiber's first; not
 * on a thread's stack. */
TEST(test_end_of_mapping)
{
	static const char why[] = "the return address is 0, which proves no end";
	static const uint64_t stack[] = {0, 0};
	static const struct {
		size_t n_words;
		const char *path;
		bool writable, complete;
	} cases[] = {{1, "", true, true},
		     {2, "", true, false},
		     {1, "[stack]", true, false},
		     {1, "", false, false}};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct sw_snapshot *snap = snapshot(&program);
		(void) fake_snapshot_stack(snap, 1, CODE + 0x40, stack, cases[i].n_words);
		for (size_t k = 0; k < snap->n_maps; k++)
			if (snap->maps[k].start_avma < SP && snap->maps[k].end_avma > SP)
				snap->maps[k] =
					map_as(&snap->maps[k], cases[i].path, cases[i].writable);
		walk_is(snap, NULL,
			FRAMES({CODE + 0x40, SP, "context", "context", SW_FRAME_EXACT_PC}),
			cases[i].complete ? SW_END_COMPLETE : SW_END_BAD_UNWIND_INFO,
			cases[i].complete ? NULL : why);
	}
}

/* The copy ends before the stack does: its own reason, and no guess. */
TEST(test_copy_too_short)
{
	static const uint64_t stack[] = {0, 0};
	struct sw_snapshot *snap = snapshot(&program);
	struct sw_thread *thread = fake_snapshot_stack(snap, 1, CODE + 0x24, stack, 2);
	thread->stack_end_avma += 0x1000;
	walk_is(snap, NULL, FRAMES({CODE + 0x24, SP, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_STACK_LIMIT, "the return address could not be read");
	/* sp is in no memory at all */
	snap = snapshot(&program);
	thread = fake_snapshot_stack(snap, 1, CODE + 0x24, stack, 2);
	sw_regs_set(&thread->regs, SW_ARCH_SP, 0x10);
	walk_is(snap, NULL, FRAMES({CODE + 0x24, 0x10, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_MEMORY, "the return address could not be read");
}

/* A module whose bytes are no ELF file, or none at all: declined, nothing breaks. */
TEST(test_no_image)
{
	static const uint64_t stack[] = {0};
	static const char junk[256] = "\177ELF is not enough";
	for (int i = 0; i < 2; i++) {
		struct sw_snapshot *snap = fake_snapshot_create();
		(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/bin/junk", BIAS, BIAS,
					    BIAS + 0x2000, i == 0 ? junk : NULL, sizeof(junk));
		(void) fake_snapshot_stack(snap, 1, CODE, stack, 1);
		walk_is(snap, &tables_only,
			FRAMES({CODE, SP, "context", "context", SW_FRAME_EXACT_PC}),
			SW_END_NO_UNWIND_INFO,
			"the module has no unwind information for this code");
	}
}

TEST(test_debug_frame_when_eh_frame_is_silent)
{
	static const uint8_t rows[] = {0x44, 0x0e, 40}; /* after 4 bytes CFA = rsp+40 */
	size_t size;
	uint8_t *section = debug_frame_section(IMAGE_CODE + 0x100, IMAGE_CODE + 0x110, rows,
					       sizeof(rows), &size);
	const struct image_section sections[] = {
		{.name = ".debug_frame", .type = SHT_PROGBITS, .data = section, .size = size}};
	static const uint64_t stack[] = {0, 0, 0, 0, CODE + 0x07};
	struct image_parts parts = program;
	parts.sections = sections;
	parts.n_sections = 1;
	struct sw_snapshot *snap = snapshot(&parts);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x104, stack, 5);
	walk_is(snap, NULL,
		FRAMES({CODE + 0x104, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x07, SP + 40, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
	free(section);
}

/*
 * Entries of a procedure linkage table, which have no tables:
 *	50		push 0x200(%rip)	ff 35 ..
 *	56		jmp *0x200(%rip)	ff 25 ..
 *	60		jmp *0x200(%rip)	ff 25 ..
 */
TEST(test_linkage_table)
{
	uint8_t with_plt[0x70] = {0};
	memcpy(with_plt, code, sizeof(code));
	with_plt[0x12] = 0x4a; /* main calls the entry at 60 */
	memcpy(with_plt + 0x50, (const uint8_t[]){0xff, 0x35, 0, 2, 0, 0, 0xff, 0x25, 0, 2}, 10);
	memcpy(with_plt + 0x60, (const uint8_t[]){0xff, 0x25, 0, 2, 0, 0}, 6);
	struct image_parts parts = program;
	parts.code = with_plt;
	parts.n_code = sizeof(with_plt);
	static const uint64_t stack[] = {CODE + 0x16, 0xbb, CODE + 0x07, 1};
	struct sw_snapshot *snap = snapshot(&parts);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x60, stack, 4);
	walk_is(snap, &tables_only,
		FRAMES({CODE + 0x60, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {CODE + 0x16, SP + 8, "elf-cfi", "cfi", 0},
		       {CODE + 0x07, SP + 24, "elf-cfi", "cfi", 0}),
		SW_END_COMPLETE, NULL);
	/* The first entry: what has been pushed is no return address. */
	static const uint64_t pushed[] = {0x1234, 5, CODE + 0x16, 0xbb, CODE + 0x07, 1};
	for (uint64_t k = 0; k < 2; k++) {
		uint64_t pc = CODE + 0x56 - 6 * k;
		snap = snapshot(&parts);
		(void) fake_snapshot_stack(snap, 1, pc, pushed + k, 6 - k);
		walk_is(snap, &tables_only,
			FRAMES({pc, SP, "context", "context", SW_FRAME_EXACT_PC},
			       {CODE + 0x16, SP + 24 - 8 * k, "elf-cfi", "cfi", 0},
			       {CODE + 0x07, SP + 40 - 8 * k, "elf-cfi", "cfi", 0}),
			SW_END_COMPLETE, NULL);
	}
	/* Code behind no call is no return address. */
	static const uint64_t no_call[] = {CODE + 0x24, 0xbb, CODE + 0x07, 1};
	snap = snapshot(&parts);
	(void) fake_snapshot_stack(snap, 1, CODE + 0x60, no_call, 4);
	walk_is(snap, &tables_only,
		FRAMES({CODE + 0x60, SP, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_NO_UNWIND_INFO, "the module has no unwind information for this code");
}
