/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "arch/arch.h"
#include "cleanup.h"
#include "elf_make.h"
#include "capture_case.h"
#include "jit_case.h"
#include "jit/hooks.h"
#include "jit/libgcc/source.h"
#include "jit/libgcc/list.h"
#include "snapshot/live.h"
#include "unwind/unwinder.h"
#include "walk_case.h"
#include "jit/libgcc/known.h"
#include "test.h"

#include <dwarf.h>
#include <sys/mman.h>

enum {
	MEM = 0x5000,
	TEXT = 0x100,
	DATA = 0x200,
	PCREL4 = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	DATAREL4 = DW_EH_PE_datarel | DW_EH_PE_sdata4,
};

/* Words from MEM up. */
#define AT(i) (MEM + 8 * (uint64_t) (i))
enum { MEM_WORDS = 512 };

static bool note(void *arg, const struct sw_jit_libgcc_table *t)
{
	sw_text_printf(arg, " %lx:%lx", t->object_avma - MEM, t->avma);
	if (t->text_avma != 0 || t->data_avma != 0)
		sw_text_printf(arg, "/%lx/%lx", t->text_avma, t->data_avma);
	return t->avma != 0xdead;
}

static void tables_are(const uint64_t *words, enum sw_jit_libgcc_kind kind,
		       enum sw_jit_libgcc_end end, const char *wanted)
{
	struct fake_memory fake = FAKE_MEMORY({MEM, words, MEM_WORDS * 8});
	struct sw_text text = {0};
	assert_int_equal(sw_jit_libgcc_walk(fake_memory(&fake), kind, MEM,
					    &(struct sw_jit_libgcc_visitor){note, NULL, &text}),
			 end);
	assert_string_equal(text.data != NULL ? text.data : "", wanted);
	sw_text_deinit(&text);
}

static void object(uint64_t *words, size_t i, uint64_t what, uint64_t flags, uint64_t next)
{
	const uint64_t o[6] = {UINT64_MAX, 0, 0, what, 0x7f8 | flags, next};
	memcpy(words + i, o, sizeof(o));
}

TEST(test_lists)
{
	uint64_t w[MEM_WORDS] = {0};
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_WHOLE, "");
	w[0] = AT(10);
	object(w, 10, 0xa000, 0, AT(20));
	object(w, 20, 0xb000, 0, 0);
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_WHOLE, " 50:a000 a0:b000");
	w[11] = TEXT;
	w[12] = DATA;
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_WHOLE, " 50:a000/100/200 a0:b000");
	/* After the first exception: what is a vector, whose first word is the original. */
	w[11] = w[12] = 0;
	object(w, 10, AT(40), 1, AT(20));
	w[40] = 0xc000;
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_WHOLE, " 50:c000 a0:b000");
	/* __register_frame_table(): an array, sorted or not. */
	object(w, 10, AT(50), 2, AT(20));
	w[50] = 0xd000;
	w[51] = 0xe000;
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_WHOLE, " 50:d000 50:e000 a0:b000");
	w[40] = AT(50);
	object(w, 10, AT(40), 3, 0);
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_WHOLE, " 50:d000 50:e000");
	w[50] = 0xdead;
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_STOPPED, " 50:dead");
}

TEST(test_bad_lists)
{
	uint64_t w[MEM_WORDS] = {AT(10)};
	object(w, 10, 0xa000, 0, AT(10));
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_CYCLE, " 50:a000 50:a000");
	object(w, 10, 0xa000, 0, 0x12345678);
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_UNREADABLE, " 50:a000");
	object(w, 10, 0x12345678, 1, 0);
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_UNREADABLE, "");
	object(w, 10, AT(MEM_WORDS - 1), 2, 0); /* an array without end */
	w[MEM_WORDS - 1] = 0xd000;
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_UNREADABLE, " 50:d000");
	w[0] = 1;
	tables_are(w, SW_JIT_LIBGCC_LIST, SW_JIT_LIBGCC_UNREADABLE, "");
}

/* gcc 14.2: nodes of 256 bytes. */
static void node(uint64_t *words, size_t i, uint64_t lock, uint32_t count, uint32_t type)
{
	words[i] = lock;
	words[i + 1] = count | (uint64_t) type << 32;
}

TEST(test_trees)
{
	uint64_t w[MEM_WORDS] = {0};
	tables_are(w, SW_JIT_LIBGCC_TREE, SW_JIT_LIBGCC_WHOLE, "");
	w[0] = AT(100); /* an inner node with two leaves */
	node(w, 100, 0x10, 2, 0);
	w[102] = 0x400fff;
	w[103] = AT(140);
	w[104] = UINT64_MAX;
	w[105] = AT(180);
	node(w, 140, 4, 1, 1);
	w[144] = AT(10);
	node(w, 180, 4, 2, 1);
	w[184] = AT(20);
	w[187] = AT(30);
	object(w, 10, 0xa000, 0, 0x5a5a5a); /* the last word is somebody else's */
	object(w, 20, 0xb000, 0, 0x5a5a5a);
	object(w, 30, AT(40), 1, 0x5a5a5a);
	w[40] = 0xc000;
	tables_are(w, SW_JIT_LIBGCC_TREE, SW_JIT_LIBGCC_WHOLE, " 50:a000 a0:b000 f0:c000");
	node(w, 140, 4, 1, 2); /* a free node has nothing */
	tables_are(w, SW_JIT_LIBGCC_TREE, SW_JIT_LIBGCC_WHOLE, " a0:b000 f0:c000");
}

TEST(test_bad_trees)
{
	uint64_t w[MEM_WORDS] = {AT(100)};
	node(w, 100, 4, 11, 1); /* more than fit */
	tables_are(w, SW_JIT_LIBGCC_TREE, SW_JIT_LIBGCC_UNREADABLE, "");
	node(w, 100, 4, 16, 0);
	tables_are(w, SW_JIT_LIBGCC_TREE, SW_JIT_LIBGCC_UNREADABLE, "");
	node(w, 100, 4, 1, 3); /* no such type */
	tables_are(w, SW_JIT_LIBGCC_TREE, SW_JIT_LIBGCC_UNREADABLE, "");
	node(w, 100, 5, 1, 3); /* somebody was writing */
	tables_are(w, SW_JIT_LIBGCC_TREE, SW_JIT_LIBGCC_BUSY, "");
	node(w, 100, 4, 1, 0); /* its own child */
	w[103] = AT(100);
	tables_are(w, SW_JIT_LIBGCC_TREE, SW_JIT_LIBGCC_LIMIT, "");
	w[103] = 0x12345678;
	tables_are(w, SW_JIT_LIBGCC_TREE, SW_JIT_LIBGCC_UNREADABLE, "");
}

/* 15 children each, all the same: bounded by the nodes looked at, not by 15 to the 16th. */
TEST(test_wide_tree)
{
	uint64_t w[MEM_WORDS] = {AT(100)};
	node(w, 100, 4, 15, 0);
	for (size_t i = 0; i < 15; i++)
		w[103 + 2 * i] = AT(140);
	node(w, 140, 4, 15, 0);
	for (size_t i = 0; i < 15; i++)
		w[143 + 2 * i] = AT(100);
	struct fake_memory fake = FAKE_MEMORY({MEM, w, sizeof(w)});
	assert_int_equal(sw_jit_libgcc_walk(fake_memory(&fake), SW_JIT_LIBGCC_TREE, MEM,
					    &(struct sw_jit_libgcc_visitor){.table = note}),
			 SW_JIT_LIBGCC_LIMIT);
	assert_true(fake.reads < 1 << 18);
}

TEST(test_sizes)
{
	uint32_t frame[] = {8, 0, 0, 4, 0, 0, 3};
	struct fake_memory fake = FAKE_MEMORY({MEM, frame, sizeof(frame)});
	struct sw_memory memory = fake_memory(&fake);
	uint64_t size = 0;
	assert_true(sw_jit_eh_frame_size(memory, MEM, 1000, &size));
	assert_int_equal(size, 24);
	assert_true(sw_jit_eh_frame_size(memory, MEM, 24, &size));
	assert_false(sw_jit_eh_frame_size(memory, MEM, 23, &size));
	frame[3] = 0xfffffff0;
	assert_false(sw_jit_eh_frame_size(memory, MEM, UINT64_MAX, &size));
	frame[3] = 3;
	assert_false(sw_jit_eh_frame_size(memory, MEM, 1000, &size));
	assert_true(sw_jit_eh_frame_size(memory, MEM + 20, 1000, &size));
	assert_int_equal(size, 4);
}

/* ---- where it is ----------------------------------------------------------------------------- */

enum {
	REGISTER = 0x1000,
	DEREGISTER = 0x1800,
	ENTRY = 0x1c00, /* code that has nothing before it */
	DATA_SVMA = 0x3000,
	UNSEEN = 0x3278,
	SEEN = 0x3270,
	OBJECTS = 0x3290,
	FRAMES_TREE = 0x32b0,
	GOT = 0x3020,
	IMAGE_FILE = 0x3000,
};

/* An instruction of 7 bytes that refers to svma. */
static void refer(uint8_t *image, uint64_t at, uint8_t rex, uint8_t opcode, uint8_t reg,
		  uint64_t svma)
{
	int32_t disp = (int32_t) (svma - (at + 7));
	const uint8_t head[] = {rex, opcode, (uint8_t) (reg << 3 | 5)};
	memcpy(image + at, head, sizeof(head));
	memcpy(image + at + 3, &disp, sizeof(disp));
}

/*
 * A copy of libgcc without names of its variables: the functions' code, as far as it refers to them,
 * is as in Debian's libgcc_s.so.1 12.2.0-14 and 14.2.0-19. Symbols in a file are behind its image.
 */
static struct elf_make *libgcc(int version, bool exported, bool writable)
{
	struct elf_make *elf = malloc(sizeof(*elf));
	assert_non_null(elf);
	static uint8_t image[IMAGE_FILE];
	memset(image, 0, sizeof(image));
	struct eh_make eh = {.avma = 0x2000};
	size_t cie = eh_make_cie(&eh, PCREL4);
	(void) eh_make_fde(&eh, cie, PCREL4, ENTRY, 0x40, EH_ROWS(DW_CFA_undefined, 16));
	eh_make_end(&eh);
	if (version == 12) {
		refer(image, REGISTER + 0x1e, 0x48, 0x8b, 5, GOT);    /* mov got, %rbp */
		refer(image, REGISTER + 0x45, 0x48, 0x8d, 7, 0x3240); /* lea mutex, %rdi */
		refer(image, REGISTER + 0x51, 0x48, 0x8b, 0, UNSEEN); /* mov unseen, %rax */
		refer(image, REGISTER + 0x58, 0x48, 0x89, 3, UNSEEN); /* mov %rbx, unseen */
		image[REGISTER + 0x63] = 0x8b;                        /* mov any, %eax: 4 bytes */
		image[REGISTER + 0x64] = 0x05;
		refer(image, DEREGISTER + 0x1e, 0x4c, 0x8b, 4, GOT);
		refer(image, DEREGISTER + 0x36, 0x48, 0x8b, 0, UNSEEN);
		refer(image, DEREGISTER + 0x42, 0x48, 0x8d, 1, UNSEEN);
		refer(image, DEREGISTER + 0x88, 0x48, 0x8b, 3, SEEN);
		refer(image, DEREGISTER + 0x94, 0x48, 0x8d, 0, SEEN);
	} else {
		refer(image, REGISTER + 0x3e, 0x48, 0x8d, 7, OBJECTS);
		refer(image, REGISTER + 0x65, 0x48, 0x8d, 7, FRAMES_TREE);
	}
	elf_make_init(elf);
	elf->size = IMAGE_FILE;
	memcpy(elf->bytes + REGISTER, image + REGISTER, IMAGE_FILE - REGISTER);
	memcpy(elf->bytes + 0x2000, eh.bytes, eh.size);
	uint32_t frame =
		elf_make_section(elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x2000, NULL, eh.size);
	elf->sections[frame].sh_offset = 0x2000;
	uint16_t bss = (uint16_t) elf_make_section(elf, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE,
						   DATA_SVMA, NULL, 0x1000);
	elf_make_symbol(elf, exported ? "__register_frame_info_bases" : "a", STB_GLOBAL, STT_FUNC,
			bss, REGISTER, version == 12 ? 169 : 117);
	elf_make_symbol(elf, exported ? "__deregister_frame_info_bases" : "b", STB_GLOBAL, STT_FUNC,
			bss, DEREGISTER, 282);
	elf_make_symtab(elf, SHT_DYNSYM);
	if (!exported) {
		bool list = version == 12;
		elf_make_symbol(elf, list ? "unseen_objects" : "registered_objects", STB_LOCAL,
				STT_OBJECT, bss, list ? UNSEEN : OBJECTS, list ? 8 : 24);
		elf_make_symbol(elf, list ? "seen_objects" : "registered_frames", STB_LOCAL,
				STT_OBJECT, bss, list ? SEEN : FRAMES_TREE, list ? 8 : 24);
		elf_make_symtab(elf, SHT_SYMTAB);
	}
	elf_make_finish(elf);
	const Elf64_Phdr phdrs[] = {
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_X,
		 .p_filesz = IMAGE_FILE,
		 .p_memsz = IMAGE_FILE},
		{.p_type = PT_LOAD,
		 .p_flags = writable ? PF_R | PF_W : PF_R,
		 .p_vaddr = DATA_SVMA,
		 .p_memsz = 0x1000},
		{.p_type = PT_GNU_RELRO, .p_flags = PF_R, .p_vaddr = DATA_SVMA, .p_memsz = 0x100},
	};
	Elf64_Ehdr ehdr;
	memcpy(&ehdr, elf->bytes, sizeof(ehdr));
	ehdr.e_phoff = elf->size;
	ehdr.e_phnum = SW_ARRAY_SIZE(phdrs);
	memcpy(elf->bytes, &ehdr, sizeof(ehdr));
	assert_true(elf->size + sizeof(phdrs) <= sizeof(elf->bytes));
	memcpy(elf->bytes + elf->size, phdrs, sizeof(phdrs));
	elf->size += sizeof(phdrs);
	return elf;
}

enum {
	BIAS = 0x550000000000,
	JIT = 0x660000000000,
	TABLE = JIT + 0x1000,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
};

static const uint64_t stack[] = {0, 0x66, JIT + 0x90, 7, 8, 9, BIAS + ENTRY + 0x10, 0};

/* Two functions of generated code, and what leads to their table. */
static struct sw_snapshot *process(int version, bool exported, bool writable, uint64_t list_svma,
				   bool empty)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	struct elf_make *elf = libgcc(version, exported, writable);
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/lib/libgcc_s.so.1", BIAS, BIAS,
				    BIAS + 0x3000, elf->bytes, elf->size);
	free(elf);
	(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");

	struct eh_make eh = {.avma = TABLE, .data_avma = JIT - 0x100};
	size_t cie = empty ? eh_make_empty_cie(&eh, DATAREL4) : eh_make_cie(&eh, DATAREL4);
	const uint8_t rows[] = {DW_CFA_nop, 0x0e, 24}, other_rows[] = {0x0e, 32};
	(void) eh_make_fde(&eh, cie, DATAREL4, JIT, 0x40, rows, empty ? 1 : sizeof(rows));
	(void) eh_make_fde(&eh, cie, DATAREL4, JIT + 0x80, 0x40, other_rows, sizeof(other_rows));
	eh_make_end(&eh);
	fake_snapshot_range(snap, TABLE, eh.bytes, eh.size);

	uint64_t data[64] = {0}, heap[MEM_WORDS] = {0};
	bool list = version == 12;
	data[(list_svma - 0x3200) / 8] = list ? AT(10) : AT(140);
	object(heap, 10, TABLE, 0, 0);
	heap[12] = JIT - 0x100;
	node(heap, 140, 4, 1, 1);
	heap[144] = AT(10);
	fake_snapshot_range(snap, BIAS + 0x3200, data, sizeof(data));
	fake_snapshot_range(snap, MEM, heap, sizeof(heap));
	(void) fake_snapshot_stack(snap, 1, JIT + 0x10, stack, SW_ARRAY_SIZE(stack));
	return snap;
}

static void is_found(struct sw_snapshot *snap)
{
	walk_is(snap, NULL,
		FRAMES({JIT + 0x10, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {JIT + 0x90, SP + 24, "jit-libgcc", "jit", 0},
		       {BIAS + ENTRY + 0x10, SP + 56, "jit-libgcc", "jit", 0}),
		SW_END_COMPLETE, NULL);
}

static void is_not_found(struct sw_snapshot *snap)
{
	walk_is(snap, &(struct sw_walk_options){.mode = SW_WALK_TABLES},
		FRAMES({JIT + 0x10, SP, "context", "context", SW_FRAME_EXACT_PC}),
		SW_END_NO_UNWIND_INFO, "code that belongs to no module");
}

TEST(test_found)
{
	is_found(process(12, true, true, UNSEEN, false));
	is_found(process(12, true, true, SEEN, false));
	is_found(process(14, true, true, OBJECTS, false));
	is_found(process(14, true, true, FRAMES_TREE, false));
	/* Linked statically: local symbols. */
	is_found(process(12, false, true, UNSEEN, false));
	is_found(process(12, false, true, SEEN, false));
	is_found(process(14, false, true, OBJECTS, false));
	is_found(process(14, false, true, FRAMES_TREE, false));
	/* A variable that cannot be written is no registry. */
	is_not_found(process(12, true, false, UNSEEN, false));
	is_not_found(process(14, true, false, OBJECTS, false));
}

/* LuaJIT 2.1 registers an FDE without any rule: it is not used. */
TEST(test_empty)
{
	struct sw_snapshot *snap = process(12, true, true, UNSEEN, true);
	is_not_found(snap);
}

TEST(test_recognised)
{
	struct sw_snapshot *snap = process(14, true, true, FRAMES_TREE, false);
	struct sw_walks *walks;
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	assert_string_equal(walks->walks[0].frames[0].kind, "jit");
	assert_int_equal(walks->n_runtimes, 1);
	assert_string_equal(walks->runtimes[0].name, "libgcc-frames");
	assert_string_equal(walks->runtimes[0].where, "/lib/libgcc_s.so.1");
	assert_int_equal(walks->runtimes[0].entries, 2);
	assert_string_equal(walks->runtimes[0].problem, "");
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
}

/*
 * Read after the stop: a table that is overwritten, or whose object was freed, is not believed, and that
 * is said when it is asked for. Here the registry is our own memory.
 */
static void torn_is(bool overwritten, bool freed, bool found)
{
	struct sw_snapshot *snap = process(12, true, true, UNSEEN, false);
	uint64_t list = 0, words[6];
	struct eh_make eh = {.avma = TABLE, .data_avma = JIT - 0x100};
	struct sw_jit_entry entry;
	struct sw_runtime runtime;
	void *state;
	size_t cie = eh_make_cie(&eh, DATAREL4);
	(void) eh_make_fde(&eh, cie, DATAREL4, JIT, 0x40, (uint8_t[]){DW_CFA_nop, 0x0e, 24}, 3);
	eh_make_end(&eh);
	list = (uintptr_t) words;
	object(words, 0, (uintptr_t) eh.bytes, 0, 0);
	words[2] = JIT - 0x100;
	struct sw_jit_root root = {.avma = (uintptr_t) &list, .detail = SW_JIT_LIBGCC_LIST};
	fake_snapshot_finish(snap);
	snap->live = true;
	snap->priv->mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(snap->priv->mem_fd >= 0);
	root.place = &snap->places[0];
	/* The page of the registry is read, and kept: what is read anew differs from it. */
	uint8_t byte;
	assert_true(sw_live_read(snap, (uintptr_t) eh.bytes, &byte, 1));
	assert_true(sw_live_read(snap, (uintptr_t) eh.bytes + eh.size - 1, &byte, 1));
	assert_true(sw_live_read(snap, (uintptr_t) words, &byte, 1));
	assert_true(sw_live_read(snap, (uintptr_t) &words[5], &byte, 1));
	assert_true(sw_live_read(snap, (uintptr_t) &list, &byte, 1));
	if (overwritten)
		eh.bytes[eh.size - 5] ^= 1;
	if (freed)
		words[0] = 0x123456;
	assert_int_equal(sw_jit_libgcc.attach(snap, &root, 1, NULL, &state), 0);
	assert_int_equal(sw_jit_libgcc.find(state, JIT + 0x10, &entry), found);
	assert_int_equal(sw_jit_libgcc.recognise(state, &runtime, 1), 1);
	assert_string_equal(runtime.problem,
			    found ? "" : "its tables changed while they were read");
	assert_int_equal(runtime.entries, found);
	if (found)
		assert_true(entry.live);
	sw_jit_libgcc.detach(state);
	fake_snapshot_destroy(snap);
}

TEST(test_torn)
{
	torn_is(false, false, true);
	torn_is(true, false, false);
	torn_is(false, true, false);
}

/* ---- a registry that goes round -------------------------------------------------------------- */

enum {
	TURNS = 2 * SW_JIT_PARTS_MAX,
	CODE_BYTES = 0x80,
	CFA_OFF = 24,
	OTHER_CFA_OFF = 40,
	PER_LEAF = 10,
	PER_NODE = 15,
	LEAVES = (TURNS + PER_LEAF - 1) / PER_LEAF,
	INNER_NODES = (LEAVES + PER_NODE - 1) / PER_NODE,
	NODE_WORDS = 32,
};

/* An object and its table, and what is behind them. */
struct registered {
	uint64_t object[6];
	struct eh_make eh;
	uint8_t gap[1024];
};

/* A registry of our own memory, captured as it is captured in a process. */
struct turning {
	struct capture_case c;
	uint64_t *data; /* where the copy of libgcc has its variables */
	struct registered *tables;
	uint64_t nodes[1 + INNER_NODES + LEAVES][NODE_WORDS]; /* of a tree: from the root down */
	struct sw_jit_roots roots;
	void *known; /* of the hooks */
	void *state;
};

/* The table of the code at JIT + i * CODE_BYTES; another one at the same place each time. */
static void turn(struct turning *t, size_t i, uint8_t cfa_off)
{
	struct registered *r = &t->tables[i];
	memset(&r->eh, 0, sizeof(r->eh));
	r->eh.data_avma = JIT - 0x100;
	size_t cie = eh_make_cie(&r->eh, DATAREL4);
	const uint8_t rows[] = {DW_CFA_nop, DW_CFA_def_cfa_offset, cfa_off};
	(void) eh_make_fde(&r->eh, cie, DATAREL4, JIT + i * CODE_BYTES, CODE_BYTES, rows,
			   sizeof(rows));
	eh_make_end(&r->eh);
	object(r->object, 0, (uintptr_t) r->eh.bytes, 0,
	       i + 1 < TURNS ? (uintptr_t) r[1].object : 0);
	r->object[2] = JIT - 0x100;
}

/* The argument of the hooks of the source. */
static struct sw_jit_capture turning_capture(struct turning *t)
{
	struct sw_snapshot *snap = t->c.snap;
	size_t i = 0;
	assert_int_equal(sw_jit_roots_make(snap, &snap->priv->arena, &t->roots), 0);
	while (sw_jit_hook_table[i] != &sw_jit_libgcc_hooks)
		i++;
	return (struct sw_jit_capture){.capture = &t->c.capture,
				       .roots = t->roots.all + t->roots.first[i],
				       .n_roots = t->roots.count[i],
				       .state = &t->known};
}

static uint64_t *leaf_of(struct turning *t, size_t i)
{
	return t->nodes[1 + INNER_NODES + i / PER_LEAF];
}

/* The tables of the list in a tree: root, INNER_NODES, LEAVES. */
static void tree_make(struct turning *t)
{
	node(t->nodes[0], 0, 4, INNER_NODES, 0);
	for (size_t i = 0; i < INNER_NODES; i++)
		t->nodes[0][2 + 2 * i + 1] = (uintptr_t) t->nodes[1 + i];
	for (size_t i = 0; i < LEAVES; i++) {
		uint64_t *above = t->nodes[1 + i / PER_NODE];
		node(above, 0, 4, (uint32_t) (i % PER_NODE + 1), 0);
		above[2 + 2 * (i % PER_NODE) + 1] = (uintptr_t) t->nodes[1 + INNER_NODES + i];
	}
	for (size_t i = 0; i < TURNS; i++) {
		node(leaf_of(t, i), 0, 4, (uint32_t) (i % PER_LEAF + 1), 1);
		leaf_of(t, i)[2 + 3 * (i % PER_LEAF) + 2] = (uintptr_t) t->tables[i].object;
	}
}

/* The first n are registered; version: of gcc, whose registry is a list (12) or a tree (14). */
static void turning_init(struct turning *t, size_t n, int version)
{
	capture_case_init(&t->c);
	struct sw_snapshot *snap = t->c.snap;
	struct elf_make *elf = libgcc(version, true, true);
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/lib/libgcc_s.so.1", BIAS, BIAS,
				    BIAS + 0x3000, elf->bytes, elf->size);
	free(elf);
	(void) fake_snapshot_map(snap, JIT, JIT + TURNS * CODE_BYTES, "r-xp", "");
	fake_snapshot_finish(snap);
	t->data = mmap((void *) (BIAS + DATA_SVMA), 0x1000, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	t->tables = calloc(TURNS, sizeof(*t->tables));
	assert_true(t->data != MAP_FAILED && t->tables != NULL);
	for (size_t i = 0; i < TURNS; i++)
		turn(t, i, CFA_OFF);
	t->tables[n - 1].object[5] = 0;
	tree_make(t);
	if (version == 12)
		t->data[(UNSEEN - DATA_SVMA) / 8] = (uintptr_t) t->tables[0].object;
	else
		t->data[(FRAMES_TREE - DATA_SVMA) / 8] = (uintptr_t) t->nodes[0];

	struct sw_jit_capture c = turning_capture(t);
	assert_int_equal(sw_jit_libgcc_hooks.prepare(&c), 0);
}

static void turning_stop(struct turning *t)
{
	struct sw_snapshot *snap = t->c.snap;
	capture_case_copy(&t->c);
	struct sw_jit_capture c = turning_capture(t);
	assert_int_equal(sw_jit_libgcc_hooks.capture(&c), 0);
	for (size_t i = 0; i < t->c.space.n_want; i++) {
		const struct sw_capture_part *p = &t->c.space.parts[i];
		snap->ranges[snap->n_ranges++] = (struct sw_range){p->avma, p->bytes, p->to};
	}
}

static void turning_attach(struct turning *t)
{
	struct sw_snapshot *snap = t->c.snap;
	fake_snapshot_finish(snap);
	snap->live = true;
	struct sw_jit_capture c = turning_capture(t);
	assert_int_equal(sw_jit_libgcc.attach(snap, c.roots, c.n_roots, t->known, &t->state), 0);
	assert_non_null(t->state);
}

/* 0: there is no table of that code; else what it says. */
static unsigned cfa_of(struct turning *t, size_t i, bool *ret_live)
{
	struct sw_jit_entry entry;
	struct eh_make same = {.data_avma = JIT - 0x100};
	if (!sw_jit_libgcc.find(t->state, JIT + i * CODE_BYTES + 1, &entry))
		return 0;
	assert_int_equal(entry.start_avma, JIT + i * CODE_BYTES);
	*ret_live = entry.live;
	/* The FDE's rows are the last bytes but for its padding. */
	size_t cie = eh_make_cie(&same, DATAREL4);
	const uint8_t rows[] = {DW_CFA_nop, DW_CFA_def_cfa_offset, CFA_OFF};
	(void) eh_make_fde(&same, cie, DATAREL4, JIT + i * CODE_BYTES, CODE_BYTES, rows,
			   sizeof(rows));
	eh_make_end(&same);
	if (memcmp(entry.cfi.bytes.data, same.bytes, same.size) == 0)
		return CFA_OFF;
	return OTHER_CFA_OFF;
}

static const char *problem(struct turning *t)
{
	static struct sw_runtime runtime;
	assert_int_equal(sw_jit_libgcc.recognise(t->state, &runtime, 1), 1);
	return runtime.problem;
}

static void turning_deinit(struct turning *t)
{
	sw_jit_libgcc.detach(t->state);
	(void) munmap(t->data, 0x1000);
	free(t->tables);
	capture_case_deinit(&t->c);
}

/*
 * Between the last look before the stop and the stop code was made anew, round and round, until the same
 * objects are in the same order again: nothing in the list says so.
 */
TEST(test_turned)
{
	struct turning t = {0};
	bool live;
	turning_init(&t, TURNS, 12);
	turn(&t, 10, OTHER_CFA_OFF);
	turn(&t, 40, OTHER_CFA_OFF);
	turning_stop(&t);
	turn(&t, 10, CFA_OFF);
	turning_attach(&t);
	assert_int_equal(cfa_of(&t, 10, &live), OTHER_CFA_OFF);
	assert_false(live); /* one of the newest */
	assert_int_equal(cfa_of(&t, 50, &live), CFA_OFF);
	assert_true(live);
	assert_string_equal(problem(&t), "");
	assert_int_equal(cfa_of(&t, 40, &live), 0);
	assert_string_equal(problem(&t), "its tables changed while they were read");
	turning_deinit(&t);
}

/* Tables that were registered in the stop are gone after it; those that are there then may be
 * new. */
TEST(test_gone)
{
	struct turning t = {0};
	bool live;
	turning_init(&t, TURNS, 12);
	turning_stop(&t);
	t.tables[39].object[5] = (uintptr_t) t.tables[41].object;
	memset(t.tables[40].object, 0xaa, sizeof(t.tables[40].object));
	turning_attach(&t);
	assert_int_equal(cfa_of(&t, 10, &live), CFA_OFF);
	assert_string_equal(problem(&t), "");
	assert_int_equal(cfa_of(&t, 40, &live), 0);
	assert_string_equal(problem(&t), "a table may be missing: it changed while it was read");
	turning_deinit(&t);

	/* All tables but the last one are registered before the stop, and nothing says that it was in it. */
	t = (struct turning){0};
	turning_init(&t, TURNS - 1, 12);
	turning_stop(&t);
	t.tables[TURNS - 2].object[5] = (uintptr_t) t.tables[TURNS - 1].object;
	turning_attach(&t);
	assert_int_equal(cfa_of(&t, TURNS - 2, &live), CFA_OFF);
	assert_string_equal(problem(&t), "");
	assert_int_equal(cfa_of(&t, TURNS - 1, &live), 0);
	assert_string_equal(problem(&t), "its tables changed while they were read");
	turning_deinit(&t);
}

/*
 * In a tree the leaf's version proves for each table what it had in the stop, however many there are:
 * not as in lists, nothing of it is read after the stop. The version goes on by 4 with each change.
 */
TEST(test_tree_proves)
{
	struct turning t = {0};
	bool live;
	turning_init(&t, TURNS, 14);
	turn(&t, 40, OTHER_CFA_OFF);
	leaf_of(&t, 40)[0] += 4;
	turning_stop(&t);
	for (size_t i = 40; i < 60; i += 10) { /* and again after it */
		turn(&t, i, i == 40 ? CFA_OFF : OTHER_CFA_OFF);
		leaf_of(&t, i)[0] += 4;
	}
	leaf_of(&t, 0)[0] += 1; /* being changed: leads nowhere */
	leaf_of(&t, 0)[4] = 8;
	turning_attach(&t);
	assert_int_equal(cfa_of(&t, 40, &live), OTHER_CFA_OFF);
	assert_false(live); /* copied in the stop */
	assert_int_equal(cfa_of(&t, 41, &live), CFA_OFF);
	assert_false(live);
	assert_int_equal(cfa_of(&t, 50, &live), CFA_OFF);
	assert_false(live); /* as it was before the stop, which the version proves */
	assert_int_equal(cfa_of(&t, TURNS - 1, &live), CFA_OFF);
	assert_false(live);
	assert_string_equal(problem(&t), "");
	turning_deinit(&t);
}
