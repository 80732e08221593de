/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store.h"
#include "store_index.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

/*
 * A file is written under a temporary name and gets its own by rename: whole or not there. It is
 * not synced to the disk: a disk that hangs is a likely reason for captures, and must not hang the
 * daemon with it. What a power cut may cost is the dumps of the last seconds; a file that it left
 * cut is recognised by its head and checksum, and an empty one is removed at the next start.
 */
enum {
	STORE_SCAN_MAX = 100000, /* names looked at when opening */
	FILE_HEAD_BYTES = 8,
	/* The head, and what ZSTD_compressBound() allows for besides 1/256 of the size. */
	FILE_SLACK_BYTES = 1 << 20,
	DIRECTORY_MODE = 0750,
	FILE_MODE = 0640,
};

static const char SUFFIX[] = ".json.zst", TEMPORARY[] = ".new-";
static const int64_t NS_PER_S = 1000000000;

enum { NAME_BYTES = sizeof(TEMPORARY) + SW_STORE_ID_MAX + sizeof(SUFFIX) };

struct sw_store {
	int dir_fd; /* owned */
	char *path; /* owned; for messages */
	struct sw_store_index index;
	uint64_t max_use, keep_free, max_age_s;
	uint64_t dump_bytes_max;
	uint32_t max_files;
};

SW_DEFINE_CLEANUP(struct sw_store_head *, sw_store_head_free);
SW_DEFINE_CLEANUP(struct sw_store *, sw_store_close);

static void name_print(char name[NAME_BYTES], const char *prefix, const char *id)
{
	(void) snprintf(name, NAME_BYTES, "%s%s%s", prefix, id, SUFFIX); /* ids are checked: fits */
}

/* ---- making room ----------------------------------------------------------------------------- */

/* False when the file cannot be removed: then nothing gets better by going on. */
static bool drop_oldest(struct sw_store *store)
{
	char name[NAME_BYTES];
	if (store->index.n == 0)
		return false;
	name_print(name, "", store->index.heads[0]->entry.id);
	if (unlinkat(store->dir_fd, name, 0) < 0 && errno != ENOENT)
		return false;
	sw_store_index_remove(&store->index, 0);
	return true;
}

/* Free bytes of the file system for users that are not root; UINT64_MAX when it will not say. */
static uint64_t free_bytes(const struct sw_store *store)
{
	struct statvfs vfs;
	uint64_t bytes;
	if (fstatvfs(store->dir_fd, &vfs) < 0 || vfs.f_blocks == 0 ||
	    __builtin_mul_overflow((uint64_t) vfs.f_bavail, (uint64_t) vfs.f_frsize, &bytes))
		return UINT64_MAX;
	return bytes;
}

/*
 * KeepFree=: old dumps go when that helps. When all of them together would not make the room,
 * somebody else has filled the disk; throwing dumps away would lose them for nothing.
 * -SW_E_LIMIT: there would be less than KeepFree=; -SW_E_IO: a file cannot be removed.
 */
static int make_free(struct sw_store *store, uint64_t more)
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

/* MaxUse= and MaxFiles=, with room for what is to come. */
static int make_room(struct sw_store *store, uint64_t more_bytes, size_t more_files)
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
	(void) make_room(store, 0, 0); /* what cannot be removed now is tried again next time */
	(void) make_free(store, 0);    /* the same */
}

static int64_t now_realtime_ns(void)
{
	struct timespec ts;
	(void) clock_gettime(CLOCK_REALTIME, &ts); /* cannot fail */
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A regular file, and no waiting for a fifo. */
static int file_open(const struct sw_store *store, const char *name, struct stat *ret_stat)
{
	sw_cleanup(sw_close_p) int fd =
		openat(store->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, ret_stat) < 0)
		return -1;
	if (!S_ISREG(ret_stat->st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return sw_take_fd(fd);
}

static ssize_t read_some(int fd, void *data, size_t size)
{
	size_t got = 0;
	while (got < size) {
		ssize_t n = pread(fd, (char *) data + got, size - got, (off_t) got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t) n;
	}
	return (ssize_t) got;
}

/* The id in "ID.json.zst". */
static bool name_parse(const char *name, char id[SW_STORE_ID_MAX + 1])
{
	size_t length = strlen(name), suffix = strlen(SUFFIX);
	if (length <= suffix || length - suffix > SW_STORE_ID_MAX ||
	    strcmp(name + length - suffix, SUFFIX) != 0)
		return false;
	memcpy(id, name, length - suffix);
	id[length - suffix] = '\0';
	return sw_store_id_valid(id);
}

/* 0 also when the file is none of ours, which is left alone. buffer: 8 + SW_STORE_HEAD_MAX. */
static int scan_file(struct sw_store *store, const char *name, char *buffer)
{
	char id[SW_STORE_ID_MAX + 1];
	struct stat st;
	if (!name_parse(name, id))
		return 0;
	sw_cleanup(sw_close_p) int fd = file_open(store, name, &st);
	if (fd < 0)
		return 0;
	if (st.st_size == 0) {                           /* a power cut */
		(void) unlinkat(store->dir_fd, name, 0); /* of no use to anybody, in nobody's way */
		return 0;
	}
	ssize_t n = read_some(fd, buffer, FILE_HEAD_BYTES + SW_STORE_HEAD_MAX);
	sw_cleanup(sw_store_head_free_p) struct sw_store_head *head = calloc(1, sizeof(*head));
	if (head == NULL || sw_store_index_reserve(&store->index) < 0)
		return -SW_E_NOMEM;
	int rc = sw_store_head_parse(buffer, n > 0 ? (size_t) n : 0, head, NULL);
	if (rc == -SW_E_NOMEM)
		return rc;
	if (rc < 0 || strcmp(head->entry.id, id) != 0)
		return 0;
	head->entry.file_bytes = (uint64_t) st.st_size;
	sw_store_index_insert(&store->index, sw_take_ptr(head));
	return 0;
}

static int scan(struct sw_store *store, struct sw_error *err)
{
	sw_cleanup(sw_free_p) char *buffer = malloc(FILE_HEAD_BYTES + SW_STORE_HEAD_MAX);
	sw_cleanup(sw_close_p) int fd =
		openat(store->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", store->path);
	sw_cleanup(sw_closedir_p) DIR *dir = fdopendir(fd);
	if (dir == NULL || buffer == NULL)
		return sw_fail_nomem(err);
	(void) sw_take_fd(fd); /* the DIR's now */
	const struct dirent *entry;
	for (int i = 0; i < STORE_SCAN_MAX && (entry = readdir(dir)) != NULL; i++) {
		if (strncmp(entry->d_name, TEMPORARY, strlen(TEMPORARY)) == 0)
			/* Left by a daemon that was killed; there is only one at a time. */
			(void) unlinkat(store->dir_fd, entry->d_name, 0);
		else if (scan_file(store, entry->d_name, buffer) < 0)
			return sw_fail_nomem(err);
	}
	return 0;
}

static void configure(struct sw_store *store, const struct sw_config *config)
{
	store->max_use = config->store_max_use;
	store->keep_free = config->store_keep_free;
	store->max_age_s = config->store_max_age_s;
	store->max_files = config->store_max_files;
	store->dump_bytes_max = config->dump_bytes_max;
}

/* One that was there already, too. Only of our own: another's is as its owner wants it. */
static void close_to_others(int dir_fd)
{
	struct stat st;
	if (fstat(dir_fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IRWXO) != 0)
		(void) fchmod(dir_fd, st.st_mode & (07777 & ~S_IRWXO)); /* files are closed too */
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
	if (mkdir(store->path, DIRECTORY_MODE) < 0 && errno != EEXIST)
		return sw_fail_errno(err, SW_E_IO, "%s", store->path);
	store->dir_fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->dir_fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", store->path);
	close_to_others(store->dir_fd);
	int rc = scan(store, err);
	if (rc < 0)
		return rc;
	sw_store_vacuum(store, now_realtime_ns());
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
	sw_store_vacuum(store, now_realtime_ns());
}

/* ---- keeping --------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		data += n;
		size -= (size_t) n;
	}
	return true;
}

/* close() too can say that the disk is full (NFS, quotas). */
static bool write_new(const struct sw_store *store, const char *name, const char *data, size_t size)
{
	int fd = openat(store->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			FILE_MODE);
	if (fd < 0)
		return false;
	bool written = write_all(fd, data, size);
	int saved = errno;
	if (close(fd) < 0 && written)
		return false;
	errno = saved;
	return written;
}

/* What can be said before anything is written; KeepFree= needs its room before. */
static int check_room(struct sw_store *store, const char *id, size_t size, struct sw_error *err)
{
	size_t at;
	if (sw_store_index_find(&store->index, id, &at) != NULL)
		return sw_fail(err, SW_E_INVALID, "there is a dump %s already", id);
	if (size > store->max_use || store->max_files == 0)
		return sw_fail(err, SW_E_LIMIT, "%s: dump %s of %zu bytes is above MaxUse=%llu",
			       store->path, id, size, (unsigned long long) store->max_use);
	int rc = make_free(store, size);
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
static int write_file(struct sw_store *store, const char *id, const char *data, size_t size,
		      struct sw_error *err)
{
	char temporary[NAME_BYTES], name[NAME_BYTES];
	name_print(temporary, TEMPORARY, id);
	name_print(name, "", id);
	if (write_new(store, temporary, data, size) && make_room(store, size, 1) == 0 &&
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
	size_t file_size;
	if (head == NULL || sw_store_index_reserve(&store->index) < 0)
		return sw_fail_nomem(err);
	int rc = sw_store_encode(entry, json, size, &file, &file_size, err);
	if (rc < 0)
		return rc;
	/* What the index says is what the file says, now and after the next start. */
	rc = sw_store_head_parse(file, file_size, head, err);
	if (rc < 0)
		return rc;
	rc = check_room(store, entry->id, file_size, err);
	if (rc < 0)
		return rc;
	rc = write_file(store, entry->id, file, file_size, err);
	if (rc < 0)
		return rc;
	head->entry.file_bytes = file_size;
	sw_store_index_insert(&store->index, sw_take_ptr(head));
	sw_store_vacuum(store, now_realtime_ns()); /* whatever has become too old meanwhile */
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

int sw_store_get(struct sw_store *store, const char *id, char **ret_json, size_t *ret_size,
		 struct sw_error *err)
{
	char name[NAME_BYTES];
	size_t at;
	struct stat st;
	const struct sw_store_head *head =
		sw_store_id_valid(id) ? sw_store_index_find(&store->index, id, &at) : NULL;
	if (head == NULL)
		return sw_fail(err, SW_E_NOT_FOUND, "there is no such dump");
	name_print(name, "", id);
	sw_cleanup(sw_close_p) int fd = file_open(store, name, &st);
	if (fd < 0 && errno == ENOENT) {
		int rc = sw_fail(err, SW_E_NOT_FOUND, "dump %s is no longer there", id);
		sw_store_index_remove(&store->index,
				      at); /* somebody has removed it; id may have been in there */
		return rc;
	}
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "%s/%s", store->path, name);
	uint64_t max =
		FILE_HEAD_BYTES + SW_STORE_HEAD_MAX + store->dump_bytes_max + FILE_SLACK_BYTES;
	if ((uint64_t) st.st_size > max)
		return sw_fail(err, SW_E_LIMIT, "dump %s is above DumpMax=", id);
	sw_cleanup(sw_free_p) char *file = malloc((size_t) st.st_size + 1);
	if (file == NULL)
		return sw_fail_nomem(err);
	ssize_t n = read_some(fd, file, (size_t) st.st_size);
	if (n < 0)
		return sw_fail_errno(err, SW_E_IO, "%s/%s", store->path, name);
	return sw_store_decode(file, (size_t) n, store->dump_bytes_max, ret_json, ret_size, err);
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
