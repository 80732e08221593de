/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/clr/objects/awaits_window: which stacks are looked through for what threads wait for, and whether it says so where
 * some are not. */
#include "runtimes/clr/objects/awaits_window.h"
#include "snapshot/snapshot.h"
#include "test.h"

#include <sys/syscall.h>

#define STACKS UINT64_C(0x600000000000)

enum { THREADS = 3, STACK_BYTES = 64 << 10 };

static struct {
	struct sw_clr_tasks_window window;
	struct sw_snapshot snap;
	struct sw_snapshot_priv priv;
	struct sw_thread threads[THREADS];
	struct sw_capture capture;
	uint8_t stack_maps[1];
	uint64_t read_end[THREADS]; /* up to which their stacks were read */
	size_t n_reads, late_after; /* reads; SIZE_MAX: never */
} w;

static bool in_stack(struct sw_capture *capture, uint64_t avma, void *buffer, size_t bytes)
{
	size_t i = (size_t) (avma - STACKS) / STACK_BYTES;
	assert_true(i < THREADS);
	w.read_end[i] = avma + bytes;
	w.n_reads++;
	memset(buffer, 0, bytes);
	return true;
}

static bool is_late(struct sw_capture *capture)
{
	return w.n_reads >= w.late_after;
}

static void make(void)
{
	static const struct sw_capture_ops ops = {.in_stack = in_stack, .is_late = is_late};
	memset(&w, 0, sizeof(w));
	w.snap = (struct sw_snapshot){.priv = &w.priv, .threads = w.threads, .n_threads = THREADS};
	w.capture = (struct sw_capture){.ops = &ops, .snap = &w.snap};
	for (size_t i = 0; i < THREADS; i++) {
		w.threads[i].regs.sp_avma = STACKS + i * STACK_BYTES;
		w.threads[i].stack_end_avma = STACKS + (i + 1) * STACK_BYTES;
		w.threads[i].syscall = SYS_futex;
	}
	w.window.capture = &w.capture;
	w.window.graph.snap = &w.snap;
	w.window.graph.stack_maps = w.stack_maps;
	w.window.pages = (struct sw_copied_blocks){.slots = w.window.slots,
						   .n_slots = SW_CLR_PAGE_SLOTS,
						   .block_bytes = SW_CLR_PAGE_BYTES,
						   .max = 1};
	w.late_after = SIZE_MAX;
}

static uint64_t looked_through(size_t i)
{
	return w.read_end[i] == 0 ? 0 : w.read_end[i] - (STACKS + i * STACK_BYTES);
}

TEST(all_that_wait_are_looked_through)
{
	make();
	w.threads[1].syscall = SYS_read;
	sw_clr_waited_copy(&w.window);
	assert_int_equal(looked_through(0), SW_CLR_WAITED_STACK_BYTES);
	assert_int_equal(looked_through(1), 0);
	assert_int_equal(looked_through(2), SW_CLR_WAITED_STACK_BYTES);
	assert_false(w.window.cut);
}

TEST(one_that_is_left_out_is_noted)
{
	make();
	w.late_after = SW_CLR_WAITED_STACK_BYTES / 512; /* a stack, by 64 words */
	sw_clr_waited_copy(&w.window);
	assert_int_equal(looked_through(0), SW_CLR_WAITED_STACK_BYTES);
	assert_int_equal(looked_through(1), 0);
	assert_true(w.window.cut);
}

TEST(one_without_space_is_noted)
{
	make();
	w.window.pages.max = 0;
	sw_clr_waited_copy(&w.window);
	assert_true(w.window.cut);
}

TEST(the_last_one_may_use_all_time)
{
	make();
	w.late_after = THREADS * SW_CLR_WAITED_STACK_BYTES / 512;
	sw_clr_waited_copy(&w.window);
	assert_int_equal(looked_through(THREADS - 1), SW_CLR_WAITED_STACK_BYTES);
	assert_false(w.window.cut);
}

TEST(so_it_is_without_tasks)
{
	make();
	sw_clr_awaits_copy(&w.window);
	assert_int_equal(looked_through(2), STACK_BYTES);
	assert_false(w.window.cut);
	make();
	w.late_after = 1;
	sw_clr_awaits_copy(&w.window);
	assert_true(w.window.cut);
}
