/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf_make.h"
#include "entries.h"
#include "providers.h"
#include "prov_symtab.h"
#include "providers.h"
#include "prov_symtab.h"
#include "test.h"

#include <lzma.h>

enum { TEXT = 0x1000 };

static struct elf_make inner, outer;
static uint8_t packed[ELF_MAKE_BYTES];
static size_t packed_bytes;

/* A module whose .dynsym has one function and whose .gnu_debugdata another. */
static int setup(void **state)
{
	elf_make_init(&inner);
	uint32_t text = elf_make_section(&inner, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR,
					 TEXT, NULL, 0x100);
	elf_make_symbol(&inner, "local_one", STB_LOCAL, STT_FUNC, (uint16_t) text, TEXT + 0x40,
			0x40);
	elf_make_symtab(&inner, SHT_SYMTAB);
	elf_make_finish(&inner);
	packed_bytes = 0;
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, inner.bytes, inner.size,
						 packed, &packed_bytes, sizeof(packed)),
			 LZMA_OK);
	return 0;
}

static void make_outer(void)
{
	elf_make_init(&outer);
	uint32_t text = elf_make_section(&outer, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					 TEXT, NULL, 0x100);
	elf_make_symbol(&outer, "exported", STB_GLOBAL, STT_FUNC, (uint16_t) text, TEXT, 0x40);
	elf_make_symtab(&outer, SHT_DYNSYM);
	(void) elf_make_section(&outer, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, packed_bytes);
	elf_make_finish(&outer);
}

/* Asks dynsym, then minidebug, as the table does. */
static void look_up(struct sw_want *wants, size_t n, bool *ret_decompressed)
{
	make_outer();
	struct sw_unit unit = {.kind = 1 << SW_MODULE_ELF, .elf_tried = true};
	struct sw_request request = {.debug_dir = "/nonexistent"};
	void *slot = NULL, *dynamic = NULL;
	unit.is_elf = sw_elf_init(&unit.elf, (struct sw_bytes){outer.bytes, outer.size});
	assert_true(unit.is_elf);
	assert_int_equal(sw_prov_dynsym.names(&unit, &dynamic, wants, n, &request), 0);
	assert_int_equal(sw_prov_minidebug.names(&unit, &slot, wants, n, &request), 0);
	*ret_decompressed = slot != NULL;
	/* The names live in the slot: look at them before it goes. */
	for (size_t i = 0; i < n; i++)
		if (wants[i].name != NULL)
			wants[i].name = strndup(wants[i].name, wants[i].name_bytes);
	if (slot != NULL)
		sw_prov_minidebug.forget(slot);
	if (dynamic != NULL)
		sw_prov_dynsym.forget(dynamic);
}

static void expect(struct sw_want *want, const char *name, enum sw_symbol_source source)
{
	assert_non_null(want->name);
	assert_string_equal(want->name, name);
	assert_int_equal(want->source, source);
	free((char *) want->name);
}

TEST_WITH(test_merged_with_dynsym, setup, NULL)
{
	struct sw_want wants[] = {{.svma = TEXT + 1}, {.svma = TEXT + 0x41}, {.svma = TEXT + 0x80}};
	bool decompressed;
	look_up(wants, 3, &decompressed);
	assert_true(decompressed);
	expect(&wants[0], "exported", SW_SOURCE_DYNSYM);
	expect(&wants[1], "local_one", SW_SOURCE_MINIDEBUG);
	assert_null(wants[2].name);
}

TEST_WITH(test_only_when_needed, setup, NULL)
{
	struct sw_want wants[] = {{.svma = TEXT + 1}};
	bool decompressed;
	look_up(wants, 1, &decompressed);
	assert_false(decompressed);
	expect(&wants[0], "exported", SW_SOURCE_DYNSYM);
}

TEST_WITH(test_damaged, setup, NULL)
{
	/* Any byte wrong, or any tail missing: xz's checks find it, and dynsym's names stay. */
	size_t whole = packed_bytes;
	for (size_t at = 0; at < whole; at += 7) {
		struct sw_want wants[] = {{.svma = TEXT + 1}, {.svma = TEXT + 0x41}};
		bool decompressed;
		packed[at] ^= 0x10;
		look_up(wants, 2, &decompressed);
		packed[at] ^= 0x10;
		expect(&wants[0], "exported", SW_SOURCE_DYNSYM);
		assert_null(wants[1].name);
	}
	for (packed_bytes = 0; packed_bytes < whole; packed_bytes += 16) {
		struct sw_want wants[] = {{.svma = TEXT + 1}, {.svma = TEXT + 0x41}};
		bool decompressed;
		look_up(wants, 2, &decompressed);
		expect(&wants[0], "exported", SW_SOURCE_DYNSYM);
		assert_null(wants[1].name);
	}
}
