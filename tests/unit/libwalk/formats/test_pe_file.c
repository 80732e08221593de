/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_make.h"
#include "pe_file.h"
#include "test.h"

static struct pe_make pe;
static struct sw_pe_file file;

static bool init(void)
{
	return sw_pe_file_init(&file, (struct sw_bytes){pe.bytes, pe.size});
}

static int setup(void **state)
{
	pe_make_init(&pe);
	return 0;
}

static void put(size_t off, uint32_t value, size_t bytes)
{
	memcpy(pe.bytes + off, &value, bytes);
}

TEST_WITH(test_headers, setup, NULL)
{
	pe_make_section(&pe, ".text", 0x1000, PE_MAKE_CODE, "code", 5);
	pe_make_symbol(&pe, "f", 1, 0, 0x20, 2, 0);
	pe_make_finish(&pe);
	assert_true(init());
	assert_int_equal(file.headers.preferred_avma, PE_MAKE_BASE);
	assert_int_equal(file.headers.n_sections, 1);
	assert_int_equal(file.symbols.size, 18);
	assert_int_equal(file.strings.size, 4);
}

TEST(test_not_a_pe_file)
{
	static const struct {
		size_t off;
		uint32_t value;
		size_t bytes;
	} changes[] = {
		{0, 'X', 1},           /* MZ */
		{0x3c, 0xffffff00, 4}, /* where the signature is */
		{0x3c, PE_MAKE_BYTES, 4},
		{PE_MAKE_HEADER, 'X', 1},        /* the signature */
		{PE_MAKE_HEADER + 4, 0x14c, 2},  /* i386 */
		{PE_MAKE_HEADER + 24, 0x10b, 2}, /* PE32 */
	};
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		(void) setup(NULL);
		pe_make_finish(&pe);
		assert_true(init());
		put(changes[i].off, changes[i].value, changes[i].bytes);
		assert_false(init());
	}
	for (size_t size = 0; size < PE_MAKE_HEADER + 24 + 112; size++) {
		(void) setup(NULL);
		assert_false(sw_pe_file_init(&file, (struct sw_bytes){pe.bytes, size}));
	}
	assert_false(sw_pe_file_init(&file, (struct sw_bytes){0}));
}

/* An image without its sections is none; other tables may be missing. */
TEST_WITH(test_tables_outside, setup, NULL)
{
	struct sw_bytes bytes;
	pe_make_section(&pe, ".text", 0x1000, PE_MAKE_CODE, NULL, 16);
	pe_make_symbol(&pe, "f", 1, 0, 0x20, 2, 0);
	pe_make_function(&pe, 0x1000, 0x1010, 0x3000);
	pe_make_finish(&pe);
	put(PE_MAKE_HEADER + 6, SW_PE_SECTIONS_MAX + 1, 2);
	assert_false(init());
	put(PE_MAKE_HEADER + 6, 1, 2);
	put(PE_MAKE_HEADER + 20, 0xffff, 2); /* sections far behind the optional header */
	assert_false(init());
	put(PE_MAKE_HEADER + 20, 112 + 8, 2); /* space for one directory, 16 are said */
	assert_true(init());
	assert_false(sw_pe_file_directory(&file, file.headers.exception, &bytes));
	put(PE_MAKE_HEADER + 16, 0x10000000, 4); /* symbols */
	assert_true(init());
	assert_int_equal(file.symbols.size, 0);
	assert_int_equal(file.strings.size, 0);
}

TEST_WITH(test_sections, setup, NULL)
{
	const struct sw_pe_section *section;
	struct sw_bytes bytes;
	pe_make_section(&pe, ".text", 0x1000, PE_MAKE_CODE, "code", 5);
	pe_make_section(&pe, "12345678", 0x2000, PE_MAKE_DATA, NULL, 0x300);
	pe_make_section(&pe, ".debug_info", 0x3000, PE_MAKE_DATA, "dwarf", 6);
	pe_make_finish(&pe);
	assert_true(init());
	section = sw_pe_file_section_named(&file, ".debug_info");
	assert_non_null(section);
	assert_int_equal(section->rva, 0x3000);
	assert_true(sw_pe_file_section_bytes(&file, section, &bytes));
	assert_int_equal(bytes.size, 6); /* without the padding */
	assert_string_equal((const char *) bytes.data, "dwarf");
	assert_non_null(sw_pe_file_section_named(&file, "12345678"));
	assert_null(sw_pe_file_section_named(&file, ".debug_inf"));
	assert_null(sw_pe_file_section_named(&file, "/4"));
	assert_true(file.headers.sections[0].flags & SW_PE_SECTION_EXECUTE);
	assert_int_equal(file.headers.n_sections, 3);

	assert_true(sw_pe_file_at(&file, 0x1002, &bytes));
	assert_int_equal(bytes.size, 3);
	assert_memory_equal(bytes.data, "de", 3);
	assert_false(sw_pe_file_at(&file, 0x1005, &bytes));
	assert_false(sw_pe_file_at(&file, 0xfff, &bytes));
	assert_false(sw_pe_file_at(&file, UINT32_MAX, &bytes));
}

TEST(test_long_names)
{
	static const char *const names[] = {"/", "/0", "/3", "/x", "/99999", "/9999999", "/0x4"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void) setup(NULL);
		pe_make_section(&pe, names[i], 0x1000, PE_MAKE_DATA, NULL, 4);
		pe_make_finish(&pe);
		assert_true(init());
		assert_non_null(sw_pe_file_section_named(&file, names[i]));
	}
}

TEST_WITH(test_directories, setup, NULL)
{
	struct sw_bytes bytes;
	pe_make_function(&pe, 0x1000, 0x1010, 0x3000);
	pe_make_finish(&pe);
	assert_true(init());
	assert_int_equal(file.headers.exception.rva, PE_MAKE_PDATA);
	assert_true(sw_pe_file_directory(&file, file.headers.exception, &bytes));
	assert_int_equal(bytes.size, 12);
	assert_false(sw_pe_file_directory(&file, file.headers.exports, &bytes));
	put(PE_MAKE_HEADER + 24 + 112 + 8 * 3 + 4, 13, 4); /* longer than its section */
	assert_true(init());
	assert_false(sw_pe_file_directory(&file, file.headers.exception, &bytes));
}

/* UNWIND_INFO of version 1; with flag 4 the parent's entry follows the codes. */
#define PLAIN      0x01, 0, 0, 0
#define CHAINED(n) 0x21, 0, n, 0
#define ENTRY(begin, end, unwind)                                                          \
	(begin) & 0xff, (begin) >> 8, 0, 0, (end) &0xff, (end) >> 8, 0, 0, (unwind) &0xff, \
		(unwind) >> 8, 0, 0

static struct sw_pe_file_extent extent(uint32_t rva)
{
	struct sw_bytes functions = {0};
	(void) sw_pe_file_directory(&file, file.headers.exception, &functions);
	return sw_pe_file_extent(&file, functions, rva);
}

static void check(uint32_t rva, bool covered, uint32_t begin, uint32_t primary)
{
	struct sw_pe_file_extent e = extent(rva);
	assert_int_equal(e.covered, covered);
	assert_int_equal(e.begin_rva, begin);
	assert_int_equal(e.primary_rva, primary);
}

TEST_WITH(test_extents, setup, NULL)
{
	static const uint8_t xdata[] = {
		PLAIN, /* 0x3000 */
		CHAINED(0),
		ENTRY(0x1000, 0x1040, 0x3000), /* 0x3004 */
		CHAINED(3),
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		ENTRY(0x1100, 0x1120, 0x3004), /* 0x3014 */
		ENTRY(0x1000, 0x1040, 0x3000), /* 0x302c */
		CHAINED(0),
		ENTRY(0x1700, 0x1720, 0x3038), /* 0x3038: its own parent */
	};
	pe_make_section(&pe, ".xdata", 0x3000, PE_MAKE_DATA, xdata, sizeof(xdata));
	pe_make_function(&pe, 0x1000, 0x1040, 0x3000);
	pe_make_function(&pe, 0x1100, 0x1120, 0x3004);
	pe_make_function(&pe, 0x1120, 0x1130, 0x3014);
	pe_make_function(&pe, 0x1600, 0x1610, 0x302c | 1); /* another entry stands for it */
	pe_make_function(&pe, 0x1700, 0x1720, 0x3038);
	pe_make_function(&pe, 0x1800, 0x1810, 0x9000); /* no such information */
	pe_make_finish(&pe);
	assert_true(init());
	check(0xfff, false, 0, 0);
	check(0x1000, true, 0x1000, 0x1000);
	check(0x103f, true, 0x1000, 0x1000);
	check(0x1040, false, 0x1040, 0x1040);
	check(0x1100, true, 0x1100, 0x1000);
	check(0x1125, true, 0x1120, 0x1000); /* two links */
	check(0x1600, true, 0x1600, 0x1000);
	check(0x1700, true, 0x1700, 0x1700);
	check(0x1800, true, 0x1800, 0x1800);
	check(UINT32_MAX, false, 0x1810, 0x1810);
}

TEST_WITH(test_ring, setup, NULL)
{
	/* two entries that are each other's parents */
	static const uint8_t xdata[] = {CHAINED(0), ENTRY(0x1100, 0x1110, 0x3010), CHAINED(0),
					ENTRY(0x1000, 0x1010, 0x3000)};
	pe_make_section(&pe, ".xdata", 0x3000, PE_MAKE_DATA, xdata, sizeof(xdata));
	pe_make_function(&pe, 0x1000, 0x1010, 0x3000);
	pe_make_function(&pe, 0x1100, 0x1110, 0x3010);
	pe_make_finish(&pe);
	assert_true(init());
	check(0x1005, true, 0x1000, 0x1000);
	check(0x1105, true, 0x1100, 0x1100);
}
