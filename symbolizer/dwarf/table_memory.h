/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_TABLE_MEMORY_H
#define SW_TABLE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * The memory of tables that only make look-ups faster, all of one symbolizer together: functions by their addresses
 * (dwarf/functions.h, struct sw_symtab_index). The files of a target decide how large such a table is and how many there are;
 * what has no table is searched as before. Counted is what is kept: while a table is made, it may take three times as much.
 */
enum { SW_TABLE_MEMORY_MAX = 32 << 20 }; /* bytes */

struct sw_table_memory {
	size_t used_bytes;
};

/* False: there is no more, or memory is NULL. */
static inline bool sw_table_memory_take(struct sw_table_memory *memory, size_t bytes)
{
	if (memory == NULL || bytes > SW_TABLE_MEMORY_MAX - memory->used_bytes)
		return false;
	memory->used_bytes += bytes;
	return true;
}

static inline void sw_table_memory_give(struct sw_table_memory *memory, size_t bytes)
{
	if (memory != NULL)
		memory->used_bytes -= bytes;
}

/* The array of n elements without the place for more; not empty. */
static inline void *sw_table_shrink(void *array, size_t n, size_t size)
{
	void *shrunk = reallocarray(array, n, size);
	return shrunk != NULL ? shrunk : array;
}

#endif
