/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The copy of Go's structures and stacks in the window: where a stack ends, and where one begins that the thread has left. */
#include "runtimes/go/window.h"
#include "arch/arch.h"
#include "go_world.h"
#include "runtimes/go/before.h"
#include "runtimes/go/stacks.h"
#include "snapshot/snapshot.h"
#include "test.h"

enum {
	HEAP_WORDS = 0x1000,
	THREADS = SW_GO_TOGETHER + 1,
	FS_STEP = 0x100,
	/* Words of m. */
	GSIGNAL = 10,
	CURG = GSIGNAL + SW_GO_CURG_FROM_GSIGNAL / 8,
	VDSO = 30,
	/* Words of the heap. */
	M = 0x100,
	G0 = 0x200,
	G = 0x240,
	SIGNAL = 0x280,
	EXTRA = 0x2c0,
	KIB = 1024,
};

#define HEAP         UINT64_C(0xc000000000)
#define FS           UINT64_C(0x7f0000000000)
#define G0_STACK     UINT64_C(0xd000000000)
#define G_STACK      UINT64_C(0xe000000000)
#define SIGNAL_STACK UINT64_C(0xf000000000)

static uint64_t heap[HEAP_WORDS], slots[THREADS * FS_STEP / 8];
static struct fake_memory fake;
static struct sw_go_window window;
static struct sw_snapshot *snap;
static struct sw_capture capture;
static void *found = &window;

/* The calls that were seen, one after the other: k(nown), s(tack), c(opy). */
static char log_of_calls[4096];
static size_t n_known;

static void note(const char *format, ...)
{
	size_t length = strlen(log_of_calls);
	va_list list;
	va_start(list, format);
	(void) vsnprintf(log_of_calls + length, sizeof(log_of_calls) - length, format, list);
	va_end(list);
}

static void stack_known(struct sw_capture *c, size_t thread, uint64_t end_avma)
{
	note(" k%zu:%llx", thread, (unsigned long long) end_avma);
	n_known++;
}

static bool stack_add(struct sw_capture *c, uint64_t sp_avma, uint64_t end_avma)
{
	note(" s%llx-%llx", (unsigned long long) sp_avma, (unsigned long long) end_avma);
	return true;
}

static bool copy(struct sw_capture *c, uint64_t avma, size_t bytes, const uint8_t **ret_data)
{
	note(" c%llx+%zx", (unsigned long long) avma, bytes);
	return true;
}

static void read_many(struct sw_capture *c, struct sw_capture_read *reads, size_t n)
{
	assert_true(n <= SW_CAPTURE_READS);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(reads[i].avma % 8, 0);
		reads[i].ok = sw_memory_read(fake_memory(&fake), reads[i].avma, reads[i].buffer,
					     reads[i].bytes);
	}
}

static bool is_whole(struct sw_capture *c)
{
	return true;
}

static const struct sw_capture_ops ops = {.stack_known = stack_known,
					  .stack = stack_add,
					  .copy = copy,
					  .read_many = read_many,
					  .is_whole = is_whole};

static uint64_t at(size_t word)
{
	return HEAP + 8 * word;
}

static void g_put(size_t g, uint64_t low, uint64_t high, uint64_t sched_sp)
{
	heap[g] = low;
	heap[g + 1] = high;
	heap[g + SW_GO_G_M] = at(M);
	heap[g + 7] = sched_sp;
}

/* A thread in a goroutine, which has g0's stack and one for signals besides. */
static int setup(void **state)
{
	static const struct fake_region regions[] = {{HEAP, heap, sizeof(heap)},
						     {FS - 8, slots, sizeof(slots)}};
	memset(heap, 0, sizeof(heap));
	memset(slots, 0, sizeof(slots));
	fake = (struct fake_memory){.regions = regions, .n_regions = 2};
	snap = fake_snapshot_create();
	snap->threads = sw_arena_calloc(&snap->priv->arena, THREADS, sizeof(*snap->threads));
	assert_non_null(snap->threads);
	snap->n_threads = 1;
	for (size_t i = 0; i < THREADS; i++) {
		slots[i * FS_STEP / 8] = at(G);
		snap->threads[i].fs_base = FS + i * FS_STEP;
	}
	heap[M] = at(G0);
	heap[M + GSIGNAL] = at(SIGNAL);
	heap[M + CURG] = at(G);
	g_put(G0, G0_STACK, G0_STACK + 16 * KIB, G0_STACK + 0x3000);
	g_put(G, G_STACK, G_STACK + 0x2000, G_STACK + 0x1800);
	g_put(SIGNAL, SIGNAL_STACK, SIGNAL_STACK + 0x8000, 0);
	window = (struct sw_go_window){.usable = {true}, .offsets = {(uint64_t) -8}};
	window.modules.n = 1;
	window.modules.all[0].image =
		(struct sw_go_image){.gsignal_off = 8 * GSIGNAL, .vdso_off = 8 * VDSO};
	capture = (struct sw_capture){.snap = snap, .ops = &ops, .found = &found};
	return 0;
}

static int teardown(void **state)
{
	fake_snapshot_destroy(snap);
	return 0;
}

static void sp_set(size_t thread, uint64_t sp)
{
	sw_regs_set(&snap->threads[thread].regs, SW_ARCH_SP, sp);
}

/* The stacks that are copied of a thread at sp. */
static void assert_stacks(uint64_t sp, const char *wanted)
{
	sp_set(0, sp);
	log_of_calls[0] = '\0';
	assert_int_equal(sw_go_window_stacks(&capture), 0);
	assert_string_equal(log_of_calls, wanted);
}

TEST_WITH(test_on_the_goroutine, setup, teardown)
{
	assert_stacks(G_STACK + 0x100, " k0:e000002000 sd000003000-d000004000");
	/* Nothing is known of one that was never left. */
	heap[G0 + 7] = 0;
	assert_stacks(G_STACK + 0x100, " k0:e000002000");
}

/* From where the scheduler saw it; the end of a stack that the system made is a guess. */
TEST_WITH(test_on_g0, setup, teardown)
{
	assert_stacks(G0_STACK + 0x100, " k0:d000004000 se000001800-e000002000");
	heap[G0 + 1] = G0_STACK + 0x800000;
	assert_stacks(G0_STACK + 0x100, " se000001800-e000002000");
	heap[G0 + 1] = G0_STACK + 16 * KIB - 64;
	assert_stacks(G0_STACK + 0x100, " se000001800-e000002000");
}

/* A call of the vDSO runs on g0's stack without the scheduler: from the frame that called it, or further down. */
TEST_WITH(test_in_the_vdso, setup, teardown)
{
	heap[M + VDSO] = G_STACK + 0x1000;
	heap[G + 7] = 0;
	assert_stacks(G0_STACK + 0x100, " k0:d000004000 se000000fc0-e000002000");
	heap[G + 7] = G_STACK + 0x1800;
	assert_stacks(G0_STACK + 0x100, " k0:d000004000 se000000fc0-e000002000");
	heap[G + 7] = G_STACK + 0x800;
	assert_stacks(G0_STACK + 0x100, " k0:d000004000 se000000800-e000002000");
	/* Too near the lower end to be that of a call. */
	heap[M + VDSO] = G_STACK + 0x38;
	heap[G + 7] = G_STACK + 0x1800;
	assert_stacks(G0_STACK + 0x100, " k0:d000004000 se000001800-e000002000");
	window.modules.all[0].image.vdso_off = 0;
	heap[M + VDSO] = G_STACK + 0x1000;
	assert_stacks(G0_STACK + 0x100, " k0:d000004000 se000001800-e000002000");
}

/* A signal may have interrupted the thread on either of the two: nothing says where. */
TEST_WITH(test_in_a_signal, setup, teardown)
{
	assert_stacks(SIGNAL_STACK + 0x100,
		      " k0:f000008000 se000000000-e000002000 sd000000000-d000004000");
}

/* A word of the slot that is no g, a g of another m, and threads without registers or TLS have nothing. */
TEST_WITH(test_not_of_go, setup, teardown)
{
	slots[0] = at(G) + 4;
	assert_stacks(G_STACK + 0x100, "");
	slots[0] = 0;
	assert_stacks(G_STACK + 0x100, "");
	slots[0] = 8;
	assert_stacks(G_STACK + 0x100, "");
	slots[0] = at(G0);
	heap[G + SW_GO_G_M] = at(EXTRA);
	assert_stacks(G0_STACK + 0x100, " k0:d000004000");
	assert_stacks(0, "");
	snap->threads[0].fs_base = 0;
	assert_stacks(G0_STACK + 0x100, "");
}

/* More threads than one call reads have all the stack of theirs. */
TEST_WITH(test_many, setup, teardown)
{
	snap->n_threads = THREADS;
	for (size_t i = 0; i < THREADS; i++)
		sp_set(i, G_STACK + 0x100);
	n_known = 0;
	log_of_calls[0] = '\0';
	assert_int_equal(sw_go_window_stacks(&capture), 0);
	assert_int_equal(n_known, THREADS);
}

/* All that leads to the stacks is copied: also a g that is none of the three. */
TEST_WITH(test_structures, setup, teardown)
{
	struct sw_go_seen seen[1];
	window.seen = seen;
	window.seen_max = 1;
	sp_set(0, G_STACK + 0x100);
	log_of_calls[0] = '\0';
	assert_int_equal(sw_go_in_window(&capture), 0);
	assert_string_equal(log_of_calls, " c7efffffffff8+8 cc000000800+100 cc000001000+48"
					  " cc000001200+48 cc000001400+48");
	assert_true(window.whole);
	assert_true(window.copied);
	assert_true(sw_go_window_fits(&window, &snap->threads[0]));
	slots[0] = at(EXTRA);
	heap[EXTRA + SW_GO_G_M] = at(M);
	window.modules.all[0].image.vdso_off = 0;
	log_of_calls[0] = '\0';
	assert_int_equal(sw_go_in_window(&capture), 0);
	assert_string_equal(log_of_calls, " c7efffffffff8+8 cc000000800+d8 cc000001000+48"
					  " cc000001200+48 cc000001400+48 cc000001600+48");
}

/* Before the window: where the slot is from the thread's TLS on, and space for threads that come. */
TEST(test_before)
{
	static struct go_world world;
	void *made = NULL;
	go_world_init(&world, false);
	struct sw_snapshot *s = go_world_snapshot(&world);
	const struct sw_capture_ops none = {.is_whole = is_whole};
	struct sw_capture before = {.snap = s, .ops = &none, .found = &made};
	assert_int_equal(sw_go_before(&before), 0);
	assert_non_null(made);
	const struct sw_go_window *w = made;
	assert_int_equal(w->modules.n, 1);
	assert_true(w->usable[0]);
	assert_int_equal((int64_t) w->offsets[0], -8);
	assert_true(w->seen_max >= 2 * s->n_threads + 32);
	assert_null(w->lists);
	fake_snapshot_destroy(s);
}
