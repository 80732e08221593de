/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/entry.h"
#include "test.h"

enum { SVMA = 0x2000 };

/* A CIE ("zR", pcrel sdata4; CFA = rsp+8) and an FDE for [0x1000, 0x1010), then the end. */
static const uint8_t section[] = {
	20,   0,    0,  0, 0,    0,    0,    0,  1,    'z',  'R',  0,
	1,    0x78, 16, 1, 0x1b, 0x0c, 7,    8,  0x90, 1,    0,    0, /* 24: FDE */
	16,   0,    0,  0, 28,   0,    0,    0,  0xe0, 0xef, 0xff, 0xff,
	0x10, 0,    0,  0, 0,    0x41, 0x0e, 16, 0,    0,    0,    0, /* 48: the end */
};

static struct sw_cfi_section view(const uint8_t *bytes, size_t size)
{
	return (struct sw_cfi_section){.bytes = {bytes, size}, .svma = SVMA};
}

TEST(test_entries)
{
	const struct sw_cfi_section s = view(section, sizeof(section));
	struct sw_cfi_entry e;
	assert_int_equal(sw_cfi_entry_read(&s, 0, &e), 1);
	assert_true(e.is_cie);
	assert_int_equal(e.next_off, 24);
	assert_int_equal(e.encoding, 0x1b);
	assert_int_equal(e.program.size, 7);
	assert_int_equal(e.program.data[0], 0x0c);
	assert_int_equal(sw_cfi_entry_read(&s, 24, &e), 1);
	assert_false(e.is_cie);
	assert_int_equal(e.start_svma, 0x1000);
	assert_int_equal(e.end_svma, 0x1010);
	assert_int_equal(e.program.size, 3);
	assert_int_equal(e.program.data[0], 0x41);
	assert_int_equal(e.cie_program.data[0], 0x0c);
	assert_int_equal(e.next_off, 44);
	assert_true(sw_cfi_entry_sane(&e));
	assert_int_equal(sw_cfi_entry_read(&s, 44, &e), 0);
	assert_int_equal(sw_cfi_entry_read(&s, sizeof(section), &e), 0);
	assert_int_equal(sw_cfi_entry_read(&s, UINT64_MAX, &e), 0);
	assert_true(sw_cfi_section_sane(&s, 0));
}

/* Whether the function has handlers of exceptions: 'L' of its CIE, and an address that is not 0. */
TEST(test_lsda)
{
	static const uint8_t with[] = {
		20,   0, 0,    0,  0,  0,    0,    0,    1,    'z',  'L',  'R',
		0,    1, 0x78, 16, 2,  0x1b, 0x1b, 0x0c, 7,    8,    0x90, 1, /* 24: FDE */
		20,   0, 0,    0,  28, 0,    0,    0,    0xe0, 0xef, 0xff, 0xff,
		0x10, 0, 0,    0,  4,  1,    2,    3,    4,    0x41, 0x0e, 16,
	};
	uint8_t copy[sizeof(with)];
	struct sw_cfi_section s = view(copy, sizeof(copy));
	struct sw_cfi_entry e;
	memcpy(copy, with, sizeof(with));
	assert_int_equal(sw_cfi_entry_read(&s, 24, &e), 1);
	assert_true(e.has_lsda);
	assert_int_equal(e.program.size, 3);
	memset(copy + 41, 0, 4);
	assert_int_equal(sw_cfi_entry_read(&s, 24, &e), 1);
	assert_false(e.has_lsda);
	copy[43] = 1;
	assert_int_equal(sw_cfi_entry_read(&s, 24, &e), 1);
	assert_true(e.has_lsda);
	copy[40] = 60; /* longer than the entry */
	assert_int_equal(sw_cfi_entry_read(&s, 24, &e), -1);
	s = view(section, sizeof(section));
	assert_int_equal(sw_cfi_entry_read(&s, 24, &e), 1);
	assert_false(e.has_lsda);
}

/* Every cut is malformed or the end, never read beyond. */
TEST(test_cut_anywhere)
{
	struct sw_cfi_entry e;
	for (size_t size = 0; size < 44; size++) {
		uint8_t *copy = malloc(size + 1);
		assert_non_null(copy);
		memcpy(copy, section, size);
		const struct sw_cfi_section s = view(copy, size);
		assert_int_equal(sw_cfi_entry_read(&s, 0, &e), size == 0 ? 0 : size < 24 ? -1 : 1);
		assert_int_equal(sw_cfi_entry_read(&s, 24, &e), size <= 24 ? 0 : -1);
		assert_int_equal(sw_cfi_section_sane(&s, 0), size == 0 || size == 24);
		free(copy);
	}
}

TEST(test_malformed)
{
	static const struct {
		size_t offset;
		uint8_t value;
	} changes[] = {
		{0, 0xff},  /* length beyond the section */
		{8, 2},     /* CIE version that does not exist */
		{9, 'x'},   /* augmentation that is not known */
		{15, 0x7f}, /* augmentation data beyond the entry */
		{16, 0x50}, /* encoding: aligned */
		{28, 27},   /* the FDE's CIE is none */
		{40, 0x7f}, /* augmentation data beyond the FDE */
	};
	struct sw_cfi_entry e;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t copy[sizeof(section)];
		memcpy(copy, section, sizeof(section));
		copy[changes[i].offset] = changes[i].value;
		const struct sw_cfi_section s = view(copy, sizeof(copy));
		assert_int_equal(sw_cfi_entry_read(&s, 24, &e), -1);
		assert_false(sw_cfi_section_sane(&s, 0));
	}
}

static bool sane(const uint8_t *program, size_t size)
{
	const struct sw_cfi_entry e = {.program = {program, size}, .encoding = 0x1b};
	const struct sw_cfi_entry of_cie = {.cie_program = {program, size}, .encoding = 0x1b};
	assert_int_equal(sw_cfi_entry_sane(&e), sw_cfi_entry_sane(&of_cie));
	return sw_cfi_entry_sane(&e);
}

#define PROGRAM(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

TEST(test_instructions)
{
	/* every instruction with operands that look like instructions themselves */
	assert_true(sane(PROGRAM(0x41, 0x86, 2, 0xc6, 0x00, 0x0a, 0x0b, 0x02, 5, 0x03, 5, 5, 0x04,
				 5, 5, 5, 5, 0x01, 5, 5, 5, 5, 0x06, 5, 0x07, 5, 0x08, 5, 0x09, 5,
				 5, 0x0c, 5, 5, 0x0d, 5, 0x0e, 5, 0x11, 5, 5, 0x12, 5, 5, 0x13, 5,
				 0x14, 5, 5, 0x15, 5, 5, 0x2e, 5, 0x2f, 5, 5, 0x0f, 2, 5, 5, 0x10,
				 5, 2, 5, 5, 0x16, 5, 2, 5, 5, 0x05, 0xff, 0x01, 1)));
	/* register 256: as an operand of each kind */
	assert_false(sane(PROGRAM(0x05, 0x80, 0x02, 1)));
	assert_false(sane(PROGRAM(0x09, 5, 0x80, 0x02)));
	assert_false(sane(PROGRAM(0x10, 0x80, 0x02, 0)));
	assert_false(sane(PROGRAM(0x41, 0x86, 0x80, 2, 0x07, 0x80, 0x02)));
	/* operands cut short; a block beyond the end; a number that never ends */
	assert_false(sane(PROGRAM(0x04, 1, 2, 3)));
	assert_false(sane(PROGRAM(0x0f, 3, 5, 5)));
	assert_false(sane(PROGRAM(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				  0x80, 0x00)));
	/* libdw stops at what it does not know: what follows is never executed */
	assert_true(sane(PROGRAM(0x3f, 0x05, 0x80, 0x02, 1)));
	uint8_t remember[SW_CFI_REMEMBER_MAX + 1];
	memset(remember, 0x0a, sizeof(remember));
	assert_true(sane(remember, SW_CFI_REMEMBER_MAX));
	assert_false(sane(remember, SW_CFI_REMEMBER_MAX + 1));
	static uint8_t again[2 * (SW_CFI_REMEMBERED_MAX + 1)]; /* and restored each time */
	for (size_t i = 0; i < sizeof(again); i += 2) {
		again[i] = 0x0a;
		again[i + 1] = 0x0b;
	}
	assert_true(sane(again, 2 * SW_CFI_REMEMBERED_MAX));
	assert_false(sane(again, sizeof(again)));
}

static enum sw_cfi_hdr hdr_read(const uint8_t *bytes, size_t size, struct sw_cfi_table *table)
{
	uint64_t frame_svma = 0;
	enum sw_cfi_hdr r =
		sw_cfi_hdr_read((struct sw_bytes){bytes, size}, 0x3000, table, &frame_svma);
	if (r != SW_CFI_HDR_BAD)
		assert_int_equal(frame_svma, 0x3004 + 0x10);
	return r;
}

TEST(test_search_table)
{
	/* functions at 0x1000 and 0x1010 (twice, as folded ones are), entries at 0x3020, 0x3030.. */
	static const uint8_t hdr[] = {
		1,    0x1b, 0x03, 0x3b, 0x10, 0,    0,    0,    3,    0,    0,    0,
		0x00, 0xe0, 0xff, 0xff, 0x20, 0,    0,    0,    0x10, 0xe0, 0xff, 0xff,
		0x30, 0,    0,    0,    0x10, 0xe0, 0xff, 0xff, 0x40, 0,    0,    0,
	};
	struct sw_cfi_table table = {0};
	uint64_t fde = 0;
	assert_int_equal(hdr_read(hdr, sizeof(hdr), &table), SW_CFI_HDR_TABLE);
	assert_int_equal(table.pairs.size, 24);
	assert_true(sw_cfi_table_sorted(&table));
	assert_false(sw_cfi_table_find(&table, 0xfff, &fde));
	assert_true(sw_cfi_table_find(&table, 0x1000, &fde));
	assert_int_equal(fde, 0x3020);
	assert_true(sw_cfi_table_find(&table, 0x100f, &fde));
	assert_int_equal(fde, 0x3020);
	assert_true(sw_cfi_table_find(&table, 0x1010, &fde));
	assert_int_equal(fde, 0x3040);
	assert_true(sw_cfi_table_find(&table, UINT64_C(1) << 40, &fde));
	assert_int_equal(fde, 0x3040);

	uint8_t copy[sizeof(hdr)];
	memcpy(copy, hdr, sizeof(hdr));
	copy[12] = 0x20; /* the first address is the highest */
	assert_int_equal(hdr_read(copy, sizeof(copy), &table), SW_CFI_HDR_TABLE);
	assert_false(sw_cfi_table_sorted(&table));
	table.base_svma = 0x100; /* addresses below 0 */
	memcpy(copy, hdr, sizeof(hdr));
	assert_false(sw_cfi_table_sorted(&table));

	assert_int_equal(hdr_read(hdr, sizeof(hdr) - 1, &table), SW_CFI_HDR_BAD);
	copy[3] = 0xff;
	assert_int_equal(hdr_read(copy, sizeof(copy), &table), SW_CFI_HDR_NO_TABLE);
	copy[3] = 0x1b;
	assert_int_equal(hdr_read(copy, sizeof(copy), &table), SW_CFI_HDR_BAD);
	copy[0] = 2;
	assert_int_equal(hdr_read(copy, sizeof(copy), &table), SW_CFI_HDR_BAD);
	assert_int_equal(hdr_read(hdr, 3, &table), SW_CFI_HDR_BAD);
}
