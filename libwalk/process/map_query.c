/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process/map_query.h"
#include "process/maps.h"

#include <assert.h>
#include <errno.h>
#include <sys/ioctl.h>

/* Debian 12's headers do not have it. Source: linux include/uapi/linux/fs.h, struct procmap_query and
 * enum procmap_query_flags, v6.11. */
struct query {
	uint64_t size, flags, address;
	uint64_t start, end, prot, page_bytes, offset, inode;
	uint32_t dev_major, dev_minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

enum { QUERY_CODE = 0x4, QUERY_THIS_OR_NEXT = 0x10 };

static_assert(SW_MAP_READ == 1 && SW_MAP_WRITE == 2 && SW_MAP_EXEC == 4 && SW_MAP_SHARED == 8,
	      "PROCMAP_QUERY_VMA_READABLE and those after it");

enum sw_map_query sw_map_query_code(int fd, uint64_t avma, struct sw_map *ret)
{
	struct query q = {.size = sizeof(q),
			  .flags = QUERY_CODE | QUERY_THIS_OR_NEXT,
			  .address = avma};
	if (ioctl(fd, _IOWR('f', 17, struct query), &q) < 0)
		return errno == ENOENT ? SW_MAP_QUERY_END : SW_MAP_QUERY_REFUSED;
	*ret = (struct sw_map){.start_avma = q.start,
			       .end_avma = q.end,
			       .file_off = q.offset,
			       .inode = q.inode,
			       .dev_major = q.dev_major,
			       .dev_minor = q.dev_minor,
			       .prot = (uint32_t) q.prot,
			       .place = -1,
			       .path = ""};
	return SW_MAP_QUERY_FOUND;
}

/* The text also has [vsyscall], which belongs to no process: 0xffffffffff600000. */
static bool is_asked_for(const struct sw_map *map)
{
	return (map->prot & SW_MAP_EXEC) && map->end_avma <= INT64_MAX;
}

static bool is_same(const struct sw_map *a, const struct sw_map *b)
{
	return a->start_avma == b->start_avma && a->end_avma == b->end_avma && a->prot == b->prot &&
	       a->file_off == b->file_off && a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor;
}

enum sw_map_compare sw_map_compare_code(int fd, const struct sw_map *maps, size_t n)
{
	uint64_t avma = 0;
	struct sw_map now;
	enum sw_map_query found;
	for (size_t i = 0, calls = 0; calls < SW_MAPS_MAX; calls++) {
		while (i < n && !is_asked_for(&maps[i]))
			i++;
		found = sw_map_query_code(fd, avma, &now);
		if (found == SW_MAP_QUERY_REFUSED)
			return SW_MAP_COMPARE_UNKNOWN;
		if (found == SW_MAP_QUERY_END)
			return i == n ? SW_MAP_COMPARE_SAME : SW_MAP_COMPARE_OTHER;
		if (i == n || !is_same(&now, &maps[i]))
			return SW_MAP_COMPARE_OTHER;
		i++;
		avma = now.end_avma;
	}
	return SW_MAP_COMPARE_UNKNOWN;
}
