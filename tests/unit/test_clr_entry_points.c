/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "clr_make.h"
#include "clr_names.h"
#include "fake.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/*
 * A ReadyToRun image around the metadata of clr_make.h: RVA 0x1000 has the CLI header and metadata,
 * 0x1800 the ReadyToRun header, 0x1a00 the functions, 0x1c00 the entry points.
 */
enum {
	CLI = 0x1008,
	HEADER = 0x1800,
	FUNCTIONS = 0x1a00,
	ENTRIES = 0x1c00,
};

#define BASE UINT64_C(0x7e0000000000)

struct world {
	uint8_t image[CLR_MAKE_IMAGE_BYTES];
	struct fake_region region;
	struct fake_memory fake;
	struct sw_arena arena;
	struct sw_clr_names *names;
	struct sw_clr_runtime runtime;
};

static void put(struct world *w, size_t at, uint64_t value, size_t bytes)
{
	memcpy(w->image + at, &value, bytes);
}

static int setup(void **state)
{
	/*
	 * Method 1 begins with function 0, 3 with 2 (and has fixups), 5 with 3; 2 and 4 are not
	 * compiled. Function 1 is a funclet of the first, or anything else.
	 *
	 *	header	5 elements, their index in bytes: 5 << 2 | 0, as a number of one byte: << 1
	 *	index	block 0 begins behind the index
	 *	tree	16 | 8 | 4 | 2 | 1: 0b01 goes down to the lower half, which follows; 0b10 down
	 *		to the upper, value >> 2 further; n << 2 is element n itself
	 */
	static const uint8_t entries[] = {
		5 << 2 << 1,
		1,                     /* block 0, from the start of the index */
		1 << 1,                /* below 8: of 16 only the lower half */
		(1 | 2 | 5 << 2) << 1, /* below 4, and the upper half 5 bytes on */
		(1 | 2 | 3 << 2) << 1, /* below 2, and from 2 on 3 bytes on */
		0 << 2 << 1,           /* element 0 alone */
		0 << 1 << 1,           /* function 0 */
		2 << 2 << 1,           /* element 2 alone */
		(2 << 2 | 1) << 1,     /* function 2, fixups */
		4 << 2 << 1,           /* element 4 alone */
		3 << 1 << 1,           /* function 3 */
	};
	static const uint32_t functions[] = {0x100, 0x140, 0, 0x140, 0x160, 0,
					     0x160, 0x200, 0, 0x200, 0x240, 0};
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	clr_make_image(w->image, 1, 1);
	put(w, CLI + 64, HEADER, 4);
	memcpy(w->image + HEADER, "RTR", 4);
	put(w, HEADER + 12, 2, 4);
	const uint32_t sections[] = {102, FUNCTIONS, sizeof(functions),
				     103, ENTRIES,   sizeof(entries)};
	memcpy(w->image + HEADER + 16, sections, sizeof(sections));
	memcpy(w->image + FUNCTIONS, functions, sizeof(functions));
	memcpy(w->image + ENTRIES, entries, sizeof(entries));
	w->region = (struct fake_region){BASE, w->image, sizeof(w->image)};
	w->fake = (struct fake_memory){&w->region, 1, 0};
	w->runtime.at = sw_clr_layout_fixed(0, 0);
	w->names = calloc(1, sizeof(*w->names));
	assert_non_null(w->names);
	w->names->memory = fake_memory(&w->fake);
	w->names->arena = &w->arena;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	sw_clr_names_destroy(w->names);
	sw_arena_deinit(&w->arena);
	free(w);
	return 0;
}

static const char *name_at(struct world *w, uint32_t begin_rva)
{
	const struct sw_clr_code code = {.kind = SW_CLR_CODE_R2R,
					 .base_avma = BASE,
					 .function = {.begin_rva = begin_rva},
					 .runtime = &w->runtime};
	return sw_clr_entry_point_name(w->names, &code);
}

static void test_names(void **state)
{
	struct world *w = *state;
	assert_string_equal(name_at(w, 0x100), "T.dll!N.Outer.Main(string[])");
	assert_string_equal(name_at(w, 0x160), "T.dll!N.Outer+Inner`1.Call(T, U&, List`1[int])");
	assert_string_equal(name_at(w, 0x200), "T.dll!Last.<Start>b__0()");
	assert_null(name_at(w, 0x140)); /* not the method before it */
	assert_null(name_at(w, 0x10));
}

static void test_without(void **state)
{
	struct world *w = *state;
	put(w, HEADER + 16 + 12, 104, 4); /* another section */
	assert_null(name_at(w, 0x100));
	size_t reads = w->fake.reads;
	assert_null(name_at(w, 0x200)); /* not asked again */
	assert_int_equal(w->fake.reads, reads);
}

/* Whatever stands in the tree: an answer, and soon. */
static void test_damaged(void **state)
{
	for (unsigned at = 0; at < 11; at++)
		for (unsigned value = 0; value < 256; value++) {
			struct world *w = *state;
			put(w, ENTRIES + at, value, 1);
			w->fake.reads = 0;
			(void) name_at(w, 0x100); /* only that it ends */
			assert_true(w->fake.reads < 10000);
			teardown(state);
			setup(state);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
