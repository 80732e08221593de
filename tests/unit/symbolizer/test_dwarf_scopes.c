/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The deadline of a search for functions in units whose DIEs are few, and the ranges of the DIEs many. */
#include "dwarf_scopes.h"
#include "elf_image.h"
#include "test.h"

#include <dwarf.h>
#include <libelf.h>

enum {
	RANGES = 1000,
	CHILDREN = 1000, /* fewer than DIEs after which the clock is looked at */
	PLACE = 0x100,   /* in no range but that of the function */
	FUNCTION_END = 0x200,
	RANGES_START = 0x1000,
	WANTS = 5000,
	PASSED = 1, /* a time of long ago */
};

enum { UNIT = 1, FUNCTION, FUNCTION_OF_RANGES, BLOCK_OF_RANGES };

static const uint8_t abbreviations[] = {
	UNIT,
	DW_TAG_compile_unit,
	DW_CHILDREN_yes,
	DW_AT_low_pc,
	DW_FORM_addr,
	0,
	0,
	FUNCTION,
	DW_TAG_subprogram,
	DW_CHILDREN_yes,
	DW_AT_low_pc,
	DW_FORM_addr,
	DW_AT_high_pc,
	DW_FORM_data4,
	0,
	0,
	FUNCTION_OF_RANGES,
	DW_TAG_subprogram,
	DW_CHILDREN_no,
	DW_AT_ranges,
	DW_FORM_sec_offset,
	0,
	0,
	BLOCK_OF_RANGES,
	DW_TAG_lexical_block,
	DW_CHILDREN_no,
	DW_AT_ranges,
	DW_FORM_sec_offset,
	0,
	0,
	0,
};

struct fixture {
	size_t n_children;
	bool wide; /* each range holds PLACE */
	uint8_t info[64 + 5 * CHILDREN];
	size_t n_info;
	uint64_t ranges[2 * RANGES + 2];
	uint8_t *image;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_Die unit;
	struct sw_dwarf_want wants[WANTS];
	struct sw_scopes *scopes;
};

static void put(struct fixture *f, const void *bytes, size_t n)
{
	assert_true(f->n_info + n <= sizeof(f->info));
	memcpy(f->info + f->n_info, bytes, n);
	f->n_info += n;
}

static void put_die(struct fixture *f, uint8_t kind)
{
	static const uint64_t low = 0;
	static const uint32_t length = FUNCTION_END, ranges_off = 0;
	put(f, &kind, 1);
	if (kind == UNIT || kind == FUNCTION)
		put(f, &low, sizeof(low));
	if (kind == FUNCTION)
		put(f, &length, sizeof(length));
	if (kind == FUNCTION_OF_RANGES || kind == BLOCK_OF_RANGES)
		put(f, &ranges_off, sizeof(ranges_off));
}

/* A unit of DWARF 4. */
static void unit_make(struct fixture *f, uint8_t child)
{
	static const struct __attribute__((packed)) {
		uint32_t length;
		uint16_t version;
		uint32_t abbreviations_off;
		uint8_t address_bytes;
	} header = {.version = 4, .address_bytes = sizeof(uint64_t)};
	Dwarf_Off next;
	size_t header_bytes;
	put(f, &header, sizeof(header));
	put_die(f, UNIT);
	if (child == BLOCK_OF_RANGES)
		put_die(f, FUNCTION);
	for (size_t i = 0; i < f->n_children; i++)
		put_die(f, child);
	put(f, "\0\0", child == BLOCK_OF_RANGES ? 2 : 1);
	const uint32_t length = (uint32_t) (f->n_info - sizeof(length));
	memcpy(f->info, &length, sizeof(length));
	for (uint64_t i = 0; i < RANGES; i++) {
		f->ranges[2 * i] = f->wide ? PLACE : RANGES_START + 2 * i;
		f->ranges[2 * i + 1] = RANGES_START + 2 * i + 1;
	}
	const struct image_section sections[] = {
		{.name = ".debug_abbrev",
		 .type = SHT_PROGBITS,
		 .data = abbreviations,
		 .size = sizeof(abbreviations)},
		{.name = ".debug_info", .type = SHT_PROGBITS, .data = f->info, .size = f->n_info},
		{.name = ".debug_ranges",
		 .type = SHT_PROGBITS,
		 .data = f->ranges,
		 .size = sizeof(f->ranges)},
	};
	const struct image_parts parts = {.sections = sections, .n_sections = 3};
	f->image = elf_image(&parts);
	f->elf = elf_memory((char *) f->image, IMAGE_BYTES);
	f->dwarf = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	assert_non_null(f->dwarf);
	assert_int_equal(dwarf_nextcu(f->dwarf, 0, &next, &header_bytes, NULL, NULL, NULL), 0);
	assert_non_null(dwarf_offdie(f->dwarf, header_bytes, &f->unit));
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
	if (f == NULL || (f->scopes = calloc(WANTS, sizeof(*f->scopes))) == NULL)
		return -1;
	for (size_t i = 0; i < WANTS; i++)
		f->wants[i].svma = PLACE;
	f->n_children = CHILDREN;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	(void) dwarf_end(f->dwarf); /* was only read, as the ELF file */
	(void) elf_end(f->elf);
	free(f->image);
	free(f->scopes);
	free(f);
	return 0;
}

static bool find(struct fixture *f, size_t n, int64_t deadline_ns)
{
	memset(f->scopes, 0, WANTS * sizeof(*f->scopes));
	return sw_dwarf_scopes_find(&f->unit, NULL, NULL, f->wants, n, f->scopes, deadline_ns);
}

TEST_OF(test_functions_of_many_ranges, struct fixture *f)
{
	unit_make(f, FUNCTION_OF_RANGES);
	assert_true(find(f, 1, 0));
	assert_false(f->scopes[0].found);
	assert_false(find(f, 1, PASSED));
	f->wants[0].svma = RANGES_START + 2 * (RANGES - 1);
	assert_true(find(f, 1, 0));
	assert_true(f->scopes[0].found);
}

TEST_OF(test_blocks_of_many_ranges, struct fixture *f)
{
	unit_make(f, BLOCK_OF_RANGES);
	assert_true(find(f, 1, 0));
	assert_true(f->scopes[0].found);
	assert_false(find(f, 1, PASSED));
}

/* Few DIEs with few ranges, each of which holds many addresses; the last address is in none. */
TEST_OF(test_many_addresses, struct fixture *f)
{
	f->n_children = 2;
	f->wide = true;
	unit_make(f, FUNCTION_OF_RANGES);
	f->wants[WANTS - 1].svma = UINT64_MAX;
	assert_true(find(f, WANTS, 0));
	assert_true(f->scopes[WANTS - 2].found);
	assert_false(f->scopes[WANTS - 1].found);
	assert_false(find(f, WANTS, PASSED));
}
