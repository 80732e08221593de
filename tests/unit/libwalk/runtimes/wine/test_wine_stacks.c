/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stacks hook over this very process: its memory is what a stopped target's would be. */
#include "arch/arch.h"
#include "capture/space.h"
#include "fake.h"
#include "runtimes/wine/frames.h"
#include "runtimes/wine/stacks.h"
#include "test.h"

#include <sys/mman.h>

enum {
	BLOCK = 0x10000,
	TEB_OFF = 0x2000,
	SIGNAL_OFF = 0x3800,
	UNIX_BYTES = 0x100000,
	WINDOWS_BYTES = 0x40000,
	FRAME_OFF = 0xff000, /* in the Unix stack */
	TEB_BYTES = 0x378,
	RED = SW_ARCH_RED_ZONE,
	PARTS = 16,
};

/* TEB block, Unix stack, Windows stack: real mappings of this process. */
struct process {
	uint8_t *block, *unix_stack, *windows;
	struct sw_snapshot *snap;
	struct sw_stop stop;
	struct sw_tracee tracee;
	struct sw_capture_part parts[PARTS];
	struct sw_capture_space space;
};

static uint64_t avma(const void *p)
{
	return (uint64_t) (uintptr_t) p;
}

static void put(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

static uint8_t *map(size_t bytes)
{
	uint8_t *p = mmap(NULL, bytes + BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	assert_true(p != MAP_FAILED);
	return p + (BLOCK - avma(p) % BLOCK) % BLOCK; /* stays mapped until the test ends */
}

/* Make a thread with this sp, whose part the space has found already. */
static void process_init(struct process *p, size_t sp_block, uint64_t sp_off)
{
	memset(p, 0, sizeof(*p));
	p->block = map(BLOCK);
	p->unix_stack = map(UNIX_BYTES);
	p->windows = map(WINDOWS_BYTES);
	uint8_t *teb = p->block + TEB_OFF;
	put(teb + 0x08, avma(p->windows) + WINDOWS_BYTES);
	put(teb + 0x10, avma(p->windows));
	put(teb + 0x30, avma(teb));
	put(teb + 0x328, avma(p->unix_stack) + FRAME_OFF);
	put(teb + 0x370, avma(p->unix_stack));
	uint8_t *const stacks[] = {p->windows, p->unix_stack, p->block};
	static const size_t sizes[] = {WINDOWS_BYTES, UNIX_BYTES, BLOCK};
	p->snap = fake_snapshot_create();
	for (size_t i = 0; i < 3; i++)
		(void) fake_snapshot_map(p->snap, avma(stacks[i]), avma(stacks[i]) + sizes[i],
					 "rw-p", "");
	sw_snapshot_index(p->snap);
	static const uint64_t none[1];
	uint64_t sp = avma(stacks[sp_block]) + sp_off,
		 end = avma(stacks[sp_block]) + sizes[sp_block];
	struct sw_thread *t = fake_snapshot_thread(p->snap, 1, 0x1000, sp, none, 1);
	p->snap->n_maps--; /* it is there already */
	t->gs_base = avma(teb);
	t->stack_end_avma = end;
	p->tracee = (struct sw_tracee){.tid = getpid(), .has_regs = true};
	p->stop = (struct sw_stop){.tracees = &p->tracee, .n = 1, .mem_fd = -1};
	p->parts[0] =
		(struct sw_capture_part){.avma = sp - RED, .bytes = end - sp + RED, .thread = 0};
	/* The part that was taken for the thread's own stack. */
	p->parts[1] = (struct sw_capture_part){.avma = avma(p->unix_stack),
					       .bytes = UNIX_BYTES,
					       .thread = -1};
	p->space = (struct sw_capture_space){.snap = p->snap,
					     .stop = &p->stop,
					     .stack_bytes = 1 << 20,
					     .parts = p->parts,
					     .n_parts = 2,
					     .parts_max = PARTS,
					     .stacks_max = PARTS,
					     .n_found = 2};
}

static void hook_run(struct process *p)
{
	struct sw_capture capture = sw_capture_of(&p->space);
	assert_int_equal(sw_wine_stacks(&capture), 0);
}

/* Check that part number i is [start, end). */
static void part_is(const struct process *p, size_t i, uint64_t start, uint64_t end)
{
	assert_true(i < p->space.n_parts);
	assert_int_equal(p->parts[i].avma, start);
	assert_int_equal(p->parts[i].bytes, end - start);
}

static uint64_t teb_of(const struct process *p)
{
	return avma(p->block) + TEB_OFF;
}

/* In Windows code: the Unix stack from the last call's frame on, not all of it. */
TEST(test_windows_code)
{
	struct process p;
	process_init(&p, 0, 0x8000);
	hook_run(&p);
	uint64_t unix_stack = avma(p.unix_stack), windows = avma(p.windows);
	part_is(&p, 0, windows + 0x8000 - RED, windows + WINDOWS_BYTES);
	assert_int_equal(p.parts[1].bytes, 0);
	part_is(&p, 2, teb_of(&p) - RED, teb_of(&p) + TEB_BYTES);
	part_is(&p, 3, unix_stack + FRAME_OFF - RED, unix_stack + UNIX_BYTES);
	assert_int_equal(p.space.n_parts, 4);
	assert_int_equal(p.snap->threads[0].stack_end_avma, windows + WINDOWS_BYTES);
	fake_snapshot_destroy(p.snap);
}

/* In a system call: the Windows stack from where it was left. */
TEST(test_system_call)
{
	struct process p;
	process_init(&p, 1, FRAME_OFF - 0x400);
	put(p.unix_stack + FRAME_OFF + 0x88, avma(p.windows) + 0x30000);
	hook_run(&p);
	part_is(&p, 2, teb_of(&p) - RED, teb_of(&p) + TEB_BYTES);
	part_is(&p, 3, avma(p.windows) + 0x30000 - RED, avma(p.windows) + WINDOWS_BYTES);
	assert_int_equal(p.parts[1].bytes, 0);
	assert_int_equal(p.space.n_parts, 4);
	fake_snapshot_destroy(p.snap);
}

/* NtContinue() replaces the frame by a CONTEXT below the stack that comes with it: copied, too. */
TEST(test_replaced)
{
	for (int replacing = 0; replacing < 2; replacing++) {
		struct process p;
		process_init(&p, 1, 0x4000);
		uint64_t windows = avma(p.windows);
		struct sw_regs *regs = &p.snap->threads[0].regs;
		put(p.unix_stack + FRAME_OFF + 0x88, windows + 0x30000);
		sw_regs_set(regs, SW_X86_64_RBX, windows + 0x2f000);
		sw_regs_set(regs, SW_X86_64_RDI, windows + 0x1000); /* too far below */
		if (replacing)
			sw_regs_set(regs, SW_X86_64_R12, avma(p.unix_stack) + FRAME_OFF);
		hook_run(&p);
		part_is(&p, p.space.n_parts - 1, windows + (replacing ? 0x2f000 : 0x30000) - RED,
			windows + WINDOWS_BYTES);
		fake_snapshot_destroy(p.snap);
	}
}

/* A frame that names no place on the stack copies nothing. */
TEST(test_nonsense)
{
	struct process p;
	process_init(&p, 1, FRAME_OFF - 0x400);
	put(p.unix_stack + FRAME_OFF + 0x88, 0x1234);
	hook_run(&p);
	assert_int_equal(p.space.n_parts, 3);
	fake_snapshot_destroy(p.snap);

	process_init(&p, 1, FRAME_OFF - 0x400);
	put(p.block + TEB_OFF + 0x30, 0);
	hook_run(&p);
	assert_int_equal(p.space.n_parts, 2);
	assert_int_equal(p.parts[1].bytes, UNIX_BYTES);
	fake_snapshot_destroy(p.snap);
}

/* In a signal's handler: what the signal interrupted, from the kernel's frame. */
TEST(test_signal)
{
	struct process p;
	process_init(&p, 2, 0xf000);
	uint8_t *frame = p.block + 0xf400; /* of ucontext's stack_t: sp, flags, size, registers */
	put(frame, avma(p.block) + SIGNAL_OFF);
	put(frame + 0x10, BLOCK - SIGNAL_OFF);
	put(frame + 0x18 + 15 * 8, avma(p.windows) + 0x20000);
	hook_run(&p);
	uint64_t unix_stack = avma(p.unix_stack);
	part_is(&p, 2, teb_of(&p) - RED, teb_of(&p) + TEB_BYTES);
	part_is(&p, 3, avma(p.windows) + 0x20000 - RED, avma(p.windows) + WINDOWS_BYTES);
	part_is(&p, 4, unix_stack + FRAME_OFF - RED, unix_stack + UNIX_BYTES);
	assert_int_equal(p.space.n_parts, 5);
	assert_int_equal(p.parts[1].bytes, 0);
	fake_snapshot_destroy(p.snap);
}

/* Without process_vm_readv() the same is read from /proc/PID/mem. */
TEST(test_call_refused)
{
	struct process p;
	process_init(&p, 1, FRAME_OFF - 0x400);
	put(p.unix_stack + FRAME_OFF + 0x88, avma(p.windows) + 0x30000);
	p.space.no_vm_readv = true;
	p.stop.mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(p.stop.mem_fd >= 0);
	hook_run(&p);
	part_is(&p, 3, avma(p.windows) + 0x30000 - RED, avma(p.windows) + WINDOWS_BYTES);
	assert_int_equal(p.space.n_parts, 4);
	close(p.stop.mem_fd);
	fake_snapshot_destroy(p.snap);
}

/* Memory that cannot be read keeps nothing else from being read. */
TEST(test_many_reads)
{
	enum { N = 2 * SW_CAPTURE_READS + 7 };
	struct process p;
	static uint64_t values[N], got[N];
	static struct sw_capture_read reads[N];
	process_init(&p, 0, 0x8000);
	struct sw_capture capture = sw_capture_of(&p.space);
	for (size_t i = 0; i < N; i++) {
		values[i] = i * 3;
		bool bad = i == 0 || i == 5 || i == 6 || i == SW_CAPTURE_READS + 1 || i == N - 1;
		reads[i] = (struct sw_capture_read){bad ? 16 : avma(&values[i]), &got[i],
						    sizeof(got[i]), false};
	}
	sw_capture_read_many(&capture, reads, N);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(reads[i].ok, reads[i].avma != 16);
		assert_int_equal(got[i], reads[i].ok ? i * 3 : 0);
	}
	fake_snapshot_destroy(p.snap);
}

/* A signal in a signal's handler: the outer frame, which is above, counts. */
TEST(test_signal_frame)
{
	static uint64_t words[256];
	struct sw_wine_teb teb = {.signal_avma = 0x3800, .signal_end_avma = 0x10000};
	struct sw_bytes bytes = {(const uint8_t *) words, sizeof(words)};
	uint64_t sp;
	assert_false(sw_wine_signal_sp(bytes, &teb, &sp));
	static const size_t frames[] = {40, 120};
	for (size_t i = 0; i < 2; i++) {
		words[frames[i]] = 0x3800;
		words[frames[i] + 2] = 0xc800;
		words[frames[i] + 3 + 15] = frames[i];
	}
	words[200] = 0x3800; /* of no frame */
	assert_true(sw_wine_signal_sp(bytes, &teb, &sp));
	assert_int_equal(sp, 120);
}

/* The end that is told only makes a stack shorter. */
TEST(test_known_end)
{
	struct process p;
	process_init(&p, 0, 0x8000);
	struct sw_capture capture = sw_capture_of(&p.space);
	uint64_t windows = avma(p.windows);
	sw_capture_stack_known(&capture, 0, windows);
	assert_int_equal(p.parts[1].bytes, UNIX_BYTES);
	sw_capture_stack_known(&capture, 0, windows + WINDOWS_BYTES + 1);
	part_is(&p, 0, windows + 0x8000 - RED, windows + WINDOWS_BYTES);
	assert_int_equal(p.parts[1].bytes, 0);
	p.parts[0].bytes = 0x1000;
	p.parts[0].cut = true;
	sw_capture_stack_known(&capture, 0, windows + 0x10000);
	assert_int_equal(p.parts[0].bytes, 0x1000);
	assert_true(p.parts[0].cut);
	assert_int_equal(p.snap->threads[0].stack_end_avma, windows + 0x10000);
	sw_capture_stack_known(&capture, 0, windows + 0x8800);
	part_is(&p, 0, windows + 0x8000 - RED, windows + 0x8800);
	assert_false(p.parts[0].cut);
	fake_snapshot_destroy(p.snap);
}
