/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/function.h"
#include "elf_image.h"
#include "fake.h"
#include "test.h"

static const struct image_fde fdes[] = {
	{.start = 0x00, .end = 0x10},
	{.start = 0x10, .end = 0x18},
	{.start = 0x40, .end = 0x48},
};

#define SYMBOL(at, kind, bytes, section)                                           \
	{                                                                          \
		.st_info = ELF64_ST_INFO(STB_GLOBAL, kind), .st_shndx = (section), \
		.st_value = IMAGE_CODE + (at), .st_size = (bytes),                 \
	}

/* Functions 0x100 (16 bytes), 0x120 (assembly without a size), 0x140 (a label, no type); noise. */
static const Elf64_Sym symbols[] = {
	{0},
	SYMBOL(0x100, STT_FUNC, 16, 1),
	SYMBOL(0x120, STT_FUNC, 0, 1),
	SYMBOL(0x140, STT_NOTYPE, 0, 1),
	SYMBOL(0x104, STT_OBJECT, 0, 1),       /* data */
	SYMBOL(0x108, STT_FUNC, 0, SHN_UNDEF), /* somewhere else */
	SYMBOL(0x109, STT_NOTYPE, 0, SHN_ABS), /* a number */
};

struct fixture {
	struct sw_snapshot *snap;
	struct sw_elf_cfi *cfi;
};

/* The image with one change at offset (0: none). */
static struct fixture fixture(uint32_t symbol_table, size_t offset, uint8_t value)
{
	const struct image_section sections[] = {{.name = ".symbols",
						  .type = symbol_table,
						  .data = symbols,
						  .size = sizeof(symbols),
						  .entry_size = sizeof(symbols[0])}};
	const struct image_parts parts = {.fdes = fdes,
					  .n_fdes = 3,
					  .sections = sections,
					  .n_sections = 1};
	struct fixture f = {.snap = fake_snapshot_create()};
	uint8_t *image = elf_image(&parts);
	if (offset != 0)
		image[offset] = value;
	struct sw_place *place = fake_snapshot_module(f.snap, SW_MODULE_ELF, "/bin/fake", 0, 0,
						      IMAGE_BYTES, image, IMAGE_BYTES);
	free(image);
	f.cfi = sw_elf_cfi_get(place->module);
	assert_non_null(f.cfi);
	return f;
}

static uint64_t start_of(struct fixture *f, unsigned at)
{
	uint64_t start = 0;
	return sw_elf_function_start(f->cfi, IMAGE_CODE + at, &start) ? start - IMAGE_CODE : 0xfff;
}

TEST(test_entries)
{
	struct fixture f = fixture(SHT_SYMTAB, 0, 0);
	struct sw_elf_entry entry = {0};
	assert_true(sw_elf_entry_find(f.cfi, IMAGE_CODE + 0x12, &entry));
	assert_int_equal(entry.start_svma, IMAGE_CODE + 0x10);
	assert_int_equal(entry.end_svma, IMAGE_CODE + 0x18);
	assert_int_equal(entry.entry_svma % 4, 0);
	assert_true(entry.entry_svma > IMAGE_EH_FRAME && entry.entry_svma < IMAGE_HDR);
	/* first and last instruction; gaps; before all; behind all */
	assert_true(sw_elf_entry_find(f.cfi, IMAGE_CODE, &entry));
	assert_int_equal(entry.start_svma, IMAGE_CODE);
	assert_true(sw_elf_entry_find(f.cfi, IMAGE_CODE + 0x47, &entry));
	assert_int_equal(entry.start_svma, IMAGE_CODE + 0x40);
	assert_false(sw_elf_entry_find(f.cfi, IMAGE_CODE + 0x18, &entry));
	assert_false(sw_elf_entry_find(f.cfi, IMAGE_CODE - 1, &entry));
	assert_false(sw_elf_entry_find(f.cfi, IMAGE_CODE + 0x48, &entry));
	assert_false(sw_elf_entry_find(f.cfi, UINT64_MAX, &entry));
	fake_snapshot_destroy(f.snap);
}

TEST(test_symbols_where_there_is_no_entry)
{
	struct fixture f = fixture(SHT_SYMTAB, 0, 0);
	assert_int_equal(start_of(&f, 0x12), 0x10); /* the entry goes before */
	assert_int_equal(start_of(&f, 0x10f), 0x100);
	assert_int_equal(start_of(&f, 0x110), 0xfff); /* behind its size: nobody's */
	assert_int_equal(start_of(&f, 0x13f), 0x120);
	assert_int_equal(start_of(&f, 0x145), 0x140);
	assert_int_equal(start_of(&f, 0x145), 0x140); /* kept */
	assert_int_equal(start_of(&f, 0x110), 0xfff); /* and that there is none */
	assert_int_equal(sw_elf_cfi_starts(f.cfi)->count, 4);
	fake_snapshot_destroy(f.snap);
	/* .dynsym does not have all functions: one without a size may end anywhere */
	f = fixture(SHT_DYNSYM, 0, 0);
	assert_int_equal(start_of(&f, 0x10f), 0x100);
	assert_int_equal(start_of(&f, 0x13f), 0xfff);
	fake_snapshot_destroy(f.snap);
}

/* Each byte of the search table's header, of a CIE and of an FDE may be anything. */
TEST(test_malformed)
{
	static const struct {
		size_t offset;
		uint8_t value;
	} changes[] = {
		{IMAGE_HDR, 2},              /* version */
		{IMAGE_HDR + 2, 0xff},       /* encoding of the count: omitted */
		{IMAGE_HDR + 3, 0x1b},       /* encoding of the table */
		{IMAGE_HDR + 11, 0xff},      /* a count beyond the segment */
		{IMAGE_HDR + 12 + 7, 0x7f},  /* the entry lies nowhere */
		{IMAGE_EH_FRAME + 8, 0},     /* CIE version */
		{IMAGE_EH_FRAME + 9, 'x'},   /* augmentation */
		{IMAGE_EH_FRAME + 16, 0x50}, /* encoding of pointers */
		{IMAGE_EH_FRAME + 4, 1},     /* the CIE is none */
	};
	struct sw_elf_entry entry;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct fixture f = fixture(SHT_SYMTAB, changes[i].offset, changes[i].value);
		assert_false(sw_elf_entry_find(f.cfi, IMAGE_CODE, &entry));
		fake_snapshot_destroy(f.snap);
	}
}
