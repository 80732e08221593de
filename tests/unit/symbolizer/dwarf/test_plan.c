/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sections that were compressed before there were flags for it: what is one, and what is not. */
#include "dwarf/plan.h"
#include "elf_make.h"
#include "test.h"

enum { HEADER_BYTES = 12, DATA_BYTES = 64, INFLATED_BYTES = 256 };

static bool plan_of(const char *magic, size_t size, struct sw_dwarf_plan *plan)
{
	static struct elf_make made;
	uint8_t info[DATA_BYTES] = {0};
	struct sw_elf elf;
	memcpy(info, magic, 4);
	info[HEADER_BYTES - 2] = INFLATED_BYTES >> 8; /* big-endian */
	elf_make_init(&made);
	(void) elf_make_section(&made, ".debug_abbrev", SHT_PROGBITS, 0, 0, "", 1);
	(void) elf_make_section(&made, ".zdebug_info", SHT_PROGBITS, 0, 0, info, size);
	elf_make_finish(&made);
	assert_true(sw_elf_init(&elf, (struct sw_bytes){made.bytes, made.size}));
	return sw_dwarf_plan_make(plan, &elf, false);
}

TEST(test_zdebug)
{
	struct sw_dwarf_plan plan;
	assert_true(plan_of("ZLIB", DATA_BYTES, &plan));
	assert_int_equal(plan.wanted[SW_DWARF_INFO].bytes, INFLATED_BYTES);
	assert_int_equal(plan.wanted[SW_DWARF_INFO].from.size, DATA_BYTES - HEADER_BYTES);
	assert_int_equal(plan.inflated_bytes, INFLATED_BYTES);
	assert_false(plan_of("ZSTD", DATA_BYTES, &plan));
	assert_string_equal(plan.why,
			    "its debug information is compressed in a way that is not known");
	assert_false(plan_of("ZLIB", HEADER_BYTES - 1, &plan));
	assert_string_equal(plan.why,
			    "its debug information is compressed in a way that is not known");
}
