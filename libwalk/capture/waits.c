/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/waits.h"
#include "capture/window.h"
#include "iterate/thread.h"
#include "snapshot/snapshot.h"

#include <snapwalk/clock.h>
#include <string.h>
#include <sys/syscall.h>

void sw_wait_read(struct sw_take *take, struct sw_thread *t)
{
	char name[32];
	t->wchan[0] = '\0';
	if (t->state != 'S' && t->state != 'D')
		return;
	if (take->describe_end_ns != 0 && sw_clock_ns() > take->describe_end_ns) {
		take->n_undescribed++;
		return;
	}
	(void) snprintf(name, sizeof(name), "%d/wchan", (int) t->tid); /* fits */
	ssize_t n = sw_proc_read_small(take->target->task_fd, name, t->wchan, sizeof(t->wchan));
	if (n <= 0 || strcmp(t->wchan, "0") == 0)
		t->wchan[0] = '\0';
}

static bool waits(const struct sw_thread *t)
{
	return t->state == 'S' || t->state == 'D';
}

static struct sw_wait *place_find(struct sw_waits *w, uint64_t key)
{
	for (size_t i = 0; key != 0 && i < w->n; i++)
		if (w->places[i].key == key)
			return &w->places[i];
	return NULL;
}

/* The places at which threads wait, each with the thread that is least likely to leave it. */
static void places_find(struct sw_waits *w, const struct sw_thread *threads,
			const struct sw_iterate_record *records, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct sw_iterate_record *r = &records[i];
		w->keys[i] = waits(&threads[i]) ? r->wait_key : 0;
		struct sw_wait *place = place_find(w, w->keys[i]);
		if (w->keys[i] == 0 || (place == NULL && w->n == SW_WAITS_MAX))
			continue;
		if (place == NULL)
			place = &w->places[w->n++];
		else if (r->arrived_ns >= place->arrived_ns)
			continue;
		*place = (struct sw_wait){.key = w->keys[i],
					  .thread = i,
					  .arrived_ns = r->arrived_ns,
					  .n_switches = sw_iterate_switches(r)};
	}
}

void sw_waits_read(struct sw_take *take, const struct sw_iterate_record *records, size_t n)
{
	struct sw_arena *arena = &take->snap->priv->arena;
	struct sw_thread *threads = take->snap->threads;
	struct sw_waits *w = sw_arena_calloc(arena, 1, sizeof(*w));
	if (w != NULL)
		w->keys = sw_arena_calloc(arena, n, sizeof(*w->keys));
	if (w == NULL || w->keys == NULL) {
		for (size_t i = 0; i < n; i++)
			sw_wait_read(take, &threads[i]);
		return;
	}
	places_find(w, threads, records, n);
	for (size_t i = 0; i < w->n; i++) {
		sw_wait_read(take, &threads[w->places[i].thread]);
		memcpy(w->places[i].wchan, threads[w->places[i].thread].wchan,
		       sizeof(w->places[i].wchan));
	}
	for (size_t i = 0; i < n; i++) {
		const struct sw_wait *place = place_find(w, w->keys[i]);
		if (place != NULL)
			memcpy(threads[i].wchan, place->wchan, sizeof(threads[i].wchan));
		else
			sw_wait_read(take, &threads[i]);
	}
	take->waits = w;
	take->n_waits = n;
}

static bool has_moved(const struct sw_window *window, const struct sw_wait *place)
{
	const struct sw_iterate_record *last = sw_window_last(window, place->thread);
	return last == NULL || sw_iterate_switches(last) != place->n_switches;
}

void sw_waits_check(struct sw_take *take)
{
	struct sw_waits *w = take->waits;
	bool moved[SW_WAITS_MAX] = {false};
	bool any = false;
	for (size_t i = 0; w != NULL && i < w->n; i++)
		any |= moved[i] = has_moved(take->window, &w->places[i]);
	for (size_t i = 0; any && i < take->n_waits && i < take->snap->n_threads; i++) {
		const struct sw_wait *place = place_find(w, w->keys[i]);
		if (place != NULL && moved[place - w->places])
			sw_wait_read(take, &take->snap->threads[i]);
	}
}

/* Source: set_restart_fn() in kernel/time/hrtimer.c, fs/select.c, kernel/futex/waitwake.c, v6.1: no other
 * call but sleeping is restarted so. */
void sw_waits_restarted(struct sw_thread *threads, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sw_thread *t = &threads[i];
		if (t->syscall != SYS_restart_syscall)
			continue;
		if (strncmp(t->wchan, "futex_", strlen("futex_")) == 0)
			t->syscall = SYS_futex;
		else if (strncmp(t->wchan, "poll_", strlen("poll_")) == 0 ||
			 strncmp(t->wchan, "do_sys_poll", strlen("do_sys_poll")) == 0)
			t->syscall = SYS_poll;
	}
}
