/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "jit/perf/perfmap.h"
#include "test.h"

static struct sw_bytes text(const char *s)
{
	return (struct sw_bytes){(const uint8_t *) s, strlen(s)};
}

static void line_is(const char *s, uint64_t start, uint64_t bytes, const char *name)
{
	struct sw_perfmap_line line;
	assert_true(sw_perfmap_line_read(text(s), 0, &line));
	assert_int_equal(line.start_avma, start);
	assert_int_equal(line.bytes, bytes);
	assert_int_equal(line.name.size, strlen(name));
	assert_memory_equal(line.name.data, name, line.name.size);
}

TEST(test_lines)
{
	line_is("7f0012340000 5c LazyCompile:*outer t.js:5\n", 0x7f0012340000, 0x5c,
		"LazyCompile:*outer t.js:5");
	line_is("0x7F0012340000 0x5C void [System] X::Y()\r\n", 0x7f0012340000, 0x5c,
		"void [System] X::Y()");
	line_is("1  2   py::leaf:/t.py\n", 1, 2, "py::leaf:/t.py");
	line_is("ffffffffffffffff 1 end\n", UINT64_MAX, 1, "end");
}

TEST(test_no_lines)
{
	static const char *const bad[] = {
		"",
		"\n",
		"1 2 cut",
		"1 2\n",
		"1 2 \n",
		"1\n",
		"1 0 empty\n",
		"x 2 name\n",
		"1 x name\n",
		"0x 2 name\n",
		"10000000000000000 2 too large\n",
		" 1 2 space first\n",
		"-1 2 name\n",
	};
	struct sw_perfmap_line line;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(sw_perfmap_line_read(text(bad[i]), 0, &line));
	assert_false(sw_perfmap_line_read(text("1 2 n\n"), 6, &line));
}

/* The name at an address in a map; "" for none. */
static void name_is(const char *map, uint64_t avma, const char *name)
{
	struct sw_jit_ranges ranges = {0};
	struct sw_perfmap_line line = {0};
	size_t n;
	bool limited;
	assert_int_equal(sw_perfmap_parse(text(map), &ranges, &n, &limited), 0);
	assert_false(limited);
	assert_int_equal(sw_jit_ranges_finish(&ranges), 0);
	const struct sw_jit_range *range = sw_jit_ranges_find(&ranges, avma);
	if (range != NULL)
		assert_true(sw_perfmap_line_read(text(map), range->value, &line));
	assert_int_equal(line.name.size, strlen(name));
	if (line.name.size > 0)
		assert_memory_equal(line.name.data, name, line.name.size);
	sw_jit_ranges_deinit(&ranges);
}

/* Memory is used again: later lines are true, also where they cover a part only. */
TEST(test_later_wins)
{
	static const char map[] = "1000 100 first\n2000 10 other\n1080 20 second\n1000 10 third\n";
	name_is(map, 0x1000, "third");
	name_is(map, 0x1010, "first");
	name_is(map, 0x1080, "second");
	name_is(map, 0x10a0, "first");
	name_is(map, 0x10ff, "first");
	name_is(map, 0x1100, "");
	name_is(map, 0x2005, "other");
}

TEST(test_cut_tail)
{
	name_is("1000 10 whole\n2000 10 cu", 0x2000, "");
	name_is("1000 10 whole\n2000 10 cu", 0x1000, "whole");
	name_is("1000 10 only", 0x1000, "");
}

TEST(test_bad_lines_between)
{
	name_is("garbage\n1000 10 good\n\nzzz 1 x\n", 0x1008, "good");
}

TEST(test_limit)
{
	static const char line[] = "1 1 a\n";
	size_t lines = SW_PERFMAP_LINES_MAX + 10, n, size = lines * (sizeof(line) - 1);
	char *map = malloc(size);
	struct sw_jit_ranges ranges = {0};
	bool limited;
	assert_non_null(map);
	for (size_t i = 0; i < lines; i++)
		memcpy(map + i * (sizeof(line) - 1), line, sizeof(line) - 1);
	assert_int_equal(sw_perfmap_parse((struct sw_bytes){(uint8_t *) map, size}, &ranges, &n,
					  &limited),
			 0);
	assert_true(limited);
	assert_int_equal(n, SW_PERFMAP_LINES_MAX);
	sw_jit_ranges_deinit(&ranges);
	free(map);
}
