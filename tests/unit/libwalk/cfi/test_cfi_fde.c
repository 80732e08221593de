/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cfi/fde.h"
#include "arena.h"
#include "errors.h"
#include "jit_case.h"
#include "test.h"

#include <dwarf.h>

enum {
	ABS8 = DW_EH_PE_absptr,
	PCREL4 = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
	PCREL8 = DW_EH_PE_pcrel | DW_EH_PE_sdata8,
	TEXTREL4 = DW_EH_PE_textrel | DW_EH_PE_udata4,
	DATAREL4 = DW_EH_PE_datarel | DW_EH_PE_sdata4,
};

static const uint64_t code = 0x7f1234567000;

/* The rule in words, or the error. */
static void rule_is(const struct sw_cfi_section *section, uint64_t off, uint64_t avma,
		    const char *wanted)
{
	struct sw_arena arena = {0};
	struct sw_text text = {0};
	const struct sw_cfi_rule *rule;
	int r = sw_cfi_fde_rule(section, off, avma, &arena, &rule);
	if (r == 0)
		sw_cfi_rule_print(rule, &text);
	else
		sw_text_printf(&text, "%s", sw_error_wire(-r));
	assert_string_equal(text.data, wanted);
	sw_text_deinit(&text);
	sw_arena_deinit(&arena);
}

/* The rule is the same at each address, whatever the pointers count from. */
TEST(test_encodings)
{
	static const uint8_t encodings[] = {ABS8, PCREL4, PCREL8, TEXTREL4, DATAREL4};
	for (size_t i = 0; i < sizeof(encodings); i++) {
		struct eh_make eh = {.avma = code + 0x100000,
				     .text_avma = code - 64,
				     .data_avma = code + 64};
		size_t cie = eh_make_cie(&eh, encodings[i]);
		/* advance 1; CFA = rsp+16; rbx at CFA-16; advance 9; CFA = rsp+48 */
		size_t fde = eh_make_fde(&eh, cie, encodings[i], code, 0x40,
					 EH_ROWS(0x41, 0x0e, 16, 0x83, 2, 0x49, 0x0e, 48));
		eh_make_end(&eh);
		struct sw_cfi_section section = eh_section(&eh);
		rule_is(&section, fde, code, "CFA = rsp+8, ra = [CFA-8]");
		rule_is(&section, fde, code + 1, "CFA = rsp+16, rbx = [CFA-16], ra = [CFA-8]");
		rule_is(&section, fde, code + 0x3f, "CFA = rsp+48, rbx = [CFA-16], ra = [CFA-8]");
		rule_is(&section, fde, code + 0x40, "not_found");
		rule_is(&section, fde, code - 1, "not_found");
		rule_is(&section, cie, code, "bad_format");
		rule_is(&section, eh.size, code, "bad_format");
	}
}

/* A table for i386: its numbers of registers, 4 bytes in plain addresses, which wrap around. */
TEST(test_i386)
{
	static const uint8_t bytes[] = {
		/* 0: CIE, "zR" plain; alignments 1 and -4, return address in column 8 */
		20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x7c, 8, 1, DW_EH_PE_absptr,
		DW_CFA_def_cfa, 4, 4, DW_CFA_offset | 8, 1, DW_CFA_nop, DW_CFA_nop,
		/* 24: FDE for [0xfffff000, 4 GiB): push %ebp; mov %esp,%ebp; push %esi */
		28, 0, 0, 0, 28, 0, 0, 0, 0, 0xf0, 0xff, 0xff, 0, 0x10, 0, 0, 0,
		DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 8, DW_CFA_offset | 5, 2,
		DW_CFA_advance_loc | 2, DW_CFA_def_cfa_register, 5, DW_CFA_advance_loc | 1,
		DW_CFA_offset | 6, 3, DW_CFA_nop, DW_CFA_nop, DW_CFA_nop, DW_CFA_nop, 0, 0, 0, 0};
	const struct sw_cfi_section section = {.bytes = {bytes, sizeof(bytes)}, .is_32bit = true};
	struct sw_cfi_entry entry;
	assert_int_equal(sw_cfi_entry_read(&section, 24, &entry), 1);
	assert_int_equal(entry.start_svma, 0xfffff000);
	assert_int_equal(entry.end_svma, UINT64_C(1) << 32);
	assert_true(entry.is_32bit);
	rule_is(&section, 24, 0xfffff000, "CFA = esp+4, ra = [CFA-4]");
	rule_is(&section, 24, 0xfffff001, "CFA = esp+8, ebp = [CFA-8], ra = [CFA-4]");
	rule_is(&section, 24, 0xfffff003, "CFA = ebp+8, ebp = [CFA-8], ra = [CFA-4]");
	rule_is(&section, 24, 0xfffff004,
		"CFA = ebp+8, esi = [CFA-12], ebp = [CFA-8], ra = [CFA-4]");
}

/* Without a base such pointers mean nothing. */
TEST(test_no_base)
{
	static const uint8_t encodings[] = {TEXTREL4, DATAREL4};
	for (size_t i = 0; i < sizeof(encodings); i++) {
		struct eh_make eh = {.avma = code};
		size_t cie = eh_make_cie(&eh, encodings[i]);
		size_t fde = eh_make_fde(&eh, cie, encodings[i], 0x1000, 0x40, EH_ROWS(0));
		struct sw_cfi_section section = eh_section(&eh);
		rule_is(&section, fde, 0x1000, "bad_format");
	}
}

/* LuaJIT 2.1: an FDE with a personality and nothing about frames. */
TEST(test_empty)
{
	struct eh_make eh = {.avma = code + 0x1000};
	size_t cie = eh_make_empty_cie(&eh, PCREL4);
	size_t fde = eh_make_fde(&eh, cie, PCREL4, code, 0x40, EH_ROWS(0, 0, 0));
	struct sw_cfi_section section = eh_section(&eh);
	rule_is(&section, fde, code + 8, "not_found");
}

/* V8's programs hold absolute addresses, which mean the same everywhere; others do not. */
TEST(test_set_loc)
{
	uint8_t rows[12] = {DW_CFA_set_loc};
	uint64_t at = code + 16;
	memcpy(rows + 1, &at, sizeof(at));
	rows[9] = DW_CFA_def_cfa_offset;
	rows[10] = 32;
	struct eh_make eh = {.avma = code + 0x1000};
	size_t cie = eh_make_cie(&eh, ABS8);
	size_t fde = eh_make_fde(&eh, cie, ABS8, code, 0x40, rows, sizeof(rows));
	struct sw_cfi_section section = eh_section(&eh);
	rule_is(&section, fde, code + 15, "CFA = rsp+8, ra = [CFA-8]");
	rule_is(&section, fde, code + 16, "CFA = rsp+32, ra = [CFA-8]");

	eh = (struct eh_make){.avma = code + 0x1000};
	cie = eh_make_cie(&eh, PCREL8);
	fde = eh_make_fde(&eh, cie, PCREL8, code, 0x40, rows, sizeof(rows));
	section = eh_section(&eh);
	rule_is(&section, fde, code + 15, "bad_format");
}

/* Entries that libdw must not see. */
TEST(test_excessive)
{
	struct eh_make eh = {.avma = code + 0x1000};
	size_t cie = eh_make_cie(&eh, PCREL4);
	/* DW_CFA_undefined of register 2^27 - 1 */
	size_t fde = eh_make_fde(&eh, cie, PCREL4, code, 0x40,
				 EH_ROWS(DW_CFA_undefined, 0xff, 0xff, 0xff, 0x3f));
	struct sw_cfi_section section = eh_section(&eh);
	rule_is(&section, fde, code, "bad_format");
}

TEST(test_find)
{
	struct eh_make eh = {.avma = code + 0x1000};
	size_t cie = eh_make_cie(&eh, PCREL4);
	size_t first = eh_make_fde(&eh, cie, PCREL4, code + 0x40, 0x40, EH_ROWS(0));
	size_t second = eh_make_fde(&eh, cie, PCREL4, code, 0x20, EH_ROWS(0));
	eh_make_end(&eh);
	struct sw_cfi_section section = eh_section(&eh);
	struct sw_cfi_entry entry;
	uint64_t off;
	assert_int_equal(sw_cfi_fde_find(&section, code + 0x40, &off, &entry), 1);
	assert_int_equal(off, first);
	assert_int_equal(entry.start_svma, code + 0x40);
	assert_int_equal(entry.end_svma, code + 0x80);
	assert_int_equal(sw_cfi_fde_find(&section, code + 0x1f, &off, &entry), 1);
	assert_int_equal(off, second);
	assert_int_equal(sw_cfi_fde_find(&section, code + 0x20, &off, &entry), 0);
	section.bytes.size = second + 9;
	assert_int_equal(sw_cfi_fde_find(&section, code + 0x1f, &off, &entry), -1);
	assert_int_equal(sw_cfi_fde_find(&section, code + 0x40, &off, &entry), 1);
}

/* A CIE is read for each FDE: its letters have a limit. */
TEST(test_letters)
{
	for (size_t n = 16; n <= 17; n++) {
		uint8_t bytes[64] = {32, 0, 0, 0, 0, 0, 0, 0, 1};
		const uint32_t fde[2] = {24, 40};
		struct sw_cfi_entry entry;
		memset(bytes + 9, 'S', n);
		memcpy(bytes + 9 + n + 1, "\x01\x78\x10", 3);
		memcpy(bytes + 36, fde, sizeof(fde));
		memcpy(bytes + 44, &code, sizeof(code));
		bytes[52] = 0x40;
		const struct sw_cfi_section section = {.bytes = {bytes, sizeof(bytes)},
						       .svma = code};
		assert_int_equal(sw_cfi_entry_read(&section, 36, &entry), n == 16 ? 1 : -1);
		if (n == 16)
			assert_int_equal(entry.end_svma, code + 0x40);
	}
}

TEST(test_fdes)
{
	struct eh_make a = {.avma = code + 0x1000}, b = {.avma = code + 0x2000};
	size_t cie = eh_make_cie(&a, PCREL4);
	size_t high = eh_make_fde(&a, cie, PCREL4, code + 0x40, 0x40, EH_ROWS(0));
	(void) eh_make_fde(&a, cie, PCREL4, code + 0x100, 0, EH_ROWS(0));
	eh_make_end(&a);
	cie = eh_make_cie(&b, PCREL4);
	size_t low = eh_make_fde(&b, cie, PCREL4, code, 0x40, EH_ROWS(0));
	struct sw_cfi_section sections[] = {eh_section(&a), eh_section(&b)};
	struct sw_cfi_fdes fdes = {0};
	assert_null(sw_cfi_fdes_find(&fdes, code));
	assert_int_equal(sw_cfi_fdes_add(&fdes, &sections[0], 7), 0);
	assert_int_equal(sw_cfi_fdes_add(&fdes, &sections[1], 8), 0);
	sw_cfi_fdes_sort(&fdes);
	assert_int_equal(fdes.n, 2);
	assert_false(fdes.bad);
	const struct sw_cfi_fde *fde = sw_cfi_fdes_find(&fdes, code + 0x3f);
	assert_int_equal(fde->off, low);
	assert_int_equal(fde->section, 8);
	fde = sw_cfi_fdes_find(&fdes, code + 0x40);
	assert_int_equal(fde->off, high);
	assert_int_equal(fde->section, 7);
	assert_null(sw_cfi_fdes_find(&fdes, code + 0x80));
	assert_null(sw_cfi_fdes_find(&fdes, code - 1));
	sections[1].bytes.size--;
	assert_int_equal(sw_cfi_fdes_add(&fdes, &sections[1], 9), 0);
	assert_true(fdes.bad);
	assert_int_equal(fdes.n, 2);
	sw_cfi_fdes_deinit(&fdes);
}
