/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Space in the store: old dumps go for new ones, within MaxUse=, MaxFiles=, MaxAge= and KeepFree=. */
#include "store/space.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const int64_t NS_PER_S = 1000000000;

static bool over_half(const struct sw_store *store, const struct sw_store_share *share,
		      const struct sw_store_entry *next)
{
	bool counts = next != NULL && sw_store_share_has(share, next);
	return share->bytes + (counts ? next->file_bytes : 0) > store->max_use / 2 ||
	       share->files + counts > store->max_files / 2;
}

/*
 * The share whose oldest dump goes for the next one (next NULL: for none): that of the user who has
 * most, the next one counted. Dumps of alerts go only for other dumps of alerts, and when they take
 * more than half. NULL: nobody has any that may go. Pinned dumps count as theirs, and do not go.
 */
static const struct sw_store_share *heaviest(const struct sw_store *store,
					     const struct sw_store_entry *next, bool by_files)
{
	const struct sw_store_share *worst = NULL, *alerts = NULL;
	uint64_t most = 0;
	for (size_t i = 0; i < store->index.n_shares; i++) {
		const struct sw_store_share *share = &store->index.shares[i];
		bool counts = next != NULL && sw_store_share_has(share, next);
		uint64_t weight = by_files ? share->files + counts
					   : share->bytes + (counts ? next->file_bytes : 0);
		if (share->files == share->pinned_files)
			continue;
		if (share->alert)
			alerts = share;
		else if (worst == NULL || weight > most) {
			worst = share;
			most = weight;
		}
	}
	if (alerts != NULL &&
	    (over_half(store, alerts, next) || (worst == NULL && (next == NULL || next->alert))))
		return alerts;
	return worst;
}

/* False with ENOSPC: nothing may go; with another errno: its file cannot be removed, and nothing gets
 * better by going on. */
static bool drop_for(struct sw_store *store, const struct sw_store_entry *next, bool by_files,
		     uint64_t *ret_bytes)
{
	const struct sw_store_share *share = heaviest(store, next, by_files);
	for (size_t i = 0; share != NULL && i < store->index.n; i++) {
		const struct sw_store_entry *entry = &store->index.heads[i]->entry;
		if (entry->pinned || !sw_store_share_has(share, entry))
			continue;
		*ret_bytes = entry->file_bytes;
		return sw_store_drop(store, i);
	}
	errno = ENOSPC;
	return false;
}

/* Bytes that could go for it. */
static uint64_t bytes_for(const struct sw_store *store, const struct sw_store_entry *next)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < store->index.n_shares; i++) {
		const struct sw_store_share *share = &store->index.shares[i];
		uint64_t stays = share->pinned_bytes;
		if (share->alert && next != NULL && !next->alert && stays < store->max_use / 2)
			stays = share->bytes < store->max_use / 2 ? share->bytes
								  : store->max_use / 2;
		bytes += share->bytes - stays;
	}
	return bytes;
}

/* Free bytes of the file system for users that are not root; UINT64_MAX when unknown. */
static uint64_t free_bytes(const struct sw_store *store)
{
	struct statvfs vfs;
	uint64_t bytes;
	if (fstatvfs(store->dir_fd, &vfs) < 0 || vfs.f_blocks == 0 ||
	    __builtin_mul_overflow((uint64_t) vfs.f_bavail, (uint64_t) vfs.f_frsize, &bytes))
		return UINT64_MAX;
	return bytes;
}

int sw_store_make_free(struct sw_store *store, uint64_t more, const struct sw_store_entry *next)
{
	uint64_t available = free_bytes(store), possible, wanted, freed = 0;
	if (store->keep_free == 0 || available == UINT64_MAX)
		return 0;
	if (__builtin_add_overflow(store->keep_free, more, &wanted) ||
	    __builtin_add_overflow(available, bytes_for(store, next), &possible) ||
	    possible < wanted)
		return -SW_E_LIMIT;
	while (available < wanted && store->index.n > 0) {
		if (!drop_for(store, next, false, &freed))
			return errno == ENOSPC ? -SW_E_LIMIT : -SW_E_IO;
		available += freed; /* counted here: some file systems free space only later */
	}
	return available < wanted ? -SW_E_LIMIT : 0;
}

int sw_store_make_space(struct sw_store *store, uint64_t more_bytes, size_t more_files,
			const struct sw_store_entry *next)
{
	uint64_t freed;
	for (;;) {
		bool by_files = store->index.n + more_files > store->max_files;
		if (store->index.n == 0 ||
		    (!by_files && store->index.bytes + more_bytes <= store->max_use))
			return 0;
		if (!drop_for(store, next, by_files, &freed))
			return -SW_E_IO;
	}
}

void sw_store_vacuum(struct sw_store *store, int64_t now_ns)
{
	int64_t max_age_ns;
	size_t kept = 0; /* that are too old, and pinned */
	if (store->max_age_s > 0 &&
	    !__builtin_mul_overflow(store->max_age_s, NS_PER_S, &max_age_ns))
		while (kept < store->index.n &&
		       store->index.heads[kept]->entry.time_ns < now_ns - max_age_ns) {
			if (store->index.heads[kept]->entry.pinned)
				kept++;
			else if (!sw_store_drop(store, kept))
				return;
		}
	/* Files that cannot be removed now are tried again next time. */
	(void) sw_store_make_space(store, 0, 0, NULL);
	(void) sw_store_make_free(store, 0, NULL);
}
