/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/pins.h"
#include "store/directory.h"
#include "cleanup.h"
#include "errors.h"
#include "bytes.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PIN_MODE = 0640,
	PIN_TEXT_MAX = 16, /* a uid_t in decimal, a newline */
	PINNED_PART = 2,   /* of MaxUse= and MaxFiles=: what may be pinned */
	PINNED_USER_PART = 8,
};

static void pin_name(char name[SW_STORE_NAME_BYTES], const char *id)
{
	_Static_assert(sizeof(".pin") <= sizeof(SW_STORE_SUFFIX), "fits");
	(void) snprintf(name, SW_STORE_NAME_BYTES, "%s.pin", id);
}

/* ---- files ----------------------------------------------------------------------------------- */

static uid_t uid_of(int fd)
{
	char text[PIN_TEXT_MAX + 1];
	size_t n = sw_pread(fd, text, PIN_TEXT_MAX, 0);
	text[n] = '\0';
	char *end;
	unsigned long uid = strtoul(text, &end, 10);
	bool good = text[0] >= '0' && text[0] <= '9' && *end == '\n' && uid <= UINT32_MAX;
	return good ? (uid_t) uid : 0;
}

void sw_store_pins_read(struct sw_store *store)
{
	for (size_t i = 0; i < store->index.n; i++) {
		char name[SW_STORE_NAME_BYTES];
		struct stat st;
		pin_name(name, store->index.heads[i]->entry.id);
		sw_cleanup(sw_close_p) int fd = sw_store_file_open(store, name, &st);
		if (fd >= 0)
			sw_store_index_pin(&store->index, i, true, uid_of(fd));
	}
}

bool sw_store_pin_remove(struct sw_store *store, const char *id)
{
	char name[SW_STORE_NAME_BYTES];
	pin_name(name, id);
	return unlinkat(store->dir_fd, name, 0) == 0 || errno == ENOENT;
}

static bool pin_write(struct sw_store *store, const char *id, uid_t by)
{
	char name[SW_STORE_NAME_BYTES], text[PIN_TEXT_MAX];
	pin_name(name, id);
	int n = snprintf(text, sizeof(text), "%lu\n", (unsigned long) by);
	/* A pin file that is there but not in the index is an older one, of a dump that was put
	 * back. */
	if (unlinkat(store->dir_fd, name, 0) < 0 && errno != ENOENT)
		return false;
	int fd = openat(store->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			PIN_MODE);
	if (fd < 0)
		return false;
	bool written = sw_write_all(fd, text, (size_t) n);
	int saved = errno;
	if (close(fd) < 0 && written) {
		saved = errno;
		written = false;
	}
	if (!written)
		(void) unlinkat(store->dir_fd, name, 0); /* at worst root's, until it is unpinned */
	errno = saved;
	return written;
}

/* ---- the store's ----------------------------------------------------------------------------- */

/* part: of the limits that may be pinned, one file at least. */
static bool fits(const struct sw_store *store, uint64_t bytes, size_t files, unsigned part)
{
	size_t most = store->max_files / part > 0 ? store->max_files / part : 1;
	return bytes <= store->max_use / part && files <= most;
}

static int check(const struct sw_store *store, const struct sw_store_entry *entry, bool limited,
		 struct sw_error *err)
{
	const struct sw_store_share *share = sw_store_index_share(&store->index, entry);
	if (!fits(store, store->index.pinned_bytes + entry->file_bytes, store->index.n_pinned + 1,
		  PINNED_PART))
		return sw_fail(err, SW_E_LIMIT,
			       "dumps that are pinned would take more than half of the store");
	if (limited && share != NULL &&
	    !fits(store, share->pinned_bytes + entry->file_bytes, share->pinned_files + 1,
		  PINNED_USER_PART))
		return sw_fail(err, SW_E_LIMIT,
			       "yours that are pinned would take more than an eighth of the store");
	return 0;
}

int sw_store_pin(struct sw_store *store, const char *id, uid_t by, bool limited,
		 struct sw_error *err)
{
	char name[SW_STORE_NAME_BYTES];
	struct stat st;
	size_t at;
	const struct sw_store_head *head = sw_store_index_find(&store->index, id, &at);
	if (head == NULL)
		return sw_fail(err, SW_E_NOT_FOUND, "there is no such dump");
	if (head->entry.pinned)
		return 0;
	sw_store_name_print(name, "", head->entry.id);
	if (fstatat(store->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT) {
		sw_store_index_remove(&store->index, at);
		return sw_fail(err, SW_E_NOT_FOUND, "the dump is no longer there");
	}
	int rc = check(store, &head->entry, limited, err);
	if (rc < 0)
		return rc;
	if (!pin_write(store, head->entry.id, by))
		return sw_fail_errno(err, SW_E_IO, "%s: a dump cannot be pinned", store->path);
	sw_store_index_pin(&store->index, at, true, by);
	return 0;
}

int sw_store_unpin(struct sw_store *store, const char *id, struct sw_error *err)
{
	size_t at;
	const struct sw_store_head *head = sw_store_index_find(&store->index, id, &at);
	if (head == NULL)
		return sw_fail(err, SW_E_NOT_FOUND, "there is no such dump");
	if (!sw_store_pin_remove(store, head->entry.id))
		return sw_fail_errno(err, SW_E_IO, "%s: a dump cannot be unpinned", store->path);
	sw_store_index_pin(&store->index, at, false, 0);
	return 0;
}

size_t sw_store_count_pinned(const struct sw_store *store)
{
	return store->index.n_pinned;
}
