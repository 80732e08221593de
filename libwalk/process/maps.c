/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cleanup.h"
#include "process/maps.h"

#include <ctype.h>
#include <string.h>

/* The rest of a line. */
struct cursor {
	const char *p, *end;
};

/* A number of the given base up to (and over) the separator. */
static bool number(struct cursor *c, unsigned base, char separator, uint64_t *ret)
{
	uint64_t value = 0;
	const char *begin = c->p;
	for (; c->p < c->end && isxdigit((unsigned char) *c->p); c->p++) {
		unsigned digit = *c->p <= '9' ? (unsigned) (*c->p - '0')
					      : (unsigned) ((*c->p | 0x20) - 'a' + 10);
		if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (c->p == begin)
		return false;
	if (c->p < c->end && *c->p == separator)
		c->p++;
	else if (c->p != c->end || separator != ' ')
		return false; /* only the last number may end the line */
	*ret = value;
	return true;
}

static bool permissions(struct cursor *c, uint32_t *ret)
{
	if (c->end - c->p < 5 || c->p[4] != ' ')
		return false;
	*ret = (c->p[0] == 'r' ? SW_MAP_READ : 0u) | (c->p[1] == 'w' ? SW_MAP_WRITE : 0u) |
	       (c->p[2] == 'x' ? SW_MAP_EXEC : 0u) | (c->p[3] == 's' ? SW_MAP_SHARED : 0u);
	c->p += 5;
	return true;
}

/* start-end perms offset major:minor inode    path. Sets all but the path, which is what is left
 * in the cursor. */
static bool line_parse(struct cursor *c, struct sw_map *map)
{
	uint64_t major, minor;
	*map = (struct sw_map){.place = -1, .path = ""};
	if (!number(c, 16, '-', &map->start_avma) || !number(c, 16, ' ', &map->end_avma) ||
	    !permissions(c, &map->prot) || !number(c, 16, ' ', &map->file_off) ||
	    !number(c, 16, ':', &major) || !number(c, 16, ' ', &minor) ||
	    !number(c, 10, ' ', &map->inode))
		return false;
	if (map->start_avma >= map->end_avma || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	map->dev_major = (uint32_t) major;
	map->dev_minor = (uint32_t) minor;
	while (c->p < c->end && *c->p == ' ')
		c->p++;
	return true;
}

static size_t lines_count(const char *text, size_t size)
{
	size_t n = 0;
	for (const char *p = text, *end = text + size; p < end; n++) {
		p = memchr(p, '\n', (size_t) (end - p));
		if (p == NULL)
			return n + 1;
		p++;
	}
	return n;
}

int sw_maps_parse(struct sw_arena *arena, const char *text, size_t size, struct sw_map **ret_maps,
		  size_t *ret_n, size_t *ret_bad_lines)
{
	size_t lines = lines_count(text, size), n = 0, bad = 0;
	if (lines > SW_MAPS_MAX)
		return -SW_E_LIMIT;
	struct sw_map *maps = sw_arena_alloc(arena, lines * sizeof(*maps));
	if (maps == NULL)
		return -SW_E_NOMEM;
	const char *path = ""; /* of the line before: most files have several mappings in a row */
	size_t path_length = 0;
	for (const char *p = text, *end = text + size; p < end;) {
		const char *stop = memchr(p, '\n', (size_t) (end - p));
		struct cursor c = {p, stop != NULL ? stop : end};
		p = c.end + 1;
		if (!line_parse(&c, &maps[n])) {
			bad++;
			continue;
		}
		size_t length = (size_t) (c.end - c.p);
		if (length > 0 && (length != path_length || memcmp(c.p, path, length) != 0)) {
			path = sw_arena_strndup(arena, c.p, length);
			path_length = length;
			if (path == NULL)
				return -SW_E_NOMEM;
		}
		maps[n++].path = length > 0 ? path : "";
	}
	*ret_maps = maps;
	*ret_n = n;
	*ret_bad_lines = bad;
	return 0;
}

bool sw_map_path_deleted(const struct sw_map *map, size_t *ret_length)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(map->path), extra = sizeof(suffix) - 1;
	bool deleted = length > extra && memcmp(map->path + length - extra, suffix, extra) == 0;
	*ret_length = deleted ? length - extra : length;
	return deleted;
}

int sw_maps_merge(struct sw_arena *arena, const struct sw_map *newer, size_t n_newer,
		  const struct sw_map *older, size_t n_older, struct sw_map **ret_maps,
		  size_t *ret_n)
{
	struct sw_map *maps = sw_arena_calloc(arena, n_newer + n_older, sizeof(*maps));
	if (maps == NULL)
		return -SW_E_NOMEM;
	size_t n = 0, k = 0;
	for (size_t i = 0; i < n_older; i++) {
		for (; k < n_newer && newer[k].start_avma < older[i].end_avma; k++)
			maps[n++] = newer[k];
		if (n > 0 && maps[n - 1].end_avma > older[i].start_avma)
			continue; /* the newer one is there now */
		maps[n] = older[i];
		maps[n++].place = -1;
	}
	for (; k < n_newer; k++)
		maps[n++] = newer[k];
	*ret_maps = maps;
	*ret_n = n;
	return 0;
}

bool sw_map_is_memfd(const struct sw_map *map)
{
	static const char memfd[] = "/memfd:";
	return strncmp(map->path, memfd, sizeof(memfd) - 1) == 0;
}
