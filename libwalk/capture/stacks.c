/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the stop: which memory to copy, by the registers of the threads, and in which order.
 *
 * Runs while the target is STOPPED, in the helper, on its small stack, and may be killed between any
 * two instructions. Nothing here parses, opens, allocates, locks, names or prints; it waits for
 * nothing; every loop is bounded by room that was made before. tests/held.sh looks at what it calls.
 */
#include "arch/arch.h"
#include "arch/user_regs.h"
#include "capture/stacks.h"
#include "capture/copy.h"
#include "snapshot/snapshot.h"
#include "waits/range.h"

/* [begin, end) for a thread, at most stack_bytes from its lower end, or from its upper end. */
static void piece_add(struct sw_capture_room *room, uint64_t begin, uint64_t end, int32_t thread,
		      int32_t owner)
{
	if (begin >= end || room->n_pieces == room->pieces_max)
		return;
	uint64_t bytes = end - begin;
	bool cut = bytes > room->stack_bytes;
	if (cut) {
		if (thread < 0)
			begin = end - room->stack_bytes;
		bytes = room->stack_bytes;
	}
	room->pieces[room->n_pieces] = (struct sw_piece){.avma = begin,
							 .bytes = (size_t) bytes,
							 .thread = thread,
							 .owner = owner,
							 .cut = cut};
	/* Killed between two instructions we leave no half of it. */
	atomic_signal_fence(memory_order_release);
	room->n_pieces++;
}

/* Where the used part of a mapping ends. Thread stacks have the thread's control block at their
 * top (glibc, musl); what lies above belongs to somebody else whose mapping was merged. */
static uint64_t stack_top(const struct sw_map *map, uint64_t fs_base)
{
	uint64_t end = sw_capture_page_up(fs_base);
	return fs_base >= map->start_avma && end > fs_base && end < map->end_avma ? end
										  : map->end_avma;
}

/* A stack in no mapping that we know: the thread or its stack is newer than our maps, or the main
 * stack has grown down. */
static void unknown_stack_add(struct sw_capture_room *room, uint64_t begin, uint64_t sp, size_t i)
{
	const struct sw_map *main_stack = room->main_stack;
	uint64_t end;
	if (__builtin_add_overflow(sp, SW_CAPTURE_UNKNOWN_BYTES, &end))
		return;
	if (main_stack != NULL && sp < main_stack->start_avma && end > main_stack->start_avma)
		end = main_stack->end_avma;
	piece_add(room, begin & -(uint64_t) SW_CAPTURE_PAGE, end, (int32_t) i, (int32_t) i);
}

static void stack_add(struct sw_capture_room *room, size_t i)
{
	struct sw_thread *t = &room->snap->threads[i];
	uint64_t sp = t->regs.sp_avma;
	uint64_t begin = sp < SW_ARCH_RED_ZONE ? 0 : sp - SW_ARCH_RED_ZONE;
	const struct sw_map *map = sw_snapshot_map(room->snap, sp);
	if (map == NULL) {
		unknown_stack_add(room, begin, sp, i);
	} else {
		t->stack_end_avma = map->end_avma;
		if (begin < map->start_avma)
			begin = map->start_avma;
		uint64_t top = t->fs_base > sp ? stack_top(map, t->fs_base) : map->end_avma;
		piece_add(room, begin, top, (int32_t) i, (int32_t) i);
	}
	/* On an alternate signal stack, or on a coroutine's: the frames below those of the handler
	 * are on the thread's own stack. */
	const struct sw_map *own = t->tid == room->snap->process.pid
					   ? room->main_stack
					   : sw_snapshot_map(room->snap, t->fs_base);
	if (own != NULL && own != map && (own->prot & SW_MAP_WRITE))
		piece_add(room, own->start_avma, stack_top(own, t->fs_base), -1, (int32_t) i);
}

bool sw_capture_stack_add(struct sw_capture *capture, uint64_t sp_avma, uint64_t end_avma)
{
	struct sw_capture_room *room = capture->arg;
	uint64_t begin = sp_avma < SW_ARCH_RED_ZONE ? 0 : sp_avma - SW_ARCH_RED_ZONE;
	const struct sw_map *map = sw_snapshot_map(room->snap, sp_avma);
	if (map != NULL && begin < map->start_avma)
		begin = map->start_avma;
	if (begin >= end_avma)
		return false;
	if (room->n_pieces >= room->stacks_max || room->n_pieces == room->pieces_max) {
		room->room_short = true;
		return false;
	}
	if (end_avma - begin > room->stack_bytes)
		end_avma = begin + room->stack_bytes;
	piece_add(room, begin, end_avma, -1, -1);
	return true;
}

void sw_capture_stack_bound(struct sw_capture *capture, size_t thread, uint64_t end_avma)
{
	struct sw_capture_room *room = capture->arg;
	struct sw_thread *t = &room->snap->threads[thread];
	size_t at = room->asked;
	/* Pieces are in the order of threads: a hook that goes through these goes on here. */
	for (size_t n = 0; n < room->n_found && room->pieces[at].thread != (int32_t) thread; n++)
		at = at + 1 < room->n_found ? at + 1 : 0;
	struct sw_piece *p = &room->pieces[at];
	if (room->n_found == 0 || p->thread != (int32_t) thread || end_avma <= p->avma)
		return;
	room->asked = at;
	if (end_avma < t->stack_end_avma)
		t->stack_end_avma = end_avma;
	if (end_avma - p->avma <= p->bytes) {
		p->bytes = (size_t) (end_avma - p->avma);
		p->cut = false;
	}
	/* What stack_add() took for the thread's own stack. */
	if (at + 1 < room->n_found && p[1].thread < 0)
		p[1].bytes = 0;
}

/* Threads that nobody asked for run on, too. */
bool sw_capture_all_held(struct sw_capture *capture)
{
	const struct sw_capture_room *room = capture->arg;
	const struct sw_stop *stop = room->stop;
	if (room->seems_whole != NULL)
		return *room->seems_whole;
	if (!stop->new_threads)
		return false;
	for (size_t i = 0; i < stop->n; i++)
		if (!stop->tracees[i].has_regs)
			return false;
	return true;
}

/* Gives each piece its place in the pool. When all together do not fit, each gets an equal part
 * first, and small ones leave more to the others. */
static void pieces_place(struct sw_capture_room *room)
{
	size_t room_bytes = room->size - room->kept, total = 0;
	if (room_bytes > room->total_bytes)
		room_bytes = room->total_bytes;
	room_bytes = room_bytes > room->used ? room_bytes - room->used : 0;
	for (size_t i = room->first; i < room->n_pieces; i++)
		total += room->pieces[i].bytes;
	size_t share = total <= room_bytes ? SIZE_MAX : room_bytes / (room->n_pieces - room->first);
	for (size_t i = room->first; i < room->n_pieces; i++) {
		struct sw_piece *p = &room->pieces[i];
		if (p->bytes > share) {
			p->bytes = share;
			p->cut = true;
		}
		p->to = room->snap->priv->pool + room->used;
		room->used += p->bytes;
	}
}

bool sw_capture_room_hooks_used(const struct sw_capture_room *room)
{
	return room->n_want > 0 || room->snap->n_ranges > 0 || room->n_hooked > 0;
}

/* A window with all threads begins anew; one with those that are left goes on behind the others. */
static void window_begin(struct sw_capture_room *room)
{
	if (room->only_rest) {
		room->first = room->n_pieces;
	} else {
		room->n_pieces = room->n_want;
		for (size_t i = 0; i < room->n_want; i++)
			room->pieces[i].bytes = room->pieces[i].wanted_bytes;
		room->first = room->used = 0;
		room->snap->n_ranges = 0;
		room->hooks_done = 0;
	}
	room->first_used = room->used;
	room->n_copied = room->first;
}

static void hooks_stacks(struct sw_capture_room *room)
{
	for (size_t i = 0; i < room->n_hooks; i++) {
		struct sw_capture capture = room->capture;
		capture.found = room->hooks[i].found;
		if (room->hooks[i].stacks != NULL && room->hooks[i].stacks(&capture) < 0)
			room->room_short = true;
	}
}

static void hooks_in_window(struct sw_capture_room *room)
{
	for (size_t i = 0; i < room->n_hooks; i++) {
		struct sw_capture capture = room->capture;
		capture.found = room->hooks[i].found;
		if (room->hooks[i].in_window != NULL && room->hooks[i].in_window(&capture) < 0)
			room->room_short = true;
		room->hooks_done = i + 1;
	}
}

/* The locks for which the threads wait whose registers came in this window. Behind all stacks, which
 * hooks look for in the order of threads. */
static void waits_add(struct sw_capture_room *room)
{
	uint64_t begin_avma;
	size_t bytes;
	size_t n_stacks = room->n_found;
	for (size_t k = room->first; k < n_stacks && room->n_pieces < room->pieces_max; k++) {
		int32_t i = room->pieces[k].thread;
		if (i < 0 || !sw_futex_range(&room->snap->threads[i], &begin_avma, &bytes))
			continue;
		piece_add(room, begin_avma, begin_avma + bytes, -1, i);
		room->pieces[room->n_pieces - 1].wait = true;
	}
}

void sw_capture_room_fill(void *arg, struct sw_stop *stop)
{
	struct sw_capture_room *room = arg;
	struct sw_snapshot *snap = room->snap;
	window_begin(room);
	snap->n_threads = stop->n;
	for (size_t i = 0; i < stop->n; i++) {
		snap->threads[i].tid = stop->tracees[i].tid;
		if (!stop->tracees[i].has_regs || (room->chosen != NULL && !room->chosen[i]))
			continue;
		sw_arch_thread_fill(&snap->threads[i], &stop->tracees[i].regs);
		stack_add(room, i);
	}
	room->stacks_max = room->n_pieces + SW_CAPTURE_STACKS * stop->n;
	room->n_found = room->n_pieces;
	if (!room->only_rest)
		hooks_stacks(room);
	room->n_hooked = room->n_pieces - room->n_found;
	waits_add(room);
	sw_capture_pieces_trim(room); /* the locks, too: they may lie in pages that do not come */
	pieces_place(room);
	sw_capture_pieces_copy(room);
	if (!room->only_rest)
		hooks_in_window(room);
}
