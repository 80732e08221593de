/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copies of stacks, from the registers to the snapshot: capture/stacks.c, copy.c and space.c
 * against a kernel whose memory is a table.
 */
#include "arch/arch.h"
#include "capture/copy.h"
#include "capture/space.h"
#include "capture/stacks.h"
#include "fake.h"
#include "fake_kernel.h"
#include "snapshot/snapshot.h"
#include "waits/range.h"
#include "test.h"

#include <sys/mman.h>
#include <sys/syscall.h>

enum {
	STACK_AVMA = 0x700000, /* of the first thread; the others' follow */
	STACK_BYTES = 0x10000,
	STACK_MAX = 0x2000, /* most that is copied of one */
	SP_OFF = 0x8000,
	FS_OFF = 0x8500, /* its page is the last one in use */
	TOP_OFF = 0x9000,
	THREADS = 4,
};

struct fixture {
	struct sw_snapshot *snap;
	struct sw_stop stop;
	struct sw_tracee tracees[THREADS];
	struct sw_capture_space *space;
};

/* Every byte of the target tells its address. */
static uint8_t memory[THREADS * STACK_BYTES];

static uint8_t byte_at(uint64_t avma)
{
	return (uint8_t) (avma * 7 + (avma >> 8));
}

static uint64_t stack_avma(size_t thread)
{
	return STACK_AVMA + thread * STACK_BYTES;
}

static struct fixture *start_with(size_t n, const struct sw_snapshot_options *options)
{
	static struct fixture f;
	f = (struct fixture){.snap = fake_snapshot_create()};
	fake_kernel = (struct fake_kernel){.n_ranges = n};
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = byte_at(STACK_AVMA + i);
	for (size_t i = 0; i < n; i++) {
		f.tracees[i] = (struct sw_tracee){.tid = (pid_t) (11 + i), .has_regs = true};
		f.tracees[i].regs.rsp = stack_avma(i) + SP_OFF;
		f.tracees[i].regs.fs_base = stack_avma(i) + FS_OFF;
		f.tracees[i].regs.orig_rax = (unsigned long long) -1;
		fake_kernel.ranges[i] =
			(struct fake_range){stack_avma(i), memory + i * STACK_BYTES, STACK_BYTES};
		(void) fake_snapshot_map(f.snap, stack_avma(i), stack_avma(i) + STACK_BYTES, "rw-p",
					 "");
	}
	f.snap->process.pid = 1; /* none of them is the leader */
	f.stop = (struct sw_stop){.tracees = f.tracees,
				  .n = n,
				  .capacity = THREADS,
				  .mem_fd = -EBADF,
				  .new_threads = true,
				  .finished = true,
				  .deadline_ns = INT64_MAX,
				  .copy_end_ns = INT64_MAX};
	assert_int_equal(sw_capture_space_create(f.snap, &f.stop, options, THREADS, &f.space, NULL),
			 0);
	f.space->capture = sw_capture_of(f.space);
	return &f;
}

static struct fixture *start(size_t n)
{
	const struct sw_snapshot_options options = {.stack_bytes = STACK_MAX,
						    .total_bytes = THREADS * STACK_MAX};
	return start_with(n, &options);
}

static void run(struct fixture *f)
{
	sw_capture_space_fill(f->space, &f->stop);
	sw_capture_space_finish(f->space);
}

static void end(struct fixture *f)
{
	fake_snapshot_destroy(f->snap);
}

/* The copied part of a thread's stack is true. */
static void assert_stack(const struct fixture *f, size_t thread, uint64_t avma, size_t bytes)
{
	const struct sw_thread *t = &f->snap->threads[thread];
	assert_int_equal(t->stack_bytes, bytes);
	assert_int_equal(t->stack_avma, avma);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(t->stack[i], byte_at(avma + i));
}

static uint64_t begin_of(size_t thread)
{
	return stack_avma(thread) + SP_OFF - SW_ARCH_RED_ZONE;
}

/* From below sp, where leaf functions have variables, to the thread's control block. */
TEST(test_whole)
{
	struct fixture *f = start(2);
	f->tracees[0].has_regs = false;
	f->tracees[1].regs.rip = 0x401000;
	run(f);
	assert_stack(f, 1, begin_of(1), TOP_OFF - SP_OFF + SW_ARCH_RED_ZONE);
	assert_int_equal(f->snap->threads[0].stack_bytes, 0);
	assert_int_equal(f->snap->threads[1].regs.pc_avma, 0x401000);
	assert_int_equal(f->snap->threads[1].stack_end_avma, stack_avma(1) + STACK_BYTES);
	assert_int_equal(fake_kernel.readv_pid, 12); /* the one that is held */
	assert_int_equal(f->snap->n_warnings, 0);
	end(f);
}

/* Pages that are not there end a copy; what follows it is copied nevertheless. */
TEST(test_partly)
{
	struct fixture *f = start(3);
	fake_kernel.ranges[0].size = SP_OFF + 0x100;
	fake_kernel.ranges[1].size = 0x1000; /* nothing of it */
	run(f);
	assert_stack(f, 0, begin_of(0), 0x100 + SW_ARCH_RED_ZONE);
	assert_int_equal(f->snap->threads[1].stack_bytes, 0);
	assert_stack(f, 2, begin_of(2), TOP_OFF - SP_OFF + SW_ARCH_RED_ZONE);
	end(f);
}

TEST(test_cut)
{
	struct fixture *f = start(1);
	f->tracees[0].regs.fs_base = 0; /* not known: the whole mapping is the stack */
	run(f);
	assert_stack(f, 0, begin_of(0), STACK_MAX);
	assert_int_equal(f->snap->n_warnings, 1);
	assert_int_equal(f->snap->warnings[0].code, SW_WARN_STACK_LIMIT);
	assert_int_equal(f->snap->warnings[0].tid, 11);
	/* The stack's upper end is there, too: a walk may leap over what lies between. */
	assert_int_equal(f->snap->n_ranges, 1);
	assert_int_equal(f->snap->ranges[0].start_avma, stack_avma(1) - STACK_MAX);
	assert_int_equal(f->snap->ranges[0].bytes, STACK_MAX);
	assert_int_equal(f->snap->ranges[0].data[0], byte_at(stack_avma(1) - STACK_MAX));
	end(f);
}

/* All together are above the limit: each has an equal part. */
TEST(test_shares)
{
	const struct sw_snapshot_options options = {.stack_bytes = STACK_MAX,
						    .total_bytes = STACK_MAX};
	struct fixture *f = start_with(4, &options);
	run(f);
	for (size_t i = 0; i < 4; i++)
		assert_stack(f, i, begin_of(i), STACK_MAX / 4);
	assert_int_equal(f->snap->n_warnings, 4);
	end(f);
}

/* On an alternate stack: the thread's own is copied, too, from its lower end. */
TEST(test_two_stacks)
{
	struct fixture *f = start(2);
	f->stop.n = 1;
	f->tracees[0].regs.fs_base = stack_avma(1) + 0x1100;
	run(f);
	assert_stack(f, 0, begin_of(0), STACK_MAX);
	/* The upper end of both is kept, where their first frames are. */
	assert_int_equal(f->snap->n_ranges, 2);
	assert_int_equal(f->snap->ranges[0].start_avma, stack_avma(1) - STACK_MAX);
	assert_int_equal(f->snap->ranges[0].bytes, STACK_MAX);
	assert_int_equal(f->snap->ranges[1].start_avma, stack_avma(1));
	assert_int_equal(f->snap->ranges[1].bytes, 0x2000);
	end(f);
}

/* In no mapping that is known: some of it, and the end stays open. */
TEST(test_unknown)
{
	struct fixture *f = start(1);
	f->snap->maps[0].start_avma = 0x10000;
	f->snap->maps[0].end_avma = 0x11000;
	run(f);
	assert_int_equal(f->snap->threads[0].stack_end_avma, 0);
	assert_stack(f, 0, begin_of(0) & -(uint64_t) 4096, STACK_MAX);
	end(f);
}

/* The first batch is copied, whatever the time is; others are not begun after the deadline. */
TEST(test_deadline)
{
	const struct sw_snapshot_options options = {.stack_bytes = SW_CAPTURE_BATCH_BYTES,
						    .total_bytes = 4 * SW_CAPTURE_BATCH_BYTES};
	struct fixture *f = start_with(2, &options);
	for (size_t i = 0; i < 2; i++) { /* a batch of its own each */
		f->snap->maps[i].start_avma = UINT64_C(0x100000000) * (i + 1);
		f->snap->maps[i].end_avma = UINT64_C(0x100000000) * (i + 2);
		f->tracees[i].regs.rsp = UINT64_C(0x100000000) * (i + 1) + 0x1000;
		f->tracees[i].regs.fs_base = 0;
		fake_kernel.ranges[i].start_avma = f->snap->maps[i].start_avma;
	}
	f->stop.copy_end_ns = (int64_t) 1000 * 1000000000 + 5 * FAKE_TICK_NS;
	fake_kernel.copy_ns = 100 * FAKE_TICK_NS;
	run(f);
	assert_true(f->snap->threads[0].stack_bytes > 0);
	assert_int_equal(f->snap->threads[1].stack_bytes, 0);
	assert_true(f->stop.timed_out);
	assert_string_equal(fake_kernel.log, "c");
	end(f);
}

/* Where the system call is refused, /proc/PID/mem is read. */
TEST(test_without_readv)
{
	struct fixture *f = start(2);
	fake_kernel.readv_errno = EPERM;
	f->stop.mem_fd = memfd_create("mem", MFD_CLOEXEC);
	assert_int_equal(pwrite(f->stop.mem_fd, memory, sizeof(memory), STACK_AVMA),
			 sizeof(memory));
	run(f);
	assert_stack(f, 0, begin_of(0), TOP_OFF - SP_OFF + SW_ARCH_RED_ZONE);
	assert_stack(f, 1, begin_of(1), TOP_OFF - SP_OFF + SW_ARCH_RED_ZONE);
	assert_int_equal(close(f->stop.mem_fd), 0);
	end(f);
}

/* The helper died after the first one: the second is taken as not copied. */
TEST(test_unfinished)
{
	struct fixture *f = start(2);
	sw_capture_space_fill(f->space, &f->stop);
	f->stop.finished = false;
	f->space->n_copied = 1;
	sw_capture_space_finish(f->space);
	assert_stack(f, 0, begin_of(0), TOP_OFF - SP_OFF + SW_ARCH_RED_ZONE);
	assert_int_equal(f->snap->threads[1].stack_bytes, 0);
	end(f);
}

/* The same where the reader did not come back, which is said of the stack. */
TEST(test_stalled)
{
	struct fixture *f = start(2);
	sw_capture_space_fill(f->space, &f->stop);
	f->stop.stalled = true;
	f->space->n_copied = 1;
	sw_capture_space_finish(f->space);
	assert_false(f->snap->threads[0].pages_missing);
	assert_true(f->snap->threads[1].pages_missing);
	assert_int_equal(f->snap->threads[1].stack_bytes, 0);
	end(f);
}

/* ---- what hooks do --------------------------------------------------------------------------- */

/* Checked against what is left of the space, not against all of it. */
TEST(test_space_left)
{
	struct fixture *f = start(1);
	const uint8_t *data = NULL;
	f->space->used = f->space->size - 100;
	assert_false(sw_capture_copy_range(&f->space->capture, STACK_AVMA, 101, &data));
	assert_true(f->space->space_short);
	assert_int_equal(f->snap->n_ranges, 0);
	assert_true(sw_capture_copy_range(&f->space->capture, STACK_AVMA, 100, &data));
	assert_int_equal(f->space->used, f->space->size);
	assert_memory_equal(data, memory, 100);
	assert_int_equal(f->snap->n_ranges, 1);
	assert_false(sw_capture_copy_range(&f->space->capture, STACK_AVMA, 1, &data));
	end(f);
}

/* Memory that cannot be read as a whole is no range, and uses no space. */
TEST(test_range_partly)
{
	struct fixture *f = start(1);
	const uint8_t *data = NULL;
	assert_false(
		sw_capture_copy_range(&f->space->capture, STACK_AVMA + STACK_BYTES - 8, 9, &data));
	assert_int_equal(f->space->used, 0);
	assert_int_equal(f->snap->n_ranges, 0);
	assert_false(f->space->space_short);
	assert_true(
		sw_capture_copy_range(&f->space->capture, STACK_AVMA + STACK_BYTES - 8, 8, &data));
	end(f);
}

TEST(test_ranges_max)
{
	struct fixture *f = start(1);
	const uint8_t *data = NULL;
	for (size_t i = 0; i < SW_CAPTURE_RANGES; i++)
		assert_true(sw_capture_copy_range(&f->space->capture, STACK_AVMA, 1, &data));
	assert_false(sw_capture_copy_range(&f->space->capture, STACK_AVMA, 1, &data));
	assert_true(f->space->space_short);
	end(f);
}

/* Memory that was wanted before is found in what was read of it, not in what was asked for. */
TEST(test_wanted)
{
	struct fixture *f = start(1);
	uint8_t bytes[8];
	assert_int_equal(sw_capture_want(&f->space->capture, STACK_AVMA + STACK_BYTES - 16, 32), 0);
	assert_int_equal(sw_capture_want(&f->space->capture, 0, SW_CAPTURE_WANT_BYTES - 31),
			 -SW_E_LIMIT);
	assert_int_equal(sw_capture_want(&f->space->capture, 0, SW_CAPTURE_WANT_BYTES - 32), 0);
	assert_int_equal(sw_capture_want(&f->space->capture, 0, 1), -SW_E_LIMIT);
	f->space->n_want = f->space->n_parts;
	sw_capture_space_fill(f->space, &f->stop);
	uint64_t at = STACK_AVMA + STACK_BYTES - 16;
	assert_true(sw_capture_wanted(&f->space->capture, at + 8, bytes, 8));
	assert_memory_equal(bytes, memory + STACK_BYTES - 8, 8);
	assert_false(sw_capture_wanted(&f->space->capture, at + 9, bytes, 8));
	assert_false(sw_capture_wanted(&f->space->capture, at - 1, bytes, 8));
	assert_false(sw_capture_wanted(&f->space->capture, UINT64_MAX, bytes, 8));
	end(f);
}

/* In any order, again and again; stacks are found from the red zone to where their copies end. */
TEST(test_in_stack)
{
	struct fixture *f = start(3);
	struct sw_capture *capture = &f->space->capture;
	uint8_t bytes[8];
	for (size_t i = 0; i < 3; i++) /* what is wanted comes before stacks */
		assert_int_equal(sw_capture_want(capture, stack_avma(i), 16), 0);
	f->space->n_want = f->space->n_parts;
	sw_capture_space_fill(f->space, &f->stop);
	static const size_t order[] = {0, 2, 1, 1, 0, 1, 2, 2};
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		size_t thread = order[i];
		assert_true(sw_capture_in_stack(capture, begin_of(thread), bytes, 8));
		assert_memory_equal(bytes, memory + begin_of(thread) - STACK_AVMA, 8);
		assert_true(
			sw_capture_in_stack(capture, stack_avma(thread) + TOP_OFF - 8, bytes, 8));
		assert_false(
			sw_capture_in_stack(capture, stack_avma(thread) + TOP_OFF - 7, bytes, 8));
		assert_false(sw_capture_in_stack(capture, begin_of(thread) - 1, bytes, 8));
		assert_true(sw_capture_wanted(capture, stack_avma(thread) + 8, bytes, 8));
		assert_memory_equal(bytes, memory + thread * STACK_BYTES + 8, 8);
		assert_false(sw_capture_in_stack(capture, stack_avma(thread) + 8, bytes, 8));
	}
	assert_false(sw_capture_in_stack(capture, UINT64_MAX, bytes, 8));
	/* A window with fewer stacks than there were. */
	f->stop.n = 1;
	sw_capture_space_fill(f->space, &f->stop);
	assert_true(sw_capture_in_stack(capture, begin_of(0), bytes, 8));
	assert_false(sw_capture_in_stack(capture, begin_of(2), bytes, 8));
	f->stop.n = 0;
	sw_capture_space_fill(f->space, &f->stop);
	assert_false(sw_capture_in_stack(capture, begin_of(0), bytes, 8));
	end(f);
}

TEST(test_reads)
{
	struct fixture *f = start(1);
	uint8_t bytes[5][4] = {{0}};
	struct sw_capture_read reads[5];
	for (size_t i = 0; i < 5; i++)
		reads[i] = (struct sw_capture_read){STACK_AVMA + 8 * i, bytes[i], 4, i == 2};
	reads[2].avma = STACK_AVMA + STACK_BYTES - 2; /* half of it */
	reads[3].avma = 0x10;
	sw_capture_reads(&f->space->capture, reads, 5);
	static const bool expected[] = {true, true, false, false, true};
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(reads[i].ok, expected[i]);
	assert_memory_equal(bytes[1], memory + 8, 4);
	assert_memory_equal(bytes[4], memory + 32, 4);
	end(f);
}

/* Pages that may not come are not read for hooks: only what is in memory is. */
TEST(test_reads_absent)
{
	enum { PAGE = 4096, ENTRY_BYTES = 8 };
	static const uint64_t present = UINT64_C(1) << 63, absent = 0;
	struct fixture *f = start(1);
	struct sw_pages *pages = &f->snap->priv->pages;
	uint8_t buffers[3][8] = {{0}};
	struct sw_capture_read reads[] = {{STACK_AVMA + 8, buffers[0], 8, false},
					  {STACK_AVMA + PAGE - 4, buffers[1], 8, true},
					  {STACK_AVMA + PAGE - 8, buffers[2], 8, false}};
	const off_t entry_off = STACK_AVMA / PAGE * ENTRY_BYTES;
	pages->careful = true;
	pages->pagemap_fd = memfd_create("pagemap", MFD_CLOEXEC);
	assert_int_equal(pwrite(pages->pagemap_fd, &present, ENTRY_BYTES, entry_off), ENTRY_BYTES);
	assert_int_equal(pwrite(pages->pagemap_fd, &absent, ENTRY_BYTES, entry_off + ENTRY_BYTES),
			 ENTRY_BYTES);
	sw_capture_reads(&f->space->capture, reads, 3);
	assert_true(reads[0].ok);
	assert_false(reads[1].ok);
	assert_true(reads[2].ok);
	assert_memory_equal(buffers[2], memory + PAGE - 8, 8);
	end(f);
}

TEST(test_all_held)
{
	struct fixture *f = start(2);
	assert_true(sw_capture_all_held(&f->space->capture));
	f->tracees[1].has_regs = false;
	assert_false(sw_capture_all_held(&f->space->capture));
	f->tracees[1].has_regs = true;
	f->stop.new_threads = false; /* others run on */
	assert_false(sw_capture_all_held(&f->space->capture));
	bool seems = true;
	f->space->seems_whole = &seems;
	assert_true(sw_capture_all_held(&f->space->capture));
	end(f);
}

/* A runtime knows where a stack ends: what lies above is somebody else's. */
TEST(test_stack_bound)
{
	struct fixture *f = start(2);
	sw_capture_space_fill(f->space, &f->stop);
	uint64_t end_avma = begin_of(1) + 0x200;
	sw_capture_stack_bound(&f->space->capture, 1, end_avma);
	assert_int_equal(f->snap->threads[1].stack_end_avma, end_avma);
	assert_int_equal(f->space->parts[1].bytes, 0x200);
	assert_true(f->space->parts[0].bytes > 0x200);
	/* Not beyond what is mapped. */
	sw_capture_stack_bound(&f->space->capture, 0, stack_avma(0) + 2 * STACK_BYTES);
	assert_int_equal(f->snap->threads[0].stack_end_avma, stack_avma(0) + STACK_BYTES);
	end(f);
}

/* ---- locks ----------------------------------------------------------------------------------- */

static void set_futex(struct user_regs_struct *regs, uint64_t word_avma)
{
	regs->orig_rax = SYS_futex;
	regs->rax = (unsigned long long) -512;
	regs->rdi = word_avma;
}

/* The words around the lock come with the registers; half of them is nothing. */
TEST(test_lock)
{
	struct fixture *f = start(2);
	set_futex(&f->tracees[0].regs, stack_avma(0) + 0x1000);
	set_futex(&f->tracees[1].regs, stack_avma(1) + STACK_BYTES - 4);
	run(f);
	assert_int_equal(f->snap->threads[0].wait_bytes, sizeof(f->snap->threads[0].wait));
	assert_memory_equal(f->snap->threads[0].wait, memory + 0x1000 - SW_FUTEX_BEFORE_BYTES,
			    sizeof(f->snap->threads[0].wait));
	assert_int_equal(f->snap->threads[1].wait_bytes, 0);
	end(f);
}
