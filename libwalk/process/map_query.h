/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_PROCESS_MAP_QUERY_H
#define SW_PROCESS_MAP_QUERY_H

#include <snapwalk/walk.h>

/*
 * Mappings of code, without the text of all: PROCMAP_QUERY, Linux 6.11. One call is made for each:
 * for 40,000 mappings it takes longer than their text, 18 ms against 13; but the kernel passes over
 * those that are not asked for, and the few of code take a third to a fifth of it.
 */

enum sw_map_query {
	SW_MAP_QUERY_FOUND,
	SW_MAP_QUERY_END,     /* there is none */
	SW_MAP_QUERY_REFUSED, /* the kernel does not tell: an older one, or the process is gone */
};

/* The mapping of code at avma, or else the next one; all of it but its path, which is "". fd is of
 * /proc/PID/maps. */
enum sw_map_query sw_map_query_code(int fd, uint64_t avma, struct sw_map *ret);

enum sw_map_compare {
	SW_MAP_COMPARE_SAME,
	SW_MAP_COMPARE_OTHER,
	SW_MAP_COMPARE_UNKNOWN,
};

/* Whether the mappings of code are those in maps, which are sorted by address and have others, too. */
enum sw_map_compare sw_map_compare_code(int fd, const struct sw_map *maps, size_t n);

#endif
