/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Room in the store: old dumps go for new ones, within MaxUse=, MaxFiles=, MaxAge= and KeepFree=. */
#include "store/space.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const int64_t NS_PER_S = 1000000000;

/* False when the file cannot be removed: then nothing gets better by going on. */
static bool drop_oldest(struct sw_store *store)
{
	char name[SW_STORE_NAME_BYTES];
	if (store->index.n == 0)
		return false;
	sw_store_name_print(name, "", store->index.heads[0]->entry.id);
	if (unlinkat(store->dir_fd, name, 0) < 0 && errno != ENOENT)
		return false;
	sw_store_index_remove(&store->index, 0);
	return true;
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

int sw_store_make_free(struct sw_store *store, uint64_t more)
{
	uint64_t available = free_bytes(store), possible, wanted;
	if (store->keep_free == 0 || available == UINT64_MAX)
		return 0;
	if (__builtin_add_overflow(store->keep_free, more, &wanted) ||
	    __builtin_add_overflow(available, store->index.bytes, &possible) || possible < wanted)
		return -SW_E_LIMIT;
	while (available < wanted && store->index.n > 0) {
		/* Counted here: some file systems free space only later. */
		available += store->index.heads[0]->entry.file_bytes;
		if (!drop_oldest(store))
			return -SW_E_IO;
	}
	return available < wanted ? -SW_E_LIMIT : 0;
}

int sw_store_make_room(struct sw_store *store, uint64_t more_bytes, size_t more_files)
{
	while (store->index.n > 0 && (store->index.bytes + more_bytes > store->max_use ||
				      store->index.n + more_files > store->max_files))
		if (!drop_oldest(store))
			return -SW_E_IO;
	return 0;
}

void sw_store_vacuum(struct sw_store *store, int64_t now_ns)
{
	int64_t max_age_ns;
	if (store->max_age_s > 0 &&
	    !__builtin_mul_overflow(store->max_age_s, NS_PER_S, &max_age_ns))
		while (store->index.n > 0 &&
		       store->index.heads[0]->entry.time_ns < now_ns - max_age_ns)
			if (!drop_oldest(store))
				return;
	/* What cannot be removed now is tried again next time. */
	(void) sw_store_make_room(store, 0, 0);
	(void) sw_store_make_free(store, 0);
}
