/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/gdb/source.h"
#include "arch/arch.h"
#include "cleanup.h"
#include "elf_make.h"
#include "jit/common/source.h"
#include "jit_case.h"
#include "jit/gdb/list.h"
#include "walk_case.h"
#include "test.h"

#include <dwarf.h>

enum {
	LIST = 0x5000, /* the descriptor, and nodes behind it */
	NODE = LIST + 0x100,
	PCREL4 = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	EXEC = SHF_ALLOC | SHF_EXECINSTR,
};

struct list {
	uint32_t version, action;
	uint64_t relevant, first;
	uint64_t padding[29];
	uint64_t nodes[8][4]; /* at NODE: next, previous, symfile, size */
};

#define NODE_AVMA(i) (NODE + 32 * (uint64_t) (i))

/* The symfiles' addresses, in words, and how it ended. */
static bool note(void *arg, const struct sw_jit_gdb_node *node)
{
	sw_text_printf(arg, " %lx+%lx", node->symfile_avma, node->symfile_bytes);
	return node->symfile_avma != 0xdead;
}

static void list_is(const struct list *list, enum sw_jit_gdb_end end, const char *wanted)
{
	struct fake_memory fake = FAKE_MEMORY({LIST, list, sizeof(*list)});
	struct sw_text text = {0};
	assert_int_equal(sw_jit_gdb_walk(fake_memory(&fake), LIST, 6, note, &text), end);
	assert_string_equal(text.data != NULL ? text.data : "", wanted);
	sw_text_deinit(&text);
}

TEST(test_list)
{
	struct list l = {.version = 1};
	_Static_assert(offsetof(struct list, nodes) == NODE - LIST, "where NODE says");
	list_is(&l, SW_JIT_GDB_WHOLE, "");
	l.version = 0; /* not made yet */
	list_is(&l, SW_JIT_GDB_WHOLE, "");
	l = (struct list){
		.version = 1,
		.first = NODE_AVMA(2),
		.nodes = {[0] = {0, NODE_AVMA(2), 0x100, 1}, [2] = {NODE_AVMA(0), 0, 0x200, 2}}};
	list_is(&l, SW_JIT_GDB_WHOLE, " 200+2 100+1");
	l.version = 2;
	list_is(&l, SW_JIT_GDB_VERSION, "");
	l.version = 1;
	l.nodes[2][2] = 0xdead;
	list_is(&l, SW_JIT_GDB_STOPPED, " dead+2");
}

TEST(test_bad_lists)
{
	struct list l = {.version = 1, .first = NODE_AVMA(0)};
	l.nodes[0][0] = 0x123456;
	list_is(&l, SW_JIT_GDB_UNREADABLE, " 0+0");
	l.nodes[0][0] = LIST + sizeof(l) - 8; /* a node that is not there in whole */
	list_is(&l, SW_JIT_GDB_UNREADABLE, " 0+0");
	l.nodes[0][0] = UINT64_MAX;
	list_is(&l, SW_JIT_GDB_UNREADABLE, " 0+0");
	l.nodes[0][0] = NODE_AVMA(0);
	list_is(&l, SW_JIT_GDB_CYCLE, " 0+0 0+0");
	l.nodes[0][0] = NODE_AVMA(1);
	l.nodes[1][0] = NODE_AVMA(2);
	l.nodes[2][0] = NODE_AVMA(1);
	list_is(&l, SW_JIT_GDB_CYCLE, " 0+0 0+0 0+0 0+0");
	for (unsigned i = 0; i < 7; i++)
		l.nodes[i][0] = NODE_AVMA(i + 1);
	list_is(&l, SW_JIT_GDB_LIMIT, " 0+0 0+0 0+0 0+0 0+0 0+0");
	l.first = 8;
	list_is(&l, SW_JIT_GDB_UNREADABLE, "");
}

/* ---- whole processes ------------------------------------------------------------------------- */

enum {
	BIAS = 0x550000000000,
	DESCRIPTOR = 0x4000, /* svma */
	ENTRY = 0x1000,      /* svma of code that has nothing before it */
	JIT = 0x660000000000,
	SYMFILES = 0x770000000000,
	SYMFILE_ROOM = 0x2000,
	SP = FAKE_STACK_AVMA + FAKE_STACK_BYTES,
};

/* A symfile for [start, start + 0x40) with a frame of that size. */
static size_t symfile_make(struct elf_make *elf, uint64_t start, uint8_t frame, const char *name)
{
	struct eh_make eh = {.avma = start + 0x1000};
	elf_make_init(elf);
	size_t cie = eh_make_cie(&eh, PCREL4);
	(void) eh_make_fde(&eh, cie, PCREL4, start, 0x40, EH_ROWS(0x0e, frame));
	eh_make_end(&eh);
	uint32_t text = elf_make_section(elf, ".text", SHT_NOBITS, EXEC, start, NULL, 0x40);
	elf_make_section(elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh.avma, eh.bytes, eh.size);
	elf_make_symbol(elf, name, STB_GLOBAL, STT_FUNC, (uint16_t) text, start, 0x40);
	elf_make_symtab(elf, SHT_SYMTAB);
	elf_make_finish(elf);
	assert_true(elf->size <= SYMFILE_ROOM);
	return elf->size;
}

/* A program with a descriptor in .dynsym or .symtab, and the beginning of a thread, ENTRY. */
static struct sw_snapshot *program(uint32_t symbols, uint64_t descriptor_bytes)
{
	struct sw_snapshot *snap = fake_snapshot_create();
	struct elf_make *elf = malloc(sizeof(*elf));
	assert_non_null(elf);
	struct eh_make eh = {.avma = 0x3000};
	elf_make_init(elf);
	size_t cie = eh_make_cie(&eh, PCREL4);
	(void) eh_make_fde(&eh, cie, PCREL4, ENTRY, 0x40, EH_ROWS(DW_CFA_undefined, 16));
	eh_make_end(&eh);
	elf_make_section(elf, ".text", SHT_PROGBITS, EXEC, ENTRY, NULL, 0x100);
	elf_make_section(elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh.avma, eh.bytes, eh.size);
	uint16_t data = (uint16_t) elf_make_section(elf, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE,
						    DESCRIPTOR, NULL, 0x100);
	elf_make_symbol(elf, "other", STB_GLOBAL, STT_OBJECT, data, DESCRIPTOR + 0x80, 8);
	elf_make_symbol(elf, "__jit_debug_descriptor", STB_LOCAL, STT_OBJECT, data, DESCRIPTOR,
			descriptor_bytes);
	elf_make_symtab(elf, symbols);
	elf_make_finish(elf);
	(void) fake_snapshot_module(snap, SW_MODULE_ELF, "/bin/jit", BIAS, BIAS, BIAS + 0x3000,
				    elf->bytes, elf->size);
	free(elf);
	(void) fake_snapshot_map(snap, JIT, JIT + 0x1000, "r-xp", "");
	return snap;
}

static void publish(struct sw_snapshot *snap, struct list *list, const struct elf_make *files,
		    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t avma = SYMFILES + i * SYMFILE_ROOM;
		uint64_t next = list->first;
		list->nodes[i][0] = next == 0 ? 0 : next - LIST + BIAS + DESCRIPTOR;
		list->nodes[i][2] = avma;
		list->nodes[i][3] = files[i].size;
		list->first = NODE_AVMA(i);
		fake_snapshot_range(snap, avma, files[i].bytes, files[i].size);
	}
	list->version = 1;
	if (list->first != 0)
		list->first += BIAS + DESCRIPTOR - LIST;
	fake_snapshot_range(snap, BIAS + DESCRIPTOR, list, sizeof(*list));
}

static const uint64_t stack[] = {0, 0x66, JIT + 0x90, 7, 8, 9, BIAS + ENTRY + 0x10, 0};

/* By the descriptor wherever it is; 64 bytes as the BEAM's. */
static void walked(uint32_t symbols, uint64_t descriptor_bytes, bool found)
{
	struct sw_snapshot *snap = program(symbols, descriptor_bytes);
	struct elf_make *files = calloc(2, sizeof(*files));
	struct list list = {0};
	assert_non_null(files);
	(void) symfile_make(&files[0], JIT, 24, "inner");
	(void) symfile_make(&files[1], JIT + 0x80, 32, "outer");
	publish(snap, &list, files, 2);
	(void) fake_snapshot_stack(snap, 1, JIT + 0x10, stack, SW_ARRAY_SIZE(stack));
	if (found)
		walk_is(snap, NULL,
			FRAMES({JIT + 0x10, SP, "context", "context", SW_FRAME_EXACT_PC},
			       {JIT + 0x90, SP + 24, "jit-gdb", "jit", 0},
			       {BIAS + ENTRY + 0x10, SP + 56, "jit-gdb", "jit", 0}),
			SW_END_COMPLETE, NULL);
	else
		walk_is(snap, &(struct sw_walk_options){.mode = SW_WALK_TABLES},
			FRAMES({JIT + 0x10, SP, "context", "context", SW_FRAME_EXACT_PC}),
			SW_END_NO_UNWIND_INFO, "code that belongs to no module");
	free(files);
}

TEST(test_walked)
{
	walked(SHT_DYNSYM, 24, true);
	walked(SHT_SYMTAB, 24, true);
	walked(SHT_DYNSYM, 64, true);
	walked(SHT_DYNSYM, 23, false);
	walked(SHT_DYNSYM, 257, false);
}

/* Names, kinds, registries of the same. */
TEST(test_described)
{
	struct sw_snapshot *snap = program(SHT_DYNSYM, 24);
	struct elf_make *files = calloc(4, sizeof(*files));
	struct list list = {0};
	struct sw_walks *walks;
	struct sw_description d;
	assert_non_null(files);
	/* A file that is no ELF file, and one without code: neither is a problem. */
	memcpy(files[0].bytes, "BEAM", 4);
	files[0].size = 100;
	(void) symfile_make(&files[1], JIT, 24, "inner");
	(void) symfile_make(&files[2], JIT + 0x80, 32, "outer");
	elf_make_init(&files[3]);
	elf_make_finish(&files[3]);
	publish(snap, &list, files, 4);
	(void) fake_snapshot_stack(snap, 1, JIT + 0x10, stack, SW_ARRAY_SIZE(stack));
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	const struct sw_frame *f = walks->walks[0].frames;
	assert_string_equal(f[0].kind, "jit");
	assert_string_equal(f[1].kind, "jit");
	assert_string_equal(f[2].kind, "native");
	assert_int_equal(sw_walk_describe(walks, &f[0], &d), 1);
	assert_string_equal(d.function, "inner");
	assert_int_equal(d.start_avma, JIT);
	assert_int_equal(sw_walk_describe(walks, &f[1], &d), 1);
	assert_string_equal(d.function, "outer");
	assert_int_equal(walks->n_runtimes, 1);
	assert_string_equal(walks->runtimes[0].name, "gdb-jit");
	assert_string_equal(walks->runtimes[0].where, "/bin/jit");
	assert_int_equal(walks->runtimes[0].entries, 4);
	assert_string_equal(walks->runtimes[0].problem, "");
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
	free(files);
}

/* The same code twice: what came last is right, the other one was not taken out. */
TEST(test_stale)
{
	struct sw_snapshot *snap = program(SHT_DYNSYM, 24);
	struct elf_make *files = calloc(3, sizeof(*files));
	struct list list = {0};
	assert_non_null(files);
	(void) symfile_make(&files[0], JIT - 0x20, 40, "old");
	(void) symfile_make(&files[1], JIT, 48, "older");
	(void) symfile_make(&files[2], JIT, 56, "new");
	publish(snap, &list, files, 3);
	(void) fake_snapshot_stack(snap, 1, JIT + 0x10, stack, SW_ARRAY_SIZE(stack));
	walk_is(snap, NULL,
		FRAMES({JIT + 0x10, SP, "context", "context", SW_FRAME_EXACT_PC},
		       {BIAS + ENTRY + 0x10, SP + 56, "jit-gdb", "jit", 0}),
		SW_END_COMPLETE, NULL);
	free(files);
}

/* Damaged entries are told, and whole ones are used. */
TEST(test_damaged)
{
	struct sw_snapshot *snap = program(SHT_DYNSYM, 24);
	struct elf_make *files = calloc(2, sizeof(*files));
	struct list list = {0};
	struct sw_walks *walks;
	assert_non_null(files);
	(void) symfile_make(&files[0], JIT + 0x80, 32, "outer");
	(void) symfile_make(&files[1], JIT, 24, "inner");
	list.nodes[0][0] = 0; /* set by publish() */
	publish(snap, &list, files, 2);
	snap->priv->mem_fd = -1;
	struct sw_range *range = &snap->ranges[snap->n_ranges - 1];
	struct list *copy = (struct list *) (uintptr_t) range->data;
	copy->nodes[0][0] = 0x1234;              /* behind the last one */
	copy->nodes[0][3] = UINT64_C(1) << 50;   /* and its size lies */
	copy->nodes[0][2] = SYMFILES + 0x100000; /* as its address does */
	(void) fake_snapshot_stack(snap, 1, JIT + 0x10, stack, SW_ARRAY_SIZE(stack));
	fake_snapshot_finish(snap);
	assert_int_equal(sw_walk_all(snap, NULL, &walks, NULL), 0);
	const struct sw_frame *f = walks->walks[0].frames;
	assert_int_equal(f[1].pc_avma, JIT + 0x90);
	assert_string_equal(f[1].by, "jit-gdb");
	assert_int_equal(walks->n_runtimes, 1);
	assert_string_equal(walks->runtimes[0].problem,
			    "its list leads to memory that cannot be read");
	assert_int_equal(walks->runtimes[0].entries, 2);
	sw_walks_destroy(walks);
	fake_snapshot_destroy(snap);
	free(files);
}

/*
 * Read after the stop, in the midst of being overwritten: what was read first and what is there now
 * are not one symfile. Here the registry is our own memory.
 */
TEST(test_torn)
{
	struct sw_snapshot *snap = program(SHT_DYNSYM, 24);
	struct elf_make *files = calloc(2, sizeof(*files));
	struct list list = {.version = 1, .first = (uintptr_t) list.nodes[0]};
	struct sw_jit_root root = {.avma = (uintptr_t) &list};
	struct sw_jit_entry entry;
	struct sw_runtime runtime;
	void *gdb;
	assert_non_null(files);
	(void) symfile_make(&files[0], JIT, 24, "inner");
	(void) symfile_make(&files[1], JIT + 0x80, 32, "outer");
	for (size_t i = 0; i < 2; i++) {
		list.nodes[i][0] = i == 0 ? (uintptr_t) list.nodes[1] : 0;
		list.nodes[i][2] = (uintptr_t) files[i].bytes;
		list.nodes[i][3] = files[i].size;
	}
	fake_snapshot_finish(snap);
	snap->live = true;
	snap->priv->mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(snap->priv->mem_fd >= 0);
	root.place = &snap->places[0];
	assert_int_equal(sw_jit_gdb.attach(snap, &root, 1, NULL, &gdb), 0);
	assert_true(sw_jit_gdb.find(gdb, JIT + 0x10, &entry));
	assert_true(entry.live);
	assert_int_equal(sw_jit_gdb.recognise(gdb, &runtime, 1), 1);
	assert_string_equal(runtime.problem, "");
	files[1].bytes[files[1].size - 1] ^= 1;
	assert_false(sw_jit_gdb.find(gdb, JIT + 0x90, &entry));
	assert_int_equal(sw_jit_gdb.recognise(gdb, &runtime, 1), 1);
	assert_string_equal(runtime.problem, "its symfiles changed while they were read");
	sw_jit_gdb.detach(gdb);

	/* The same bytes, but published no longer. */
	files[1].bytes[files[1].size - 1] ^= 1;
	assert_int_equal(sw_jit_gdb.attach(snap, &root, 1, NULL, &gdb), 0);
	assert_true(sw_jit_gdb.find(gdb, JIT + 0x10, &entry));
	list.nodes[1][2] = 0xaaaa;
	assert_false(sw_jit_gdb.find(gdb, JIT + 0x90, &entry));
	sw_jit_gdb.detach(gdb);
	fake_snapshot_destroy(snap);
	free(files);
}
