/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "events/objects/timers.h"
#include "cleanup.h"
#include "errors.h"

#include <snapwalk/clock.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	EARLY = 64, /* deletions that are remembered: the call that created the timer may return later */
	PASSES_MAX = 8, /* over the list */
};

enum state { BEFORE, CREATED, DELETED /* since the check was begun */ };

struct timer {
	uint32_t id;
	enum state state;
	uint32_t index;                 /* of the row */
	int64_t created_ns, changed_ns; /* CLOCK_MONOTONIC; 0: before */
};

struct ids {
	uint32_t *all; /* owned; each once, in their order */
	size_t n, max;
};

struct timers {
	struct sw_held held;
	struct timer *all; /* owned; by number */
	size_t n, max;
	struct ids listed;
	uint32_t early[EARLY];
	size_t n_early; /* so far; the first ones are overwritten */
};

/* ---- storage ---------------------------------------------------------------------------------- */

static void destroy(struct sw_held *held)
{
	struct timers *t = (struct timers *) held;
	free(t->all);
	free(t->listed.all);
	sw_held_deinit(&t->held);
	free(t);
}

/* Where it stands or would stand. New timers have the greatest number. */
static size_t place(const struct timers *t, uint32_t id)
{
	size_t low = 0, high = t->n;
	if (t->n > 0 && t->all[t->n - 1].id < id)
		return t->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (t->all[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct timer *find(const struct timers *t, uint32_t id)
{
	size_t at = place(t, id);
	return at < t->n && t->all[at].id == id ? &t->all[at] : NULL;
}

/* A number that is not there yet. */
static int insert(struct timers *t, const struct timer *timer)
{
	size_t at = place(t, timer->id);
	struct timer *grown = sw_grow(t->all, t->n, &t->max, 64, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	t->all = grown;
	memmove(&grown[at + 1], &grown[at], (t->n - at) * sizeof(*grown));
	grown[at] = *timer;
	t->n++;
	return 0;
}

static void take_out(struct timers *t, struct timer *timer)
{
	size_t at = (size_t) (timer - t->all);
	t->n--;
	memmove(timer, timer + 1, (t->n - at) * sizeof(*timer));
}

/* ---- lists ------------------------------------------------------------------------------------ */

static int compare_ids(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int id_add(struct ids *ids, uint32_t id)
{
	uint32_t *grown = sw_grow(ids->all, ids->n, &ids->max, 256, sizeof(*grown));
	if (grown == NULL)
		return -SW_E_NOMEM;
	ids->all = grown;
	ids->all[ids->n++] = id;
	return 0;
}

static void ids_sort(struct ids *ids)
{
	size_t n = 0;
	if (ids->n > 0)
		qsort(ids->all, ids->n, sizeof(*ids->all), compare_ids);
	for (size_t i = 0; i < ids->n; i++)
		if (n == 0 || ids->all[n - 1] != ids->all[i])
			ids->all[n++] = ids->all[i];
	ids->n = n;
}

/* Adds what one pass over the list shows. */
static int pass_read(struct timers *t, struct sw_error *err)
{
	static const char cannot[] = "its timers cannot be listed";
	sw_cleanup(sw_close_p) int fd =
		openat(t->held.run->proc_fd, "timers", O_RDONLY | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	sw_cleanup(sw_free_p) char *line = NULL;
	size_t size = 0;
	uint32_t id;
	int r = 0;
	if (fd < 0 && errno == ENOENT)
		return sw_fail(err, SW_E_UNSUPPORTED,
			       "%s: the kernel has no /proc/PID/timers "
			       "(CONFIG_CHECKPOINT_RESTORE), or the process has ended",
			       cannot);
	if (file == NULL)
		return sw_fail_errno(err, SW_E_IO, "%s", cannot);
	(void) sw_take_fd(fd); /* the file's */
	while (r == 0 && (errno = 0, getline(&line, &size, file)) >= 0)
		if (sscanf(line, "ID: %" SCNu32, &id) == 1 && id_add(&t->listed, id) < 0)
			r = sw_fail_nomem(err);
	if (r == 0 && errno != 0)
		r = sw_fail_errno(err, SW_E_IO, "%s", cannot);
	(void) fclose(file); /* nothing was written */
	ids_sort(&t->listed);
	return r;
}

/* The kernel lists a page at a time, from the n-th timer on: a timer that is deleted meanwhile hides another one. */
static int list_read(struct sw_held *held, struct sw_error *err)
{
	struct timers *t = (struct timers *) held;
	size_t n = 0;
	int r = 0;
	t->listed.n = 0;
	for (size_t i = 0; r == 0 && i < PASSES_MAX; i++) {
		r = pass_read(t, err);
		if (i > 0 && t->listed.n == n)
			break;
		n = t->listed.n;
	}
	held->n_there = t->listed.n;
	return r;
}

static int begin(struct timers *t, struct sw_error *err)
{
	int r = list_read(&t->held, err);
	for (size_t i = 0; r == 0 && i < t->listed.n; i++) {
		const struct timer timer = {.id = t->listed.all[i], .state = BEFORE};
		if (insert(t, &timer) < 0)
			r = sw_fail_nomem(err);
	}
	t->listed.n = 0; /* from now on that of the end */
	t->held.listed_ns = sw_clock_ns();
	return r;
}

static int create(struct sw_event_run *run, struct sw_held **ret, struct sw_error *err)
{
	struct timers *t = calloc(1, sizeof(*t));
	if (t == NULL)
		return sw_fail_nomem(err);
	int r = sw_held_init(&t->held, &sw_held_timers, run);
	r = r < 0 ? sw_fail_nomem(err) : begin(t, err);
	if (r < 0)
		destroy(&t->held);
	else
		*ret = &t->held;
	return r;
}

/* ---- events ----------------------------------------------------------------------------------- */

/* Whether it was deleted before the call that created it has returned. */
static bool early_take(struct timers *t, uint32_t id)
{
	size_t n = t->n_early < EARLY ? t->n_early : EARLY;
	for (size_t i = 0; i < n; i++)
		if (t->early[i] == id) {
			t->early[i] = UINT32_MAX; /* which is no timer's */
			return true;
		}
	return false;
}

static void count_deleted(struct timers *t, const struct timer *timer)
{
	t->held.before_released += timer->state == BEFORE;
	if (timer->state == CREATED)
		sw_held_released(&t->held, timer->index);
}

static bool is_checked(const struct timers *t, int64_t now_ns)
{
	return t->held.check_ns != 0 && now_ns > t->held.check_ns;
}

static int timer_delete_event(struct timers *t, uint32_t id, int64_t now_ns)
{
	struct timer *timer = find(t, id);
	if (timer == NULL)
		t->early[t->n_early++ % EARLY] = id;
	else
		count_deleted(t, timer);
	/* The list of the check may still have it. */
	const struct timer deleted = {.id = id, .state = DELETED, .changed_ns = now_ns};
	if (timer == NULL)
		return is_checked(t, now_ns) ? insert(t, &deleted) : 0;
	if (is_checked(t, now_ns))
		*timer = deleted;
	else
		take_out(t, timer);
	return 0;
}

static int timer_create_event(struct timers *t, const struct sw_event *e, uint32_t id,
			      uint32_t index)
{
	struct timer *timer = find(t, id);
	const struct timer created = {.id = id,
				      .state = CREATED,
				      .index = index,
				      .created_ns = e->time_ns,
				      .changed_ns = e->time_ns};
	sw_held_acquired(&t->held, index, e);
	if (early_take(t, id)) {
		sw_held_released(&t->held, index);
		return 0;
	}
	if (timer == NULL)
		return insert(t, &created);
	if (timer->state == CREATED) /* the record of its end was lost */
		sw_held_released(&t->held, timer->index);
	*timer = created; /* one that was listed before was created after events had begun */
	return 0;
}

/* execve(2) deletes all. */
static void all_delete(struct timers *t, int64_t now_ns)
{
	for (size_t i = 0; i < t->n; i++) {
		count_deleted(t, &t->all[i]);
		t->all[i].state = DELETED;
		t->all[i].changed_ns = now_ns;
	}
	if (!is_checked(t, now_ns))
		t->n = 0;
	t->n_early = 0;
}

static int event(void *arg, const struct sw_event *e, uint32_t row, struct sw_error *err)
{
	struct timers *t = arg;
	uint32_t index = 0;
	int r = sw_held_index(&t->held, row, &index);
	for (size_t i = 0; r == 0 && i < e->n_handles; i++) {
		if (e->kind == SW_EVENT_ACQUIRED)
			r = timer_create_event(t, e, e->handles[i].number, index);
		else if (e->kind == SW_EVENT_RELEASED)
			r = timer_delete_event(t, e->handles[i].number, e->time_ns);
	}
	if (e->kind == SW_EVENT_PROGRAM)
		all_delete(t, e->time_ns);
	return r < 0 ? sw_fail_nomem(err) : 0;
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* A timer that changed since the check was begun is neither. */
static void compare_with_list(struct timers *t)
{
	const struct ids *listed = &t->listed;
	for (size_t i = 0; i < listed->n; i++)
		t->held.unknown_origin += find(t, listed->all[i]) == NULL;
	for (size_t i = 0; i < t->n; i++) {
		struct timer *timer = &t->all[i];
		if (timer->state == DELETED || timer->changed_ns > t->held.check_ns ||
		    (listed->n > 0 && bsearch(&timer->id, listed->all, listed->n, sizeof(timer->id),
					      compare_ids) != NULL))
			continue;
		t->held.closed_unseen++;
		if (timer->state == CREATED)
			t->held.rows[timer->index].unseen++;
		timer->state = DELETED;
	}
}

static int list(struct sw_held *held)
{
	struct timers *t = (struct timers *) held;
	int r = 0;
	if (held->check_ns != 0)
		compare_with_list(t);
	for (size_t i = 0; r == 0 && i < t->n; i++) {
		held->before += t->all[i].state == BEFORE;
		if (t->all[i].state == CREATED)
			r = sw_held_put(held, t->all[i].index, t->all[i].created_ns, 0);
	}
	return r;
}

const struct sw_held_kind sw_held_timers = {.name = "timers",
					    .events = SW_EVENT_TIMERS,
					    .noun = "timer",
					    .file = "timers",
					    .got = "created",
					    .there = "there",
					    .unseen = "deleted unseen",
					    .create = create,
					    .destroy = destroy,
					    .event = event,
					    .read = list_read,
					    .list = list};
