/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "snapshot/snapshot.h"
#include "test.h"

struct parsed {
	struct sw_arena arena;
	struct sw_map *maps;
	size_t n, bad;
};

static int parse(struct parsed *p, const char *text)
{
	*p = (struct parsed){0};
	return sw_maps_parse(&p->arena, text, strlen(text), &p->maps, &p->n, &p->bad);
}

TEST(whole_line)
{
	struct parsed p;
	assert_int_equal(parse(&p, "7f3a1c000000-7f3a1c021000 r-xs 00002000 fe:1a 131077"
				   "                     /usr/lib/libc.so.6\n"),
			 0);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.bad, 0);
	assert_int_equal(p.maps[0].start_avma, 0x7f3a1c000000);
	assert_int_equal(p.maps[0].end_avma, 0x7f3a1c021000);
	assert_int_equal(p.maps[0].prot, SW_MAP_READ | SW_MAP_EXEC | SW_MAP_SHARED);
	assert_int_equal(p.maps[0].file_off, 0x2000);
	assert_int_equal(p.maps[0].dev_major, 0xfe);
	assert_int_equal(p.maps[0].dev_minor, 0x1a);
	assert_int_equal(p.maps[0].inode, 131077);
	assert_int_equal(p.maps[0].place, -1);
	assert_string_equal(p.maps[0].path, "/usr/lib/libc.so.6");
	sw_arena_deinit(&p.arena);
}

TEST(anonymous_and_special)
{
	struct parsed p;
	assert_int_equal(
		parse(&p, "1000-2000 rw-p 00000000 00:00 0 \n"
			  "2000-3000 ---p 00000000 00:00 0\n"
			  "7ffe0000-7fff0000 rw-p 00000000 00:00 0        [stack]\n"
			  "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]"),
		0);
	assert_int_equal(p.n, 4);
	assert_int_equal(p.bad, 0);
	assert_string_equal(p.maps[0].path, "");
	assert_int_equal(p.maps[0].prot, SW_MAP_READ | SW_MAP_WRITE);
	assert_string_equal(p.maps[1].path, "");
	assert_int_equal(p.maps[1].prot, 0);
	assert_string_equal(p.maps[2].path, "[stack]");
	assert_string_equal(p.maps[3].path, "[vsyscall]");
	assert_true(p.maps[3].end_avma == UINT64_C(0xffffffffff601000));
	sw_arena_deinit(&p.arena);
}

/* A file's name may hold all but a newline, which the kernel writes as \012. */
TEST(odd_names)
{
	struct parsed p;
	assert_int_equal(parse(&p, "1000-2000 r--p 00000000 08:01 7    /tmp/a b  c\n"
				   "2000-3000 r--p 00001000 08:01 7    /tmp/a b  c\n"
				   "3000-4000 r--p 00000000 08:01 8    /tmp/1000-2000 r-xp\n"
				   "4000-5000 r--p 00000000 08:01 9    /tmp/new\\012line\n"
				   "5000-6000 r--p 00000000 08:01 9    /tmp/\xff\x01 (deleted)\n"),
			 0);
	assert_int_equal(p.n, 5);
	assert_string_equal(p.maps[0].path, "/tmp/a b  c");
	assert_ptr_equal(p.maps[0].path, p.maps[1].path); /* kept once */
	assert_string_equal(p.maps[2].path, "/tmp/1000-2000 r-xp");
	assert_string_equal(p.maps[3].path, "/tmp/new\\012line");
	assert_string_equal(p.maps[4].path, "/tmp/\xff\x01 (deleted)");
	sw_arena_deinit(&p.arena);
}

TEST(bad_lines_are_counted)
{
	static const char *const bad[] = {
		"",
		"x",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 rw-",
		"1000-2000 rw-p",
		"1000-2000 rw-p 0",
		"1000-2000 rw-p 0 00:00",
		"1000-2000 rw-p 0 00 0",
		"1000-2000 rw-p 0 00:00 x",
		"1000-2000 rw-p 0 00:00 1f /hex-inode",
		"2000-1000 rw-p 0 00:00 0",
		"1000-1000 rw-p 0 00:00 0",
		"10000000000000000-20000000000000000 rw-p 0 00:00 0",
		"1000-2000 rw-p 0 100000000:00 0",
		"-1000-2000 rw-p 0 00:00 0",
		" 1000-2000 rw-p 0 00:00 0",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct parsed p;
		char text[256];
		(void) snprintf(text, sizeof(text), "%s\n5000-6000 r--p 0 00:00 0 good\n", bad[i]);
		assert_int_equal(parse(&p, text), 0);
		assert_int_equal(p.n, 1);
		assert_int_equal(p.bad, 1);
		assert_string_equal(p.maps[0].path, "good");
		sw_arena_deinit(&p.arena);
	}
}

TEST(empty)
{
	struct parsed p;
	assert_int_equal(parse(&p, ""), 0);
	assert_int_equal(p.n, 0);
	assert_int_equal(p.bad, 0);
	sw_arena_deinit(&p.arena);
}

TEST(too_many)
{
	size_t lines = SW_MAPS_MAX + 1;
	char *text = malloc(lines);
	struct sw_arena arena = {0};
	struct sw_map *maps;
	size_t n, bad;
	assert_non_null(text);
	memset(text, '\n', lines);
	assert_int_equal(sw_maps_parse(&arena, text, lines, &maps, &n, &bad), -SW_E_LIMIT);
	assert_int_equal(sw_maps_parse(&arena, text, lines - 1, &maps, &n, &bad), 0);
	assert_int_equal(n, 0);
	assert_int_equal(bad, SW_MAPS_MAX);
	sw_arena_deinit(&arena);
	free(text);
}

TEST(deleted)
{
	size_t length;
	struct sw_map map = {.path = "/bin/x (deleted)"};
	assert_true(sw_map_path_deleted(&map, &length));
	assert_int_equal(length, 6);
	map.path = "/bin/x";
	assert_false(sw_map_path_deleted(&map, &length));
	assert_int_equal(length, 6);
	map.path = " (deleted)"; /* nothing would be left of it */
	assert_false(sw_map_path_deleted(&map, &length));
	assert_int_equal(length, 10);
	map.path = "/x (deleted) (deleted)"; /* only the kernel's own */
	assert_true(sw_map_path_deleted(&map, &length));
	assert_int_equal(length, 12);
	map.path = "";
	assert_false(sw_map_path_deleted(&map, &length));
	assert_int_equal(length, 0);
}

/* A library came and the heap grew; another library went. */
TEST(merged)
{
	struct parsed older, newer;
	struct sw_map *maps;
	size_t n;
	assert_int_equal(parse(&older, "1000-3000 rw-p 00000000 00:00 0 [heap]\n"
				       "5000-6000 r-xp 00000000 fe:00 1 /gone.so\n"
				       "9000-a000 r-xp 00000000 fe:00 2 /stays.so\n"),
			 0);
	assert_int_equal(parse(&newer, "1000-4000 rw-p 00000000 00:00 0 [heap]\n"
				       "7000-8000 r-xp 00000000 fe:00 3 /came.so\n"
				       "9000-a000 r-xp 00000000 fe:00 2 /stays.so\n"),
			 0);
	older.maps[1].place = 7;
	assert_int_equal(sw_maps_merge(&newer.arena, newer.maps, newer.n, older.maps, older.n,
				       &maps, &n),
			 0);
	assert_int_equal(n, 4);
	assert_int_equal(maps[0].end_avma, 0x4000);
	assert_string_equal(maps[1].path, "/gone.so");
	assert_int_equal(maps[1].place, -1);
	assert_string_equal(maps[2].path, "/came.so");
	assert_string_equal(maps[3].path, "/stays.so");
	sw_arena_deinit(&older.arena);
	sw_arena_deinit(&newer.arena);
}
