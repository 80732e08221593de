/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "runtimes/clr/metadata/pdb.h"
#include "cleanup.h"
#include "clr_make.h"
#include "clr_pdb_make.h"
#include "fake.h"
#include "runtimes/clr/metadata/debug_directory.h"
#include "test.h"

struct file {
	uint8_t bytes[CLR_PDB_MAKE_BYTES];
	size_t n;
	struct sw_clr_pdb pdb;
};

static bool file_open(struct file *f, size_t n)
{
	return sw_clr_pdb_open(&f->pdb, (struct sw_bytes){f->bytes, n}, clr_pdb_make_id);
}

static void file_make(struct file *f)
{
	f->n = clr_pdb_make(f->bytes);
	assert_true(file_open(f, f->n));
}

/* expected NULL: it has no line. */
static void line_is(const struct file *f, uint32_t method, uint32_t il_off, const char *expected,
		    uint32_t expected_line)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	uint32_t line = 0;
	bool found = sw_clr_pdb_line(&f->pdb, method, il_off, &text, &line);
	assert_int_equal(found, expected != NULL);
	assert_int_equal(line, expected_line);
	if (found)
		assert_string_equal(text.data, expected);
}

TEST(test_lines)
{
	struct file f;
	file_make(&f);
	line_is(&f, 1, 0, "/src/a.cs", 10);
	line_is(&f, 1, 3, "/src/a.cs", 10);
	line_is(&f, 1, 4, "/src/a.cs", 10); /* hidden: the one before it */
	line_is(&f, 1, 8, "/src/a.cs", 10);
	line_is(&f, 1, 9, "/src/a.cs", 8);
	line_is(&f, 1, 11, "/src/a.cs", 8);
	line_is(&f, 1, 12, "/src/a.cs", 300);
	line_is(&f, 1, UINT32_MAX - 1, "/src/a.cs", 300);
	line_is(&f, 2, 0, NULL, 0);
	line_is(&f, 3, 4, "b?.cs", 20);
	line_is(&f, 3, 5, "/src/a.cs", 7);
	line_is(&f, 4, 2, NULL, 0);
	line_is(&f, 4, 3, "/src/a.cs", 2);
	line_is(&f, 5, 0, NULL, 0); /* it does not hold together to its end */
	/* Methods of several lines, and one that has only one. */
	line_is(&f, 1, SW_CLR_IL_UNKNOWN, NULL, 0);
	line_is(&f, 3, SW_CLR_IL_UNKNOWN, NULL, 0);
	line_is(&f, 4, SW_CLR_IL_UNKNOWN, "/src/a.cs", 2);
	line_is(&f, 0, 0, NULL, 0);
	line_is(&f, 6, 0, NULL, 0);
}

/* Another build's, whatever differs. */
TEST(test_identity)
{
	struct file f;
	file_make(&f);
	for (size_t i = 0; i < SW_CLR_PDB_ID_BYTES; i++) {
		uint8_t id[SW_CLR_PDB_ID_BYTES];
		memcpy(id, clr_pdb_make_id, sizeof(id));
		id[i] ^= 1;
		assert_false(sw_clr_pdb_open(&f.pdb, (struct sw_bytes){f.bytes, f.n}, id));
	}
	assert_true(file_open(&f, f.n));
	/* An assembly's metadata has no id at all. */
	uint8_t bytes[CLR_MAKE_BYTES];
	size_t n = clr_make_metadata(bytes, 0);
	assert_false(sw_clr_pdb_open(&f.pdb, (struct sw_bytes){bytes, n}, clr_pdb_make_id));
}

TEST(test_cut)
{
	struct file f;
	file_make(&f);
	for (size_t n = 0; n < f.n; n++)
		assert_false(file_open(&f, n));
}

/* Lines of the first method with one byte of its points changed. */
TEST(test_changed)
{
	enum { POINTS = 76 + 32 + 68 + 25 };
	static const struct {
		size_t at;
		uint8_t value;
		uint32_t line;
	} cases[] = {
		{4, 10, 10},              /* as it is */
		{4, 11, 11},   {4, 0, 0}, /* there is no line 0 */
		{12, 0x6d, 0},            /* nor 10 - 10 */
		{0, 0x80, 5},  /* the number before them takes one more byte: other points */
		{19, 0x81, 0}, /* the last one does not end */
		{16, 0, 0},    /* hidden, and then what is left of it */
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct file f;
		file_make(&f);
		assert_int_equal(f.bytes[POINTS - 1], 20); /* the blob's length */
		f.bytes[POINTS + cases[i].at] = cases[i].value;
		line_is(&f, 1, 0, cases[i].line != 0 ? "/src/a.cs" : NULL, cases[i].line);
	}
}

/* ---- images ------------------------------------------------------------------------------------ */

enum { AVMA = 0x20000 };

struct assembly {
	uint8_t bytes[CLR_MAKE_IMAGE_BYTES];
	struct fake_region region;
	struct fake_memory fake;
	struct sw_clr_pe pe;
	struct sw_clr_metadata metadata;
};

static void assembly_make(struct assembly *a, bool mapped, bool plus, bool embedded)
{
	size_t n = clr_pdb_make_image(a->bytes, mapped, plus, embedded);
	a->region = (struct fake_region){AVMA, a->bytes, n};
	a->fake = (struct fake_memory){&a->region, 1, 0};
	assert_true(sw_clr_pe_open(fake_memory(&a->fake), AVMA, mapped, &a->pe));
	assert_true(sw_clr_pe_metadata(&a->pe, &a->metadata));
}

TEST(test_link)
{
	for (int i = 0; i < 8; i++) {
		struct assembly a;
		struct sw_clr_pdb_link link;
		struct sw_clr_pdb pdb;
		uint8_t expected[CLR_PDB_MAKE_BYTES];
		size_t n = clr_pdb_make(expected);
		assembly_make(&a, i & 1, i & 2, i & 4);
		assert_true(sw_clr_pdb_link_find(&a.pe, &link));
		assert_memory_equal(link.id, clr_pdb_make_id, sizeof(link.id));
		assert_int_equal(link.embedded_avma != 0, (i & 4) != 0);
		if (!(i & 4))
			continue;
		assert_int_equal(link.unpacked_bytes, n);
		sw_cleanup(sw_free_p) uint8_t *bytes = sw_clr_pdb_unpack(a.pe.memory, &link);
		assert_non_null(bytes);
		assert_memory_equal(bytes, expected, n);
		assert_true(sw_clr_pdb_open(&pdb, (struct sw_bytes){bytes, n}, link.id));
		/* The unpacked PDB must be as long as it says. */
		link.unpacked_bytes--;
		assert_null(sw_clr_pdb_unpack(a.pe.memory, &link));
		link.unpacked_bytes += 2;
		assert_null(sw_clr_pdb_unpack(a.pe.memory, &link));
	}
}

TEST(test_link_refused)
{
	/* Offsets in the entry that leads to the id, and in what it leads to. */
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = {
		{28 + 10, 0},    /* no portable one: a PDB of Windows */
		{28 + 12, 3},    /* another type */
		{28 + 16, 19},   /* shorter than an id */
		{28 + 22, 0xff}, /* nowhere */
		{0x80, 'r'},
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct assembly a;
		struct sw_clr_pdb_link link;
		assembly_make(&a, true, true, false);
		a.bytes[clr_pdb_make_directory(true) + cases[i].at] = cases[i].value;
		assert_false(sw_clr_pdb_link_find(&a.pe, &link));
	}
}

/* A PDB that says that it is embedded, but is not, does not take the id away. */
TEST(test_embedded_refused)
{
	static const struct {
		size_t at;
		uint8_t value;
	} cases[] = {
		{56 + 16, 8},    /* empty */
		{56 + 19, 0xff}, /* longer than any */
		{0x100, 'm'},
		{0x107, 0xff}, /* unpacked longer than any */
	};
	for (size_t i = 0; i < SW_ARRAY_SIZE(cases); i++) {
		struct assembly a;
		struct sw_clr_pdb_link link;
		assembly_make(&a, true, true, true);
		size_t at = clr_pdb_make_directory(true) + cases[i].at;
		a.bytes[at] = cases[i].value;
		if (i == 0)
			a.bytes[at + 1] = 0;
		assert_true(sw_clr_pdb_link_find(&a.pe, &link));
		assert_int_equal(link.embedded_avma, 0);
	}
}

TEST(test_il_bytes)
{
	for (int mapped = 0; mapped < 2; mapped++) {
		struct assembly a;
		uint32_t bytes = 0;
		assembly_make(&a, mapped, true, false);
		assert_true(sw_clr_il_bytes(&a.pe, &a.metadata, 1, &bytes));
		assert_int_equal(bytes, 13);
		assert_true(sw_clr_il_bytes(&a.pe, &a.metadata, 2, &bytes));
		assert_int_equal(bytes, 300);
		assert_false(
			sw_clr_il_bytes(&a.pe, &a.metadata, 3, &bytes)); /* RVA 0: it has none */
		assert_false(sw_clr_il_bytes(&a.pe, &a.metadata, 6, &bytes));
		assert_int_equal(bytes, 300);
	}
}
