/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/held.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { NO_STACK = 0 /* index of rows */ };

/* ---- storage ---------------------------------------------------------------------------------- */

static int slot_reserve(struct sw_held *h, uint32_t fd)
{
	if (fd >= SW_HELD_FDS_MAX)
		return -SW_E_LIMIT;
	if (fd < h->n_slots)
		return 0;
	size_t wanted = (size_t) fd + 1;
	if (wanted > h->slots_max) {
		size_t max = wanted + wanted / 2;
		struct sw_held_slot *grown = reallocarray(h->slots, max, sizeof(*grown));
		if (grown == NULL)
			return -SW_E_NOMEM;
		h->slots = grown;
		h->slots_max = max;
	}
	memset(h->slots + h->n_slots, 0, (wanted - h->n_slots) * sizeof(*h->slots));
	h->n_slots = wanted;
	return 0;
}

static int rows_reserve(struct sw_held *h, size_t n)
{
	while (h->n_rows < n) {
		struct sw_held_row *grown =
			sw_grow(h->rows, h->n_rows, &h->rows_max, 64, sizeof(*grown));
		if (grown == NULL)
			return -SW_E_NOMEM;
		h->rows = grown;
		h->rows[h->n_rows] = (struct sw_held_row){
			.row = h->n_rows == NO_STACK ? SW_RECORDER_NO_ROW
						     : (uint32_t) h->n_rows - 1};
		h->n_rows++;
	}
	return 0;
}

void sw_held_deinit(struct sw_held *h)
{
	free(h->slots);
	free(h->rows);
	free(h->open);
	*h = (struct sw_held){0};
}

/* ---- lists ------------------------------------------------------------------------------------ */

/* Numbers of /proc/PID/fd, nothing else: to look at a file may wait for ever. */
static int list(struct sw_held *h, struct sw_error *err)
{
	sw_cleanup(sw_close_p) int fd =
		openat(h->run->fd_directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int r = 0;
	if (directory == NULL)
		return sw_fail_errno(err, SW_E_IO, "its open descriptors cannot be listed");
	(void) sw_take_fd(fd); /* the directory's */
	h->n_open = 0;
	while (r == 0 && (errno = 0, entry = readdir(directory)) != NULL) {
		char *end;
		unsigned long n = strtoul(entry->d_name, &end, 10);
		if (end == entry->d_name || *end != '\0' || n >= SW_HELD_FDS_MAX)
			continue;
		struct sw_held_open *grown =
			sw_grow(h->open, h->n_open, &h->open_max, 256, sizeof(*grown));
		if (grown == NULL) {
			r = sw_fail_nomem(err);
			break;
		}
		h->open = grown;
		h->open[h->n_open++].fd = (uint32_t) n;
	}
	if (r == 0 && errno != 0)
		r = sw_fail_errno(err, SW_E_IO, "its open descriptors cannot be listed");
	(void) closedir(directory); /* nothing was written */
	return r;
}

int sw_held_begin(struct sw_held *h, struct sw_event_run *run, struct sw_error *err)
{
	*h = (struct sw_held){.run = run};
	int r = list(h, err);
	if (r == 0 && rows_reserve(h, NO_STACK + 1) < 0)
		return sw_fail_nomem(err);
	for (size_t i = 0; r == 0 && i < h->n_open; i++) {
		if (slot_reserve(h, h->open[i].fd) < 0)
			return sw_fail_nomem(err);
		h->slots[h->open[i].fd].state = SW_HELD_BEFORE;
	}
	h->n_open = 0; /* from now on that of the end */
	h->listed_ns = sw_clock_ns();
	return r;
}

/* ---- events ----------------------------------------------------------------------------------- */

static void release(struct sw_held *h, struct sw_held_slot *slot, int64_t now_ns)
{
	if (slot->state == SW_HELD_BEFORE)
		h->before_released++;
	if (slot->state == SW_HELD_ACQUIRED) {
		h->rows[slot->row].released++;
		h->released++;
	}
	slot->state = SW_HELD_NOT;
	slot->changed_ns = now_ns;
}

static int acquire(struct sw_held *h, const struct sw_event *e,
		   const struct sw_event_handle *handle, uint32_t row)
{
	int r = slot_reserve(h, handle->fd);
	if (r == -SW_E_LIMIT) { /* said by the check in the end */
		return 0;
	}
	if (r < 0)
		return r;
	struct sw_held_row *of = &h->rows[row];
	struct sw_held_slot *slot = &h->slots[handle->fd];
	if (of->acquired++ == 0)
		of->first = e->number;
	of->last = e->number;
	h->acquired++;
	if (handle->file == 0) { /* another thread has closed it again, and said so before */
		of->released++;
		h->released++;
		slot->changed_ns = e->time_ns;
		return 0;
	}
	/* What was listed may have been opened after events had begun. */
	if (slot->state == SW_HELD_BEFORE && e->time_ns <= h->listed_ns)
		slot->state = SW_HELD_NOT;
	release(h, slot, e->time_ns); /* dup2(2) over it */
	*slot = (struct sw_held_slot){.state = SW_HELD_ACQUIRED,
				      .row = row,
				      .inode = handle->inode,
				      .file = handle->file,
				      .acquired_ns = e->time_ns,
				      .changed_ns = e->time_ns};
	return 0;
}

static void range_release(struct sw_held *h, const struct sw_event *e)
{
	for (size_t fd = e->handles[0].fd; fd < h->n_slots && fd <= e->handles[1].fd; fd++)
		release(h, &h->slots[fd], e->time_ns);
}

static void table_release(struct sw_held *h, const struct sw_event *e)
{
	const uint8_t *bits = e->bytes;
	size_t end = h->n_slots;
	if (e->cut && end > e->bytes_size * 8)
		end = e->bytes_size * 8;
	for (size_t fd = 0; bits != NULL && fd < end; fd++)
		if (fd / 8 >= e->bytes_size || (bits[fd / 8] >> fd % 8 & 1) == 0)
			release(h, &h->slots[fd], e->time_ns);
}

int sw_held_event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct sw_held *h = arg;
	uint32_t index = row == SW_RECORDER_NO_ROW ? NO_STACK : row + 1;
	int r = rows_reserve(h, (size_t) index + 1);
	for (size_t i = 0; r == 0 && i < e->n_handles; i++) {
		const struct sw_event_handle *handle = &e->handles[i];
		if (e->kind == SW_EVENT_ACQUIRED)
			r = acquire(h, e, handle, index);
		else if (e->kind == SW_EVENT_RELEASED && handle->fd < h->n_slots)
			release(h, &h->slots[handle->fd], e->time_ns);
	}
	if (e->kind == SW_EVENT_RANGE && e->n_handles == 2)
		range_release(h, e);
	if (e->kind == SW_EVENT_TABLE)
		table_release(h, e);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

int sw_held_check(void *arg, struct sw_error *err)
{
	struct sw_held *h = arg;
	h->check_ns = sw_clock_ns();
	int r = list(h, &h->not_checked);
	if (r == -SW_E_NOMEM)
		return sw_fail_nomem(err);
	if (r < 0)
		h->check_ns = 0;
	return 0;
}

/* The list of a process that was about to end may be any part of what it had. */
static void check_judge(struct sw_held *h)
{
	if (h->run->ended) {
		h->check_ns = 0;
		h->not_checked.code = 0;
	}
	if (h->check_ns == 0)
		h->n_open = 0;
}

/* What changed since the check was begun is neither. */
static int compare_with_list(struct sw_held *h)
{
	sw_cleanup(sw_free_p) bool *listed = calloc(SW_HELD_FDS_MAX, sizeof(*listed));
	if (listed == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < h->n_open; i++) {
		uint32_t fd = h->open[i].fd;
		listed[fd] = true;
		bool known = fd < h->n_slots && (h->slots[fd].state != SW_HELD_NOT ||
						 h->slots[fd].changed_ns > h->check_ns);
		h->unknown_origin += !known;
	}
	for (size_t fd = 0; fd < h->n_slots; fd++) {
		struct sw_held_slot *slot = &h->slots[fd];
		if (listed[fd] || slot->state == SW_HELD_NOT || slot->changed_ns > h->check_ns)
			continue;
		h->closed_unseen++;
		if (slot->state == SW_HELD_ACQUIRED)
			h->rows[slot->row].unseen++;
		slot->state = SW_HELD_NOT;
	}
	return 0;
}

static int compare_ages(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;
	return x < y ? -1 : x > y;
}

/* Of each row: count and ages of what is outstanding. */
static int rows_finish(struct sw_held *h)
{
	const int64_t begin_ns = h->run->begin_ns, end_ns = h->run->end_ns;
	const int64_t half_ns = begin_ns + (end_ns - begin_ns) / 2;
	sw_cleanup(sw_free_p) size_t *at = calloc(h->n_rows + 1, sizeof(*at));
	for (size_t fd = 0; fd < h->n_slots; fd++) {
		const struct sw_held_slot *slot = &h->slots[fd];
		h->before += slot->state == SW_HELD_BEFORE;
		if (slot->state != SW_HELD_ACQUIRED)
			continue;
		struct sw_held_row *row = &h->rows[slot->row];
		row->outstanding++;
		row->first_half += slot->acquired_ns < half_ns;
		row->second_half += slot->acquired_ns >= half_ns;
		h->outstanding++;
	}
	sw_cleanup(sw_free_p) int64_t *ages = calloc(h->outstanding + 1, sizeof(*ages));
	if (at == NULL || ages == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < h->n_rows; i++)
		at[i + 1] = at[i] + h->rows[i].outstanding;
	for (size_t fd = 0; fd < h->n_slots; fd++)
		if (h->slots[fd].state == SW_HELD_ACQUIRED)
			ages[at[h->slots[fd].row]++] = end_ns - h->slots[fd].acquired_ns;
	for (size_t i = 0; i < h->n_rows; i++) {
		struct sw_held_row *row = &h->rows[i];
		int64_t *first = ages + at[i] - row->outstanding;
		qsort(first, row->outstanding, sizeof(*first), compare_ages);
		row->oldest_ns = row->outstanding > 0 ? first[row->outstanding - 1] : -1;
		row->median_ns = row->outstanding > 0 ? first[row->outstanding / 2] : -1;
	}
	h->without_stack = h->rows[NO_STACK].outstanding;
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sw_held_row *x = a, *y = b;
	if (x->outstanding != y->outstanding)
		return x->outstanding < y->outstanding ? 1 : -1;
	if (x->acquired != y->acquired)
		return x->acquired < y->acquired ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

int sw_held_finish(struct sw_held *h)
{
	check_judge(h);
	if (h->check_ns != 0 && compare_with_list(h) < 0)
		return -SW_E_NOMEM;
	if (rows_finish(h) < 0)
		return -SW_E_NOMEM;
	qsort(h->rows, h->n_rows, sizeof(*h->rows), compare_rows);
	return 0;
}
