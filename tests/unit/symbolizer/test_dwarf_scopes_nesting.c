/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dwarf_scopes: functions in namespaces, as deep as a file says. */
#include "dwarf_scopes.h"
#include "elf_make.h"
#include "test.h"

#include <dwarf.h>

enum { CODE = 0x1000, NESTING = 64, UNIT_HEAD = 11 };

static const uint8_t abbreviations[] = {
	1,
	DW_TAG_compile_unit,
	1,
	0,
	0,
	2,
	DW_TAG_namespace,
	1,
	0,
	0,
	3,
	DW_TAG_subprogram,
	0,
	DW_AT_low_pc,
	DW_FORM_addr,
	DW_AT_high_pc,
	DW_FORM_data1,
	0,
	0,
	0,
};

/* Looks for a function in so many namespaces, one in the other. */
static bool found_in(size_t namespaces)
{
	static struct elf_make elf;
	uint8_t info[512] = {[4] = 4, [10] = 8, [UNIT_HEAD] = 1};
	uint8_t *at = info + UNIT_HEAD + 1;
	const uint64_t start = CODE;
	memset(at, 2, namespaces);
	at += namespaces;
	*at++ = 3;
	memcpy(at, &start, sizeof(start));
	at[8] = 0x10;
	at += 9 + namespaces + 1; /* the ends of all */
	const uint32_t length = (uint32_t) (at - info - 4);
	memcpy(info, &length, sizeof(length));
	elf_make_init(&elf);
	(void) elf_make_section(&elf, ".debug_info", SHT_PROGBITS, 0, 0, info, length + 4);
	(void) elf_make_section(&elf, ".debug_abbrev", SHT_PROGBITS, 0, 0, abbreviations,
				sizeof(abbreviations));
	elf_make_finish(&elf);
	assert_int_not_equal(elf_version(EV_CURRENT), EV_NONE);
	Elf *file = elf_memory((char *) elf.bytes, elf.size);
	Dwarf *dwarf = dwarf_begin_elf(file, DWARF_C_READ, NULL);
	Dwarf_Die unit;
	struct sw_scopes scopes = {0};
	const struct sw_dwarf_want want = {.svma = CODE + 8};
	assert_non_null(dwarf);
	assert_non_null(dwarf_offdie(dwarf, UNIT_HEAD, &unit));
	assert_true(sw_dwarf_scopes_find(&unit, NULL, NULL, &want, 1, &scopes, 0));
	assert_int_equal(dwarf_end(dwarf), 0);
	assert_int_equal(elf_end(file), 0);
	return scopes.found;
}

/* A hostile file may nest without end: the search has a limit, below which functions are found. */
TEST(test_nesting)
{
	assert_true(found_in(0));
	assert_true(found_in(1));
	assert_true(found_in(NESTING - 1));
	assert_false(found_in(NESTING));
}
