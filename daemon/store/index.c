/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/index.h"
#include "cleanup.h"

#include <string.h>

enum { FIRST_CAPACITY = 64 };

void sw_store_head_free(struct sw_store_head *head)
{
	if (head == NULL)
		return;
	sw_store_head_deinit(head);
	free(head);
}

void sw_store_index_deinit(struct sw_store_index *index)
{
	for (size_t i = 0; i < index->n; i++)
		sw_store_head_free(index->heads[i]);
	free(index->heads);
	*index = (struct sw_store_index){0};
}

int sw_store_index_reserve(struct sw_store_index *index)
{
	if (index->n < index->capacity)
		return 0;
	size_t capacity = index->capacity > 0 ? index->capacity * 2 : FIRST_CAPACITY;
	struct sw_store_head **heads =
		reallocarray(index->heads, capacity, sizeof(struct sw_store_head *));
	if (heads == NULL)
		return -SW_E_NOMEM;
	index->heads = heads;
	index->capacity = capacity;
	return 0;
}

static bool is_older(const struct sw_store_entry *a, const struct sw_store_entry *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : strcmp(a->id, b->id) < 0;
}

/* Where it belongs: in [0, n]. A new dump is nearly always the newest, those of a directory come in
 * any order. */
static size_t place_of(const struct sw_store_index *index, const struct sw_store_entry *entry)
{
	size_t begin = 0, end = index->n;
	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		if (is_older(&index->heads[middle]->entry, entry))
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

void sw_store_index_insert(struct sw_store_index *index, struct sw_store_head *head)
{
	size_t at = place_of(index, &head->entry);
	memmove(index->heads + at + 1, index->heads + at,
		(index->n - at) * sizeof(struct sw_store_head *));
	index->heads[at] = head;
	index->n++;
	index->bytes += head->entry.file_bytes;
}

void sw_store_index_remove(struct sw_store_index *index, size_t at)
{
	index->bytes -= index->heads[at]->entry.file_bytes;
	sw_store_head_free(index->heads[at]);
	index->n--;
	memmove(index->heads + at, index->heads + at + 1,
		(index->n - at) * sizeof(struct sw_store_head *));
}

const struct sw_store_head *sw_store_index_find(const struct sw_store_index *index, const char *id,
						size_t *ret_at)
{
	for (size_t i = 0; i < index->n; i++)
		if (strcmp(index->heads[i]->entry.id, id) == 0) {
			*ret_at = i;
			return index->heads[i];
		}
	return NULL;
}
