/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two functions, [0x10, 0x200) and [0x200, 0x300), with a table of values for the first. */
#include "runtimes/go/pclntab.h"
#include "test.h"

enum { FIRST_AT = 32, SECOND_AT = 96, FUNCS_BYTES = 160, TABLE_OFF = 4 };

static uint8_t funcs[FUNCS_BYTES];
static const uint8_t names[] = "\0main.one\0main.two";
/* -1 + 101 = 100 for 0x90 bytes (a number of two bytes), then 100 - 36 = 64 to the end, 0x160 bytes */
static const uint8_t values[] = {0, 0, 0, 0, 0xca, 0x01, 0x90, 0x01, 0x47, 0xe0, 0x02, 0};

static void put(size_t at, uint32_t value)
{
	memcpy(funcs + at, &value, sizeof(value));
}

static struct sw_go_pclntab table_make(void)
{
	memset(funcs, 0, sizeof(funcs));
	put(0, 0x10);
	put(4, FIRST_AT);
	put(8, 0x200);
	put(12, SECOND_AT);
	put(16, 0x300);
	put(FIRST_AT, 0x10);
	put(FIRST_AT + 4, 1);
	put(FIRST_AT + 16, TABLE_OFF);
	put(SECOND_AT, 0x200);
	put(SECOND_AT + 4, 10);
	return (struct sw_go_pclntab){.n_funcs = 2,
				      .names = {names, sizeof(names)},
				      .tables = {values, sizeof(values)},
				      .funcs = {funcs, sizeof(funcs)}};
}

TEST(test_find)
{
	const struct sw_go_pclntab table = table_make();
	struct sw_go_func f;
	assert_true(sw_go_func_find(&table, 0x10, &f));
	assert_string_equal(f.name, "main.one");
	assert_true(sw_go_func_find(&table, 0x1ff, &f));
	assert_string_equal(f.name, "main.one");
	assert_true(sw_go_func_find(&table, 0x200, &f));
	assert_string_equal(f.name, "main.two");
	assert_false(sw_go_func_find(&table, 0x0f, &f));
	assert_false(sw_go_func_find(&table, 0x300, &f)); /* behind the last one */
}

/* A table that contradicts itself is not believed, and names are looked for in their table only. */
TEST(test_damaged)
{
	struct sw_go_pclntab table = table_make();
	struct sw_go_func f;
	put(FIRST_AT, 0x11);
	assert_false(sw_go_func_find(&table, 0x20, &f));
	table = table_make();
	put(FIRST_AT + 4, UINT32_MAX);
	assert_false(sw_go_func_find(&table, 0x20, &f));
	assert_null(sw_go_name(&table, -1));
	assert_null(sw_go_name(&table, sizeof(names)));
	assert_string_equal(sw_go_name(&table, 10), "main.two");
}

TEST(test_values)
{
	const struct sw_go_pclntab table = table_make();
	struct sw_go_func f;
	int32_t value = 0;
	assert_true(sw_go_func_find(&table, 0x10, &f));
	assert_true(sw_go_value(&table, &f, f.sp_table, 0x10, &value));
	assert_int_equal(value, 100);
	assert_true(sw_go_value(&table, &f, f.sp_table, 0x10 + 0x8f, &value));
	assert_int_equal(value, 100);
	assert_true(sw_go_value(&table, &f, f.sp_table, 0x10 + 0x90, &value));
	assert_int_equal(value, 64);
	assert_true(sw_go_value(&table, &f, f.sp_table, 0x1ff, &value));
	assert_int_equal(value, 64);
	assert_false(sw_go_value(&table, &f, f.sp_table, 0x200, &value));
	assert_false(sw_go_value(&table, &f, 0, 0x20, &value));
}
