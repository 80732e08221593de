/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "go_world.h"
#include "arch/arch.h"

#include <elf.h>
#include <string.h>

enum {
	TOP = 1,
	SP_WRITE = 2,
	/* Parts of the table of functions. */
	NAMES = 0x60,
	UNITS = 0x300,
	FILES = 0x310,
	TABLES = 0x380,
	FUNCS = 0x400,
	RECORDS = 0x100, /* in FUNCS */
	RECORD_BYTES = 0x80,
	/* Offsets in TABLES. */
	SP_FLAT = 1,
	SP_FRAME = 8,
	FILE_TABLE = 16,
	LINE_TABLE = 24,
	INLINED_TABLE = 40,
	NAME_INNER = 0x280, /* in NAMES */
	M_GSIGNAL = 10,     /* words */
	M_CURG = 24,
};

static const struct {
	const char *name;
	uint8_t flags;
} funcs[GO_N_FUNCS] = {
	[GO_GOEXIT] = {"runtime.goexit", TOP},
	[GO_MSTART] = {"runtime.mstart", TOP},
	[GO_MCALL] = {"runtime.mcall", SP_WRITE},
	[GO_SYSTEMSTACK] = {"runtime.systemstack", SP_WRITE},
	[GO_MORESTACK] = {"runtime.morestack", SP_WRITE},
	[GO_ASMCGOCALL] = {"runtime.asmcgocall", SP_WRITE},
	[GO_CGOCALLBACK] = {"runtime.cgocallback", SP_WRITE},
	[GO_CROSSCALL2] = {"crosscall2", 0},
	[GO_GOGO] = {"gogo", SP_WRITE},
	[GO_CLONE] = {"runtime.clone", SP_WRITE},
	[GO_NANOTIME1] = {"runtime.nanotime1", SP_WRITE},
	[GO_SCHEDULE] = {"runtime.schedule", 0},
	[GO_FOR_EACH_G] = {"runtime.forEachGRace", 0},
	[GO_CAST_SCAN_STATUS] = {"runtime.castogscanstatus", 0},
	[GO_PRINT_CREATED_BY] = {"runtime.printcreatedby", 0},
	[GO_GOROUTINE_HEADER] = {"runtime.goroutineheader", 0},
	[GO_ASYNC_PREEMPT] = {"runtime.asyncPreempt", 0},
	[GO_LEAF] = {"main.leaf", 0},
	[GO_LINKED] = {"_cgo_f", 0},
	[GO_OUTER] = {"main.outer", 0},
};

static void put(struct go_world *w, uint64_t avma, const void *bytes, size_t n)
{
	memcpy(w->image + (avma - GO_BASE), bytes, n);
}

static void put_u32(struct go_world *w, uint64_t avma, uint32_t value)
{
	put(w, avma, &value, sizeof(value));
}

static void put_u64(struct go_world *w, uint64_t avma, uint64_t value)
{
	put(w, avma, &value, sizeof(value));
}

static void headers_put(struct go_world *w)
{
	const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					       ELFDATA2LSB, 1},
				   .e_type = ET_EXEC,
				   .e_machine = EM_X86_64,
				   .e_version = 1,
				   .e_phoff = sizeof(header),
				   .e_ehsize = sizeof(header),
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_phnum = 3};
	static const struct {
		uint64_t start, end;
		uint32_t flags;
	} segments[] = {{GO_TEXT, GO_RODATA, PF_R | PF_X},
			{GO_RODATA, GO_DATA, PF_R},
			{GO_DATA, GO_BASE + GO_IMAGE_BYTES, PF_R | PF_W}};
	put(w, GO_BASE, &header, sizeof(header));
	for (size_t i = 0; i < 3; i++) {
		const Elf64_Phdr p = {.p_type = PT_LOAD,
				      .p_flags = segments[i].flags,
				      .p_offset = segments[i].start - GO_BASE,
				      .p_vaddr = segments[i].start,
				      .p_filesz = segments[i].end - segments[i].start,
				      .p_memsz = segments[i].end - segments[i].start,
				      .p_align = 0x1000};
		put(w, GO_BASE + sizeof(header) + i * sizeof(p), &p, sizeof(p));
	}
}

/* Put the entry and the record of one function. */
static void func_put(struct go_world *w, unsigned n, bool v118, uint32_t *name_off)
{
	bool framed = n >= GO_OUTER;
	uint64_t at = GO_TABLE + FUNCS + RECORDS + n * RECORD_BYTES;
	uint64_t tail = at + (v118 ? 36 : 40);
	const uint8_t kinds[] = {0, funcs[n].flags, 0, 4};
	put(w, GO_TABLE + NAMES + *name_off, funcs[n].name, strlen(funcs[n].name) + 1);
	put_u32(w, GO_TABLE + FUNCS + 8 * n, n * GO_FUNC_BYTES);
	put_u32(w, GO_TABLE + FUNCS + 8 * n + 4, RECORDS + n * RECORD_BYTES);
	put_u32(w, at, n * GO_FUNC_BYTES);
	put_u32(w, at + 4, *name_off);
	if (n != GO_LINKED)
		put_u32(w, at + 16, framed || n == GO_CGOCALLBACK ? SP_FRAME : SP_FLAT);
	put_u32(w, at + 20, FILE_TABLE);
	put_u32(w, at + 24, LINE_TABLE);
	put_u32(w, at + 28, 3); /* pcdata tables */
	put(w, tail, kinds, sizeof(kinds));
	put_u32(w, tail + 12, framed ? INLINED_TABLE : 0);
	for (unsigned i = 0; i < 4; i++)
		put_u32(w, tail + 16 + 4 * i, i == 3 && framed ? 0x10 : UINT32_MAX);
	*name_off += (uint32_t) strlen(funcs[n].name) + 1;
}

static void table_put(struct go_world *w, bool v118)
{
	/* Pairs: difference in zigzag, bytes of code. The first value is -1 plus its difference. */
	static const uint8_t flat[] = {2, 0x40, 0}, framed[] = {2, 4, 0x30, 0x38, 0x2f, 4, 0};
	static const uint8_t file[] = {2, 0x40, 0};
	/* Lines 10, from 0x10 on 20, from 0x20 on 11. */
	static const uint8_t lines[] = {22, 0x10, 20, 0x10, 17, 0x20, 0};
	static const uint8_t inlined[] = {0, 0x10, 4, 0x10, 3, 0x20, 0}; /* 0x10 to 0x20: call 1 */
	const uint8_t magic[] = {v118 ? 0xf0 : 0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8};
	static const uint32_t parts[] = {NAMES, UNITS, FILES, TABLES, FUNCS};
	uint32_t name_off = 1;
	put(w, GO_TABLE, magic, sizeof(magic));
	put_u64(w, GO_TABLE + 8, GO_N_FUNCS);
	for (unsigned i = 0; i < 5; i++)
		put_u64(w, GO_TABLE + 32 + 8 * i, parts[i]);
	put(w, GO_TABLE + NAMES + NAME_INNER, "main.inner", 11);
	put_u32(w, GO_TABLE + UNITS, 4);
	put(w, GO_TABLE + FILES + 4, "/src/main.go", 13);
	put(w, GO_TABLE + TABLES + SP_FLAT, flat, sizeof(flat));
	put(w, GO_TABLE + TABLES + SP_FRAME, framed, sizeof(framed));
	put(w, GO_TABLE + TABLES + FILE_TABLE, file, sizeof(file));
	put(w, GO_TABLE + TABLES + LINE_TABLE, lines, sizeof(lines));
	put(w, GO_TABLE + TABLES + INLINED_TABLE, inlined, sizeof(inlined));
	for (unsigned n = 0; n < GO_N_FUNCS; n++)
		func_put(w, n, v118, &name_off);
	put_u32(w, GO_TABLE + FUNCS + 8 * GO_N_FUNCS, GO_N_FUNCS * GO_FUNC_BYTES);
	/* The call of main.inner(), the second of the tree, stands for the instruction at 8. */
	put_u32(w, GO_TREE + 0x10 + (v118 ? 20 + 12 : 16 + 4), NAME_INNER);
	put_u32(w, GO_TREE + 0x10 + (v118 ? 20 + 16 : 16 + 8), 8);
	put_u64(w, GO_MODULE, GO_TABLE);
	put_u64(w, GO_MODULE + 8, GO_TABLE + NAMES);
	put_u64(w, GO_MODULE + 104, GO_TABLE + FUNCS);
	put_u64(w, GO_MODULE + 176, GO_TEXT);
	put_u64(w, GO_MODULE + (v118 ? 304 : 320), GO_TREE);
}

void go_world_module(struct go_world *w, unsigned offset, uint64_t value)
{
	put_u64(w, GO_MODULE + offset, value);
}

void go_world_code(struct go_world *w, enum go_world_func func, unsigned offset, const void *bytes,
		   size_t n)
{
	put(w, go_world_pc(func, offset), bytes, n);
}

/* REX.W opcode %rbx, disp32(%rip) */
static void rip_put(struct go_world *w, enum go_world_func func, unsigned offset, uint8_t opcode,
		    uint64_t to)
{
	uint32_t distance = (uint32_t) (to - go_world_pc(func, offset + 7));
	uint8_t code[7] = {0x48, opcode, 0x1d};
	memcpy(code + 3, &distance, sizeof(distance));
	go_world_code(w, func, offset, code, sizeof(code));
}

/* Put the functions by which the runtime prints all goroutines, and two goroutines. */
static void goroutines_put(struct go_world *w)
{
	static const char *const reasons[] = {"", "GC assist marking", "IO wait", "chan receive"};
	uint64_t text = GO_REASONS + 0x80;
	for (size_t i = 0; i < 4; i++) {
		size_t n = strlen(reasons[i]);
		put_u64(w, GO_REASONS + 16 * i, n > 0 ? text : 0);
		put_u64(w, GO_REASONS + 16 * i + 8, n);
		put(w, text, reasons[i], n);
		text += n;
	}
	rip_put(w, GO_FOR_EACH_G, 4, 0x8b, GO_GLOBALS);
	rip_put(w, GO_FOR_EACH_G, 0x10, 0x8b, GO_GLOBALS + 8);
	/* lock cmpxchg %ecx, status(%rbx) */
	go_world_code(w, GO_CAST_SCAN_STATUS, 8, "\xf0\x0f\xb1\x8b\x50\0\0\0", 8);
	/* mov gopc(%rax), %rcx; mov parentGoid(%rcx), %rdx */
	go_world_code(w, GO_PRINT_CREATED_BY, 8, "\x48\x8b\x88\x88\0\0\0", 7);
	go_world_code(w, GO_PRINT_CREATED_BY, 0x10, "\x48\x8b\x91\x80\0\0\0", 7);
	rip_put(w, GO_GOROUTINE_HEADER, 8, 0x8d, GO_REASONS - 32);
	rip_put(w, GO_GOROUTINE_HEADER, 0x10, 0x8d, GO_REASONS);
	w->globals[0] = 2;
	w->globals[1] = GO_LIST;
	w->list[0] = GO_CURG;
	w->list[1] = GO_PARKED;
	w->curg[GO_G_STATUS] = 2; /* running */
	w->curg[GO_G_ID] = 1;
	w->parked[0] = GO_PARKED_STACK;
	w->parked[1] = GO_PARKED_STACK + 8 * GO_PARKED_WORDS;
	w->parked[7] = GO_PARKED_STACK + 8 * 20;
	w->parked[8] = go_world_pc(GO_OUTER, 0x18);
	w->parked[GO_G_STATUS] = 4; /* waiting */
	w->parked[GO_G_ID] = 18;
	w->parked[GO_G_REASON] = 3;
	w->parked[GO_G_PARENT] = 1;
	w->parked[GO_G_CREATED] = go_world_pc(GO_OUTER, 0x28);
	w->parked_stack[20 + GO_FRAME / 8] = go_world_pc(GO_GOEXIT, 1);
}

void go_world_init(struct go_world *w, bool v118)
{
	memset(w, 0, sizeof(*w));
	memset(w->image + (GO_TEXT - GO_BASE), 0x90, GO_N_FUNCS * GO_FUNC_BYTES);
	headers_put(w);
	table_put(w, v118);
	/* mov %fs:-8, %rbx; mov 80(%rbx), %rsi */
	go_world_code(w, GO_MORESTACK, 0, "\x64\x48\x8b\x1c\x25\xf8\xff\xff\xff\x48\x8b\x73\x50",
		      13);
	go_world_code(w, GO_NANOTIME1, 8, "\x49\x89\xe4", 3); /* mov %rsp, %r12 */
	/* mov %rcx, vdsoPC(%rbx); mov %rdx, vdsoSP(%rbx) */
	go_world_code(w, GO_NANOTIME1, 0x0c, "\x48\x89\x8b\xf8\0\0\0\x48\x89\x93\xf0\0\0\0", 14);
	go_world_code(w, GO_ASMCGOCALL, 4, "\x48\x89\xe2", 3);    /* mov %rsp, %rdx */
	go_world_code(w, GO_ASMCGOCALL, 0x20, "\xff\xd0", 2);     /* call *%rax */
	go_world_code(w, GO_ASMCGOCALL, 0x30, "\x48\x89\xf4", 3); /* mov %rsi, %rsp */
	go_world_code(w, GO_CLONE, 0x10, "\x0f\x05", 2);
	go_world_code(w, GO_CLONE, 0x20, "\xc3", 1);
	w->slot = GO_CURG;
	w->m[0] = GO_G0;
	w->m[M_GSIGNAL] = GO_GSIGNAL;
	w->m[M_CURG] = GO_CURG;
	w->g0[6] = w->curg[6] = w->gsignal[6] = GO_M;
	w->g0[0] = go_world_system(0);
	w->g0[1] = go_world_system(GO_STACK_WORDS);
	w->curg[0] = GO_STACK;
	w->curg[1] = GO_STACK_END;
	/* The bottom of each goroutine's stack. */
	w->stack[GO_STACK_WORDS - 1] = go_world_pc(GO_GOEXIT, 1);
	w->pc = go_world_pc(GO_LEAF, 0);
	w->sp = go_world_stack(0);
	goroutines_put(w);
}

uint64_t go_world_pc(enum go_world_func func, unsigned offset)
{
	return GO_TEXT + GO_FUNC_BYTES * (uint64_t) func + offset;
}

uint64_t go_world_system(size_t n)
{
	return FAKE_STACK_AVMA + UINT64_C(0x800000) + 8 * n;
}

uint64_t go_world_stack(size_t n)
{
	return GO_STACK + 8 * n;
}

struct sw_snapshot *go_world_snapshot(const struct go_world *w)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	fake_snapshot_module(snap, SW_MODULE_ELF, "/bin/go-program", 0, GO_BASE, GO_RODATA,
			     w->image, sizeof(w->image));
	fake_snapshot_map(snap, GO_C_CODE, GO_C_CODE + 0x1000, "r-xp", "");
	fake_snapshot_map(snap, GO_HEAP, GO_HEAP + 0x100000, "rw-p", "");
	fake_snapshot_map(snap, go_world_system(0), go_world_system(GO_STACK_WORDS), "rw-p", "");
	fake_snapshot_range(snap, GO_FS_BASE - 8, &w->slot, sizeof(w->slot));
	fake_snapshot_range(snap, GO_M, w->m, sizeof(w->m));
	fake_snapshot_range(snap, GO_G0, w->g0, sizeof(w->g0));
	fake_snapshot_range(snap, GO_CURG, w->curg, sizeof(w->curg));
	fake_snapshot_range(snap, GO_CURG + sizeof(w->curg), w->curg_more, sizeof(w->curg_more));
	fake_snapshot_range(snap, GO_GLOBALS, w->globals, sizeof(w->globals));
	fake_snapshot_range(snap, GO_LIST, w->list, sizeof(w->list));
	fake_snapshot_range(snap, GO_PARKED, w->parked, sizeof(w->parked));
	fake_snapshot_range(snap, GO_PARKED_STACK, w->parked_stack, sizeof(w->parked_stack));
	fake_snapshot_range(snap, GO_GSIGNAL, w->gsignal, sizeof(w->gsignal));
	fake_snapshot_range(snap, GO_STACK, w->stack, sizeof(w->stack));
	fake_snapshot_range(snap, go_world_system(0), w->system, sizeof(w->system));
	/* The thread's stack is one of those ranges. */
	struct sw_thread *t = fake_snapshot_thread(snap, GO_TID, w->pc, w->sp, NULL, 0);
	t->regs = w->regs;
	sw_regs_set(&t->regs, SW_ARCH_SP, w->sp);
	sw_regs_set(&t->regs, SW_ARCH_RA, w->pc);
	t->fs_base = GO_FS_BASE;
	fake_snapshot_finish(snap);
	return snap;
}
