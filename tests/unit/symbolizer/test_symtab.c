/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_make.h"
#include "symtab.h"
#include "test.h"

enum { TEXT = 0x1000, TEXT_BYTES = 0x1000, DATA = 0x3000 };

static struct elf_make made;
static uint32_t text, data;
static bool has_index; /* there are functions, for which an index is made */

static int setup(void **state)
{
	has_index = true;
	elf_make_init(&made);
	text = elf_make_section(&made, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT, NULL,
				TEXT_BYTES);
	data = elf_make_section(&made, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, DATA, NULL,
				64);
	return 0;
}

static void function(const char *name, int bind, int type, uint64_t svma, uint64_t size)
{
	elf_make_symbol(&made, name, bind, type, (uint16_t) text, svma, size);
}

static void expect_same(const struct sw_want *a, const struct sw_want *b)
{
	assert_ptr_equal(a->name, b->name);
	assert_int_equal(a->name_bytes, b->name_bytes);
	assert_int_equal(a->start_svma, b->start_svma);
	assert_int_equal(a->size_bytes, b->size_bytes);
	assert_int_equal(a->rank, b->rank);
	assert_int_equal(a->source, b->source);
	assert_int_equal(a->label.seen, b->label.seen);
	assert_int_equal(a->label.start_svma, b->label.start_svma);
	assert_int_equal(a->label.end_svma, b->label.end_svma);
	assert_ptr_equal(a->label.name, b->label.name);
}

/* Looks the addresses up so often that there is an index, and expects what the scan has found. */
static void expect_by_index(const struct sw_symtab *table, const struct sw_want *scanned, size_t n)
{
	enum { TIMES = 20 };
	struct sw_symtab_index index = {0};
	struct sw_table_memory memory = {0};
	const struct sw_request request = {.tables = &memory};
	struct sw_want *wants = calloc(n, sizeof(*wants));
	assert_non_null(wants);
	for (int time = 0; time < TIMES; time++) {
		for (size_t i = 0; i < n; i++)
			wants[i] = (struct sw_want){.svma = scanned[i].svma};
		assert_true(sw_symtab_look_up(table, &index, wants, n, &request));
		for (size_t i = 0; i < n; i++)
			expect_same(&wants[i], &scanned[i]);
	}
	assert_true(index.tried);
	assert_int_equal(index.starts != NULL, has_index);
	sw_symtab_index_deinit(&index);
	free(wants);
}

/* Scans the file that was made for the addresses, which must be sorted. */
static void scan(struct sw_want *wants, size_t n)
{
	struct sw_elf elf;
	struct sw_symtab table;
	elf_make_symtab(&made, SHT_SYMTAB);
	elf_make_finish(&made);
	assert_true(sw_elf_init(&elf, (struct sw_bytes){made.bytes, made.size}));
	assert_true(sw_symtab_find(&elf, SHT_SYMTAB, SW_SOURCE_SYMTAB, &table));
	assert_true(sw_symtab_scan(&table, wants, n, 0));
	expect_by_index(&table, wants, n);
}

static void expect(const struct sw_want *want, const char *name, uint64_t start)
{
	assert_non_null(want->name);
	assert_int_equal(want->name_bytes, strlen(name));
	assert_memory_equal(want->name, name, strlen(name));
	assert_int_equal(want->start_svma, start);
}

TEST_WITH(test_bounds, setup, NULL)
{
	function("f", STB_GLOBAL, STT_FUNC, TEXT + 0x10, 0x20);
	function("g", STB_GLOBAL, STT_FUNC, TEXT + 0x40, 0x10);
	struct sw_want wants[] = {{.svma = TEXT + 0xf},  {.svma = TEXT + 0x10},
				  {.svma = TEXT + 0x2f}, {.svma = TEXT + 0x30},
				  {.svma = TEXT + 0x40}, {.svma = TEXT + 0x4f},
				  {.svma = TEXT + 0x50}};
	scan(wants, 7);
	assert_null(wants[0].name);
	expect(&wants[1], "f", TEXT + 0x10);
	expect(&wants[2], "f", TEXT + 0x10);
	assert_null(wants[3].name); /* between two functions: neither */
	assert_null(wants[3].label.name);
	expect(&wants[4], "g", TEXT + 0x40);
	expect(&wants[5], "g", TEXT + 0x40);
	assert_null(wants[6].name);
	assert_int_equal(wants[1].source, SW_SOURCE_SYMTAB);
	assert_int_equal(wants[1].size_bytes, 0x20);
}

TEST_WITH(test_innermost_of_nested, setup, NULL)
{
	function("inner", STB_LOCAL, STT_FUNC, TEXT + 0x20, 0x10);
	function("outer", STB_GLOBAL, STT_FUNC, TEXT, 0x100);
	struct sw_want wants[] = {{.svma = TEXT + 0x1f},
				  {.svma = TEXT + 0x20},
				  {.svma = TEXT + 0x30}};
	scan(wants, 3);
	expect(&wants[0], "outer", TEXT);
	expect(&wants[1], "inner", TEXT + 0x20);
	expect(&wants[2], "outer", TEXT);
}

/* The same names in any order of the table. */
TEST_WITH(test_aliases, setup, NULL)
{
	struct alias {
		const char *name;
		int bind, type;
		uint64_t size;
	};
	static const struct alias aliases[] = {
		{"__GI_poll", STB_LOCAL, STT_FUNC, 16},   {"poll", STB_WEAK, STT_FUNC, 16},
		{"___poll", STB_GLOBAL, STT_FUNC, 16},    {"__poll", STB_GLOBAL, STT_FUNC, 16},
		{"__pol2", STB_GLOBAL, STT_FUNC, 16},     {"a", STB_GLOBAL, STT_NOTYPE, 16},
		{"poll_large", STB_GLOBAL, STT_FUNC, 32},
	};
	enum { N = sizeof(aliases) / sizeof(aliases[0]) };
	for (size_t first = 0; first < N; first++) {
		(void) setup(NULL);
		for (size_t i = 0; i < N; i++) {
			const struct alias *a = &aliases[(first + i) % N];
			function(a->name, a->bind, a->type, TEXT, a->size);
		}
		struct sw_want want = {.svma = TEXT + 3};
		scan(&want, 1);
		expect(&want, "__pol2", TEXT); /* global, typed, smallest, then by name */
	}
}

TEST_WITH(test_version_is_cut, setup, NULL)
{
	function("memcpy@@GLIBC_2.14", STB_GLOBAL, STT_FUNC, TEXT, 16);
	function("old@GLIBC_2.2.5", STB_GLOBAL, STT_GNU_IFUNC, TEXT + 16, 16);
	/* Crystal's: no version. */
	function("*Shop(Int32)@Shop(T)#nap<Int32>:Int32", STB_GLOBAL, STT_FUNC, TEXT + 32, 16);
	function("~procProc(Nil)@c.cr:15", STB_GLOBAL, STT_FUNC, TEXT + 48, 16);
	struct sw_want wants[] = {{.svma = TEXT},
				  {.svma = TEXT + 16},
				  {.svma = TEXT + 32},
				  {.svma = TEXT + 48}};
	scan(wants, 4);
	expect(&wants[0], "memcpy", TEXT);
	expect(&wants[1], "old", TEXT + 16);
	expect(&wants[2], "*Shop(Int32)@Shop(T)#nap<Int32>:Int32", TEXT + 32);
	expect(&wants[3], "~procProc(Nil)@c.cr:15", TEXT + 48);
}

TEST_WITH(test_labels, setup, NULL)
{
	function("sized", STB_GLOBAL, STT_FUNC, TEXT + 0x100, 0x10);
	function("asm_loop", STB_LOCAL, STT_NOTYPE, TEXT + 0x40, 0);
	function("asm_entry", STB_GLOBAL, STT_FUNC, TEXT + 0x40, 0);
	struct sw_want wants[] = {{.svma = TEXT + 0x3f},  {.svma = TEXT + 0x40},
				  {.svma = TEXT + 0x80},  {.svma = TEXT + 0x90},
				  {.svma = TEXT + 0x100}, {.svma = TEXT + 0x110}};
	scan(wants, 6);
	assert_null(wants[0].label.name);
	for (int i = 1; i <= 3; i++) {
		assert_null(wants[i].name);
		assert_int_equal(wants[i].label.name_bytes, 9);
		assert_memory_equal(wants[i].label.name, "asm_entry", 9);
		assert_int_equal(wants[i].label.start_svma, TEXT + 0x40);
		assert_int_equal(wants[i].label.end_svma, TEXT + TEXT_BYTES);
	}
	expect(&wants[4], "sized", TEXT + 0x100);
	/* A function starts between the label and this address. */
	assert_null(wants[5].label.name);
	assert_true(wants[5].label.seen);
}

/* Addresses behind an exported label of a stripped file have no name. */
TEST_WITH(test_exported_labels, setup, NULL)
{
	struct sw_elf elf;
	struct sw_symtab table;
	function("memset", STB_GLOBAL, STT_FUNC, TEXT + 0x40, 0);
	elf_make_symtab(&made, SHT_DYNSYM);
	elf_make_finish(&made);
	assert_true(sw_elf_init(&elf, (struct sw_bytes){made.bytes, made.size}));
	assert_true(sw_symtab_find(&elf, SHT_DYNSYM, SW_SOURCE_DYNSYM, &table));
	struct sw_want want = {.svma = TEXT + 0x80};
	assert_true(sw_symtab_scan(&table, &want, 1, 0));
	assert_int_equal(want.label.start_svma, TEXT + 0x40);
	assert_int_equal(want.label.end_svma, TEXT + 0x140);
}

TEST_WITH(test_not_functions, setup, NULL)
{
	function("object", STB_GLOBAL, STT_OBJECT, TEXT, 0x1000);
	function("file.c", STB_LOCAL, STT_FILE, TEXT, 0x1000);
	elf_make_symbol(&made, "undefined", STB_GLOBAL, STT_FUNC, SHN_UNDEF, TEXT, 0x1000);
	elf_make_symbol(&made, "data_label", STB_GLOBAL, STT_NOTYPE, (uint16_t) data, TEXT, 0);
	elf_make_symbol(&made, "absolute", STB_GLOBAL, STT_NOTYPE, SHN_ABS, TEXT, 0x1000);
	function("", STB_GLOBAL, STT_FUNC, TEXT, 0x1000);
	struct sw_want want = {.svma = TEXT + 8};
	scan(&want, 1);
	assert_null(want.name);
	assert_null(want.label.name);
}

/* A size that reaches past the end of the address space. */
TEST_WITH(test_size_overflow, setup, NULL)
{
	function("wide", STB_GLOBAL, STT_FUNC, TEXT, UINT64_MAX);
	struct sw_want wants[] = {{.svma = TEXT - 1}, {.svma = TEXT}, {.svma = UINT64_MAX}};
	scan(wants, 3);
	assert_null(wants[0].name);
	expect(&wants[1], "wide", TEXT);
	expect(&wants[2], "wide", TEXT);
}

TEST_WITH(test_bad_names, setup, NULL)
{
	function("good", STB_WEAK, STT_FUNC, TEXT, 16);
	function("bad", STB_GLOBAL, STT_FUNC, TEXT, 16);
	made.symbols[made.n_symbols - 1].st_name = 0xffffff; /* outside the strings */
	struct sw_want want = {.svma = TEXT};
	scan(&want, 1);
	expect(&want, "good", TEXT);
}

TEST_WITH(test_string_without_end, setup, NULL)
{
	function("cut", STB_GLOBAL, STT_FUNC, TEXT, 16);
	made.strings_bytes--; /* the table ends before the NUL */
	struct sw_want want = {.svma = TEXT};
	scan(&want, 1);
	assert_null(want.name);
}

TEST_WITH(test_two_tables, setup, NULL)
{
	struct sw_elf elf;
	struct sw_symtab table;
	function("dynamic", STB_GLOBAL, STT_FUNC, TEXT, 0x20);
	elf_make_symtab(&made, SHT_DYNSYM);
	function("hidden", STB_LOCAL, STT_FUNC, TEXT + 0x20, 0x20);
	elf_make_symtab(&made, SHT_SYMTAB);
	elf_make_finish(&made);
	assert_true(sw_elf_init(&elf, (struct sw_bytes){made.bytes, made.size}));
	struct sw_want wants[] = {{.svma = TEXT + 1}, {.svma = TEXT + 0x21}};
	assert_true(sw_symtab_find(&elf, SHT_DYNSYM, SW_SOURCE_DYNSYM, &table));
	assert_true(sw_symtab_scan(&table, wants, 2, 0));
	assert_false(sw_wants_settled(wants, 2));
	assert_true(sw_symtab_find(&elf, SHT_SYMTAB, SW_SOURCE_MINIDEBUG, &table));
	assert_true(sw_symtab_scan(&table, wants, 2, 0));
	assert_true(sw_wants_settled(wants, 2));
	assert_int_equal(wants[0].source, SW_SOURCE_DYNSYM);
	assert_int_equal(wants[1].source, SW_SOURCE_MINIDEBUG);
	expect(&wants[1], "hidden", TEXT + 0x20);
}

/* Functions of all kinds that overlap, start together, and have no size, in no order. */
TEST_WITH(test_index, setup, NULL)
{
	enum { SYMBOLS = 200, BYTES = 0x400, WANTS = BYTES + 0x20 };
	static const int binds[] = {STB_GLOBAL, STB_WEAK, STB_LOCAL};
	static const int types[] = {STT_FUNC, STT_FUNC, STT_NOTYPE};
	static const uint64_t sizes[] = {0, 0, 1, 0x10, 0x10, 0x40, 0x300};
	struct sw_want wants[WANTS] = {0};
	uint64_t seed = 32;
	for (size_t i = 0; i < SYMBOLS; i++) {
		char name[16];
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t r = seed >> 33;
		(void) snprintf(name, sizeof(name), "%sf%zu", r % 5 == 0 ? "_" : "", i); /* fits */
		function(name, binds[r % 3], types[r / 3 % 3], TEXT + (r / 9 % BYTES & ~7UL),
			 sizes[r / 9000 % 7]);
	}
	for (size_t i = 0; i < WANTS; i++)
		wants[i].svma = TEXT - 0x10 + i;
	scan(wants, WANTS);
}

/* A table without functions has no index, and is scanned each time. */
TEST_WITH(test_index_of_none, setup, NULL)
{
	elf_make_symbol(&made, "object", STB_GLOBAL, STT_OBJECT, (uint16_t) data, DATA, 8);
	struct sw_want want = {.svma = DATA};
	has_index = false;
	scan(&want, 1);
	assert_null(want.name);
}

TEST(test_deadline)
{
	/* A table long enough that the clock is looked at: all of it one symbol, repeated. */
	enum { N = 1 << 17 };
	Elf64_Sym *symbols = calloc(N, sizeof(*symbols));
	assert_non_null(symbols);
	struct sw_symtab table = {
		.table.symbols = {(const uint8_t *) symbols, N * sizeof(*symbols)},
		.table.strings = {(const uint8_t *) "", 1},
	};
	struct sw_want want = {.svma = TEXT};
	assert_true(sw_symtab_scan(&table, &want, 1, 0));
	assert_false(sw_symtab_scan(&table, &want, 1, 1)); /* the first ns after boot is over */
	free(symbols);
}

/* Symbols that all hold the address, and have the same long name. Its last byte ends the search for a version. */
struct long_names {
	Elf64_Sym *symbols;
	char *strings;
	struct sw_symtab table;
};

static void long_names_make(struct long_names *l, size_t n, size_t bytes)
{
	l->symbols = calloc(n, sizeof(*l->symbols));
	l->strings = calloc(bytes + 2, 1);
	assert_non_null(l->symbols);
	assert_non_null(l->strings);
	memset(l->strings + 1, 'a', bytes - 1);
	l->strings[bytes] = '!';
	for (size_t i = 0; i < n; i++)
		l->symbols[i] = (Elf64_Sym){.st_name = 1,
					    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					    .st_shndx = 1,
					    .st_value = TEXT,
					    .st_size = TEXT_BYTES};
	l->table = (struct sw_symtab){
		.table.symbols = {(const uint8_t *) l->symbols, n * sizeof(*l->symbols)},
		.table.strings = {(const uint8_t *) l->strings, bytes + 2},
	};
}

static void long_names_free(struct long_names *l)
{
	free(l->symbols);
	free(l->strings);
}

/* Few symbols may be much work: the deadline is asked by what the names cost, with the index and without it. */
TEST(test_deadline_of_long_names)
{
	enum { N = 500, BYTES = 10000, SCANS = 17 };
	struct long_names l;
	struct sw_symtab_index index = {0};
	struct sw_table_memory memory = {0};
	struct sw_request request = {.tables = &memory};
	long_names_make(&l, N, BYTES);
	struct sw_want want = {.svma = TEXT + 1};
	assert_false(sw_symtab_scan(&l.table, &want, 1, 1));
	for (int i = 0; i < SCANS; i++) {
		want = (struct sw_want){.svma = TEXT + 1};
		assert_true(sw_symtab_look_up(&l.table, &index, &want, 1, &request));
		assert_int_equal(want.name_bytes, BYTES);
	}
	assert_non_null(index.starts);
	want = (struct sw_want){.svma = TEXT + 1};
	request.deadline_ns = 1;
	assert_false(sw_symtab_look_up(&l.table, &index, &want, 1, &request));
	sw_symtab_index_deinit(&index);
	long_names_free(&l);
}

/* Without a deadline the work has a limit, too. */
TEST(test_limit_of_long_names)
{
	enum { N = 1200, BYTES = 1000000 };
	struct long_names l;
	long_names_make(&l, N, BYTES);
	struct sw_want want = {.svma = TEXT + 1};
	assert_false(sw_symtab_scan(&l.table, &want, 1, 0));
	assert_int_equal(want.name_bytes, BYTES);
	long_names_free(&l);
}

/* The index has its share of the memory of all tables; without it the table is scanned, with the same answer. */
TEST(test_memory_of_index)
{
	enum { N = 500, BYTES = 10, SCANS = 17 };
	const size_t wanted = N - 1; /* the first symbol is none */
	struct long_names l;
	long_names_make(&l, N, BYTES);
	for (int lacks = 0; lacks <= 1; lacks++) {
		struct sw_symtab_index index = {0};
		struct sw_table_memory memory = {SW_TABLE_MEMORY_MAX -
						 wanted * sizeof(struct sw_symtab_start) + lacks};
		const struct sw_request request = {.tables = &memory};
		const size_t before = memory.used_bytes;
		for (int i = 0; i < SCANS; i++) {
			struct sw_want want = {.svma = TEXT + 1};
			assert_true(sw_symtab_look_up(&l.table, &index, &want, 1, &request));
			assert_int_equal(want.name_bytes, BYTES);
		}
		assert_true(index.tried);
		assert_true((index.starts == NULL) == lacks);
		assert_int_equal(memory.used_bytes, lacks ? before : SW_TABLE_MEMORY_MAX);
		sw_symtab_index_deinit(&index);
		assert_int_equal(memory.used_bytes, before);
	}
	long_names_free(&l);
}
