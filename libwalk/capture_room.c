/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "capture_room.h"
#include "arch.h"
#include "arch_user_regs.h"
#include "cleanup.h"
#include "clock.h"
#include "errors.h"
#include "pread.h"
#include "snapshot.h"
#include "unwinder.h"

#include <string.h>
#include <sys/mman.h>

enum { ROOM_PAGE = 4096, POOL_MIN_BYTES = 1 << 20 };

static uint64_t page_up(uint64_t avma)
{
	return (avma + ROOM_PAGE - 1) & -(uint64_t) ROOM_PAGE;
}

/* ---- before the stop ---------------------------------------------------------------------- */

/* Makes the first bytes of the pool real: a page fault in the stop costs more than the copy. */
static void prefault(uint8_t *pool, size_t bytes)
{
	enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, Linux 5.14; not in older headers */
	if (madvise(pool, bytes, POPULATE_WRITE) == 0)
		return;
	for (size_t i = 0; i < bytes; i += ROOM_PAGE)
		((volatile uint8_t *) pool)[i] = 0;
}

static int pool_create(struct sw_capture_room *room, size_t bytes, struct sw_error *err)
{
	struct sw_snapshot_priv *priv = room->snap->priv;
	for (bytes = page_up(bytes);; bytes = page_up(bytes / 2)) {
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

/* ---- in the stop: nothing is parsed, opened, allocated or printed ------------------------- */

/* Reads what it can of one range. */
static size_t read_slow(const struct sw_stop *stop, uint64_t avma, uint8_t *to, size_t bytes)
{
	return stop->mem_fd >= 0 ? sw_pread(stop->mem_fd, to, bytes, avma) : 0;
}

/* Any thread that is held gives access to the memory; the leader may be a zombie. */
static pid_t held_tid(const struct sw_stop *stop)
{
	for (size_t i = 0; i < stop->n; i++)
		if (stop->tracees[i].has_regs)
			return stop->tracees[i].tid;
	return 0;
}

/* Copies pieces [first, last), which lie in a row in the pool. Sets how much came of each. */
static void batch_copy(struct sw_capture_room *room, pid_t tid, size_t first, size_t last)
{
	while (first < last) {
		size_t n = last - first;
		struct iovec local = {room->pieces[first].to, 0};
		for (size_t i = 0; i < n; i++) {
			const struct sw_piece *p = &room->pieces[first + i];
			room->remote[i] = (struct iovec){(void *) (uintptr_t) p->avma, p->bytes};
			local.iov_len += p->bytes;
		}
		ssize_t r = process_vm_readv(tid, &local, 1, room->remote, n, 0);
		if (r < 0 && (errno == ENOSYS || errno == EPERM)) {
			room->no_vm_readv = true;
			return;
		}
		size_t got = r > 0 ? (size_t) r : 0;
		while (first < last && got >= room->pieces[first].bytes)
			got -= room->pieces[first++].bytes;
		/* The first one that is not whole ended the call: the next call begins after it. */
		if (first < last)
			room->pieces[first++].bytes = got;
	}
}

static void pieces_copy(struct sw_capture_room *room)
{
	pid_t tid = held_tid(room->stop);
	for (size_t first = 0; first < room->n_pieces;) {
		/* The first batch is always copied: without it the answer is worth nothing. */
		if (first > 0 && sw_clock_ns() > room->stop->deadline_ns) {
			room->out_of_time = true;
			for (size_t i = first; i < room->n_pieces; i++)
				room->pieces[i].bytes = 0;
			room->n_copied = room->n_pieces;
			return;
		}
		size_t last = first, bytes = 0;
		while (last < room->n_pieces && last - first < SW_CAPTURE_BATCH &&
		       bytes < SW_CAPTURE_BATCH_BYTES)
			bytes += room->pieces[last++].bytes;
		if (!room->no_vm_readv)
			batch_copy(room, tid, first, last);
		for (size_t i = first; room->no_vm_readv && i < last; i++) {
			struct sw_piece *p = &room->pieces[i];
			p->bytes = read_slow(room->stop, p->avma, p->to, p->bytes);
		}
		room->n_copied = first = last;
	}
}

/* [begin, end) for a thread, at most stack_bytes from its lower end, or from its upper end. */
static void piece_add(struct sw_capture_room *room, uint64_t begin, uint64_t end, int32_t thread)
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
	room->pieces[room->n_pieces++] = (struct sw_piece){.avma = begin,
							   .bytes = (size_t) bytes,
							   .thread = thread,
							   .cut = cut};
}

/* Where the used part of a mapping ends. Thread stacks have the thread's control block at their
 * top (glibc, musl); what lies above belongs to somebody else whose mapping was merged. */
static uint64_t stack_top(const struct sw_map *map, uint64_t fs_base)
{
	uint64_t end = page_up(fs_base);
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
	piece_add(room, begin & -(uint64_t) ROOM_PAGE, end, (int32_t) i);
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
		piece_add(room, begin, top, (int32_t) i);
	}
	/* On an alternate signal stack, or on a coroutine's: the frames below those of the handler
	 * are on the thread's own stack. */
	const struct sw_map *own = t->tid == room->snap->process.pid
					   ? room->main_stack
					   : sw_snapshot_map(room->snap, t->fs_base);
	if (own != NULL && own != map && (own->prot & SW_MAP_WRITE))
		piece_add(room, own->start_avma, stack_top(own, t->fs_base), -1);
}

bool sw_capture_stack(struct sw_capture *capture, uint64_t sp_avma, uint64_t end_avma)
{
	struct sw_capture_room *room = capture->room;
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
	piece_add(room, begin, end_avma, -1);
	return true;
}

void sw_capture_stack_known(struct sw_capture *capture, size_t thread, uint64_t end_avma)
{
	struct sw_capture_room *room = capture->room;
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

/* Gives each piece its place in the pool. When all together do not fit, each gets an equal part
 * first, and small ones leave more to the others. */
static void pieces_place(struct sw_capture_room *room)
{
	size_t room_bytes = room->size - room->kept, total = 0;
	if (room_bytes > room->total_bytes)
		room_bytes = room->total_bytes;
	for (size_t i = 0; i < room->n_pieces; i++)
		total += room->pieces[i].bytes;
	size_t share = total <= room_bytes ? SIZE_MAX : room_bytes / room->n_pieces;
	for (size_t i = 0; i < room->n_pieces; i++) {
		struct sw_piece *p = &room->pieces[i];
		if (p->bytes > share) {
			p->bytes = share;
			p->cut = true;
		}
		p->to = room->snap->priv->pool + room->used;
		room->used += p->bytes;
	}
}

/* What could be read of local, at most; when the system call is refused that is remembered. */
static size_t read_fast(struct sw_capture_room *room, const struct iovec *local,
			const struct iovec *remote, size_t n)
{
	if (room->no_vm_readv)
		return 0;
	ssize_t got = process_vm_readv(held_tid(room->stop), local, n, remote, n, 0);
	room->no_vm_readv = got < 0 && (errno == ENOSYS || errno == EPERM);
	return got > 0 ? (size_t) got : 0;
}

bool sw_capture_read(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	struct sw_capture_room *room = capture->room;
	struct iovec local = {buffer, bytes}, remote = {(void *) (uintptr_t) avma, bytes};
	if (read_fast(room, &local, &remote, 1) == bytes)
		return true;
	return room->no_vm_readv && read_slow(room->stop, avma, buffer, bytes) == bytes;
}

/* Reads up to SW_CAPTURE_READS; how many were whole, before the first one that was not. */
static size_t reads_try(struct sw_capture_room *room, const struct sw_capture_read *reads, size_t n)
{
	struct iovec local[SW_CAPTURE_READS], remote[SW_CAPTURE_READS];
	for (size_t i = 0; i < n; i++) {
		local[i] = (struct iovec){reads[i].buffer, reads[i].bytes};
		remote[i] = (struct iovec){(void *) (uintptr_t) reads[i].avma, reads[i].bytes};
	}
	size_t got = read_fast(room, local, remote, n), whole = 0;
	while (whole < n && got >= reads[whole].bytes)
		got -= reads[whole++].bytes;
	return whole;
}

void sw_capture_read_many(struct sw_capture *capture, struct sw_capture_read *reads, size_t n)
{
	struct sw_capture_room *room = capture->room;
	for (size_t i = 0; i < n;) {
		size_t batch = n - i < SW_CAPTURE_READS ? n - i : SW_CAPTURE_READS;
		size_t whole = reads_try(room, reads + i, batch);
		for (size_t end = i + whole; i < end; i++)
			reads[i].ok = true;
		/* The first one that is not whole ended the call: the next call begins after it. */
		if (whole < batch) {
			struct sw_capture_read *r = &reads[i++];
			r->ok = room->no_vm_readv &&
				read_slow(room->stop, r->avma, r->buffer, r->bytes) == r->bytes;
		}
	}
}

bool sw_capture_copy(struct sw_capture *capture, uint64_t avma, size_t bytes,
		     const uint8_t **ret_data)
{
	struct sw_capture_room *room = capture->room;
	struct sw_snapshot *snap = room->snap;
	if (bytes > room->size - room->used || snap->n_ranges >= SW_CAPTURE_RANGES) {
		room->room_short = true;
		return false;
	}
	uint8_t *to = snap->priv->pool + room->used;
	if (!sw_capture_read(capture, avma, to, bytes))
		return false;
	room->used += bytes;
	snap->ranges[snap->n_ranges++] = (struct sw_range){avma, bytes, to};
	*ret_data = to;
	return true;
}

bool sw_capture_wanted(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	const struct sw_capture_room *room = capture->room;
	for (size_t i = 0; i < room->n_want; i++) {
		const struct sw_piece *p = &room->pieces[i];
		if (avma < p->avma || avma - p->avma > p->bytes ||
		    bytes > p->bytes - (avma - p->avma))
			continue;
		if (buffer != NULL)
			memcpy(buffer, p->to + (avma - p->avma), bytes);
		return true;
	}
	return false;
}

void sw_capture_room_fill(void *arg, struct sw_stop *stop)
{
	struct sw_capture_room *room = arg;
	struct sw_snapshot *snap = room->snap;
	snap->n_threads = stop->n;
	for (size_t i = 0; i < stop->n; i++) {
		snap->threads[i].tid = stop->tracees[i].tid;
		if (!stop->tracees[i].has_regs)
			continue;
		sw_arch_thread_fill(&snap->threads[i], &stop->tracees[i].regs);
		stack_add(room, i);
	}
	struct sw_capture capture = {.snap = snap, .room = room};
	room->stacks_max = room->n_pieces + SW_CAPTURE_STACKS * stop->n;
	room->n_found = room->n_pieces;
	for (size_t i = 0; i < sw_n_unwinders; i++) {
		capture.state = &room->snap->priv->hook_states[i];
		if (sw_unwinders[i]->stacks != NULL && sw_unwinders[i]->stacks(&capture) < 0)
			room->room_short = true;
	}
	pieces_place(room);
	pieces_copy(room);
	for (size_t i = 0; i < sw_n_unwinders; i++) {
		capture.state = &room->snap->priv->hook_states[i];
		if (sw_unwinders[i]->capture != NULL && sw_unwinders[i]->capture(&capture) < 0)
			room->room_short = true;
		room->hooks_done = i + 1;
	}
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
	size_t keep = page_up(room->used);
	if (keep > 0 && keep < priv->pool_bytes) {
		(void) munmap(priv->pool + keep, priv->pool_bytes - keep); /* ours */
		priv->pool_bytes = keep;
	}
}
