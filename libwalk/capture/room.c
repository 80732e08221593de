/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The room for what is copied in a stop, while the target runs: made before, handed over after. What
 * happens in between is in capture/stacks.c and capture/copy.c.
 */
#include "capture/room.h"
#include "capture/copy.h"
#include "capture/stacks.h"
#include "cleanup.h"
#include "errors.h"
#include "snapshot/snapshot.h"
#include "process/guarded.h"
#include "process/proc.h"
#include "snapshot/live.h"

#include <fcntl.h>
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
	size_t warm = room->likely != 0 ? room->likely : n_threads * SW_CAPTURE_PREFAULT_BYTES;
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
	room->pieces_max = (3 + SW_CAPTURE_STACKS) * stop->capacity + SW_CAPTURE_RANGES;
	room->pieces = sw_arena_alloc(arena, room->pieces_max * sizeof(*room->pieces));
	room->ranges_max = (1 + SW_CAPTURE_STACKS) * stop->capacity + SW_CAPTURE_RANGES;
	snap->ranges = sw_arena_alloc(arena, room->ranges_max * sizeof(*snap->ranges));
	if (room->pieces == NULL || snap->ranges == NULL)
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

static int want(struct sw_capture *capture, uint64_t avma, size_t bytes)
{
	struct sw_capture_room *room = capture->arg;
	if (bytes > SW_CAPTURE_WANT_BYTES - room->want_bytes || room->n_pieces >= SW_CAPTURE_RANGES)
		return -SW_E_LIMIT;
	room->want_bytes += bytes;
	room->pieces[room->n_pieces++] = (struct sw_piece){
		.avma = avma, .bytes = bytes, .wanted_bytes = bytes, .thread = -1, .owner = -1};
	return 0;
}

static int open_in_root(struct sw_capture *capture, const char *path, struct stat *st)
{
	struct sw_pages *pages = &capture->snap->priv->pages;
	return sw_guarded_open(pages, SW_ROOT_TARGETS, path, O_NOFOLLOW, SW_GUARDED_COPY, st);
}

static ssize_t proc_read(struct sw_capture *capture, const char *name, char *buffer, size_t bytes)
{
	const struct sw_capture_room *room = capture->arg;
	return sw_proc_read_small(room->proc_fd, name, buffer, bytes);
}

struct sw_capture sw_capture_of(struct sw_capture_room *room)
{
	static const struct sw_capture_ops ops = {.want = want,
						  .stack = sw_capture_stack_add,
						  .stack_known = sw_capture_stack_bound,
						  .copy = sw_capture_copy_range,
						  .wanted = sw_capture_wanted_find,
						  .read_many = sw_capture_reads,
						  .is_whole = sw_capture_all_held,
						  .open = open_in_root,
						  .proc_read = proc_read};
	return (struct sw_capture){.snap = room->snap,
				   .ops = &ops,
				   .memory = sw_live_memory(room->snap),
				   .arg = room};
}

static void hook_add(struct sw_capture_room *room, struct sw_hook hook)
{
	if (hook.before == NULL && hook.stacks == NULL && hook.in_window == NULL)
		return;
	hook.found = sw_slots_get(&room->snap->priv->found, hook.ops, NULL);
	if (hook.found != NULL) /* there are SW_SLOTS_MAX others: it reads what it can afterwards */
		room->hooks[room->n_hooks++] = hook;
}

static void hooks_find(struct sw_capture_room *room, const struct sw_tables *tables)
{
	for (size_t i = 0; i < tables->n_runtimes; i++) {
		const struct sw_runtime_ops *r = tables->runtimes[i];
		if (r->probe(room->snap))
			hook_add(room, (struct sw_hook){.ops = r,
							.name = r->name,
							.before = r->before,
							.stacks = r->stacks,
							.in_window = r->in_window});
	}
	for (size_t i = 0; i < tables->n_unwinders; i++) {
		const struct sw_unwinder_ops *u = tables->unwinders[i];
		if (u->probe == NULL || u->probe(room->snap))
			hook_add(room, (struct sw_hook){.ops = u,
							.name = u->name,
							.before = u->prepare,
							.in_window = u->capture});
	}
}

void sw_capture_room_prepare(struct sw_capture_room *room, const struct sw_tables *tables)
{
	room->main_stack = main_stack_find(room->snap);
	/* Touched now, not in the stop. */
	memset(room->pieces, 0, room->snap->n_threads * sizeof(*room->pieces));
	hooks_find(room, tables);
	room->capture = sw_capture_of(room);
	for (size_t i = 0; i < room->n_hooks; i++) {
		const struct sw_hook *hook = &room->hooks[i];
		struct sw_capture capture = room->capture;
		capture.found = hook->found;
		int r = hook->before != NULL ? hook->before(&capture) : 0;
		if (r < 0)
			sw_snapshot_warn(room->snap, SW_WARN_CAPTURE, 0, -r, "%s: %s", hook->name,
					 sw_error_text(r));
	}
	room->n_want = room->n_pieces;
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
		t->pages_missing = p->absent;
		if (p->cut)
			sw_snapshot_warn(snap, SW_WARN_STACK_LIMIT, t->tid, SW_E_LIMIT,
					 "thread %d (%s): only the first %zu bytes of its stack "
					 "were copied",
					 t->tid, t->comm, p->bytes);
	} else if (p->wait) {
		/* For this thread alone: another may have waited for the same lock at another instant,
		 * with another owner. */
		struct sw_thread *t = &snap->threads[p->owner];
		if (p->bytes == sizeof(t->wait))
			memcpy(t->wait, p->to, sizeof(t->wait));
		t->wait_bytes = p->bytes == sizeof(t->wait) ? p->bytes : 0;
	} else if (p->bytes > 0 && snap->n_ranges < room->ranges_max) {
		snap->ranges[snap->n_ranges++] = (struct sw_range){p->avma, p->bytes, p->to};
	}
}

static void piece_drop(const struct sw_capture_room *room, struct sw_piece *p)
{
	p->absent |= room->stop->stalled && !room->stop->died && p->bytes > 0;
	p->bytes = 0;
}

/* The helper died on its way, or pages did not come: what it did not finish is taken as not done. Those
 * that found nothing
 * then read the memory as it is now, as they do for a core file. */
static void unfinished_drop(struct sw_capture_room *room)
{
	for (size_t i = room->n_copied; i < room->n_pieces; i++)
		piece_drop(room, &room->pieces[i]);
	for (size_t i = room->hooks_done; i < room->n_hooks; i++)
		if (room->hooks[i].in_window != NULL) /* else what it knows is from before */
			*room->hooks[i].found = NULL;
}

void sw_capture_room_finish(struct sw_capture_room *room)
{
	struct sw_snapshot *snap = room->snap;
	struct sw_snapshot_priv *priv = snap->priv;
	if (!room->stop->finished || room->stop->stalled)
		unfinished_drop(room);
	for (size_t i = 0; i < room->n_pieces; i++)
		piece_hand_over(room, &room->pieces[i]);
	room->stop->timed_out |= room->out_of_time;
	if (room->room_short)
		sw_snapshot_warn(snap, SW_WARN_CAPTURE, 0, SW_E_LIMIT,
				 "an unwinder's data was not copied in whole");
	size_t keep = sw_capture_page_up(room->used);
	if (keep > 0 && keep < priv->pool_bytes && !priv->pages.left_behind) {
		(void) munmap(priv->pool + keep, priv->pool_bytes - keep); /* ours */
		priv->pool_bytes = keep;
	}
}
