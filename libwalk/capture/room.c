/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The room for what is copied in a stop, while the target runs: made before, handed over after. What
 * happens in between is in capture/stacks.c and capture/copy.c.
 */
#include "capture/room.h"
#include "cleanup.h"
#include "errors.h"
#include "snapshot/snapshot.h"
#include "unwind/unwinder.h"

#include <string.h>
#include <sys/mman.h>

enum { POOL_MIN_BYTES = 1 << 20 };

/* ---- before the stop ---------------------------------------------------------------------- */

/* Makes the first bytes of the pool real: a page fault in the stop costs more than the copy. */
static void prefault(uint8_t *pool, size_t bytes)
{
	enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, Linux 5.14; not in older headers */
	if (madvise(pool, bytes, POPULATE_WRITE) == 0)
		return;
	for (size_t i = 0; i < bytes; i += SW_CAPTURE_PAGE)
		((volatile uint8_t *) pool)[i] = 0;
}

static int pool_create(struct sw_capture_room *room, size_t bytes, struct sw_error *err)
{
	struct sw_snapshot_priv *priv = room->snap->priv;
	for (bytes = sw_capture_page_up(bytes);; bytes = sw_capture_page_up(bytes / 2)) {
		void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED) {
			priv->pool = p;
			break;
		}
		/* A limit on address space, or strict overcommit: less will do for most. */
		if (bytes <= POOL_MIN_BYTES)
			return sw_fail_nomem(err);
	}
	priv->pool_bytes = bytes;
	room->size = bytes;
	room->kept = bytes / 4 < SW_CAPTURE_ROOM_BYTES ? bytes / 4 : SW_CAPTURE_ROOM_BYTES;
	return 0;
}

void sw_capture_room_warm(struct sw_capture_room *room, size_t n_threads)
{
	size_t warm = n_threads * SW_CAPTURE_PREFAULT_BYTES;
	prefault(room->snap->priv->pool, warm < room->size ? warm : room->size);
}

static const struct sw_map *main_stack_find(const struct sw_snapshot *snap)
{
	for (size_t i = 0; i < snap->n_maps; i++)
		if (strcmp(snap->maps[i].path, "[stack]") == 0)
			return &snap->maps[i];
	return NULL;
}

int sw_capture_room_create(struct sw_snapshot *snap, struct sw_stop *stop,
			   const struct sw_snapshot_options *options, size_t n_threads,
			   struct sw_capture_room **ret, struct sw_error *err)
{
	struct sw_arena *arena = &snap->priv->arena;
	struct sw_capture_room *room = sw_arena_calloc(arena, 1, sizeof(*room));
	if (room == NULL)
		return sw_fail_nomem(err);
	room->snap = snap;
	room->stop = stop;
	room->stack_bytes = options->stack_bytes;
	room->total_bytes = options->total_bytes;
	room->pieces_max = (2 + SW_CAPTURE_STACKS) * stop->capacity + SW_CAPTURE_RANGES;
	snap->priv->hook_states = sw_arena_calloc(arena, SW_UNWINDERS_MAX, sizeof(void *));
	room->pieces = sw_arena_alloc(arena, room->pieces_max * sizeof(*room->pieces));
	room->ranges_max = (1 + SW_CAPTURE_STACKS) * stop->capacity + SW_CAPTURE_RANGES;
	snap->ranges = sw_arena_alloc(arena, room->ranges_max * sizeof(*snap->ranges));
	if (room->pieces == NULL || snap->ranges == NULL || snap->priv->hook_states == NULL)
		return sw_fail_nomem(err);
	size_t bytes;
	if (__builtin_mul_overflow(n_threads, options->stack_bytes, &bytes) ||
	    bytes > options->total_bytes)
		bytes = options->total_bytes;
	int r = pool_create(room, bytes + SW_CAPTURE_ROOM_BYTES + SW_CAPTURE_WANT_BYTES, err);
	if (r < 0)
		return r;
	*ret = room;
	return 0;
}

void sw_capture_room_prepare(struct sw_capture_room *room)
{
	room->main_stack = main_stack_find(room->snap);
	/* Touched now, not in the stop. */
	memset(room->pieces, 0, room->snap->n_threads * sizeof(*room->pieces));
	struct sw_capture capture = {.snap = room->snap, .room = room};
	for (size_t i = 0; i < sw_n_unwinders; i++) {
		capture.state = &room->snap->priv->hook_states[i];
		int r = sw_unwinders[i]->prepare != NULL ? sw_unwinders[i]->prepare(&capture) : 0;
		if (r < 0)
			sw_snapshot_warn(room->snap, SW_WARN_CAPTURE, 0, -r, "%s: %s",
					 sw_unwinders[i]->name, sw_error_text(r));
	}
	room->n_want = room->n_pieces;
}

int sw_capture_want(struct sw_capture *capture, uint64_t avma, size_t bytes)
{
	struct sw_capture_room *room = capture->room;
	if (bytes > SW_CAPTURE_WANT_BYTES - room->want_bytes || room->n_pieces >= SW_CAPTURE_RANGES)
		return -SW_E_LIMIT;
	room->want_bytes += bytes;
	room->pieces[room->n_pieces++] =
		(struct sw_piece){.avma = avma, .bytes = bytes, .thread = -1};
	return 0;
}

/* ---- after the stop ----------------------------------------------------------------------- */

static void piece_hand_over(struct sw_capture_room *room, struct sw_piece *p)
{
	struct sw_snapshot *snap = room->snap;
	if (p->thread >= 0) {
		struct sw_thread *t = &snap->threads[p->thread];
		t->stack_avma = p->avma;
		t->stack_bytes = p->bytes;
		t->stack = p->to;
		if (p->cut)
			sw_snapshot_warn(snap, SW_WARN_STACK_LIMIT, t->tid, SW_E_LIMIT,
					 "thread %d (%s): only the first %zu bytes of its stack "
					 "were copied",
					 t->tid, t->comm, p->bytes);
	} else if (p->bytes > 0 && snap->n_ranges < room->ranges_max) {
		snap->ranges[snap->n_ranges++] = (struct sw_range){p->avma, p->bytes, p->to};
	}
}

/* The helper died on its way: what it did not finish is taken as not done. The unwinders that found
 * nothing then read the memory as it is now, as they do for a core file. */
static void unfinished_drop(struct sw_capture_room *room)
{
	struct sw_snapshot *snap = room->snap;
	for (size_t i = room->n_copied; i < room->n_pieces; i++)
		room->pieces[i].bytes = 0;
	for (size_t i = room->hooks_done; i < sw_n_unwinders; i++)
		snap->priv->hook_states[i] = NULL;
}

void sw_capture_room_finish(struct sw_capture_room *room)
{
	struct sw_snapshot *snap = room->snap;
	struct sw_snapshot_priv *priv = snap->priv;
	if (!room->stop->finished)
		unfinished_drop(room);
	for (size_t i = 0; i < room->n_pieces; i++)
		piece_hand_over(room, &room->pieces[i]);
	room->stop->timed_out |= room->out_of_time;
	if (room->room_short)
		sw_snapshot_warn(snap, SW_WARN_CAPTURE, 0, SW_E_LIMIT,
				 "an unwinder's data was not copied in whole");
	size_t keep = sw_capture_page_up(room->used);
	if (keep > 0 && keep < priv->pool_bytes) {
		(void) munmap(priv->pool + keep, priv->pool_bytes - keep); /* ours */
		priv->pool_bytes = keep;
	}
}
