/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture/returns.h"
#include "arch/arch.h"
#include "bytes.h"
#include "capture/window.h"
#include "cleanup.h"
#include "iterate/read.h"
#include "iterate/tasks.h"
#include "snapshot/snapshot.h"

#include <string.h>

static const struct sw_map *page_of(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_maps; i++)
		if (strcmp(snap->maps[i].path, "[uprobes]") == 0)
			return &snap->maps[i];
	return NULL;
}

static bool pass_read(struct sw_take *take, struct sw_iterate_returns *returns, size_t max,
		      struct sw_iterate_pass *pass)
{
	sw_cleanup(sw_close_p) int program_fd = -EBADF, link_fd = -EBADF, fd = -EBADF,
				   again_fd = -EBADF;
	if (sw_iterate_load(SW_ITERATE_RETURNS, &program_fd, NULL) < 0 ||
	    (take->target->pidfd >= 0
		     ? sw_iterate_link(program_fd, take->target->pidfd, &link_fd, NULL)
		     : sw_iterate_link_pid(program_fd, take->target->pid, &link_fd, NULL)) < 0 ||
	    sw_iterate_open(link_fd, &fd, NULL) < 0 ||
	    sw_iterate_read_returns(fd, returns, max, pass) < 0)
		return false;
	(void) sw_iterate_open(take->link_fd, &again_fd, NULL); /* not read: nobody was seen */
	sw_window_look_again(take->window, again_fd);
	return true;
}

void sw_returns_read(struct sw_take *take)
{
	struct sw_iterate_pass pass;
	size_t max = take->stop.n;
	if (take->window == NULL || max == 0 || page_of(take->snap) == NULL)
		return;
	struct sw_iterate_returns *returns =
		sw_arena_calloc(&take->snap->priv->arena, max, sizeof(*returns));
	if (returns == NULL || !pass_read(take, returns, max, &pass))
		return; /* the walk says what is missing */
	take->returns = returns;
	take->n_returns = pass.n;
}

/* The copy of the word at avma; NULL: it was not copied. */
static uint8_t *copy_of(const struct sw_snapshot *snap, const struct sw_thread *t, uint64_t avma)
{
	const uint8_t *at = NULL;
	if (avma >= t->stack_avma && avma - t->stack_avma < t->stack_bytes &&
	    t->stack_bytes - (avma - t->stack_avma) >= SW_ARCH_WORD)
		at = t->stack + (avma - t->stack_avma);
	for (size_t i = 0; at == NULL && i < snap->n_ranges; i++) {
		const struct sw_range *r = &snap->ranges[i];
		if (avma >= r->start_avma && avma - r->start_avma < r->bytes &&
		    r->bytes - (avma - r->start_avma) >= SW_ARCH_WORD)
			at = r->data + (avma - r->start_avma);
	}
	/* Copies lie in memory of ours. */
	return at != NULL ? snap->priv->pool + (at - snap->priv->pool) : NULL;
}

static void put_back(const struct sw_snapshot *snap, const struct sw_thread *t,
		     const struct sw_map *page, const struct sw_iterate_returns *r)
{
	for (size_t i = 0; i < r->n && i < SW_ITERATE_RETURNS_MAX; i++) {
		uint64_t now, to = r->returns[i].return_avma;
		uint8_t *word = copy_of(snap, t, r->returns[i].slot_avma);
		if (word == NULL)
			continue;
		memcpy(&now, word, sizeof(now));
		/* Not by the page's own: a slot with the returns of two has another entry. */
		if (now == page->start_avma && to != page->start_avma)
			memcpy(word, &to, sizeof(to));
	}
}

/* They are in another order than in the windows. */
static const struct sw_thread *thread_of(const struct sw_snapshot *snap, pid_t tid)
{
	for (size_t i = 0; i < snap->n_threads; i++)
		if (snap->threads[i].tid == tid)
			return &snap->threads[i];
	return NULL;
}

void sw_returns_put_back(struct sw_take *take)
{
	const struct sw_snapshot *snap = take->snap;
	const struct sw_map *page = page_of(snap);
	for (size_t k = 0; k < take->n_returns; k++) {
		const struct sw_iterate_returns *r = &take->returns[k];
		for (size_t i = 0; r->n > 0 && i < take->stop.n; i++) {
			const struct sw_window_thread *w = &take->window->threads[i];
			const struct sw_thread *t =
				take->stop.tracees[i].tid == (pid_t) r->tid &&
						w->start_ns == r->start_ns && w->taken &&
						!w->by_ptrace &&
						sw_window_since(take->window, i) != SW_SINCE_RAN
					? thread_of(snap, (pid_t) r->tid)
					: NULL;
			if (t != NULL)
				put_back(snap, t, page, r);
		}
	}
}
