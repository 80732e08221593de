/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * runtimes/clr/objects/{awaits,tasks}_touch: which stacks are looked through for what threads wait for, which objects are read
 * for that, and how many turns it takes.
 */
#include "clr_objects.h"
#include "runtimes/clr/objects/awaits_touch.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sys/syscall.h>

#define STACKS UINT64_C(0x600000000000)

enum { THREADS = 130, STACK_BYTES = 64 << 10, STACK_WORDS = STACK_BYTES / 8, PAGE = 4096 };

static struct {
	struct clr_objects o;
	bool was_read[OBJECTS_BYTES]; /* becomes the snapshot's */
	uint64_t stacks[THREADS][STACK_WORDS];
	uint64_t looked_end[THREADS]; /* up to which their stacks were looked at */
	bool stack_pages[THREADS][STACK_BYTES / PAGE], pages[OBJECTS_BYTES / PAGE]; /* are there */
	bool wanted_stacks[THREADS][STACK_BYTES / PAGE], wanted[OBJECTS_BYTES / PAGE];
	bool gathers, stuck;
	size_t n_turns;
	struct sw_snapshot snap;
	struct sw_snapshot_priv priv;
	struct sw_thread threads[THREADS];
	struct sw_map maps[2];
	struct sw_clr_pal pal;
	struct sw_clr_tasks_touching t;
	uint8_t stack_maps[2];
} w;

/* False: the page is not there. */
static bool page_is_there(bool *there, bool *wanted)
{
	if (w.gathers && w.stuck)
		return false;
	if (*there)
		return true;
	if (w.gathers) {
		*wanted = w.stuck = true;
		return false;
	}
	w.n_turns++;
	return *there = true;
}

static bool look(void *arg, uint64_t avma, void *buffer, size_t length)
{
	if (avma >= STACKS && avma < STACKS + sizeof(w.stacks)) {
		size_t off = (size_t) (avma - STACKS), i = off / STACK_BYTES;
		size_t page = off % STACK_BYTES / PAGE;
		assert_true(off % PAGE + length <= PAGE);
		if (!page_is_there(&w.stack_pages[i][page], &w.wanted_stacks[i][page]))
			return false;
		if (length > 1 && avma + length - STACKS - i * STACK_BYTES > w.looked_end[i])
			w.looked_end[i] = avma + length - STACKS - i * STACK_BYTES;
		memcpy(buffer, (const uint8_t *) w.stacks + off, length);
		return true;
	}
	size_t off = (size_t) (avma - OBJECTS_DATA);
	if (avma < OBJECTS_DATA || off >= OBJECTS_BYTES || length > OBJECTS_BYTES - off ||
	    !page_is_there(&w.pages[off / PAGE], &w.wanted[off / PAGE]))
		return false;
	memcpy(buffer, w.o.data + off, length);
	return true;
}

static bool target_read(void *arg, uint64_t avma, void *buffer, size_t length)
{
	if (!look(arg, avma, buffer, length))
		return false;
	if (avma >= OBJECTS_DATA)
		memset(w.was_read + (avma - OBJECTS_DATA), true, length);
	return true;
}

static bool part(void *arg)
{
	bool whole = !w.gathers || !w.stuck;
	w.gathers = true;
	w.stuck = false;
	return whole;
}

static bool fetch_of(bool *there, bool *wanted, size_t n)
{
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		any |= wanted[i];
		there[i] |= wanted[i];
		wanted[i] = false;
	}
	return any;
}

static bool fetch(void *arg)
{
	bool any = fetch_of(w.stack_pages[0], w.wanted_stacks[0], sizeof(w.stack_pages)) |
		   fetch_of(w.pages, w.wanted, sizeof(w.pages));
	w.gathers = false;
	w.n_turns += any;
	return any;
}

static const struct sw_memory_ops ops = {.read = target_read,
					 .look = look,
					 .part = part,
					 .fetch = fetch};
static const struct sw_memory_ops look_ops = {.read = look};

static void make(void)
{
	memset(&w, 0, sizeof(w));
	clr_objects_init(&w.o);
	w.maps[0] = (struct sw_map){.start_avma = STACKS,
				    .end_avma = STACKS + sizeof(w.stacks),
				    .prot = SW_MAP_READ | SW_MAP_WRITE,
				    .path = "",
				    .place = -1};
	w.maps[1] = (struct sw_map){.start_avma = OBJECTS_DATA,
				    .end_avma = OBJECTS_DATA + OBJECTS_BYTES,
				    .prot = SW_MAP_READ | SW_MAP_WRITE,
				    .path = "",
				    .place = -1};
	w.snap = (struct sw_snapshot){.priv = &w.priv,
				      .threads = w.threads,
				      .n_threads = THREADS,
				      .maps = w.maps,
				      .n_maps = 2};
	for (size_t i = 0; i < THREADS; i++) {
		w.threads[i].regs.sp_avma = STACKS + i * STACK_BYTES;
		w.threads[i].stack_end_avma = STACKS + (i + 1) * STACK_BYTES;
		w.threads[i].syscall = SYS_futex;
	}
	w.t.snap = w.t.graph.snap = &w.snap;
	w.t.end_ns = INT64_MAX;
	w.t.at = &w.o.at;
	w.t.pal = &w.pal;
	w.t.memory = (struct sw_memory){&ops, NULL};
	w.t.looks = (struct sw_memory){&look_ops, NULL};
	w.t.graph.stack_maps = w.stack_maps;
	w.t.graph.n_stack_maps = 2;
}

static bool object_was_read(uint64_t avma)
{
	return w.was_read[avma - OBJECTS_DATA + 8];
}

TEST(stacks_of_all_that_wait_are_looked_through)
{
	make();
	w.threads[1].syscall = SYS_read;
	w.threads[2].stack_end_avma = 0; /* it was not captured */
	sw_clr_waited_touch(&w.t);
	assert_int_equal(w.looked_end[0], SW_CLR_WAITED_STACK_BYTES);
	assert_int_equal(w.looked_end[1], 0);
	assert_int_equal(w.looked_end[2], 0);
	assert_int_equal(w.looked_end[THREADS - 1], SW_CLR_WAITED_STACK_BYTES);
	assert_false(w.t.cut);
}

TEST(other_stacks_are_looked_through_for_awaits)
{
	make();
	w.threads[1].syscall = SYS_read;
	sw_clr_tasks_touch(&w.t, true);
	assert_int_equal(w.looked_end[1], STACK_BYTES);
	assert_int_equal(w.looked_end[THREADS - 1], STACK_BYTES);
	assert_false(w.t.cut);
	/* A stack whose page was not there ends before it. */
	make();
	w.threads[5].stack_end_avma = STACKS + 6 * STACK_BYTES - 3;
	sw_clr_tasks_touch(&w.t, true);
	assert_int_equal(w.looked_end[5], STACK_BYTES - 8);
}

/* A stack for which there is no time is left out, which is noted. */
TEST(time_ends)
{
	make();
	w.t.end_ns = 0;
	sw_clr_waited_touch(&w.t);
	assert_int_equal(w.looked_end[0], 0);
	assert_true(w.t.cut);
	for (int running_only = 0; running_only < 2; running_only++) {
		make();
		w.t.end_ns = 0;
		sw_clr_tasks_touch(&w.t, running_only);
		assert_true(w.t.cut);
	}
	w.t.end_ns = INT64_MAX;
	sw_clr_tasks_touch(&w.t, true);
	assert_false(w.t.cut); /* of each run */
}

/* A box on a stack is read with what awaits it; an object of another class is not. */
TEST(boxes_are_read)
{
	make();
	uint64_t outer = clr_objects_box(&w.o, 0), inner = clr_objects_box(&w.o, outer);
	uint64_t other = clr_objects_new(&w.o, w.o.other);
	w.stacks[THREADS - 1][77] = inner;
	w.stacks[3][9] = other;
	sw_clr_tasks_touch(&w.t, true);
	assert_true(object_was_read(inner) && object_was_read(outer));
	assert_false(object_was_read(other));
	/* The same of all tasks, and in each run anew. */
	for (int i = 0; i < 2; i++) {
		memset(w.was_read, 0, sizeof(w.was_read));
		sw_clr_tasks_touch(&w.t, false);
		assert_true(object_was_read(inner) && object_was_read(outer));
	}
}

/* A register may have the box, too. */
TEST(registers_count)
{
	make();
	uint64_t box = clr_objects_box(&w.o, 0);
	w.threads[4].regs.known = 1U << 3;
	w.threads[4].regs.val[3] = box;
	sw_clr_tasks_touch(&w.t, true);
	assert_true(object_was_read(box));
}

/* Stacks of some threads come in one turn, and what their words lead to in another one. */
TEST(few_turns)
{
	make();
	for (size_t i = 0; i < THREADS; i++)
		w.stacks[i][i % 100] = clr_objects_new(&w.o, w.o.other);
	sw_clr_tasks_touch(&w.t, true);
	assert_int_equal(w.looked_end[THREADS - 1], STACK_BYTES);
	assert_in_range(w.n_turns, 3, 2 * 3 + sizeof(w.pages));
	make();
	sw_clr_tasks_touch(&w.t, false);
	assert_in_range(w.n_turns, 3, 2 * 2 * 3 + sizeof(w.pages));
}

/* Without parts, as over a core file, each page comes when it is missed. */
TEST(memory_without_parts)
{
	static const struct sw_memory_ops plain = {.read = target_read, .look = look};
	make();
	uint64_t box = clr_objects_box(&w.o, 0);
	w.stacks[8][1000] = box;
	w.t.memory.ops = &plain;
	sw_clr_tasks_touch(&w.t, true);
	assert_true(object_was_read(box));
	assert_int_equal(w.looked_end[THREADS - 1], STACK_BYTES);
}
