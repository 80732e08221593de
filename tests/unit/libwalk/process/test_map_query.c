/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Our own mappings of code, by the query and by the text. */
#include "arena.h"
#include "process/map_query.h"
#include "process/maps.h"
#include "skip.h"
#include "text.h"
#include "test.h"

#include <sys/mman.h>

enum { PAGE = 4096 };

struct world {
	int fd;
	uint8_t *pages; /* four; the second one is code */
	struct sw_arena arena;
	struct sw_map *maps;
	size_t n;
};

static void world_begin(struct world *w)
{
	struct sw_text text = {0};
	size_t bad;
	*w = (struct world){.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
	assert_true(w->fd >= 0);
	w->pages = mmap(NULL, (size_t) 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(w->pages, MAP_FAILED);
	assert_int_equal(mprotect(w->pages + PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(sw_text_read_at(&text, AT_FDCWD, "/proc/self/maps", 1 << 20), 0);
	assert_int_equal(sw_maps_parse(&w->arena, text.data, text.size, &w->maps, &w->n, &bad), 0);
	sw_text_deinit(&text);
}

static void world_end(struct world *w)
{
	sw_arena_deinit(&w->arena);
	munmap(w->pages, (size_t) 4 * PAGE);
	close(w->fd);
}

static bool is_offered(const struct world *w)
{
	struct sw_map map;
	return sw_map_query_code(w->fd, 0, &map) != SW_MAP_QUERY_REFUSED;
}

#define NEED_QUERY(w)                                                    \
	do {                                                             \
		if (!is_offered(w)) {                                    \
			world_end(w);                                    \
			SKIP("no PROCMAP_QUERY", "Linux 6.11 or newer"); \
		}                                                        \
	} while (0)

/* Memory that the next allocation maps is no code. */
TEST(all_as_in_the_text)
{
	struct world w;
	struct sw_map map;
	world_begin(&w);
	NEED_QUERY(&w);
	uint64_t avma = 0;
	size_t n = 0;
	for (size_t i = 0; i < w.n; i++) {
		if (!(w.maps[i].prot & SW_MAP_EXEC) || strcmp(w.maps[i].path, "[vsyscall]") == 0)
			continue;
		assert_int_equal(sw_map_query_code(w.fd, avma, &map), SW_MAP_QUERY_FOUND);
		assert_int_equal(map.start_avma, w.maps[i].start_avma);
		assert_int_equal(map.end_avma, w.maps[i].end_avma);
		assert_int_equal(map.file_off, w.maps[i].file_off);
		assert_int_equal(map.inode, w.maps[i].inode);
		assert_int_equal(map.dev_major, w.maps[i].dev_major);
		assert_int_equal(map.dev_minor, w.maps[i].dev_minor);
		assert_int_equal(map.prot, w.maps[i].prot);
		avma = map.end_avma;
		n++;
	}
	assert_true(n > 3);
	assert_int_equal(sw_map_query_code(w.fd, avma, &map), SW_MAP_QUERY_END);
	assert_int_equal(sw_map_compare_code(w.fd, w.maps, w.n), SW_MAP_COMPARE_SAME);
	world_end(&w);
}

/* Code that comes, goes, may be written to, or moves. */
TEST(what_changed)
{
	static const struct {
		int first, second;
	} now[] = {
		{PROT_READ | PROT_EXEC, PROT_READ | PROT_EXEC},
		{PROT_READ, PROT_READ},
		{PROT_READ, PROT_READ | PROT_WRITE | PROT_EXEC},
		{PROT_READ | PROT_EXEC, PROT_READ},
	};
	struct world w;
	world_begin(&w);
	NEED_QUERY(&w);
	for (size_t i = 0; i < sizeof(now) / sizeof(*now); i++) {
		assert_int_equal(mprotect(w.pages, PAGE, now[i].first), 0);
		assert_int_equal(mprotect(w.pages + PAGE, PAGE, now[i].second), 0);
		assert_int_equal(sw_map_compare_code(w.fd, w.maps, w.n), SW_MAP_COMPARE_OTHER);
	}
	assert_int_equal(mprotect(w.pages, PAGE, PROT_READ), 0);
	assert_int_equal(mprotect(w.pages + PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(sw_map_compare_code(w.fd, w.maps, w.n), SW_MAP_COMPARE_SAME);
	/* Data that comes is none of it. */
	assert_int_equal(mprotect(w.pages + (size_t) 2 * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(sw_map_compare_code(w.fd, w.maps, w.n), SW_MAP_COMPARE_SAME);
	/* The same, as the last mapping of code: that of a list that ends before it. */
	assert_int_equal(sw_map_compare_code(w.fd, w.maps, 0), SW_MAP_COMPARE_OTHER);
	world_end(&w);
}

TEST(no_maps)
{
	struct sw_map map;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	assert_int_equal(sw_map_query_code(fd, 0, &map), SW_MAP_QUERY_REFUSED);
	assert_int_equal(sw_map_compare_code(fd, NULL, 0), SW_MAP_COMPARE_UNKNOWN);
	close(fd);
}
