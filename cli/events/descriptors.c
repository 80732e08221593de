/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/descriptors.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { FDS_MAX = 1 << 20 };

enum state { NOT, BEFORE, ACQUIRED };

struct slot {
	enum state state;
	uint32_t index;                  /* of the row */
	int64_t acquired_ns, changed_ns; /* CLOCK_MONOTONIC */
};

struct descriptors {
	struct sw_held held;
	struct slot *slots; /* owned; by number of the descriptor */
	size_t n_slots, slots_max;
	uint32_t *open; /* owned: the list of the end */
	size_t n_open, open_max;
};

/* ---- storage ---------------------------------------------------------------------------------- */

static int slot_reserve(struct descriptors *d, uint32_t fd)
{
	if (fd >= FDS_MAX)
		return -SW_E_LIMIT;
	if (fd < d->n_slots)
		return 0;
	size_t wanted = (size_t) fd + 1;
	if (wanted > d->slots_max) {
		size_t max = wanted + wanted / 2;
		struct slot *grown = reallocarray(d->slots, max, sizeof(*grown));
		if (grown == NULL)
			return -SW_E_NOMEM;
		d->slots = grown;
		d->slots_max = max;
	}
	memset(d->slots + d->n_slots, 0, (wanted - d->n_slots) * sizeof(*d->slots));
	d->n_slots = wanted;
	return 0;
}

static void destroy(struct sw_held *held)
{
	struct descriptors *d = (struct descriptors *) held;
	free(d->slots);
	free(d->open);
	sw_held_deinit(&d->held);
	free(d);
}

/* ---- lists ------------------------------------------------------------------------------------ */

/* Numbers of /proc/PID/fd, nothing else: to look at a file may wait for ever. */
static int list_read(struct sw_held *held, struct sw_error *err)
{
	struct descriptors *d = (struct descriptors *) held;
	sw_cleanup(sw_close_p) int fd =
		openat(d->held.run->proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int r = 0;
	if (directory == NULL)
		return sw_fail_errno(err, SW_E_IO, "its open descriptors cannot be listed");
	(void) sw_take_fd(fd); /* the directory's */
	d->n_open = 0;
	while (r == 0 && (errno = 0, entry = readdir(directory)) != NULL) {
		char *end;
		unsigned long n = strtoul(entry->d_name, &end, 10);
		if (end == entry->d_name || *end != '\0' || n >= FDS_MAX)
			continue;
		uint32_t *grown = sw_grow(d->open, d->n_open, &d->open_max, 256, sizeof(*grown));
		if (grown == NULL) {
			r = sw_fail_nomem(err);
			break;
		}
		d->open = grown;
		d->open[d->n_open++] = (uint32_t) n;
	}
	if (r == 0 && errno != 0)
		r = sw_fail_errno(err, SW_E_IO, "its open descriptors cannot be listed");
	(void) closedir(directory); /* nothing was written */
	held->n_there = d->n_open;
	return r;
}

static int begin(struct descriptors *d, struct sw_error *err)
{
	int r = list_read(&d->held, err);
	for (size_t i = 0; r == 0 && i < d->n_open; i++) {
		if (slot_reserve(d, d->open[i]) < 0)
			return sw_fail_nomem(err);
		d->slots[d->open[i]].state = BEFORE;
	}
	d->n_open = 0; /* from now on that of the end */
	d->held.listed_ns = sw_clock_ns();
	return r;
}

static int create(struct sw_event_run *run, struct sw_held **ret, struct sw_error *err)
{
	struct descriptors *d = calloc(1, sizeof(*d));
	if (d == NULL)
		return sw_fail_nomem(err);
	int r = sw_held_init(&d->held, &sw_held_descriptors, run);
	r = r < 0 ? sw_fail_nomem(err) : begin(d, err);
	if (r < 0)
		destroy(&d->held);
	else
		*ret = &d->held;
	return r;
}

/* ---- events ----------------------------------------------------------------------------------- */

static void release(struct descriptors *d, struct slot *slot, int64_t now_ns)
{
	d->held.before_released += slot->state == BEFORE;
	if (slot->state == ACQUIRED)
		sw_held_released(&d->held, slot->index);
	slot->state = NOT;
	slot->changed_ns = now_ns;
}

static int acquire(struct descriptors *d, const struct sw_event *e,
		   const struct sw_event_handle *handle, uint32_t index)
{
	int r = slot_reserve(d, handle->number);
	if (r == -SW_E_LIMIT) /* said by the check in the end */
		return 0;
	if (r < 0)
		return r;
	struct slot *slot = &d->slots[handle->number];
	sw_held_acquired(&d->held, index, e);
	if (handle->file == 0) { /* another thread has closed it again, and said so before */
		sw_held_released(&d->held, index);
		slot->changed_ns = e->time_ns;
		return 0;
	}
	/* A descriptor that was listed may have been opened after events had begun. */
	if (slot->state == BEFORE && e->time_ns <= d->held.listed_ns)
		slot->state = NOT;
	release(d, slot, e->time_ns); /* dup2(2) over it */
	*slot = (struct slot){.state = ACQUIRED,
			      .index = index,
			      .acquired_ns = e->time_ns,
			      .changed_ns = e->time_ns};
	return 0;
}

static void range_release(struct descriptors *d, const struct sw_event *e)
{
	for (size_t fd = e->handles[0].number; fd < d->n_slots && fd <= e->handles[1].number; fd++)
		release(d, &d->slots[fd], e->time_ns);
}

static void table_release(struct descriptors *d, const struct sw_event *e)
{
	const uint8_t *bits = e->bytes;
	size_t end = d->n_slots;
	if (e->cut && end > e->bytes_size * 8)
		end = e->bytes_size * 8;
	for (size_t fd = 0; bits != NULL && fd < end; fd++)
		if (fd / 8 >= e->bytes_size || (bits[fd / 8] >> fd % 8 & 1) == 0)
			release(d, &d->slots[fd], e->time_ns);
}

static int event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct descriptors *d = arg;
	uint32_t index = 0;
	int r = sw_held_index(&d->held, row, &index);
	for (size_t i = 0; r == 0 && i < e->n_handles; i++) {
		const struct sw_event_handle *handle = &e->handles[i];
		if (e->kind == SW_EVENT_ACQUIRED)
			r = acquire(d, e, handle, index);
		else if (e->kind == SW_EVENT_RELEASED && handle->number < d->n_slots)
			release(d, &d->slots[handle->number], e->time_ns);
	}
	if (e->kind == SW_EVENT_RANGE && e->n_handles == 2)
		range_release(d, e);
	if (e->kind == SW_EVENT_TABLE)
		table_release(d, e);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* A descriptor that changed since the check was begun is neither. */
static int compare_with_list(struct descriptors *d)
{
	const int64_t check_ns = d->held.check_ns;
	sw_cleanup(sw_free_p) bool *listed = calloc(FDS_MAX, sizeof(*listed));
	if (listed == NULL)
		return -SW_E_NOMEM;
	for (size_t i = 0; i < d->n_open; i++) {
		uint32_t fd = d->open[i];
		listed[fd] = true;
		bool known = fd < d->n_slots &&
			     (d->slots[fd].state != NOT || d->slots[fd].changed_ns > check_ns);
		d->held.unknown_origin += !known;
	}
	for (size_t fd = 0; fd < d->n_slots; fd++) {
		struct slot *slot = &d->slots[fd];
		if (listed[fd] || slot->state == NOT || slot->changed_ns > check_ns)
			continue;
		d->held.closed_unseen++;
		if (slot->state == ACQUIRED)
			d->held.rows[slot->index].unseen++;
		slot->state = NOT;
	}
	return 0;
}

static int list(struct sw_held *held)
{
	struct descriptors *d = (struct descriptors *) held;
	int r = held->check_ns != 0 ? compare_with_list(d) : 0;
	for (size_t fd = 0; r == 0 && fd < d->n_slots; fd++) {
		const struct slot *slot = &d->slots[fd];
		held->before += slot->state == BEFORE;
		if (slot->state == ACQUIRED)
			r = sw_held_put(held, slot->index, slot->acquired_ns, 0);
	}
	return r;
}

const struct sw_held_kind sw_held_descriptors = {.name = "fds",
						 .events = SW_EVENT_DESCRIPTORS,
						 .noun = "descriptor",
						 .file = "fd",
						 .got = "opened",
						 .there = "open",
						 .unseen = "closed unseen",
						 .create = create,
						 .destroy = destroy,
						 .event = event,
						 .read = list_read,
						 .list = list};
