/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ship/spool.h"
#include "arena.h"
#include "bytes.h"
#include "cleanup.h"
#include "errors.h"
#include "text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <parts.h> /* of libwalk/base: the folder has a parts.h of its own */
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <xxhash.h>

enum {
	NAME_MAX_BYTES = 64,
	NUMBER_DIGITS = 20,
	HEAD_MAX = (SW_SHIP_ID_MAX + 1) * SW_SHIP_BATCH_IDS + 256,
	DONE_BYTES_MAX = 2 * (SW_SHIP_ID_MAX + 1) * SW_SHIP_DONE_MAX,
};

static const char magic[] = "snapwalk-ship/1 ";
static const char letters[SW_SHIP_KINDS] = {[SW_SHIP_PROFILES] = 'p', [SW_SHIP_DUMPS] = 'd'};

void sw_ship_batch_deinit(struct sw_ship_batch *batch)
{
	free(batch->body);
	batch->body = NULL;
	batch->size = batch->n_ids = 0;
}

bool sw_ship_id_valid(const char *id)
{
	static const char good[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-";
	size_t length = strnlen(id, SW_SHIP_ID_MAX + 1);
	return length > 0 && length <= SW_SHIP_ID_MAX && strspn(id, good) == length;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void batch_name(enum sw_ship_kind kind, uint64_t number, char ret[NAME_MAX_BYTES])
{
	(void) snprintf(ret, NAME_MAX_BYTES, "%c-%0*" PRIu64, letters[kind], NUMBER_DIGITS,
			number); /* fits */
}

static void done_name(enum sw_ship_kind kind, char ret[NAME_MAX_BYTES])
{
	(void) snprintf(ret, NAME_MAX_BYTES, "%c-done", letters[kind]); /* fits */
}

/* Whether it is the name of a batch. */
static bool parse_name(const char *name, enum sw_ship_kind kind, uint64_t *ret)
{
	static const char digits[] = "0123456789";
	if (name[0] != letters[kind] || name[1] != '-' || strlen(name + 2) != NUMBER_DIGITS ||
	    strspn(name + 2, digits) != NUMBER_DIGITS)
		return false;
	errno = 0;
	*ret = strtoull(name + 2, NULL, 10);
	return errno == 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes head and body to a new file that is renamed when it lasts. */
static int write_file(const struct sw_spool *spool, const char *name, const char *head,
		      size_t head_size, const char *body, size_t size, struct sw_error *err)
{
	char new_name[NAME_MAX_BYTES + 8];
	(void) snprintf(new_name, sizeof(new_name), "%s.new", name); /* fits */
	sw_cleanup(sw_close_p) int fd =
		openat(spool->dir_fd, new_name,
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return sw_fail_errno(err, SW_E_IO, "the spool: %s", new_name);
	if (!sw_write_all(fd, head, head_size) || !sw_write_all(fd, body, size) || fsync(fd) < 0 ||
	    renameat(spool->dir_fd, new_name, spool->dir_fd, name) < 0 ||
	    fsync(spool->dir_fd) < 0) {
		(void) sw_fail_errno(err, SW_E_IO, "the spool: %s", name);
		(void) unlinkat(spool->dir_fd, new_name, 0); /* or it has its name already */
		return -SW_E_IO;
	}
	return 0;
}

int sw_spool_write(const struct sw_spool *spool, const char *name, const char *text, size_t size,
		   struct sw_error *err)
{
	return write_file(spool, name, "", 0, text, size, err);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void set_key(struct sw_ship_batch *batch)
{
	XXH3_state_t *state = XXH3_createState();
	XXH128_hash_t hash = {0};
	if (state != NULL && XXH3_128bits_reset(state) == XXH_OK) {
		for (size_t i = 0; i < batch->n_ids; i++)
			(void) XXH3_128bits_update(state, batch->ids[i].text,
						   strlen(batch->ids[i].text) + 1); /* no NULL */
		hash = XXH3_128bits_digest(state);
	}
	(void) XXH3_freeState(state); /* always XXH_OK */
	(void) snprintf(batch->key, sizeof(batch->key), "%016" PRIx64 "%016" PRIx64, hash.high64,
			hash.low64); /* fits */
}

static void put_head(struct sw_text *head, const struct sw_ship_batch *batch)
{
	sw_text_printf(head, "%s%s %zu", magic, batch->key, batch->size);
	for (size_t i = 0; i < batch->n_ids; i++)
		sw_text_printf(head, " %s", batch->ids[i].text);
	sw_text_append(head, "\n", 1);
}

uint64_t sw_spool_cost(const struct sw_ship_batch *batch)
{
	int digits = snprintf(NULL, 0, "%zu", batch->size);
	uint64_t head = strlen(magic) + SW_SHIP_KEY_SIZE + (uint64_t) digits + 1;
	for (size_t i = 0; i < batch->n_ids; i++)
		head += strlen(batch->ids[i].text) + 1;
	return head + batch->size;
}

int sw_spool_add(struct sw_spool *spool, enum sw_ship_kind kind, struct sw_ship_batch *batch,
		 struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text head = {0};
	char name[NAME_MAX_BYTES];
	set_key(batch);
	put_head(&head, batch);
	if (head.failed)
		return sw_fail_nomem(err);
	batch_name(kind, spool->next[kind], name);
	int r = write_file(spool, name, head.data, head.size, batch->body, batch->size, err);
	if (r < 0)
		return r;
	spool->next[kind]++;
	batch->file_bytes = head.size + batch->size;
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
	return x < y ? -1 : x > y;
}

/* Opens the directory anew: a descriptor has one place in it. */
static DIR *open_listing(const struct sw_spool *spool)
{
	int fd = openat(spool->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL)
		sw_close_p(&fd);
	return dir;
}

int sw_spool_list(const struct sw_spool *spool, enum sw_ship_kind kind, uint64_t **ret,
		  size_t *ret_n, struct sw_error *err)
{
	sw_cleanup(sw_closedir_p) DIR *dir = open_listing(spool);
	sw_cleanup(sw_free_p) uint64_t *numbers = NULL;
	size_t n = 0, capacity = 0;
	uint64_t number;
	if (dir == NULL)
		return sw_fail_errno(err, SW_E_IO, "the spool");
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		if (!parse_name(entry->d_name, kind, &number))
			continue;
		uint64_t *grown = sw_grow(numbers, n, &capacity, 256, sizeof(*numbers));
		if (grown == NULL)
			return sw_fail_nomem(err);
		numbers = grown;
		numbers[n++] = number;
	}
	if (n > 0)
		qsort(numbers, n, sizeof(*numbers), compare_numbers);
	*ret = sw_take_ptr(numbers);
	*ret_n = n;
	return 0;
}

/* The next word of a line, cut by a NUL; NULL: there is none. */
static char *next_word(char **line)
{
	char *word;
	do
		word = strsep(line, " ");
	while (word != NULL && word[0] == '\0');
	return word;
}

static int parse_head(char *line, struct sw_ship_batch *ret, struct sw_error *err)
{
	static const char hexadecimal[] = "0123456789abcdef";
	const char *key = next_word(&line), *size = next_word(&line);
	char *end = NULL;
	if (key == NULL || strlen(key) != SW_SHIP_KEY_SIZE - 1 ||
	    strspn(key, hexadecimal) != SW_SHIP_KEY_SIZE - 1 || size == NULL || size[0] < '0' ||
	    size[0] > '9')
		return sw_fail(err, SW_E_FORMAT, "its first line is damaged");
	memcpy(ret->key, key, SW_SHIP_KEY_SIZE);
	errno = 0;
	ret->size = strtoul(size, &end, 10);
	if (errno != 0 || *end != '\0')
		return sw_fail(err, SW_E_FORMAT, "its first line is damaged");
	for (const char *id; (id = next_word(&line)) != NULL;) {
		if (ret->n_ids == SW_SHIP_BATCH_IDS || !sw_ship_id_valid(id))
			return sw_fail(err, SW_E_FORMAT, "its ids are damaged");
		(void) snprintf(ret->ids[ret->n_ids++].text, sizeof(ret->ids[0].text), "%s",
				id); /* fits */
	}
	return ret->n_ids > 0 ? 0 : sw_fail(err, SW_E_FORMAT, "it has no ids");
}

int sw_ship_batch_parse(const char *data, size_t size, struct sw_ship_batch *ret,
			struct sw_error *err)
{
	const size_t begin = strlen(magic);
	const char *end = memchr(data, '\n', size < HEAD_MAX ? size : HEAD_MAX);
	if (end == NULL || (size_t) (end - data) < begin || memcmp(data, magic, begin) != 0)
		return sw_fail(err, SW_E_FORMAT, "it is no batch");
	sw_cleanup(sw_free_p) char *line = strndup(data + begin, (size_t) (end - data) - begin);
	struct sw_ship_batch *batch = calloc(1, sizeof(*batch));
	int r = line == NULL || batch == NULL ? sw_fail_nomem(err) : parse_head(line, batch, err);
	const size_t rest = size - (size_t) (end + 1 - data);
	if (r == 0 && batch->size != rest)
		r = sw_fail(err, SW_E_FORMAT, "it is cut, or has more than its body");
	if (r == 0) {
		batch->body = malloc(rest + 1);
		if (batch->body == NULL)
			r = sw_fail_nomem(err);
	}
	if (r == 0) {
		memcpy(batch->body, end + 1, rest);
		batch->file_bytes = size;
		*ret = *batch;
	}
	free(batch);
	return r;
}

int sw_spool_read(const struct sw_spool *spool, enum sw_ship_kind kind, uint64_t number,
		  struct sw_ship_batch *ret, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	char name[NAME_MAX_BYTES];
	batch_name(kind, number, name);
	int r = sw_text_read_at(&text, spool->dir_fd, name, SW_SHIP_BODY_MAX + HEAD_MAX);
	if (r == -SW_E_IO)
		return sw_fail_errno(err, SW_E_IO, "the spool: %s", name);
	if (r == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	if (r < 0)
		return sw_fail(err, SW_E_FORMAT, "the spool: %s is too large", name);
	struct sw_error why = {0};
	r = sw_ship_batch_parse(text.size > 0 ? text.data : "", text.size, ret, &why);
	return r < 0 ? sw_fail(err, -r, "the spool: %s: %.100s", name, why.message) : 0;
}

/* ---- what is done ---------------------------------------------------------------------------- */

/* Keeps the later half of the list when it has become long. */
static int compact(const struct sw_spool *spool, const char *name, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	struct stat st;
	if (fstatat(spool->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_size < DONE_BYTES_MAX)
		return 0;
	if (sw_text_read_at(&text, spool->dir_fd, name, 2 * (size_t) DONE_BYTES_MAX) < 0)
		return sw_fail(err, SW_E_IO, "the spool: %s", name);
	const char *middle = memchr(text.data + text.size / 2, '\n', text.size - text.size / 2);
	const char *begin = middle != NULL ? middle + 1 : text.data;
	return sw_spool_write(spool, name, begin, text.size - (size_t) (begin - text.data), err);
}

static int note_done(const struct sw_spool *spool, const char *name, const struct sw_text *lines,
		     struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd =
		openat(spool->dir_fd, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		       0600);
	if (fd < 0 || !sw_write_all(fd, lines->data, lines->size) || fsync(fd) < 0)
		return sw_fail_errno(err, SW_E_IO, "the spool: %s", name);
	return 0;
}

int sw_spool_done(struct sw_spool *spool, enum sw_ship_kind kind, uint64_t number,
		  const struct sw_ship_batch *batch, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text lines = {0};
	char name[NAME_MAX_BYTES], done[NAME_MAX_BYTES];
	batch_name(kind, number, name);
	done_name(kind, done);
	for (size_t i = 0; i < batch->n_ids; i++)
		sw_text_printf(&lines, "%s\n", batch->ids[i].text);
	if (lines.failed)
		return sw_fail_nomem(err);
	int r = note_done(spool, done, &lines, err);
	if (r == 0 && unlinkat(spool->dir_fd, name, 0) < 0 && errno != ENOENT)
		r = sw_fail_errno(err, SW_E_IO, "the spool: %s", name);
	return r == 0 ? compact(spool, done, err) : r;
}

uint64_t sw_spool_discard(const struct sw_spool *spool, enum sw_ship_kind kind, uint64_t number)
{
	char name[NAME_MAX_BYTES], aside[NAME_MAX_BYTES];
	struct stat st = {0};
	batch_name(kind, number, name);
	(void) snprintf(aside, sizeof(aside), "%c-damaged", letters[kind]); /* fits */
	if (fstatat(spool->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (renameat(spool->dir_fd, name, spool->dir_fd, aside) < 0)
		(void) unlinkat(spool->dir_fd, name, 0); /* or it is in the way for ever */
	return (uint64_t) st.st_size;
}

static int known_done(const struct sw_spool *spool, enum sw_ship_kind kind, sw_spool_id_fn *fn,
		      void *arg, struct sw_error *err)
{
	sw_cleanup(sw_text_deinit) struct sw_text text = {0};
	char name[NAME_MAX_BYTES];
	done_name(kind, name);
	int r = sw_text_read_at(&text, spool->dir_fd, name, 2 * (size_t) DONE_BYTES_MAX);
	if (r == -SW_E_IO && errno == ENOENT)
		return 0;
	if (r < 0)
		return sw_fail(err, -r, "the spool: %s cannot be read", name);
	char *next = text.size > 0 ? text.data : NULL;
	r = 0;
	/* The last line may be cut by a crash: it is no id of the daemon then. */
	for (char *line; r == 0 && next != NULL && (line = strsep(&next, "\n")) != NULL;)
		if (sw_ship_id_valid(line))
			r = fn(arg, line);
	return r;
}

static int known_batches(const struct sw_spool *spool, enum sw_ship_kind kind, sw_spool_id_fn *fn,
			 void *arg, struct sw_error *err)
{
	sw_cleanup(sw_free_p) uint64_t *numbers = NULL;
	struct sw_error damage;
	size_t n = 0;
	int r = sw_spool_list(spool, kind, &numbers, &n, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct sw_ship_batch batch = {0};
		r = sw_spool_read(spool, kind, numbers[i], &batch, &damage);
		for (size_t j = 0; r == 0 && j < batch.n_ids; j++)
			r = fn(arg, batch.ids[j].text);
		sw_ship_batch_deinit(&batch);
		if (r == -SW_E_FORMAT)
			r = 0; /* the sender puts it aside; what was in it is read again */
	}
	return r;
}

int sw_spool_known(const struct sw_spool *spool, sw_spool_id_fn *fn, void *arg,
		   struct sw_error *err)
{
	int r = 0;
	for (int kind = 0; r == 0 && kind < SW_SHIP_KINDS; kind++) {
		r = known_done(spool, (enum sw_ship_kind) kind, fn, arg, err);
		if (r == 0)
			r = known_batches(spool, (enum sw_ship_kind) kind, fn, arg, err);
	}
	return r;
}

/* ---- the directory --------------------------------------------------------------------------- */

static int open_directory(const char *path, int *ret, struct sw_error *err)
{
	struct stat st;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	sw_cleanup(sw_close_p) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return sw_fail_errno(err, SW_E_IO, "%s", path);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return sw_fail(err, SW_E_NOT_PERMITTED,
			       "%s: it belongs to another user, or others may write to it", path);
	*ret = sw_take_fd(fd);
	return 0;
}

static int take_lock(struct sw_spool *spool, struct sw_error *err)
{
	enum { TRIES = 50, BETWEEN_MS = 100 };
	spool->lock_fd =
		openat(spool->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (spool->lock_fd < 0)
		return sw_fail_errno(err, SW_E_IO, "the spool: lock");
	/* The lock is that of all processes that are forked later: those of one that was killed may take a moment to end. */
	for (int i = 0; flock(spool->lock_fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK || i == TRIES)
			return sw_fail(err, SW_E_RUNNING, "another snapwalk-ship uses this spool");
		(void) poll(NULL, 0, BETWEEN_MS); /* a signal: earlier */
	}
	return 0;
}

static int look_over(struct sw_spool *spool, struct sw_ship_shared *shared, struct sw_error *err)
{
	sw_cleanup(sw_closedir_p) DIR *dir = open_listing(spool);
	struct stat st;
	uint64_t number;
	if (dir == NULL)
		return sw_fail_errno(err, SW_E_IO, "the spool");
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		if (sw_ends_with(entry->d_name, ".new"))
			(void) unlinkat(spool->dir_fd, entry->d_name, 0); /* or it is overwritten */
		for (int kind = 0; kind < SW_SHIP_KINDS; kind++) {
			if (!parse_name(entry->d_name, (enum sw_ship_kind) kind, &number) ||
			    fstatat(spool->dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			shared->spool_bytes += (uint64_t) st.st_size;
			shared->spool_files++;
			if (number >= spool->next[kind])
				spool->next[kind] = number + 1;
		}
	}
	return 0;
}

int sw_spool_open(const char *path, struct sw_ship_shared *shared, struct sw_spool *ret,
		  struct sw_error *err)
{
	struct sw_spool spool = {.dir_fd = -EBADF, .lock_fd = -EBADF, .next = {1, 1}};
	int r = open_directory(path, &spool.dir_fd, err);
	if (r == 0)
		r = take_lock(&spool, err);
	if (r == 0)
		r = look_over(&spool, shared, err);
	if (r < 0) {
		sw_spool_close(&spool);
		return r;
	}
	*ret = spool;
	return 0;
}

void sw_spool_close(struct sw_spool *spool)
{
	sw_close_p(&spool->dir_fd);
	sw_close_p(&spool->lock_fd);
}
