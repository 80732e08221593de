/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_make.h"
#include "cleanup.h"
#include "dwarf/deadline.h"
#include "entries.h"
#include "providers.h"
#include "test.h"

/* COFF symbols' types and classes. */
enum { FUNCTION = 0x20, EXTERNAL = 2, STATIC = 3, LABEL = 6, FILE_NAME = 103, WEAK = 105 };
enum { TEXT = 0x1000, RDATA = 0x8000, XDATA = 0x9000, LEAVES = 0x3000 };

static struct pe_make pe;
static struct sw_arena arena;

/* Section 1 is code, 2 is data. Functions at 0x1000, 0x1100, 0x1200; the last one's second part is
 * at 0x2000, that of 0x1100 before it all at 0xf00 in a section of its own. Leaves from 0x3000. */
static int setup(void **state)
{
	static const uint8_t xdata[] = {
		0x01, 0, 0, 0, /* plain */
		0x21, 0, 0, 0, 0x00, 0x12, 0, 0, 0x80, 0x12, 0, 0, 0x00, 0x90, 0, 0,
		0x21, 0, 0, 0, 0x00, 0x11, 0, 0, 0x40, 0x11, 0, 0, 0x00, 0x90, 0, 0,
	};
	pe_make_init(&pe);
	pe_make_section(&pe, ".text", TEXT, PE_MAKE_CODE, NULL, 0x3000);
	pe_make_section(&pe, ".rdata", RDATA, PE_MAKE_DATA, NULL, 0x400);
	pe_make_section(&pe, ".xdata", XDATA, PE_MAKE_DATA, xdata, sizeof(xdata));
	pe_make_section(&pe, ".cold", 0xf00, PE_MAKE_CODE, NULL, 0x20);
	pe_make_function(&pe, 0xf00, 0xf20, XDATA + 20);
	pe_make_function(&pe, 0x1000, 0x1040, XDATA);
	pe_make_function(&pe, 0x1100, 0x1140, XDATA);
	pe_make_function(&pe, 0x1200, 0x1280, XDATA);
	pe_make_function(&pe, 0x2000, 0x2020, XDATA + 4);
	pe_make_function(&pe, 0x3100, 0x3110, XDATA);
	return 0;
}

static int teardown(void **state)
{
	sw_arena_deinit(&arena);
	return 0;
}

static void symbol(const char *name, uint32_t rva, uint16_t type, uint8_t class)
{
	pe_make_symbol(&pe, name, 1, rva - TEXT, type, class, 0);
}

static void look_up(struct sw_want *wants, size_t n)
{
	struct sw_unit unit = {.kind = 1 << SW_MODULE_PE, .pe_tried = true};
	struct sw_request request = {.arena = &arena};
	pe_make_finish(&pe);
	unit.is_pe = sw_pe_file_init(&unit.pe, (struct sw_bytes){pe.bytes, pe.size});
	assert_true(unit.is_pe);
	assert_int_equal(sw_prov_pe.names(&unit, NULL, wants, n, &request), 0);
}

static void expect(const struct sw_want *want, const char *name, uint64_t start)
{
	if (name == NULL) {
		assert_null(want->name);
		return;
	}
	assert_non_null(want->name);
	assert_int_equal(want->name_bytes, strlen(name));
	assert_memory_equal(want->name, name, strlen(name));
	assert_int_equal(want->start_svma, start);
}

static void expect_one(uint64_t rva, const char *name, uint64_t start)
{
	struct sw_want want = {.svma = rva};
	look_up(&want, 1);
	expect(&want, name, start);
}

TEST_WITH(test_functions, setup, NULL)
{
	symbol("first", 0x1000, FUNCTION, EXTERNAL);
	symbol("the_second_function", 0x1100, FUNCTION, STATIC);
	struct sw_want wants[] = {{.svma = 0xfff},  {.svma = 0x1000}, {.svma = 0x103f},
				  {.svma = 0x1040}, {.svma = 0x1100}, {.svma = 0x1123},
				  {.svma = 0x1140}, {.svma = 0x1200}, {.svma = UINT64_MAX}};
	look_up(wants, SW_ARRAY_SIZE(wants));
	expect(&wants[0], NULL, 0);
	expect(&wants[1], "first", 0x1000);
	expect(&wants[2], "first", 0x1000);
	expect(&wants[3], NULL, 0); /* behind its end: nobody's */
	expect(&wants[4], "the_second_function", 0x1100);
	expect(&wants[5], "the_second_function", 0x1100);
	expect(&wants[6], NULL, 0);
	expect(&wants[7], NULL, 0); /* a function that has no symbol is not the one before it */
	expect(&wants[8], NULL, 0);
	assert_int_equal(wants[1].source, SW_SOURCE_SYMTAB);
}

/* Symbols of i386 without what tells of the calling convention; those of other machines are as they are. */
TEST(test_decorated)
{
	static const struct {
		const char *symbol, *of_i386;
	} names[] = {
		{"_plain", "plain"}, {"_stdcall@12", "stdcall"},
		{"@fast@8", "fast"}, {"__ZN1a1bEv", "_ZN1a1bEv"},
		{"_x@y", "x@y"},     {"_@4", "@4"},
		{"none", "none"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(names); i++) {
		pe_make_init_32(&pe);
		pe_make_section(&pe, ".text", TEXT, PE_MAKE_CODE, NULL, 0x3000);
		symbol(names[i].symbol, 0x1000, FUNCTION, EXTERNAL);
		expect_one(0x1010, names[i].of_i386, 0x1000);
		pe_make_init(&pe);
		pe_make_section(&pe, ".text", TEXT, PE_MAKE_CODE, NULL, 0x3000);
		symbol(names[i].symbol, 0x1000, FUNCTION, EXTERNAL);
		expect_one(0x1010, names[i].symbol, 0x1000);
	}
}

/* Parts of a function far away are that function's. */
TEST_WITH(test_parts, setup, NULL)
{
	symbol("second", 0x1100, FUNCTION, EXTERNAL);
	symbol("third", 0x1200, FUNCTION, EXTERNAL);
	struct sw_want wants[] = {{.svma = 0xf08}, {.svma = 0x1210}, {.svma = 0x2010}};
	look_up(wants, SW_ARRAY_SIZE(wants));
	/* before the function's start: counted from the part's */
	expect(&wants[0], "second", 0xf00);
	expect(&wants[1], "third", 0x1200);
	expect(&wants[2], "third", 0x1200);
}

/* A part with a symbol of its own has that name, unless it is only a label. */
TEST_WITH(test_named_parts, setup, NULL)
{
	symbol("third", 0x1200, FUNCTION, EXTERNAL);
	symbol("third.cold", 0x2000, FUNCTION, STATIC);
	expect_one(0x2010, "third.cold", 0x2000);
	(void) setup(NULL);
	symbol("third", 0x1200, FUNCTION, EXTERNAL);
	symbol("label", 0x2000, 0, LABEL);
	expect_one(0x2010, "third", 0x1200);
	(void) setup(NULL);
	symbol("label", 0x2000, 0, LABEL);
	symbol("whole", 0x1200, 0, LABEL);
	expect_one(0x2010, "label", 0x2000);
}

TEST_WITH(test_labels_inside, setup, NULL)
{
	symbol("label", 0x1210, 0, LABEL);
	symbol("third", 0x1200, FUNCTION, EXTERNAL);
	symbol("other", 0x1220, 0, STATIC);
	struct sw_want wants[] = {{.svma = 0x1215}, {.svma = 0x1230}};
	look_up(wants, 2);
	expect(&wants[0], "third", 0x1200);
	expect(&wants[1], "third", 0x1200);
	(void) setup(NULL);
	symbol("label", 0x1210, 0, LABEL);
	struct sw_want alone[] = {{.svma = 0x1208}, {.svma = 0x1215}};
	look_up(alone, 2);
	expect(&alone[0], NULL, 0);
	expect(&alone[1], "label", 0x1210); /* better than nothing */
}

/* Assembly has entry points that no type says to be functions, under one entry. */
TEST_WITH(test_entry_points, setup, NULL)
{
	symbol("entry1", 0x1200, FUNCTION, EXTERNAL);
	symbol("entry2", 0x120c, 0, EXTERNAL);
	symbol("label", 0x1210, 0, LABEL);
	symbol("entry3", 0x1218, 0, EXTERNAL);
	struct sw_want wants[] = {{.svma = 0x120b}, {.svma = 0x1214}, {.svma = 0x1220}};
	look_up(wants, 3);
	expect(&wants[0], "entry1", 0x1200);
	expect(&wants[1], "entry2", 0x120c);
	expect(&wants[2], "entry3", 0x1218);
}

/* Without entries: the nearest one, but nothing reaches over a function. */
TEST_WITH(test_leaves, setup, NULL)
{
	symbol("third_part", 0x2000, FUNCTION, EXTERNAL);
	symbol("leaf", LEAVES, FUNCTION, EXTERNAL);
	symbol("inner", LEAVES + 0x20, 0, LABEL);
	symbol("covered", 0x3100, FUNCTION, EXTERNAL);
	struct sw_want wants[] = {{.svma = 0x2fff},        {.svma = LEAVES},
				  {.svma = LEAVES + 0x1f}, {.svma = LEAVES + 0x20},
				  {.svma = 0x3108},        {.svma = 0x3120}};
	look_up(wants, SW_ARRAY_SIZE(wants));
	expect(&wants[0], NULL, 0);
	expect(&wants[1], "leaf", LEAVES);
	expect(&wants[2], "leaf", LEAVES);
	expect(&wants[3], "inner", LEAVES + 0x20);
	expect(&wants[4], "covered", 0x3100);
	expect(&wants[5], NULL, 0);
}

TEST_WITH(test_no_exception_directory, setup, NULL)
{
	pe_make_init(&pe);
	pe_make_section(&pe, ".text", TEXT, PE_MAKE_CODE, NULL, 0x1000);
	pe_make_section(&pe, ".text2", 0x5000, PE_MAKE_CODE, NULL, 0x1000);
	symbol("first", 0x1000, FUNCTION, EXTERNAL);
	symbol("second", 0x1100, FUNCTION, EXTERNAL);
	struct sw_want wants[] = {{.svma = 0x10ff}, {.svma = 0x1fff}, {.svma = 0x5000}};
	look_up(wants, 3);
	expect(&wants[0], "first", 0x1000);
	expect(&wants[1], "second", 0x1100);
	expect(&wants[2], NULL, 0); /* of another section */
}

/* The name of an address is one, whatever the order of the table. */
TEST_WITH(test_aliases, setup, NULL)
{
	static const struct {
		const char *name;
		uint16_t type;
		uint8_t class;
	} aliases[] = {
		{"best", FUNCTION, EXTERNAL}, {"__best", FUNCTION, EXTERNAL},
		{"longer", FUNCTION, WEAK},   {"_b", FUNCTION, EXTERNAL},
		{"a", FUNCTION, STATIC},      {"b", 0, EXTERNAL},
		{"besu", FUNCTION, EXTERNAL},
	};
	for (size_t first = 0; first < SW_ARRAY_SIZE(aliases); first++) {
		(void) setup(NULL);
		for (size_t i = 0; i < SW_ARRAY_SIZE(aliases); i++) {
			size_t k = (first + i) % SW_ARRAY_SIZE(aliases);
			symbol(aliases[k].name, 0x1000, aliases[k].type, aliases[k].class);
		}
		expect_one(0x1010, "best", 0x1000);
	}
}

/* Symbols that start no code name none. */
TEST_WITH(test_not_code, setup, NULL)
{
	pe_make_symbol(&pe, ".text", 1, 0, 0, STATIC, 1); /* a section's, with its record */
	pe_make_symbol(&pe, "section", 1, 0, 0, STATIC, 1);
	pe_make_symbol(&pe, "data", 2, 0, FUNCTION, EXTERNAL, 0);
	pe_make_symbol(&pe, "undef", 0, 0, FUNCTION, EXTERNAL, 0);
	pe_make_symbol(&pe, "abs", 0xffff, 0x1000, FUNCTION, EXTERNAL, 0);
	pe_make_symbol(&pe, "debug", 0xfffe, 0x1000, FUNCTION, EXTERNAL, 0);
	pe_make_symbol(&pe, "nine", 9, 0, FUNCTION, EXTERNAL, 0);
	pe_make_symbol(&pe, ".file", 1, 0, FUNCTION, FILE_NAME, 1);
	pe_make_symbol(&pe, ".weak.f", 1, 0, FUNCTION, EXTERNAL, 0);
	pe_make_symbol(&pe, "", 1, 0, FUNCTION, EXTERNAL, 0);
	pe_make_symbol(&pe, "wraps", 1, UINT32_MAX, FUNCTION, EXTERNAL, 0);
	expect_one(0x1010, NULL, 0);
}

/* Compilers give a function a section that is called after it: known where nothing else is. */
TEST_WITH(test_sections, setup, NULL)
{
	pe_make_symbol(&pe, ".text$third", 1, 0x200, 0, STATIC, 1);
	pe_make_symbol(&pe, ".text$", 1, 0x100, 0, STATIC, 1);
	pe_make_symbol(&pe, ".text$leaf", 1, LEAVES - TEXT, 0, STATIC, 1);
	symbol("label", 0x1210, 0, LABEL);
	struct sw_want wants[] = {{.svma = 0x1130}, {.svma = 0x1230}, {.svma = LEAVES + 4}};
	look_up(wants, 3);
	expect(&wants[0], NULL, 0);
	expect(&wants[1], "third", 0x1200);
	expect(&wants[2], NULL, 0);
	symbol("static", 0x1200, FUNCTION, STATIC);
	expect_one(0x1230, "static", 0x1200);
}

TEST_WITH(test_auxiliary_records, setup, NULL)
{
	pe_make_symbol(&pe, "f", 1, 0, FUNCTION, EXTERNAL, 2);
	symbol("g", 0x1100, FUNCTION, EXTERNAL);
	struct sw_want wants[] = {{.svma = 0x1020}, {.svma = 0x1110}};
	look_up(wants, 2);
	expect(&wants[0], "f", 0x1000);
	expect(&wants[1], "g", 0x1100);
	(void) setup(NULL);
	pe_make_symbol(&pe, "f", 1, 0, FUNCTION, EXTERNAL, 0);
	pe.symbols[0][17] = 0xff; /* more than there are */
	expect_one(0x1020, "f", 0x1000);
}

TEST_WITH(test_name_outside, setup, NULL)
{
	symbol("a_long_name_of_a_function", 0x1000, FUNCTION, EXTERNAL);
	memset(pe.symbols[0] + 4, 0xff, 4);
	expect_one(0x1010, NULL, 0);
}

TEST_WITH(test_exports, setup, teardown)
{
	pe_make_export(&pe, "CreateThing", 0x1000);
	pe_make_export(&pe, NULL, 0x1100); /* the first ordinal is 5 */
	pe_make_export(&pe, "data", RDATA);
	pe_make_export(&pe, "leaf", LEAVES);
	pe_make_export(&pe, NULL, 0);
	pe_make_forward(&pe, "gone", "OTHER.gone");
	struct sw_want wants[] = {{.svma = 0x1020},
				  {.svma = 0x1120},
				  {.svma = 0x1210},
				  {.svma = LEAVES + 8},
				  {.svma = PE_MAKE_EDATA + 0x160}};
	look_up(wants, SW_ARRAY_SIZE(wants));
	expect(&wants[0], "CreateThing", 0x1000);
	assert_int_equal(wants[0].source, SW_SOURCE_EXPORTS);
	expect(&wants[1], "Ordinal6", 0x1100);
	expect(&wants[2], NULL, 0); /* not stretched from the one before */
	expect(&wants[3], "leaf", LEAVES);
	expect(&wants[4], NULL, 0);
}

/* No table says where functions for i386 end: an export names what is near behind it. */
TEST_WITH(test_exports_reach, setup, teardown)
{
	pe_make_init_32(&pe);
	pe_make_section(&pe, ".text", TEXT, PE_MAKE_CODE, NULL, 0x3000);
	pe_make_export(&pe, "Near", 0x1000);
	pe_make_export(&pe, "Next", 0x2800);
	struct sw_want wants[] = {{.svma = 0x1000}, {.svma = 0x2000}, {.svma = 0x2001},
				  {.svma = 0x27ff}, {.svma = 0x2800}, {.svma = 0x37ff}};
	look_up(wants, SW_ARRAY_SIZE(wants));
	expect(&wants[0], "Near", 0x1000);
	expect(&wants[1], "Near", 0x1000);
	expect(&wants[2], NULL, 0);
	expect(&wants[3], NULL, 0);
	expect(&wants[4], "Next", 0x2800);
	expect(&wants[5], "Next", 0x2800);
}

/* Symbols are there for all functions: how far the nearest one is says nothing. */
TEST_WITH(test_symbols_reach, setup, teardown)
{
	pe_make_init_32(&pe);
	pe_make_section(&pe, ".text", TEXT, PE_MAKE_CODE, NULL, 0x3000);
	symbol("_large", 0x1000, FUNCTION, EXTERNAL);
	expect_one(0x3fff, "large", 0x1000);
}

/* A forwarder is a text in the export directory: not code, not even for an address right there. */
TEST_WITH(test_forwarder, setup, teardown)
{
	pe_make_forward(&pe, "gone", "OTHER.gone");
	for (uint32_t at = 0; at < 0x200; at++) {
		struct pe_make kept = pe;
		expect_one(PE_MAKE_EDATA + at, NULL, 0);
		pe = kept;
	}
}

/* Symbols say more than exports, which are only asked for the rest. */
TEST_WITH(test_symbols_before_exports, setup, teardown)
{
	symbol("internal", 0x1000, FUNCTION, STATIC);
	pe_make_export(&pe, "external", 0x1000);
	pe_make_export(&pe, "rest", 0x1100);
	struct sw_want wants[] = {{.svma = 0x1020}, {.svma = 0x1110}};
	look_up(wants, 2);
	expect(&wants[0], "internal", 0x1000);
	expect(&wants[1], "rest", 0x1100);
	assert_int_equal(wants[1].source, SW_SOURCE_EXPORTS);
}

TEST_WITH(test_exports_outside, setup, teardown)
{
	static const struct {
		uint32_t field, value;
		const char *name;
	} changes[] = {
		{20, UINT32_MAX, "run"},    /* functions: as many as there are */
		{24, UINT32_MAX, "run"},    /* names */
		{28, 0x900000, NULL},       /* where the functions are */
		{32, 0x900000, "Ordinal5"}, /* names */
		{36, UINT32_MAX, "Ordinal5"}, {20, 0, NULL}, {24, 0, "Ordinal5"},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(changes); i++) {
		struct sw_unit unit = {.kind = 1 << SW_MODULE_PE, .pe_tried = true};
		struct sw_request request = {.arena = &arena};
		struct sw_want want = {.svma = 0x1010};
		struct sw_bytes directory;
		(void) setup(NULL);
		pe_make_export(&pe, "run", 0x1000);
		pe_make_finish(&pe);
		unit.is_pe = sw_pe_file_init(&unit.pe, (struct sw_bytes){pe.bytes, pe.size});
		assert_true(sw_pe_file_directory(&unit.pe, unit.pe.headers.exports, &directory));
		memcpy(pe.bytes + (directory.data - pe.bytes) + changes[i].field, &changes[i].value,
		       4);
		assert_int_equal(sw_prov_pe.names(&unit, NULL, &want, 1, &request), 0);
		expect(&want, changes[i].name, 0x1000);
	}
}

TEST(test_not_a_pe_file)
{
	struct sw_unit unit = {.kind = 1 << SW_MODULE_PE, .pe_tried = true};
	struct sw_request request = {.arena = &arena};
	struct sw_want want = {.svma = 0x1010};
	assert_int_equal(sw_prov_pe.names(&unit, NULL, &want, 1, &request), 0);
	assert_null(want.name);
}

/*
 * 32 MiB without an end of a string, in which names begin: that of a section and of 65536 symbols. A
 * file like that keeps nobody waiting.
 */
TEST_WITH(test_names_without_end, setup, teardown)
{
	enum { BYTES = 32 << 20, N = 1 << 16, SYMBOLS = 1 << 20, NAMES_RVA = 0x100000 };
	uint8_t *image = malloc(BYTES);
	assert_non_null(image);
	pe_make_section(&pe, "/4", NAMES_RVA, PE_MAKE_DATA, NULL, 0x400);
	pe_make_export(&pe, "a", 0x1000);
	pe_make_finish(&pe);
	memset(image, 'x', BYTES);
	memcpy(image, pe.bytes, pe.size);
	uint8_t *header = image + PE_MAKE_HEADER;
	const uint32_t table[] = {SYMBOLS, N};
	memcpy(header + 12, table, sizeof(table));
	static const uint8_t record[18] = {[4] = 4, [12] = 1, [14] = FUNCTION, [16] = EXTERNAL};
	for (size_t i = 0; i < N; i++)
		memcpy(image + SYMBOLS + i * sizeof(record), record, sizeof(record));
	const uint32_t strings_bytes = BYTES - SYMBOLS - N * sizeof(record);
	memcpy(image + SYMBOLS + N * sizeof(record), &strings_bytes, sizeof(strings_bytes));
	struct sw_unit unit = {.kind = 1 << SW_MODULE_PE, .pe_tried = true};
	unit.is_pe = sw_pe_file_init(&unit.pe, (struct sw_bytes){image, BYTES});
	assert_true(unit.is_pe);
	assert_int_equal(unit.pe.strings.size, strings_bytes);

	struct sw_want want = {.svma = 0x1000};
	int64_t begin_ns = sw_clock_ns();
	struct sw_request request = {.arena = &arena, .deadline_ns = begin_ns + 50000000};
	assert_int_equal(sw_prov_pe.names(&unit, NULL, &want, 1, &request), 0);
	assert_in_range(sw_clock_ns() - begin_ns, 0, INT64_C(5000000000));
	free(image);
}
