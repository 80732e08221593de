/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the stop: which memory to copy, by the registers of the threads, and in which order.
 *
 * Runs while the target is STOPPED, in the helper, on its small stack, and may be killed between any
 * two instructions. Nothing here parses, opens, allocates, locks, names or prints; it waits for
 * nothing; every loop is bounded by space that was made before. tests/held.sh looks at what it calls.
 */
#include "arch/arch.h"
#include "arch/user_regs.h"
#include "capture/stacks.h"
#include "capture/copy.h"
#include "capture/same.h"
#include "capture/touch_window.h"
#include "snapshot/snapshot.h"
#include "waits/range.h"

#include <snapwalk/clock.h>

/* [begin, end) for a thread, at most stack_bytes from its lower end, or from its upper end. */
static void part_add(struct sw_capture_space *space, uint64_t begin, uint64_t end, int32_t thread,
		     int32_t owner)
{
	if (begin >= end || space->n_parts == space->parts_max)
		return;
	uint64_t bytes = end - begin;
	bool cut = bytes > space->stack_bytes;
	if (cut) {
		if (thread < 0)
			begin = end - space->stack_bytes;
		bytes = space->stack_bytes;
	}
	space->parts[space->n_parts] = (struct sw_capture_part){.avma = begin,
								.bytes = (size_t) bytes,
								.thread = thread,
								.owner = owner,
								.cut = cut};
	/* Killed between two instructions we leave no half of it. */
	atomic_signal_fence(memory_order_release);
	space->n_parts++;
}

/* Where the used part of a mapping ends. Above the main thread's stack lie arguments and environment, which may
 * be megabytes. Thread stacks have the thread's control block at their top (glibc, musl); what lies above
 * belongs to somebody else whose mapping was merged. */
static uint64_t stack_top(const struct sw_capture_space *space, const struct sw_map *map,
			  uint64_t sp, uint64_t fs_base)
{
	if (map == space->main_stack && sp < space->main_stack_end_avma)
		return space->main_stack_end_avma;
	if (fs_base <= sp)
		return map->end_avma;
	uint64_t end = sw_capture_page_up(fs_base);
	return fs_base >= map->start_avma && end > fs_base && end < map->end_avma ? end
										  : map->end_avma;
}

/* The upper end of a stack that is not copied in whole is copied, too, as its first functions are
 * there: a program with little on a large stack, as Ruby's threads, whose VM has 1 MiB in the
 * middle of it, has a walk of the instant. */
static void root_add(struct sw_capture_space *space, uint64_t copied_end, uint64_t top, size_t i)
{
	uint64_t begin = top - SW_CAPTURE_ROOT_BYTES;
	part_add(space, begin > copied_end ? begin : copied_end, top, -1, (int32_t) i);
}

/* A stack in no mapping that we know: the thread or its stack is newer than our maps, or the main
 * stack has grown down. */
static void unknown_stack_add(struct sw_capture_space *space, uint64_t begin, uint64_t sp, size_t i)
{
	const struct sw_map *main_stack = space->main_stack;
	uint64_t end;
	if (__builtin_add_overflow(sp, SW_CAPTURE_UNKNOWN_BYTES, &end))
		return;
	if (main_stack != NULL && sp < main_stack->start_avma && end > main_stack->start_avma)
		end = space->main_stack_end_avma;
	begin &= -(uint64_t) SW_CAPTURE_PAGE;
	part_add(space, begin, end, (int32_t) i, (int32_t) i);
	if (end > begin && end - begin > space->stack_bytes)
		root_add(space, begin + space->stack_bytes, end, i);
}

static void stack_add(struct sw_capture_space *space, size_t i)
{
	struct sw_thread *t = &space->snap->threads[i];
	uint64_t sp = t->regs.sp_avma;
	uint64_t begin = sp < SW_ARCH_RED_ZONE ? 0 : sp - SW_ARCH_RED_ZONE;
	const struct sw_map *map = sw_snapshot_map(space->snap, sp);
	if (map == NULL) {
		unknown_stack_add(space, begin, sp, i);
	} else {
		uint64_t top = stack_top(space, map, sp, t->fs_base);
		t->stack_end_avma = map == space->main_stack ? top : map->end_avma;
		if (begin < map->start_avma)
			begin = map->start_avma;
		part_add(space, begin, top, (int32_t) i, (int32_t) i);
		if (top > begin && top - begin > space->stack_bytes)
			root_add(space, begin + space->stack_bytes, top, i);
	}
	/* On an alternate signal stack, or on a coroutine's: the frames below those of the handler
	 * are on the thread's own stack. */
	const struct sw_map *own = t->tid == space->snap->process.pid
					   ? space->main_stack
					   : sw_snapshot_map(space->snap, t->fs_base);
	if (own != NULL && own != map && (own->prot & SW_MAP_WRITE))
		part_add(space, own->start_avma, stack_top(space, own, 0, t->fs_base), -1,
			 (int32_t) i);
}

bool sw_capture_stack_add(struct sw_capture *capture, uint64_t sp_avma, uint64_t end_avma)
{
	struct sw_capture_space *space = capture->arg;
	uint64_t begin = sp_avma < SW_ARCH_RED_ZONE ? 0 : sp_avma - SW_ARCH_RED_ZONE;
	const struct sw_map *map = sw_snapshot_map(space->snap, sp_avma);
	if (map != NULL && begin < map->start_avma)
		begin = map->start_avma;
	if (begin >= end_avma)
		return false;
	if (space->n_parts >= space->stacks_max || space->n_parts == space->parts_max) {
		space->space_short = true;
		return false;
	}
	if (end_avma - begin > space->stack_bytes)
		end_avma = begin + space->stack_bytes;
	part_add(space, begin, end_avma, -1, -1);
	return true;
}

void sw_capture_stack_bound(struct sw_capture *capture, size_t thread, uint64_t end_avma)
{
	struct sw_capture_space *space = capture->arg;
	struct sw_thread *t = &space->snap->threads[thread];
	size_t at = space->asked;
	/* Parts are in the order of threads: a hook that goes through these goes on here. */
	for (size_t n = 0; n < space->n_found && space->parts[at].thread != (int32_t) thread; n++)
		at = at + 1 < space->n_found ? at + 1 : 0;
	struct sw_capture_part *p = &space->parts[at];
	if (space->n_found == 0 || p->thread != (int32_t) thread || end_avma <= p->avma)
		return;
	space->asked = at;
	if (end_avma < t->stack_end_avma)
		t->stack_end_avma = end_avma;
	if (end_avma - p->avma <= p->bytes) {
		p->bytes = (size_t) (end_avma - p->avma);
		p->cut = false;
	}
	/* The part that stack_add() took for the thread's own stack is dropped. */
	if (at + 1 < space->n_found && p[1].thread < 0)
		p[1].bytes = 0;
}

/* Threads that nobody asked for run on, too. */
bool sw_capture_all_held(struct sw_capture *capture)
{
	const struct sw_capture_space *space = capture->arg;
	const struct sw_stop *stop = space->stop;
	if (space->seems_whole != NULL)
		return *space->seems_whole;
	if (!stop->new_threads)
		return false;
	for (size_t i = 0; i < stop->n; i++)
		if (!stop->tracees[i].has_regs)
			return false;
	return true;
}

/* Gives each part, from the first one that is given, its place in the pool. When all together do not fit, each gets an equal part
 * first, and small ones leave more to the others. */
static void parts_place(struct sw_capture_space *space, size_t from)
{
	size_t space_bytes = space->size - space->kept, total = 0;
	if (space_bytes > space->total_bytes)
		space_bytes = space->total_bytes;
	space_bytes = space_bytes > space->used ? space_bytes - space->used : 0;
	for (size_t i = from; i < space->n_parts; i++)
		total += space->parts[i].bytes;
	size_t share = total <= space_bytes ? SIZE_MAX : space_bytes / (space->n_parts - from);
	for (size_t i = from; i < space->n_parts; i++) {
		struct sw_capture_part *p = &space->parts[i];
		if (p->bytes > share) {
			p->bytes = share;
			p->cut = true;
		}
		if (p->thread >= 0)
			p->wanted_bytes = p->bytes;
		p->to = space->snap->priv->pool + space->used;
		space->used += p->bytes;
	}
}

static bool all_are_read(const struct sw_capture_space *space)
{
	for (size_t i = 0; i < space->stop->n; i++)
		if (space->stop->tracees[i].reason == 0 && !space->chosen[i])
			return false;
	return true;
}

static bool hooks_found_something(const struct sw_capture_space *space)
{
	for (size_t i = 0; i < space->n_hooks; i++)
		if (*space->hooks[i].found != NULL)
			return true;
	return false;
}

bool sw_capture_space_hooks_matter(const struct sw_capture_space *space)
{
	return space->n_want > 0 || space->snap->n_ranges > 0 || space->n_hooked > 0 ||
	       (!all_are_read(space) && hooks_found_something(space));
}

/* A window with all threads begins anew; one with those that are left goes on behind the others. */
static void window_begin(struct sw_capture_space *space)
{
	if (space->only_rest) {
		space->first = space->n_parts;
	} else {
		space->n_parts = space->n_want;
		for (size_t i = 0; i < space->n_want; i++)
			space->parts[i].bytes = space->parts[i].wanted_bytes;
		space->first = space->used = 0;
		space->snap->n_ranges = 0;
		space->hooks_done = 0;
		sw_capture_same_begin(space);
	}
	space->first_used = space->used;
	space->n_copied = space->first;
}

static void hooks_stacks(struct sw_capture_space *space)
{
	for (size_t i = 0; i < space->n_hooks; i++) {
		struct sw_capture capture = space->capture;
		capture.found = space->hooks[i].found;
		if (space->hooks[i].stacks != NULL && space->hooks[i].stacks(&capture) < 0)
			space->space_short = true;
	}
}

static void hooks_in_window(struct sw_capture_space *space)
{
	for (size_t i = 0; i < space->n_hooks; i++) {
		struct sw_capture capture = space->capture;
		capture.found = space->hooks[i].found;
		if (space->hooks[i].in_window != NULL && space->hooks[i].in_window(&capture) < 0)
			space->space_short = true;
		space->hooks_done = i + 1;
	}
}

/* The locks for which the threads wait whose registers came in this window. Behind all stacks, which
 * hooks look for in the order of threads. */
static void waits_add(struct sw_capture_space *space)
{
	uint64_t begin_avma;
	size_t bytes;
	size_t n_stacks = space->n_found;
	for (size_t k = space->first; k < n_stacks && space->n_parts < space->parts_max; k++) {
		int32_t i = space->parts[k].thread;
		if (i < 0 || !sw_futex_range(&space->snap->threads[i], &begin_avma, &bytes))
			continue;
		part_add(space, begin_avma, begin_avma + bytes, -1, i);
		space->parts[space->n_parts - 1].wait = true;
	}
}

/* Threads that are led on their ways together. */
struct led {
	size_t n;
	int32_t threads[SW_CAPTURE_READS];
	uint64_t avmas[SW_CAPTURE_READS];
};

/* The next step of all. Threads that keep nothing are left out. */
static void led_step(struct sw_capture_space *space, struct led *l, uint64_t offset)
{
	struct sw_capture_read reads[SW_CAPTURE_READS];
	uint64_t words[SW_CAPTURE_READS];
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		reads[i] =
			(struct sw_capture_read){l->avmas[i], &words[i], sizeof(words[i]), false};
	sw_capture_reads_make(space, reads, l->n);
	for (size_t i = 0; i < l->n; i++) {
		if (!reads[i].ok || words[i] == 0 || words[i] == UINT64_MAX)
			continue;
		l->threads[n] = l->threads[i];
		l->avmas[n++] = words[i] + offset;
	}
	l->n = n;
}

static void led_add(struct sw_capture_space *space, struct led *l)
{
	for (size_t step = 1; step < space->context.n; step++)
		led_step(space, l, space->context.offsets[step]);
	for (size_t i = 0; i < l->n && space->n_parts < space->parts_max; i++) {
		size_t n = space->n_parts;
		uint64_t end;
		if (__builtin_add_overflow(l->avmas[i], SW_CONTEXT_BYTES, &end))
			continue;
		part_add(space, l->avmas[i], end, -1, l->threads[i]);
		space->parts[n].context = true;
	}
	l->n = 0;
}

/* The contexts of the threads whose registers came in this window. Pointers lead to them, so they come after the stacks. */
static void contexts_copy(struct sw_capture_space *space)
{
	struct led l = {0};
	size_t from = space->n_parts;
	for (size_t k = space->first; space->context.n > 0 && k < space->n_found; k++) {
		int32_t i = space->parts[k].thread;
		if (i < 0 || space->snap->threads[i].fs_base == 0)
			continue;
		if (l.n == 0 && sw_clock_ns() > space->stop->copy_end_ns) {
			space->out_of_time = true;
			break;
		}
		l.threads[l.n] = i;
		l.avmas[l.n++] = space->snap->threads[i].fs_base + space->context.offsets[0];
		if (l.n < SW_CAPTURE_READS)
			continue;
		led_add(space, &l);
	}
	led_add(space, &l);
	if (space->n_parts == from)
		return;
	sw_capture_parts_trim(space, from);
	parts_place(space, from);
	sw_capture_parts_copy(space, from);
}

void sw_capture_space_fill(void *arg, struct sw_stop *stop)
{
	struct sw_capture_space *space = arg;
	struct sw_snapshot *snap = space->snap;
	window_begin(space);
	snap->n_threads = stop->n;
	for (size_t i = 0; i < stop->n; i++) {
		snap->threads[i].tid = stop->tracees[i].tid;
		if (!stop->tracees[i].has_regs || (space->chosen != NULL && !space->chosen[i]))
			continue;
		sw_arch_thread_fill(&snap->threads[i], &stop->tracees[i].regs);
		stack_add(space, i);
	}
	/* Before the stacks, which may take all the time there is: a few pages, without which no thread's functions are told. */
	if (!space->only_rest)
		sw_capture_touch_foreseen(space);
	space->stacks_max = space->n_parts + SW_CAPTURE_STACKS * stop->n;
	space->n_found = space->n_parts;
	if (!space->only_rest)
		hooks_stacks(space);
	space->n_hooked = space->n_parts - space->n_found;
	waits_add(space);
	sw_capture_parts_trim(space,
			      0); /* the locks, too: they may lie in pages that do not come */
	parts_place(space, space->first);
	sw_capture_parts_copy(space, space->first);
	contexts_copy(space);
	if (space->only_rest)
		return;
	sw_capture_touch(space);
	hooks_in_window(space);
}
