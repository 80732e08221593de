/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/mappings.h"
#include "arena.h"
#include "cleanup.h"
#include "errors.h"
#include "events/intervals.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum {
	BEFORE = 0, /* the owner of what was there before */
	NONE = 0,
	/* Calls at once. More of them come only from ends that were lost, which is counted as such. */
	PENDING_MAX = 32768,
};

/* A call that mapped something. */
struct mapping {
	uint64_t bytes; /* that are left; 0: it is free, and next the next one that is */
	int64_t acquired_ns;
	uint32_t index; /* of the row */
	uint32_t next;
};

/* A call that has begun: what it took is put back if it fails. */
struct pending {
	pid_t tid;
	int64_t call;
	uint64_t begin, end; /* as the event says */
	struct sw_intervals taken;
};

struct mappings {
	struct sw_held held;
	struct mapping *all; /* owned; the first one is BEFORE */
	size_t n_all, all_max;
	uint32_t first_free; /* NONE: there is none */
	struct sw_intervals there;
	struct pending *pending; /* owned; by tid */
	size_t n_pending, pending_max;
	struct sw_intervals listed; /* in the end; of owner 1: it may grow by itself */
	struct sw_intervals late;   /* what changed since the check was begun */
};

/* ---- storage ---------------------------------------------------------------------------------- */

static void destroy(struct sw_held *held)
{
	struct mappings *m = (struct mappings *) held;
	for (size_t i = 0; i < m->n_pending; i++)
		sw_intervals_deinit(&m->pending[i].taken);
	free(m->pending);
	free(m->all);
	sw_intervals_deinit(&m->there);
	sw_intervals_deinit(&m->listed);
	sw_intervals_deinit(&m->late);
	sw_held_deinit(&m->held);
	free(m);
}

static int mapping_new(struct mappings *m, uint32_t *ret)
{
	if (m->first_free != NONE) {
		*ret = m->first_free;
		m->first_free = m->all[*ret].next;
		return 0;
	}
	struct mapping *grown = sw_grow(m->all, m->n_all, &m->all_max, 256, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	m->all = grown;
	m->all[m->n_all] = (struct mapping){0};
	*ret = (uint32_t) m->n_all++;
	return 0;
}

/* ---- lists ------------------------------------------------------------------------------------ */

static int line_read(const char *line, struct sw_intervals *ret)
{
	uint64_t begin, end;
	int name = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &begin, &end, &name) != 2 ||
	    begin >= end || begin > INT64_MAX) /* the kernel's own page */
		return 0;
	/* The name of a file begins with a slash, and may have anything in it. The kernel maps a page of its own to step
	 * instructions that have a breakpoint: that is what our probes do, or another tool's. */
	if (strcmp(line + name, "[uprobes]\n") == 0)
		return 0;
	return sw_intervals_put(ret, begin, end, strcmp(line + name, "[stack]\n") == 0);
}

static int list_read(struct mappings *m, struct sw_intervals *ret, struct sw_error *err)
{
	static const char cannot[] = "its mappings cannot be listed";
	sw_cleanup(sw_close_p) int fd = openat(m->held.run->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	sw_cleanup(sw_free_p) char *line = NULL;
	size_t size = 0;
	int r = 0;
	if (file == NULL)
		return sw_fail_errno(err, SW_E_IO, "%s", cannot);
	(void) sw_take_fd(fd); /* the file's */
	ret->n = 0;
	while (r == 0 && (errno = 0, getline(&line, &size, file)) >= 0)
		r = line_read(line, ret) < 0 ? sw_fail_nomem(err) : 0;
	if (r == 0 && errno != 0)
		r = sw_fail_errno(err, SW_E_IO, "%s", cannot);
	(void) fclose(file); /* nothing was written */
	return r;
}

/* All that is there now was there before. */
static int before_read(struct mappings *m, struct sw_error *err)
{
	int r = list_read(m, &m->there, err);
	for (size_t i = 0; r == 0 && i < m->there.n; i++)
		m->there.all[i].owner = BEFORE;
	m->held.listed_ns = sw_clock_ns();
	return r;
}

static int create(struct sw_event_run *run, struct sw_held **ret, struct sw_error *err)
{
	struct mappings *m = calloc(1, sizeof(*m));
	uint32_t before;
	if (m == NULL)
		return sw_fail_nomem(err);
	int r = sw_held_init(&m->held, &sw_held_mappings, run);
	if (r == 0)
		r = mapping_new(m, &before);
	r = r < 0 ? sw_fail_nomem(err) : before_read(m, err);
	if (r < 0)
		destroy(&m->held);
	else
		*ret = &m->held;
	return r;
}

/* ---- intervals -------------------------------------------------------------------------------- */

/* A mapping has fewer bytes, and is given up with its last one. unseen: nobody saw how. */
static void shorten(struct mappings *m, const struct sw_interval *part, bool unseen)
{
	uint64_t bytes = part->end - part->begin;
	struct mapping *mapping = &m->all[part->owner];
	if (part->owner == BEFORE) {
		m->held.before_released += !unseen;
		return;
	}
	struct sw_held_row *row = &m->held.rows[mapping->index];
	mapping->bytes -= bytes;
	if (mapping->bytes > 0)
		return;
	if (unseen)
		row->unseen++;
	else
		sw_held_released(&m->held, mapping->index);
	mapping->next = m->first_free;
	m->first_free = part->owner;
}

/* The pages that a call took are gone. */
static void taken_drop(struct mappings *m, struct sw_intervals *taken)
{
	for (size_t i = 0; i < taken->n; i++)
		shorten(m, &taken->all[i], false);
	taken->n = 0;
}

static int late_note(struct mappings *m, const struct sw_event *e, uint64_t begin, uint64_t end)
{
	if (m->held.check_ns == 0 || e->time_ns <= m->held.check_ns)
		return 0;
	int r = sw_intervals_cut(&m->late, begin, end, NULL);
	return r < 0 ? r : sw_intervals_put(&m->late, begin, end, 0);
}

/* A call has mapped something else where other pages may have been. */
static int replace(struct mappings *m, const struct sw_event *e, uint64_t begin, uint64_t end)
{
	sw_cleanup(sw_intervals_deinit) struct sw_intervals taken = {0};
	int r = sw_intervals_cut(&m->there, begin, end, &taken);
	for (size_t i = 0; i < taken.n; i++)
		/* A mapping that was listed may have been made after events had begun. */
		if (taken.all[i].owner != BEFORE || e->time_ns > m->held.listed_ns)
			shorten(m, &taken.all[i], false);
	return r < 0 ? r : late_note(m, e, begin, end);
}

static int acquire(struct mappings *m, const struct sw_event *e, uint32_t index, uint64_t begin,
		   uint64_t end)
{
	uint32_t number;
	int r = begin < end ? mapping_new(m, &number) : 0;
	if (r < 0 || begin >= end)
		return r;
	sw_held_acquired(&m->held, index, e);
	m->all[number] =
		(struct mapping){.bytes = end - begin, .acquired_ns = e->time_ns, .index = index};
	m->held.rows[index].acquired_bytes += end - begin;
	m->held.acquired_bytes += end - begin;
	return sw_intervals_put(&m->there, begin, end, number);
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* Where the thread's call stands or would stand. */
static size_t pending_place(const struct mappings *m, pid_t tid)
{
	size_t low = 0, high = m->n_pending;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->pending[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct pending *pending_find(struct mappings *m, pid_t tid)
{
	size_t at = pending_place(m, tid);
	return at < m->n_pending && m->pending[at].tid == tid ? &m->pending[at] : NULL;
}

static int put_back(struct mappings *m, const struct sw_intervals *taken)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < taken->n; i++) {
		const struct sw_interval *part = &taken->all[i];
		r = sw_intervals_put(&m->there, part->begin, part->end, part->owner);
	}
	return r;
}

/* Nobody knows how the calls have ended: munmap(2) succeeds as a rule, the others may not have returned. */
static int pending_settle(struct mappings *m)
{
	int r = 0;
	for (size_t i = 0; i < m->n_pending; i++) {
		struct pending *p = &m->pending[i];
		if (p->call == SYS_munmap)
			taken_drop(m, &p->taken);
		else if (r == 0)
			r = put_back(m, &p->taken);
		sw_intervals_deinit(&p->taken);
	}
	m->n_pending = 0;
	return r;
}

/* NULL: no memory. */
static struct pending *pending_new(struct mappings *m, pid_t tid)
{
	if (m->n_pending >= PENDING_MAX && pending_settle(m) < 0)
		return NULL;
	struct pending *grown =
		sw_grow(m->pending, m->n_pending, &m->pending_max, 8, sizeof(*grown));
	if (grown == NULL)
		return NULL;
	m->pending = grown;
	size_t at = pending_place(m, tid);
	memmove(&grown[at + 1], &grown[at], (m->n_pending - at) * sizeof(*grown));
	grown[at] = (struct pending){.tid = tid};
	m->n_pending++;
	return &grown[at];
}

static void pending_remove(struct mappings *m, struct pending *p)
{
	size_t at = (size_t) (p - m->pending);
	sw_intervals_deinit(&p->taken);
	m->n_pending--;
	memmove(p, p + 1, (m->n_pending - at) * sizeof(*p));
}

/* A call before this one of the same thread has ended, and the event of its end was lost. */
static int begins(struct mappings *m, const struct sw_event *e)
{
	struct pending *p = pending_find(m, e->tid);
	uint64_t begin = e->arguments[0], end = e->arguments[1];
	if (p == NULL)
		p = pending_new(m, e->tid);
	if (p == NULL)
		return -SW_E_NOMEM;
	taken_drop(m, &p->taken);
	p->call = e->call;
	p->begin = begin;
	p->end = end;
	if (e->call == SYS_brk) { /* the end of the heap goes from begin to end */
		if (end >= begin)
			return 0;
		begin = e->arguments[1];
		end = e->arguments[0];
	}
	int r = sw_intervals_cut(&m->there, begin, end, &p->taken);
	return r < 0 ? r : late_note(m, e, begin, end);
}

/* Pages that were at old are at begin now, as far as end. */
static int move(struct mappings *m, struct sw_intervals *taken, uint64_t old, uint64_t begin,
		uint64_t end)
{
	sw_cleanup(sw_intervals_deinit) struct sw_intervals rest = {0};
	int r = sw_intervals_cut(taken, old + (end - begin), UINT64_MAX, &rest);
	for (size_t i = 0; r == 0 && i < taken->n; i++) {
		taken->all[i].begin += begin - old;
		taken->all[i].end += begin - old;
	}
	if (r == 0)
		r = put_back(m, taken);
	if (r == 0)
		taken_drop(m, &rest);
	return r;
}

static int resized(struct mappings *m, const struct sw_event *e, struct pending *p, uint32_t index)
{
	uint64_t begin = (uint64_t) e->result, end = begin + e->arguments[0];
	uint64_t kept = p->end - p->begin;
	int r = replace(m, e, begin, end);
	if (r == 0)
		r = move(m, &p->taken, p->begin, begin, end);
	return r < 0 || kept >= end - begin ? r : acquire(m, e, index, begin + kept, end);
}

/* The heap's end is result now, at the place that was asked for or at the old one. */
static int heap_changed(struct mappings *m, const struct sw_event *e, struct pending *p,
			uint32_t index)
{
	enum { PAGE_MASK = 4095 };
	uint64_t end = ((uint64_t) e->result + PAGE_MASK) & ~(uint64_t) PAGE_MASK;
	if (end != p->end)
		return put_back(m, &p->taken);
	taken_drop(m, &p->taken);
	if (p->end <= p->begin)
		return 0;
	int r = replace(m, e, p->begin, p->end);
	return r < 0 ? r : acquire(m, e, index, p->begin, p->end);
}

static bool has_failed(const struct sw_event *e)
{
	enum { ERROR_MAX = 4095 }; /* include/linux/err.h */
	return e->result < 0 && e->result >= -ERROR_MAX;
}

static int ends(struct mappings *m, const struct sw_event *e, uint32_t index)
{
	struct pending none = {0}, *p = pending_find(m, e->tid);
	int r = 0;
	if (p != NULL && p->call != e->call) { /* the event of its end was lost */
		taken_drop(m, &p->taken);
		pending_remove(m, p);
		p = NULL;
	}
	if (e->call == SYS_mmap) {
		uint64_t begin = (uint64_t) e->result, end = begin + e->arguments[0];
		r = replace(m, e, begin, end);
		return r < 0 ? r : acquire(m, e, index, begin, end);
	}
	if (has_failed(e))
		r = p != NULL ? put_back(m, &p->taken) : 0;
	else if (e->call == SYS_mremap)
		r = resized(m, e, p != NULL ? p : &none, index);
	else if (e->call == SYS_brk && p != NULL)
		r = heap_changed(m, e, p, index);
	else if (p != NULL)
		taken_drop(m, &p->taken);
	if (p != NULL)
		pending_remove(m, p);
	return r;
}

/* Nothing of what was there is left; what the kernel has mapped for the new program was there before. */
static int program(struct mappings *m)
{
	struct sw_error ended;
	for (size_t i = 0; i < m->n_pending; i++) {
		taken_drop(m, &m->pending[i].taken);
		sw_intervals_deinit(&m->pending[i].taken);
	}
	m->n_pending = 0;
	taken_drop(m, &m->there);
	return before_read(m, &ended) == -SW_E_NOMEM ? -SW_E_NOMEM : 0;
}

static int event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct mappings *m = arg;
	uint32_t index = 0;
	int r = sw_held_index(&m->held, row, &index);
	if (r == 0 && e->kind == SW_EVENT_MAPS_BEGIN)
		r = begins(m, e);
	else if (r == 0 && e->kind == SW_EVENT_MAPS_END)
		r = ends(m, e, index);
	else if (r == 0 && e->kind == SW_EVENT_PROGRAM)
		r = program(m);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

static int listed_read(struct sw_held *held, struct sw_error *err)
{
	struct mappings *m = (struct mappings *) held;
	int r = list_read(m, &m->listed, err);
	held->n_there = m->listed.n;
	return r;
}

/* Appends to ret what is in a and not in b, nor has changed late. */
static int difference(const struct mappings *m, const struct sw_intervals *a,
		      const struct sw_intervals *b, struct sw_intervals *ret)
{
	sw_cleanup(sw_intervals_deinit) struct sw_intervals either = {0};
	int r = sw_intervals_without(a, b, &either);
	return r < 0 ? r : sw_intervals_without(&either, &m->late, ret);
}

static int compare_with_list(struct mappings *m)
{
	sw_cleanup(sw_intervals_deinit) struct sw_intervals unknown = {0}, unseen = {0}, left = {0};
	int r = difference(m, &m->listed, &m->there, &unknown);
	if (r == 0)
		r = difference(m, &m->there, &m->listed, &unseen);
	if (r == 0)
		r = sw_intervals_without(&m->there, &unseen, &left);
	if (r < 0)
		return r;
	for (size_t i = 0; i < unknown.n; i++) {
		if (unknown.all[i].owner != 0) /* the stack, which has grown */
			continue;
		m->held.unknown_origin++;
		m->held.unknown_bytes += unknown.all[i].end - unknown.all[i].begin;
	}
	for (size_t i = 0; i < unseen.n; i++) {
		const struct sw_interval *part = &unseen.all[i];
		m->held.closed_unseen++;
		m->held.unseen_bytes += part->end - part->begin;
		shorten(m, part, true);
	}
	sw_intervals_deinit(&m->there);
	m->there = left;
	left = (struct sw_intervals){0};
	return 0;
}

static int list(struct sw_held *held)
{
	struct mappings *m = (struct mappings *) held;
	int r = pending_settle(m);
	if (r == 0 && held->check_ns != 0)
		r = compare_with_list(m);
	for (size_t i = 0; i < m->there.n; i++) {
		const struct sw_interval *part = &m->there.all[i];
		held->before += part->owner == BEFORE;
		held->before_bytes += part->owner == BEFORE ? part->end - part->begin : 0;
	}
	for (size_t i = BEFORE + 1; r == 0 && i < m->n_all; i++)
		if (m->all[i].bytes > 0)
			r = sw_held_put(held, m->all[i].index, m->all[i].acquired_ns,
					m->all[i].bytes);
	return r;
}

const struct sw_held_kind sw_held_mappings = {.name = "maps",
					      .events = SW_EVENT_MAPPINGS,
					      .noun = "mapping",
					      .file = "maps",
					      .got = "mapped",
					      .there = "mappings",
					      .unseen = "unmapped unseen",
					      .has_bytes = true,
					      .create = create,
					      .destroy = destroy,
					      .event = event,
					      .read = listed_read,
					      .list = list};
