/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/dumps.h"
#include "store/directory.h"
#include "store/pins.h"
#include "store/space.h"
#include "errors.h"
#include "bytes.h"
#include "own_way.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <string.h>

/*
 * A file is written under a temporary name and gets its own by rename: whole or not there. It is
 * not synced to the disk: a disk that hangs is a likely reason for captures, and must not hang the
 * daemon with it. A power cut may cost the dumps of the last seconds; a file that it left cut is
 * recognised by its head and checksum, and an empty one is removed at the next start.
 */
enum {
	/* The head, and what ZSTD_compressBound() allows for besides 1/256 of the size. */
	FILE_SLACK_BYTES = 1 << 20,
	DIRECTORY_MODE = 0750,
	FILE_MODE = 0640,
};

SW_DEFINE_CLEANUP(struct sw_store *, sw_store_close);

static void configure(struct sw_store *store, const struct sw_config *config)
{
	store->max_use = config->store_max_use;
	store->keep_free = config->store_keep_free;
	store->max_age_s = config->store_max_age_s;
	store->max_files = config->store_max_files;
	store->dump_bytes_max = config->dump_bytes_max;
}

/* A directory that was there already is closed, too, but only if it is our own: another's is as its
 * owner wants it. */
static void close_to_others(int dir_fd)
{
	struct stat st;
	if (fstat(dir_fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IRWXO) != 0)
		(void) fchmod(dir_fd, st.st_mode & (07777 & ~S_IRWXO)); /* files are closed too */
}

/* A directory that another user can change is not ours to delete files in, and what it holds may be anybody's. A user's
 * own daemon has no privileges to lose, and its home may lie below directories of others. */
static int directory_open(const struct sw_config *config, int *ret_fd, struct sw_error *err)
{
	const struct sw_own_way_other own = {.uid = geteuid(),
					     .gid = getegid(),
					     .group_has_others = !config->own_group_is_alone};
	int r = sw_own_way_make(config->state_dir, DIRECTORY_MODE, err);
	if (r == 0 && !config->user_mode)
		return sw_own_way_open_directory(config->state_dir, &own, ret_fd, err);
	sw_cleanup(sw_close_p) int path_fd = -EBADF;
	if (r == 0)
		r = sw_own_way_open(config->state_dir, O_DIRECTORY, config->state_dir, &path_fd,
				    err);
	if (r < 0)
		return r;
	int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", config->state_dir);
	*ret_fd = fd;
	return 0;
}

int sw_store_open(const struct sw_config *config, struct sw_store **ret, struct sw_error *err)
{
	sw_cleanup(sw_store_close_p) struct sw_store *store = calloc(1, sizeof(*store));
	if (store == NULL)
		return sw_fail_nomem(err);
	store->dir_fd = -EBADF;
	store->path = strdup(config->state_dir);
	if (store->path == NULL)
		return sw_fail_nomem(err);
	configure(store, config);
	int rc = directory_open(config, &store->dir_fd, err);
	if (rc < 0)
		return rc;
	close_to_others(store->dir_fd);
	rc = sw_store_scan(store, err);
	if (rc < 0)
		return rc;
	sw_store_pins_read(store);
	sw_store_vacuum(store, sw_realtime_ns());
	*ret = sw_take_ptr(store);
	return 0;
}

void sw_store_close(struct sw_store *store)
{
	if (store == NULL)
		return;
	sw_store_index_deinit(&store->index);
	free(store->path);
	sw_close_p(&store->dir_fd);
	free(store);
}

void sw_store_reconfigure(struct sw_store *store, const struct sw_config *config)
{
	configure(store, config);
	sw_store_vacuum(store, sw_realtime_ns());
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* close(), too, can report that the disk is full (NFS, quotas). */
static bool write_new(const struct sw_store *store, const char *name, const char *data, size_t size)
{
	int fd = openat(store->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			FILE_MODE);
	if (fd < 0)
		return false;
	bool written = sw_write_all(fd, data, size);
	int saved = errno;
	if (close(fd) < 0 && written)
		return false;
	errno = saved;
	return written;
}

/* Check what can be decided before anything is written; KeepFree= needs its space before. */
static int check_room(struct sw_store *store, const struct sw_store_entry *next,
		      struct sw_error *err)
{
	const char *id = next->id;
	size_t size = next->file_bytes;
	size_t at;
	if (sw_store_index_find(&store->index, id, &at) != NULL)
		return sw_fail(err, SW_E_INVALID, "there is a dump %s already", id);
	if (size > store->max_use || store->max_files == 0)
		return sw_fail(err, SW_E_LIMIT, "%s: dump %s of %zu bytes is above MaxUse=%llu",
			       store->path, id, size, (unsigned long long) store->max_use);
	if (size + store->index.pinned_bytes > store->max_use ||
	    store->index.n_pinned >= store->max_files)
		return sw_fail(
			err, SW_E_LIMIT,
			"%s: dump %s of %zu bytes is not kept: %zu that are pinned have %llu "
			"bytes of MaxUse=%llu",
			store->path, id, size, store->index.n_pinned,
			(unsigned long long) store->index.pinned_bytes,
			(unsigned long long) store->max_use);
	int rc = sw_store_make_free(store, size, next);
	if (rc == -SW_E_LIMIT)
		return sw_fail(err, SW_E_IO,
			       "%s: dump %s of %zu bytes is not kept: there would be less than "
			       "KeepFree=%llu bytes free on the disk",
			       store->path, id, size, (unsigned long long) store->keep_free);
	if (rc < 0)
		return sw_fail_errno(err, SW_E_IO, "%s: removing an old dump", store->path);
	return 0;
}

/* Old dumps make way only for one that is on the disk already. */
static int write_file(struct sw_store *store, const struct sw_store_entry *next, const char *data,
		      struct sw_error *err)
{
	const char *id = next->id;
	size_t size = next->file_bytes;
	char temporary[SW_STORE_NAME_BYTES], name[SW_STORE_NAME_BYTES];
	sw_store_name_print(temporary, SW_STORE_TEMPORARY, id);
	sw_store_name_print(name, "", id);
	if (write_new(store, temporary, data, size) &&
	    sw_store_make_space(store, size, 1, next) == 0 &&
	    renameat(store->dir_fd, temporary, store->dir_fd, name) == 0)
		return 0;
	int rc = sw_fail_errno(err, SW_E_IO, "%s: dump %s of %zu bytes is not kept", store->path,
			       id, size);
	(void) unlinkat(store->dir_fd, temporary, 0); /* may not be there at all */
	return rc;
}

int sw_store_put(struct sw_store *store, const struct sw_store_entry *entry, const char *json,
		 size_t size, struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *file = NULL;
	sw_cleanup(sw_store_head_free_p) struct sw_store_head *head = calloc(1, sizeof(*head));
	size_t file_size = 0;
	if (head == NULL || sw_store_index_reserve(&store->index) < 0)
		return sw_fail_nomem(err);
	int rc = sw_store_encode(entry, json, size, &file, &file_size, err);
	if (rc < 0)
		return rc;
	/* The index is filled from the file, so that it says the same now and after the next
	 * start. */
	rc = sw_store_head_parse(file, file_size, head, err);
	if (rc < 0)
		return rc;
	head->entry.file_bytes = file_size;
	rc = check_room(store, &head->entry, err);
	if (rc < 0)
		return rc;
	rc = write_file(store, &head->entry, file, err);
	if (rc < 0)
		return rc;
	sw_store_index_insert(&store->index, sw_take_ptr(head));
	sw_store_vacuum(store, sw_realtime_ns()); /* whatever has become too old meanwhile */
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The index decides who may see a dump. Root may have put the file of another dump in the place of this one. */
static int check_file(const char *id, const char *file, size_t size, struct sw_error *err)
{
	sw_cleanup(sw_store_head_deinit) struct sw_store_head head = {0};
	int rc = sw_store_head_parse(file, size, &head, err);
	if (rc == 0 && strcmp(head.entry.id, id) != 0)
		rc = sw_fail(err, SW_E_FORMAT,
			     "the file of dump %s was replaced: it has dump %s in it", id,
			     head.entry.id);
	return rc;
}

int sw_store_get(struct sw_store *store, const char *id, char **ret_json, size_t *ret_size,
		 struct sw_error *err)
{
	char name[SW_STORE_NAME_BYTES];
	size_t at;
	struct stat st;
	const struct sw_store_head *head =
		sw_store_id_valid(id) ? sw_store_index_find(&store->index, id, &at) : NULL;
	if (head == NULL)
		return sw_fail(err, SW_E_NOT_FOUND, "there is no such dump");
	sw_store_name_print(name, "", id);
	sw_cleanup(sw_close_p) int fd = sw_store_file_open(store, name, &st);
	if (fd < 0 && errno == ENOENT) {
		int rc = sw_fail(err, SW_E_NOT_FOUND, "dump %s is no longer there", id);
		/* Somebody has removed it; id may have been in there. */
		(void) sw_store_drop(store, at); /* tried again when it is asked for again */
		return rc;
	}
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s/%s", store->path, name);
	uint64_t max =
		SW_STORE_FRAME_BYTES + SW_STORE_HEAD_MAX + store->dump_bytes_max + FILE_SLACK_BYTES;
	if ((uint64_t) st.st_size > max)
		return sw_fail(err, SW_E_LIMIT, "dump %s is above DumpMax=", id);
	sw_cleanup(sw_free_p) char *file = malloc((size_t) st.st_size + 1);
	if (file == NULL)
		return sw_fail_nomem(err);
	size_t size = (size_t) st.st_size, n = sw_pread(fd, file, size, 0);
	if (n < size && errno != 0)
		return sw_fail_errno(err, SW_E_IO, "%s/%s", store->path, name);
	int rc = check_file(id, file, n, err);
	return rc < 0 ? rc
		      : sw_store_decode(file, n, store->dump_bytes_max, ret_json, ret_size, err);
}

int sw_store_remove(struct sw_store *store, const char *id, struct sw_error *err)
{
	size_t at;
	if (sw_store_index_find(&store->index, id, &at) == NULL)
		return sw_fail(err, SW_E_NOT_FOUND, "there is no such dump");
	/* Not id: it may be in there. */
	if (!sw_store_drop(store, at))
		return sw_fail_errno(err, SW_E_IO, "%s: removing a dump", store->path);
	return 0;
}

size_t sw_store_count(const struct sw_store *store)
{
	return store->index.n;
}

const struct sw_store_entry *sw_store_entry(const struct sw_store *store, size_t index)
{
	return index < store->index.n ? &store->index.heads[store->index.n - 1 - index]->entry
				      : NULL;
}

const struct sw_store_entry *sw_store_find(const struct sw_store *store, const char *id)
{
	size_t at;
	const struct sw_store_head *head = sw_store_index_find(&store->index, id, &at);
	return head != NULL ? &head->entry : NULL;
}

uint64_t sw_store_bytes(const struct sw_store *store)
{
	return store->index.bytes;
}

const char *sw_store_path(const struct sw_store *store)
{
	return store->path;
}
