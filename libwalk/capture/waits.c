/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/waits.h"
#include "capture/window.h"
#include "iterate/tasks.h"
#include "iterate/thread.h"
#include "snapshot/snapshot.h"

#include <errno.h>
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
		w->switches[i] = sw_iterate_switches(r);
		struct sw_wait *place = place_find(w, w->keys[i]);
		if (w->keys[i] == 0 || (place == NULL && w->n == SW_WAITS_MAX))
			continue;
		if (place == NULL)
			place = &w->places[w->n++];
		else if (r->arrived_ns >= place->arrived_ns)
			continue;
		*place = (struct sw_wait){.key = w->keys[i],
					  .thread = i,
					  .arrived_ns = r->arrived_ns};
	}
}

void sw_waits_read(struct sw_take *take, const struct sw_iterate_record *records, size_t n)
{
	struct sw_arena *arena = &take->snap->priv->arena;
	struct sw_thread *threads = take->snap->threads;
	struct sw_waits *w = sw_arena_calloc(arena, 1, sizeof(*w));
	if (w != NULL) {
		w->keys = sw_arena_calloc(arena, n, sizeof(*w->keys));
		w->switches = sw_arena_calloc(arena, n, sizeof(*w->switches));
		w->again = sw_arena_calloc(arena, n, sizeof(*w->again));
	}
	if (w == NULL || w->keys == NULL || w->switches == NULL || w->again == NULL) {
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

/* Whether it ran between the first pass and the copy of its registers, or the last look when it was
 * stopped for that or not copied. A wait place that was read in between may be of another wait. */
static bool moved_before(const struct sw_take *take, size_t i)
{
	const struct sw_window_thread *t = &take->window->threads[i];
	const struct sw_iterate_record *last = sw_window_last(take->window, i);
	if (t->taken && !t->by_ptrace)
		return t->n_switches != take->waits->switches[i];
	return last == NULL || sw_iterate_switches(last) != take->waits->switches[i];
}

/* False when it has run since its registers were copied, as the last look says. */
static bool read_again(struct sw_take *take, size_t i)
{
	struct sw_thread *t = &take->snap->threads[i];
	t->wchan[0] = '\0';
	if (sw_window_since(take->window, i) != SW_SINCE_STAYED)
		return false;
	sw_wait_read(take, t);
	return t->wchan[0] != '\0';
}

/* A look after the reading: who ran meanwhile may wait in something else than what was read. */
static void moved_drop(struct sw_take *take)
{
	sw_cleanup(sw_close_p) int fd = -EBADF;
	(void) sw_iterate_open(take->link_fd, &fd, NULL); /* -EBADF is not read: all are dropped */
	sw_window_look_again(take->window, fd);
	for (size_t i = 0; i < take->n_waits && i < take->snap->n_threads; i++)
		if (take->waits->again[i] && sw_window_since(take->window, i) != SW_SINCE_STAYED)
			take->snap->threads[i].wchan[0] = '\0';
}

void sw_waits_check(struct sw_take *take)
{
	struct sw_waits *w = take->waits;
	bool any = false;
	for (size_t i = 0; w != NULL && i < take->n_waits && i < take->snap->n_threads; i++) {
		const struct sw_wait *place = place_find(w, w->keys[i]);
		const struct sw_window_thread *t = &take->window->threads[i];
		bool moved = moved_before(take, i);
		if (moved && t->taken && !t->by_ptrace) {
			take->snap->threads[i].state = t->state;
			take->snap->threads[i].since_ns = t->since_ns;
		}
		if (moved || (place != NULL && moved_before(take, place->thread)))
			any |= w->again[i] = read_again(take, i);
	}
	if (any)
		moved_drop(take);
}

/* Calls that return how much they moved so far when the stop finds them asleep. */
static bool moves_bytes(int64_t number)
{
	switch (number) {
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice: return true;
	default: return false;
	}
}

/* Source: include/linux/errno.h, v6.1: who is woken by a stop has one of these, or EINTR, as the result. */
void sw_wait_stopped(struct sw_thread *t, const struct sw_arch_call *call)
{
	enum { ERESTARTSYS = 512, ERESTART_RESTARTBLOCK = 516 };
	bool slept = call->number >= 0 &&
		     (call->result == -EINTR ||
		      (call->result <= -ERESTARTSYS && call->result >= -ERESTART_RESTARTBLOCK));
	if (slept && t->state == 'R') {
		t->state = 'S';
		t->since_ns = -1;
	} else if (!slept && waits(t) && !(moves_bytes(call->number) && call->result > 0)) {
		t->state = 'R';
		t->since_ns = -1;
		t->wchan[0] = '\0';
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
