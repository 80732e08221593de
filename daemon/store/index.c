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
	free(index->shares);
	*index = (struct sw_store_index){0};
}

int sw_store_index_reserve(struct sw_store_index *index)
{
	if (index->n_shares == index->shares_capacity) {
		size_t capacity =
			index->shares_capacity > 0 ? index->shares_capacity * 2 : FIRST_CAPACITY;
		struct sw_store_share *shares =
			reallocarray(index->shares, capacity, sizeof(struct sw_store_share));
		if (shares == NULL)
			return -SW_E_NOMEM;
		index->shares = shares;
		index->shares_capacity = capacity;
	}
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

bool sw_store_share_has(const struct sw_store_share *share, const struct sw_store_entry *entry)
{
	return share->alert == entry->alert && (share->alert || share->by == entry->by);
}

/* Space for one more is there. */
static struct sw_store_share *share_of(struct sw_store_index *index,
				       const struct sw_store_entry *entry)
{
	for (size_t i = 0; i < index->n_shares; i++)
		if (sw_store_share_has(&index->shares[i], entry))
			return &index->shares[i];
	struct sw_store_share *share = &index->shares[index->n_shares++];
	*share = (struct sw_store_share){.by = entry->by, .alert = entry->alert};
	return share;
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
	struct sw_store_share *share = share_of(index, &head->entry);
	share->bytes += head->entry.file_bytes;
	share->files++;
}

void sw_store_index_pin(struct sw_store_index *index, size_t at, bool pinned, uid_t by)
{
	struct sw_store_entry *entry = &index->heads[at]->entry;
	struct sw_store_share *share = share_of(index, entry);
	if (entry->pinned) {
		index->pinned_bytes -= entry->file_bytes;
		index->n_pinned--;
		share->pinned_bytes -= entry->file_bytes;
		share->pinned_files--;
	}
	if (pinned) {
		index->pinned_bytes += entry->file_bytes;
		index->n_pinned++;
		share->pinned_bytes += entry->file_bytes;
		share->pinned_files++;
	}
	entry->pinned = pinned;
	entry->pinned_by = pinned ? by : 0;
}

const struct sw_store_share *sw_store_index_share(const struct sw_store_index *index,
						  const struct sw_store_entry *entry)
{
	for (size_t i = 0; i < index->n_shares; i++)
		if (sw_store_share_has(&index->shares[i], entry))
			return &index->shares[i];
	return NULL;
}

void sw_store_index_remove(struct sw_store_index *index, size_t at)
{
	sw_store_index_pin(index, at, false, 0);
	index->bytes -= index->heads[at]->entry.file_bytes;
	struct sw_store_share *share = share_of(index, &index->heads[at]->entry);
	share->bytes -= index->heads[at]->entry.file_bytes;
	if (--share->files == 0)
		*share = index->shares[--index->n_shares];
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
