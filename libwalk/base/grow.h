/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_GROW_H
#define SW_GROW_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Room for one more behind the n elements of an owned array, which doubles when it is full:
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
