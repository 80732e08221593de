/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/objects/epolls.h"
#include "cleanup.h"
#include "errors.h"
#include "map.h"

#include <snapwalk/clock.h>
#include <snapwalk/listing.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX, BUCKETS_FIRST = 256 };

/* GONE: given up since the check was begun. */
enum state { FREE, BEFORE, ADDED, GONE };

/* A file that a set watches. */
struct watched {
	enum state state;
	uint32_t fd, set_fd; /* as they were when it was added */
	uint64_t set, file;  /* as the kernel has them; file 0: not known */
	uint32_t index;      /* of the row */
	uint32_t next;       /* of its bucket, or of those that are free; NONE: the last one */
	bool may_be_gone; /* a descriptor was closed while something else had the file: the check tells */
	bool is_listed;
	int64_t added_ns, changed_ns; /* CLOCK_MONOTONIC; 0: before */
};

/* A descriptor and its file. */
struct opened {
	uint32_t fd;
	uint64_t file, inode;
};

struct epolls {
	struct sw_held held;
	struct watched *all; /* owned */
	size_t n, max;
	uint32_t first_free;
	uint32_t *buckets; /* owned; by file: the first one */
	size_t n_buckets, n_used;
	struct sw_map64 per_set; /* how many a set watches */
	struct opened *opened;   /* owned; by descriptor: what the kernel's program shows */
	size_t n_opened, opened_max;
	bool has_files; /* it has shown them */
	struct listed {
		uint64_t set, file;
		uint32_t fd, set_fd;
	} * listed; /* owned: the list of the end */
	size_t n_listed, listed_max;
};

/* ---- storage ---------------------------------------------------------------------------------- */

static void destroy(struct sw_held *held)
{
	struct epolls *p = (struct epolls *) held;
	free(p->all);
	free(p->buckets);
	free(p->opened);
	free(p->listed);
	sw_map64_deinit(&p->per_set);
	sw_held_deinit(&p->held);
	free(p);
}

static uint32_t *bucket_of(const struct epolls *p, uint64_t file)
{
	return &p->buckets[sw_mix64(file) & (p->n_buckets - 1)];
}

static int buckets_grow(struct epolls *p)
{
	size_t n = p->n_buckets > 0 ? p->n_buckets * 2 : BUCKETS_FIRST;
	uint32_t *grown = malloc(n * sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	free(p->buckets);
	p->buckets = grown;
	p->n_buckets = n;
	for (size_t i = 0; i < n; i++)
		grown[i] = NONE;
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->all[i].state == FREE)
			continue;
		uint32_t *first = bucket_of(p, p->all[i].file);
		p->all[i].next = *first;
		*first = i;
	}
	return 0;
}

static int per_set_add(struct epolls *p, uint64_t set, int64_t more)
{
	uint64_t n = 0;
	(void) sw_map64_get(&p->per_set, set, &n); /* or none yet */
	return sw_map64_put(&p->per_set, set, n + (uint64_t) more);
}

static int insert(struct epolls *p, const struct watched *watched)
{
	int r = p->n_used >= p->n_buckets ? buckets_grow(p) : 0;
	uint32_t at = p->first_free;
	if (r == 0)
		r = per_set_add(p, watched->set, 1);
	if (r < 0)
		return r;
	if (at != NONE) {
		p->first_free = p->all[at].next;
	} else {
		struct watched *grown = sw_grow(p->all, p->n, &p->max, 64, sizeof(*grown));
		if (grown == NULL)
			return -SW_E_NOMEM;
		p->all = grown;
		at = (uint32_t) p->n++;
	}
	uint32_t *first = bucket_of(p, watched->file);
	p->all[at] = *watched;
	p->all[at].next = *first;
	*first = at;
	p->n_used++;
	return 0;
}

static void take_out(struct epolls *p, struct watched *watched)
{
	const uint32_t at = (uint32_t) (watched - p->all);
	uint32_t *link = bucket_of(p, watched->file);
	while (*link != at)
		link = &p->all[*link].next;
	*link = watched->next;
	(void) per_set_add(p, watched->set, -1); /* it is there: nothing is allocated */
	*watched = (struct watched){.state = FREE, .next = p->first_free};
	p->first_free = at;
	p->n_used--;
}

static struct watched *find(const struct epolls *p, uint64_t set, uint64_t file, uint32_t fd)
{
	if (p->n_buckets == 0)
		return NULL;
	for (uint32_t i = *bucket_of(p, file); i != NONE; i = p->all[i].next) {
		struct watched *watched = &p->all[i];
		if (watched->file == file && watched->set == set && watched->fd == fd)
			return watched;
	}
	return NULL;
}

/* ---- lists ------------------------------------------------------------------------------------ */

static int opened_add(void *arg, const struct sw_event_held *held)
{
	struct epolls *p = arg;
	struct opened *grown = sw_grow(p->opened, p->n_opened, &p->opened_max, 64, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	p->opened = grown;
	p->opened[p->n_opened++] =
		(struct opened){.fd = held->pair, .file = held->handle, .inode = held->number};
	return 0;
}

static int compare_opened(const void *a, const void *b)
{
	const struct opened *x = a, *y = b;
	return (x->fd > y->fd) - (x->fd < y->fd);
}

/* Where the kernel does not show files a set is known by its number. */
static int files_read(struct epolls *p)
{
	struct sw_error why;
	p->n_opened = 0;
	p->has_files = false;
	if (p->held.run->recorder == NULL)
		return 0;
	int r = sw_recorder_held(p->held.run->recorder, opened_add, p, &why);
	p->has_files = r == 0;
	if (r == 0 && p->n_opened > 0)
		qsort(p->opened, p->n_opened, sizeof(*p->opened), compare_opened);
	return r == -SW_E_NOMEM ? r : 0;
}

/* NULL: it is not shown. */
static const struct opened *opened_of(const struct epolls *p, uint32_t fd)
{
	const struct opened key = {.fd = fd};
	return p->n_opened > 0 ? bsearch(&key, p->opened, p->n_opened, sizeof(key), compare_opened)
			       : NULL;
}

static uint64_t set_of_number(uint32_t set_fd)
{
	return (uint64_t) set_fd + 1;
}

static int listed_add(struct epolls *p, const struct listed *listed)
{
	struct listed *grown = sw_grow(p->listed, p->n_listed, &p->listed_max, 256, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	p->listed = grown;
	p->listed[p->n_listed++] = *listed;
	return 0;
}

/* The lines of one set: "tfd: 5 events: 19 data: 5 pos:0 ino:1e sdev:a". */
static int set_parse(struct epolls *p, const char *text, uint64_t set, uint32_t set_fd)
{
	int r = 0;
	for (const char *at = text; r == 0 && at != NULL;
	     at = strchr(at, '\n'), at = at != NULL ? at + 1 : NULL) {
		uint32_t fd;
		uint64_t inode;
		if (sscanf(at, "tfd: %" SCNu32 " events: %*x data: %*x pos:%*d ino:%" SCNx64, &fd,
			   &inode) != 2)
			continue;
		const struct opened *opened = opened_of(p, fd);
		/* A file of another inode is another one than is watched, whose descriptor is closed. */
		bool same = opened != NULL && opened->inode == inode;
		const struct listed listed = {.set = set,
					      .set_fd = set_fd,
					      .fd = fd,
					      .file = same ? opened->file : 0};
		r = listed_add(p, &listed);
	}
	return r;
}

static bool is_set(const struct epolls *p, const char *fd)
{
	enum { TARGET_BYTES = 64 };
	static const char is[] = "anon_inode:[eventpoll]";
	char path[32], target[TARGET_BYTES];
	(void) snprintf(path, sizeof(path), "fd/%.20s", fd); /* fits */
	ssize_t n = readlinkat(p->held.run->proc_fd, path, target, sizeof(target));
	return n == (ssize_t) strlen(is) && memcmp(target, is, (size_t) n) == 0;
}

/* Reads a set by one of its descriptors; seen: sets that were read. A set that is closed meanwhile is left out. */
static int set_read(struct epolls *p, struct sw_listing *listing, const char *number,
		    struct sw_map64 *seen, struct sw_error *err)
{
	const uint32_t fd = (uint32_t) strtoul(number, NULL, 10);
	const struct opened *opened = opened_of(p, fd);
	const uint64_t set = opened != NULL ? opened->file : set_of_number(fd);
	uint64_t before;
	char name[32];
	const char *text;
	if (sw_map64_get(seen, set, &before))
		return 0;
	if (sw_map64_put(seen, set, 1) < 0)
		return sw_fail_nomem(err);
	(void) snprintf(name, sizeof(name), "fdinfo/%" PRIu32, fd); /* fits */
	int r = sw_listing_read(listing, name, &text, err);
	if (r == -SW_E_NOT_FOUND)
		return 0;
	if (r == 0 && set_parse(p, text, set, fd) < 0)
		r = sw_fail_nomem(err);
	return r;
}

static int sets_read(struct epolls *p, struct sw_listing *listing, struct sw_error *err)
{
	static const char cannot[] = "its open descriptors cannot be listed";
	sw_cleanup(sw_map64_deinit) struct sw_map64 seen = {0};
	const struct dirent *entry;
	int r = 0;
	sw_cleanup(sw_close_p) int fd =
		openat(p->held.run->proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (directory == NULL)
		return sw_fail_errno(err, SW_E_IO, "%s", cannot);
	(void) sw_take_fd(fd); /* the directory's */
	while (r == 0 && (errno = 0, entry = readdir(directory)) != NULL)
		if (is_set(p, entry->d_name))
			r = set_read(p, listing, entry->d_name, &seen, err);
	if (r == 0 && errno != 0)
		r = sw_fail_errno(err, SW_E_IO, "%s", cannot);
	(void) closedir(directory); /* nothing was written */
	return r;
}

/* The process that reads has the rights that this one has by now: it shares the memory of a parser. */
static int list_read(struct sw_held *held, struct sw_error *err)
{
	struct epolls *p = (struct epolls *) held;
	struct sw_listing *listing = NULL;
	p->n_listed = 0;
	if (files_read(p) < 0)
		return sw_fail_nomem(err);
	int r = sw_listing_create(held->run->proc_fd, &listing, err);
	if (r == 0)
		r = sets_read(p, listing, err);
	sw_listing_destroy(listing);
	held->n_there = p->n_listed;
	return r;
}

static int begin(struct epolls *p, struct sw_error *err)
{
	int r = list_read(&p->held, err);
	for (size_t i = 0; r == 0 && i < p->n_listed; i++) {
		const struct listed *listed = &p->listed[i];
		const struct watched watched = {.state = BEFORE,
						.fd = listed->fd,
						.set_fd = listed->set_fd,
						.set = listed->set,
						.file = listed->file};
		if (insert(p, &watched) < 0)
			r = sw_fail_nomem(err);
	}
	p->n_listed = 0; /* from now on that of the end */
	p->held.listed_ns = sw_clock_ns();
	return r;
}

static int create(struct sw_event_run *run, struct sw_held **ret, struct sw_error *err)
{
	struct epolls *p = calloc(1, sizeof(*p));
	if (p == NULL)
		return sw_fail_nomem(err);
	p->first_free = NONE;
	int r = sw_held_init(&p->held, &sw_held_epolls, run);
	r = r < 0 ? sw_fail_nomem(err) : begin(p, err);
	if (r < 0)
		destroy(&p->held);
	else
		*ret = &p->held;
	return r;
}

/* ---- events ----------------------------------------------------------------------------------- */

static bool is_checked(const struct epolls *p, int64_t now_ns)
{
	return p->held.check_ns != 0 && now_ns > p->held.check_ns;
}

static void count_released(struct epolls *p, const struct watched *watched)
{
	p->held.before_released += watched->state == BEFORE;
	if (watched->state == ADDED)
		sw_held_released(&p->held, watched->index);
}

/* A file is watched no more. Since the check was begun it is remembered, as the list may still have it. */
static void drop(struct epolls *p, struct watched *watched, int64_t now_ns)
{
	if (watched->state == GONE)
		return;
	count_released(p, watched);
	if (!is_checked(p, now_ns)) {
		take_out(p, watched);
		return;
	}
	watched->state = GONE;
	watched->changed_ns = now_ns;
}

static int add(struct epolls *p, const struct sw_event *e, const struct sw_event_handle *handle,
	       uint64_t set, uint32_t index)
{
	sw_held_acquired(&p->held, index, e);
	if (handle->file == 0 || handle->inode == 0) { /* another thread has closed it again */
		sw_held_released(&p->held, index);
		return 0;
	}
	const struct watched watched = {.state = ADDED,
					.fd = handle->number,
					.set_fd = handle->set,
					.set = set,
					.file = handle->file,
					.index = index,
					.added_ns = e->time_ns,
					.changed_ns = e->time_ns};
	struct watched *old = find(p, set, handle->file, handle->number);
	if (old == NULL && (old = find(p, set, 0, handle->number)) != NULL &&
	    e->time_ns > p->held.listed_ns)
		old = NULL; /* a file that was closed, and is watched still */
	/* A file that was listed may have been added after events had begun; else nobody saw how it went. */
	if (old != NULL && (old->state != BEFORE || e->time_ns > p->held.listed_ns))
		count_released(p, old);
	if (old != NULL)
		take_out(p, old);
	return insert(p, &watched);
}

/* A file is taken out of a set. */
static void remove_one(struct epolls *p, const struct sw_event_handle *handle, uint64_t set,
		       int64_t now_ns)
{
	struct watched *watched = find(p, set, handle->file, handle->number);
	if (watched == NULL)
		watched = find(p, set, 0, handle->number);
	if (watched != NULL)
		drop(p, watched, now_ns);
}

static void closed(struct epolls *p, struct watched *watched, bool for_good, int64_t now_ns)
{
	if (for_good)
		drop(p, watched, now_ns);
	else
		watched->may_be_gone = true;
}

/* A file is about to be closed: no set watches it then, and it watches nothing if it is a set. */
static void file_closed(struct epolls *p, uint64_t file, uint64_t set, bool for_good,
			int64_t now_ns)
{
	uint64_t n = 0;
	for (uint32_t i = p->n_buckets > 0 ? *bucket_of(p, file) : NONE, next; i != NONE;
	     i = next) {
		next = p->all[i].next;
		if (p->all[i].file == file)
			closed(p, &p->all[i], for_good, now_ns);
	}
	if (!sw_map64_get(&p->per_set, set, &n) || n == 0)
		return;
	for (size_t i = 0; i < p->n; i++)
		if (p->all[i].state != FREE && p->all[i].set == set)
			closed(p, &p->all[i], for_good, now_ns);
}

/* Whether a descriptor is open after execve(2), by a bit for each. */
static bool is_open(const struct sw_event *e, uint32_t fd)
{
	const uint8_t *bits = e->bytes;
	if (bits == NULL || fd / 8 >= e->bytes_size)
		return bits == NULL || e->cut;
	return bits[fd / 8] >> fd % 8 & 1;
}

/* The program has become another one: descriptors that are close-on-exec are closed. */
static void table_look(struct epolls *p, const struct sw_event *e)
{
	for (size_t i = 0; i < p->n; i++) {
		struct watched *watched = &p->all[i];
		if (watched->state != FREE &&
		    (!is_open(e, watched->fd) || !is_open(e, watched->set_fd)))
			drop(p, watched, e->time_ns);
	}
}

static int event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct epolls *p = arg;
	uint32_t index = 0;
	int r = sw_held_index(&p->held, row, &index);
	if (r == 0 && e->kind == SW_EVENT_TABLE)
		table_look(p, e);
	for (size_t i = 0; r == 0 && i < e->n_handles; i++) {
		const struct sw_event_handle *handle = &e->handles[i];
		bool closes = e->kind == SW_EVENT_RELEASED && handle->inode == 0;
		uint64_t set = closes ? handle->file : handle->inode;
		if (!p->has_files)
			set = set_of_number(closes ? handle->number : handle->set);
		if (e->kind == SW_EVENT_ACQUIRED)
			r = add(p, e, handle, set, index);
		else if (closes)
			file_closed(p, handle->file, set, handle->set == 0, e->time_ns);
		else if (e->kind == SW_EVENT_RELEASED)
			remove_one(p, handle, set, e->time_ns);
	}
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* By set and descriptor. */
static int compare_watched(const void *a, const void *b)
{
	const struct watched *const *x = a, *const *y = b;
	if ((*x)->set != (*y)->set)
		return (*x)->set < (*y)->set ? -1 : 1;
	return ((*x)->fd > (*y)->fd) - ((*x)->fd < (*y)->fd);
}

/* All that there are, sorted; NULL: no memory. */
static struct watched **sorted(struct epolls *p, size_t *ret_n)
{
	struct watched **all = calloc(p->n_used + 1, sizeof(*all));
	size_t n = 0;
	for (size_t i = 0; all != NULL && i < p->n; i++)
		if (p->all[i].state != FREE)
			all[n++] = &p->all[i];
	if (n > 0)
		qsort(all, n, sizeof(struct watched *), compare_watched);
	*ret_n = n;
	return all;
}

/* Finds a file of the same set and descriptor that is not in the list yet: of two files the later one. */
static struct watched *match(struct watched *const *all, size_t n, const struct listed *listed)
{
	const struct watched key = {.set = listed->set, .fd = listed->fd};
	const struct watched *const key_at = &key;
	struct watched *found = NULL;
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_watched(&all[middle], &key_at) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && compare_watched(&all[low], &key_at) == 0; low++)
		if (!all[low]->is_listed &&
		    (found == NULL || found->changed_ns <= all[low]->changed_ns))
			found = all[low];
	return found;
}

/* A file that changed since the check was begun is neither. */
static int compare_with_list(struct epolls *p)
{
	size_t n;
	sw_cleanup(sw_free_p) struct watched **all = sorted(p, &n);
	if (all == NULL)
		return -SW_E_NOMEM;
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < p->n_listed; i++) {
			struct listed *listed = &p->listed[i];
			struct watched *found =
				pass == 0 ? find(p, listed->set, listed->file, listed->fd)
					  : match(all, n, listed);
			if (listed->set == 0 || (pass == 0 && (found == NULL || found->is_listed)))
				continue;
			if (found != NULL)
				found->is_listed = true;
			else
				p->held.unknown_origin++;
			listed->set = 0; /* done */
		}
	for (size_t i = 0; i < n; i++) {
		struct watched *watched = all[i];
		if (watched->is_listed || watched->state == GONE)
			continue;
		/* Also one that was added after the list: whoever looks at /proc has a file for a moment. */
		if (watched->may_be_gone) {
			count_released(p, watched);
			watched->state = GONE;
			continue;
		}
		if (watched->changed_ns > p->held.check_ns)
			continue;
		p->held.closed_unseen++;
		if (watched->state == ADDED)
			p->held.rows[watched->index].unseen++;
		watched->state = GONE;
	}
	return 0;
}

static int list(struct sw_held *held)
{
	struct epolls *p = (struct epolls *) held;
	int r = held->check_ns != 0 ? compare_with_list(p) : 0;
	for (size_t i = 0; r == 0 && i < p->n; i++) {
		const struct watched *watched = &p->all[i];
		held->before += watched->state == BEFORE;
		if (watched->state == ADDED)
			r = sw_held_put(held, watched->index, watched->added_ns, 0);
	}
	return r;
}

const struct sw_held_kind sw_held_epolls = {.name = "epoll",
					    .events = SW_EVENT_EPOLLS,
					    .noun = "watched file",
					    .file = "fdinfo",
					    .got = "added",
					    .there = "there",
					    .unseen = "dropped unseen",
					    .create = create,
					    .destroy = destroy,
					    .event = event,
					    .read = list_read,
					    .list = list};
