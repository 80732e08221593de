/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe/cfi.h"
#include "pe_make.h"
#include "fake.h"
#include "test.h"

#include <dwarf.h>

/* The rows of both kinds of section: CFA = esp+4, the return address there. */
#define CIE_ROWS DW_CFA_def_cfa, 4, 4, DW_CFA_offset | 8, 1

/* CIE; FDE for [0x401000, 0x401010): push %ebp; mov %esp,%ebp */
static const uint8_t debug_frame[] = {16, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x7c, 8,
				      CIE_ROWS, DW_CFA_nop, DW_CFA_nop, 20, 0, 0, 0, 0, 0, 0, 0, 0,
				      0x10, 0x40, 0, 0x10, 0, 0, 0, DW_CFA_advance_loc | 1,
				      DW_CFA_def_cfa_offset, 8, DW_CFA_offset | 5, 2,
				      DW_CFA_advance_loc | 2, DW_CFA_def_cfa_register, 5,
				      /* FDE of code that the linker has left out: [0, 8) */
				      12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0};
/* The same for [0x401008, 0x401020), which goes before it, and then nonsense. */
static const uint8_t eh_frame[] = {16,         0,          0,
				   0,          0,          0,
				   0,          0,          1,
				   0,          1,          0x7c,
				   8,          CIE_ROWS,   DW_CFA_nop,
				   DW_CFA_nop, 16,         0,
				   0,          0,          24,
				   0,          0,          0,
				   8,          0x10,       0x40,
				   0,          0x18,       0,
				   0,          0,          DW_CFA_def_cfa_offset,
				   12,         DW_CFA_nop, DW_CFA_nop,
				   0,          0,          0,
				   0};

enum { BASE = 0x700000 };

static struct sw_snapshot *snapshot(bool is_32bit, const char *eh_name, struct sw_place **ret)
{
	struct pe_make pe;
	if (is_32bit)
		pe_make_init_32(&pe);
	else
		pe_make_init(&pe);
	pe_make_section(&pe, ".text", 0x1000, PE_MAKE_CODE, NULL, 0x100);
	pe_make_section(&pe, ".debug_frame", 0x2000, PE_MAKE_DATA, debug_frame,
			sizeof(debug_frame));
	if (eh_name != NULL)
		pe_make_section(&pe, eh_name, 0x3000, PE_MAKE_DATA, eh_frame, sizeof(eh_frame));
	pe_make_finish(&pe);
	struct sw_snapshot *snap = fake_snapshot_create();
	*ret = fake_snapshot_module(snap, SW_MODULE_PE, "/w/x.exe", BASE, BASE, BASE + 0x4000,
				    pe.bytes, pe.size);
	return snap;
}

/* The rule at an RVA in words; "none", "bad". */
static void rule_is(struct sw_pe_cfi *cfi, uint32_t rva, const char *wanted)
{
	static const char *const words[] = {"", "none", "bad", "nomem"};
	for (int again = 0; again < 2; again++) { /* the second time it is kept */
		struct sw_text text = {0};
		const struct sw_cfi_rule *rule;
		enum sw_pe_row row = sw_pe_cfi_row(cfi, rva, &rule);
		if (row == SW_PE_ROW_FOUND)
			sw_cfi_rule_print(rule, &text);
		else
			sw_text_printf(&text, "%s", words[row]);
		assert_string_equal(text.data, wanted);
		sw_text_deinit(&text);
	}
}

TEST(test_debug_frame)
{
	struct sw_place *place;
	struct sw_snapshot *snap = snapshot(true, NULL, &place);
	struct sw_pe_cfi *cfi = sw_pe_cfi_get(place->module);
	uint32_t start, end;
	const char *section;
	assert_non_null(cfi);
	assert_int_equal(sw_pe_cfi_bias(cfi, BASE), BASE - PE_MAKE_BASE_32);
	rule_is(cfi, 0x1000, "CFA = esp+4, ra = [CFA-4]");
	rule_is(cfi, 0x1001, "CFA = esp+8, ebp = [CFA-8], ra = [CFA-4]");
	rule_is(cfi, 0x100f, "CFA = ebp+8, ebp = [CFA-8], ra = [CFA-4]");
	rule_is(cfi, 0x1010, "none");
	rule_is(cfi, 0xfff, "none");
	assert_true(sw_pe_cfi_function(cfi, 0x1008, &start, &end, &section));
	assert_int_equal(start, 0x1000);
	assert_int_equal(end, 0x1010);
	assert_string_equal(section, ".debug_frame");
	/* An address from nowhere near the image, as RVA: what was left out stays so. */
	assert_false(sw_pe_cfi_function(cfi, (uint32_t) -PE_MAKE_BASE_32, &start, &end, &section));
	fake_snapshot_destroy(snap);
}

/* .eh_frame goes first, also by the name that is left of it without a string table. */
TEST(test_eh_frame)
{
	static const char *const names[] = {".eh_frame", ".eh_fram"};
	for (size_t i = 0; i < 2; i++) {
		struct sw_place *place;
		struct sw_snapshot *snap = snapshot(true, names[i], &place);
		struct sw_pe_cfi *cfi = sw_pe_cfi_get(place->module);
		assert_non_null(cfi);
		rule_is(cfi, 0x1007, "CFA = ebp+8, ebp = [CFA-8], ra = [CFA-4]");
		rule_is(cfi, 0x1008, "CFA = esp+12, ra = [CFA-4]");
		rule_is(cfi, 0x101f, "CFA = esp+12, ra = [CFA-4]");
		rule_is(cfi, 0x1020, "none");
		fake_snapshot_destroy(snap);
	}
}

/* Images for x86-64 have function tables; what is no image has nothing. */
TEST(test_others)
{
	struct sw_place *place;
	struct sw_snapshot *snap = snapshot(false, ".eh_frame", &place);
	assert_null(sw_pe_cfi_get(place->module));
	fake_snapshot_destroy(snap);
	snap = fake_snapshot_create();
	place = fake_snapshot_module(snap, SW_MODULE_PE, "/w/y.exe", BASE, BASE, BASE + 0x1000,
				     "MZ", 2);
	assert_null(sw_pe_cfi_get(place->module));
	fake_snapshot_destroy(snap);
}
