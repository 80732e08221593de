/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_BASE_ARENA_H
#define SW_BASE_ARENA_H

#include <stddef.h>
#include <stdlib.h>

struct sw_arena_chunk;

/*
 * Memory that is freed all at once. Zero-initialised is a valid empty arena:
 *	struct sw_arena arena = {0};
 * Everything returned is 16-byte aligned. Not thread-safe.
 */
struct sw_arena {
	struct sw_arena_chunk *chunks; /* owned, newest first */
};

/* Frees everything that came from it; the arena is empty afterwards and may be used again. */
void sw_arena_deinit(struct sw_arena *arena);

/* Uninitialised memory; NULL when there is none. size 0 gives a valid pointer. */
void *sw_arena_alloc(struct sw_arena *arena, size_t size);

/* Zeroed memory for count elements, overflow-checked; NULL when there is none. */
void *sw_arena_calloc(struct sw_arena *arena, size_t count, size_t size);

/* A copy of size bytes, with a NUL added behind them; NULL when there is no memory. */
char *sw_arena_strndup(struct sw_arena *arena, const char *s, size_t size);
char *sw_arena_strdup(struct sw_arena *arena, const char *s);
__attribute__((format(printf, 2, 3))) char *sw_arena_printf(struct sw_arena *arena, const char *fmt,
							    ...);

/* ---- arrays that grow ------------------------------------------------------------------------ */

/*
 * Space for one more behind the n elements of an owned array, which doubles when it is full:
 *	struct item *items = sw_grow(x->items, x->n, &x->capacity, FIRST, sizeof(*items));
 *	if (items == NULL)
 *		return -SW_E_NOMEM;
 *	x->items = items;
 * NULL: no memory; the array is as it was.
 */
static inline void *sw_grow(void *array, size_t n, size_t *capacity, size_t first, size_t size)
{
	if (n < *capacity)
		return array;
	size_t wanted = *capacity == 0 ? first : *capacity * 2;
	void *grown = reallocarray(array, wanted, size);
	if (grown != NULL)
		*capacity = wanted;
	return grown;
}

#endif
