/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SW_DAEMON_STORE_INDEX_H
#define SW_DAEMON_STORE_INDEX_H

#include "store/file.h"

/* The share of one user; all dumps of alerts are one share. */
struct sw_store_share {
	uid_t by;
	bool alert;
	uint64_t bytes;
	size_t files;
	uint64_t pinned_bytes; /* of these */
	size_t pinned_files;
};

/* The heads of all stored dumps, oldest first. Zero-initialised is a valid empty one. */
struct sw_store_index {
	struct sw_store_head **heads; /* owned, each too */
	size_t n, capacity;
	uint64_t bytes;        /* of all files */
	uint64_t pinned_bytes; /* of these */
	size_t n_pinned;
	struct sw_store_share *shares; /* owned; none is empty */
	size_t n_shares, shares_capacity;
};

void sw_store_index_deinit(struct sw_store_index *index);

bool sw_store_share_has(const struct sw_store_share *share, const struct sw_store_entry *entry);

/* NULL is fine. */
void sw_store_head_free(struct sw_store_head *head);

/* Space for one more. -SW_E_NOMEM. */
int sw_store_index_reserve(struct sw_store_index *index);
/* Takes the head over. sw_store_index_reserve() has been asked. */
void sw_store_index_insert(struct sw_store_index *index, struct sw_store_head *head);
void sw_store_index_remove(struct sw_store_index *index, size_t at);
/* by: entry.pinned_by. */
void sw_store_index_pin(struct sw_store_index *index, size_t at, bool pinned, uid_t by);
/* The share of a dump that is in the index. */
const struct sw_store_share *sw_store_index_share(const struct sw_store_index *index,
						  const struct sw_store_entry *entry);
/* NULL: none. */
const struct sw_store_head *sw_store_index_find(const struct sw_store_index *index, const char *id,
						size_t *ret_at);

#endif
