/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "dwarf/functions.h"
#include "test.h"

enum {
	SEARCHES = 8,
	RANGES = 1 << 16, /* as many as a unit may have */
	UNITS = 40,
	CODE = 0x1000,
};

/* The table of a unit that was searched often: one function with n ranges of 16 bytes. */
static struct sw_dwarf_functions *table_make(struct sw_dwarf_function_units *units, uint64_t off,
					     size_t n, struct sw_table_memory *memory)
{
	struct sw_dwarf_functions *f = sw_dwarf_functions_of(units, off, memory);
	Dwarf_Die die = {0};
	bool whole = true;
	assert_non_null(f);
	f->n_searches = SEARCHES;
	assert_true(sw_dwarf_functions_are_due(f));
	for (size_t i = 0; i < n && whole; i++)
		whole = sw_dwarf_functions_add(f, CODE + i * 16, CODE + i * 16 + 16, &die);
	sw_dwarf_functions_finish(f, whole);
	return f;
}

TEST(test_ranges)
{
	struct sw_dwarf_function_units units = {0};
	struct sw_table_memory memory = {0};
	const struct sw_dwarf_functions *f = table_make(&units, 11, 3, &memory);
	assert_null(sw_dwarf_functions_find(f, CODE - 1));
	assert_ptr_equal(sw_dwarf_functions_find(f, CODE), &f->all[0].die);
	assert_ptr_equal(sw_dwarf_functions_find(f, CODE + 47), &f->all[2].die);
	assert_null(sw_dwarf_functions_find(f, CODE + 48));
	assert_int_equal(f->capacity, 3); /* what is kept is what is counted */
	assert_int_equal(memory.used_bytes, 3 * sizeof(*f->all));
	assert_ptr_equal(sw_dwarf_functions_of(&units, 11, &memory), f);
	sw_dwarf_function_units_deinit(&units);
	assert_int_equal(memory.used_bytes, 0);
}

/* Two files whose units have as many ranges as they may: the tables of both together have a limit. What is beyond it has no table
 * and takes no memory; what was made before stays. */
TEST(test_memory_of_all)
{
	struct sw_dwarf_function_units files[2] = {0};
	struct sw_table_memory memory = {0};
	size_t bytes = 0, n_made = 0;
	for (size_t i = 0; i < UNITS; i++) {
		const struct sw_dwarf_functions *f =
			table_make(&files[i % 2], i + 1, RANGES, &memory);
		assert_true(f->tried);
		bytes += f->capacity * sizeof(*f->all);
		assert_true(bytes <= SW_TABLE_MEMORY_MAX);
		assert_int_equal(memory.used_bytes, bytes);
		assert_true((f->all != NULL) == (f->n == RANGES));
		n_made += f->all != NULL;
	}
	assert_int_equal(n_made, SW_TABLE_MEMORY_MAX / (RANGES * sizeof(struct sw_dwarf_function)));
	assert_non_null(
		sw_dwarf_functions_find(sw_dwarf_functions_of(&files[0], 1, &memory), CODE));
	sw_dwarf_function_units_deinit(&files[0]);
	assert_true(memory.used_bytes > 0);
	assert_non_null(table_make(&files[0], 1, RANGES, &memory)->all);
	sw_dwarf_function_units_deinit(&files[0]);
	sw_dwarf_function_units_deinit(&files[1]);
	assert_int_equal(memory.used_bytes, 0);
}

/* Nobody counts: there is no table. */
TEST(test_no_memory)
{
	struct sw_dwarf_function_units units = {0};
	assert_null(table_make(&units, 1, 1, NULL)->all);
	sw_dwarf_function_units_deinit(&units);
}
