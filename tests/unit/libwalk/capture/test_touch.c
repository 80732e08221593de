/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * capture/touch: what a runtime's readers read in the reader is in the snapshot, of the window's instant. Whatever the
 * reader does, the target goes on in time, and the snapshot says what is missing.
 */
#include "capture/take.h"
#include "copier/pages.h"
#include "snapshot/read.h"
#include "snapshot/snapshot.h"
#include "still_process.h"
#include "unwind/capture.h"
#include "unwind/tables.h"
#include "test.h"

#include <snapwalk/clock.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
	THREADS = 2,
	MAX_STOP_MS = 200,
	LONG_MS = 20000,
	SLACK_MS = 4000,
	MS = 1000000,
	PAGE = 4096
};

/* Of the target, which is a child of this process: at the same address. */
static struct {
	uint64_t head;
	uint64_t words[4];
} list;

static void (*reads)(const struct sw_snapshot *snap, struct sw_memory memory);

static bool probe(const struct sw_snapshot *snap)
{
	(void) snap;
	return true;
}

static int before(struct sw_capture *capture)
{
	*capture->found = &list;
	return 0;
}

static void touch(const struct sw_snapshot *snap, void *found, struct sw_memory memory)
{
	if (found != &list)
		_exit(1);
	reads(snap, memory);
}

static int open_none(const struct sw_snapshot *snap, void *found, void **ret_state)
{
	(void) snap;
	(void) found;
	(void) ret_state;
	return 0;
}

static const struct sw_runtime_ops list_runtime = {
	.name = "list", .probe = probe, .before = before, .touch = touch, .open = open_none};
static const struct sw_runtime_ops *const runtimes[] = {&list_runtime};
static const struct sw_tables tables = {.runtimes = runtimes, .n_runtimes = 1};

static struct sw_context *ctx;
static struct sw_snapshot *snap;
static int64_t took_ns;
static uint32_t max_stop_ms;

static void take(void (*how)(const struct sw_snapshot *, struct sw_memory), enum sw_stop_mode stop)
{
	struct sw_target *target;
	const struct sw_snapshot_options options = {.stop = stop, .max_stop_ms = max_stop_ms};
	pid_t pid = still_process_start(THREADS);
	still_process_wait(pid, THREADS);
	reads = how;
	assert_int_equal(sw_context_create(&ctx, NULL), 0);
	assert_int_equal(sw_target_open(pid, &target, NULL), 0);
	took_ns = sw_clock_ns();
	assert_int_equal(sw_capture_take(ctx, target, &options, &tables, &snap, NULL), 0);
	took_ns = sw_clock_ns() - took_ns;
	still_process_wait(pid, THREADS); /* it goes on */
	sw_target_close(target);
	still_process_end(pid);
	for (size_t i = 0; i < snap->n_threads; i++)
		assert_true(snap->threads[i].captured && snap->threads[i].stack_bytes > 0);
}

static void done(void)
{
	sw_snapshot_destroy(snap);
	sw_context_destroy(ctx);
}

static bool has_word(uint64_t avma, uint64_t wanted)
{
	struct sw_snapshot_memory source = {.snap = snap, .no_live = true};
	uint64_t word;
	return sw_memory_u64(sw_snapshot_memory(&source), avma, &word) && word == wanted;
}

static bool warns(const char *text)
{
	for (size_t i = 0; i < snap->n_warnings; i++)
		if (strstr(snap->warnings[i].message, text) != NULL)
			return true;
	return false;
}

static int setup(void **state)
{
	(void) state;
	list.head = (uint64_t) (uintptr_t) &list.words[2];
	list.words[2] = 0x1234567;
	max_stop_ms = MAX_STOP_MS;
	return 0;
}

static bool in_window(const struct sw_snapshot *s)
{
	for (size_t i = 0; i < s->n_threads; i++)
		if (s->threads[i].captured)
			return true;
	return false;
}

/* Registers are known in the window alone. */
static void follow(const struct sw_snapshot *s, struct sw_memory memory)
{
	uint64_t at = 0, word;
	(void) sw_memory_u64(memory, (uint64_t) (uintptr_t) &list.head, &at);
	(void) sw_memory_u64(memory, at, &word);
	for (size_t i = 0; i < s->n_threads; i++)
		if (s->threads[i].captured)
			(void) sw_memory_u64(memory, s->threads[i].fs_base, &word);
}

static void check_follow(enum sw_stop_mode stop)
{
	take(follow, stop);
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	for (size_t i = 0; i < snap->n_threads; i++)
		assert_true(has_word(snap->threads[i].fs_base, snap->threads[i].fs_base));
	assert_int_equal(snap->n_warnings, 0);
	/* Of the pages that they lie on nothing else is kept. */
	for (size_t i = 0; i < snap->n_ranges; i++)
		assert_true(snap->ranges[i].bytes <= 2 * SW_COPIER_GRANULE_BYTES);
	done();
}

TEST_WITH(test_copied, setup, NULL)
{
	check_follow(SW_STOP_ALWAYS);
}

TEST_WITH(test_copied_unstopped, setup, NULL)
{
	check_follow(SW_STOP_AUTO);
}

static void check_time(void)
{
	assert_true(snap->times.stopped_ns < (MAX_STOP_MS + SLACK_MS) * (int64_t) MS);
	assert_true(took_ns < (MAX_STOP_MS + 2 * SLACK_MS) * (int64_t) MS);
}

static void hang(const struct sw_snapshot *s, struct sw_memory memory)
{
	follow(s, memory);
	while (in_window(s))
		atomic_signal_fence(memory_order_seq_cst);
}

TEST_WITH(test_hangs, setup, NULL)
{
	take(hang, SW_STOP_ALWAYS);
	check_time();
	assert_true(warns("did not answer in time"));
	assert_true(warns("the limit of 200 ms"));
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	done();
}

static void hang_at_once(const struct sw_snapshot *s, struct sw_memory memory)
{
	(void) s;
	(void) memory;
	for (;;)
		atomic_signal_fence(memory_order_seq_cst);
}

/* Before the window: that one does not wait any more. */
TEST_WITH(test_hangs_before, setup, NULL)
{
	take(hang_at_once, SW_STOP_ALWAYS);
	check_time();
	assert_true(warns("did not answer in time"));
	assert_false(warns("the limit of 200 ms"));
	done();
}

static void die(const struct sw_snapshot *s, struct sw_memory memory)
{
	follow(s, memory);
	if (in_window(s))
		_exit(0);
}

TEST_WITH(test_dies, setup, NULL)
{
	take(die, SW_STOP_ALWAYS);
	check_time();
	assert_true(warns("data of runtimes ended"));
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	done();
}

/* What no reader of ours would write: 10^9 ranges, each of them as large as can be said. */
static void ask_for_all(const struct sw_snapshot *s, struct sw_memory memory)
{
	struct sw_copier_pages *pages = memory.arg;
	struct sw_copier_channel *c = pages->channel;
	follow(s, memory);
	for (size_t i = 0; in_window(s) && i < SW_COPIER_RANGES_MAX; i++)
		c->ranges[i] = (struct sw_copier_range){i * PAGE, UINT32_MAX, UINT32_MAX, 1};
	c->n_ranges = 1000000000;
	if (in_window(s))
		pages->ask(pages->arg);
}

TEST_WITH(test_asks_for_all, setup, NULL)
{
	take(ask_for_all, SW_STOP_ALWAYS);
	check_time();
	assert_true(warns("not copied in whole"));
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	done();
}

/* Addresses of nothing, of the kernel, of the vDSO's data, and the same page again and again. */
static void ask_for_nothing(const struct sw_snapshot *s, struct sw_memory memory)
{
	struct sw_copier_pages *pages = memory.arg;
	struct sw_copier_channel *c = pages->channel;
	uint64_t word;
	follow(s, memory);
	(void) sw_memory_u64(memory, 8, &word);
	(void) sw_memory_u64(memory, UINT64_MAX - 4096, &word);
	(void) sw_memory_u64(memory, UINT64_C(0xffffffffff600000), &word);
	for (size_t i = 0; i < s->n_maps; i++)
		(void) sw_memory_u64(memory, s->maps[i].start_avma, &word);
	while (in_window(s) && atomic_load(&c->over) == 0) {
		c->ranges[0] = (struct sw_copier_range){.avma = 8, .bytes = 8};
		c->n_ranges = 1;
		pages->ask(pages->arg);
	}
}

TEST_WITH(test_asks_for_nothing, setup, NULL)
{
	max_stop_ms = LONG_MS; /* the turns are the limit */
	take(ask_for_nothing, SW_STOP_ALWAYS);
	assert_true(warns("not copied in whole"));
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	done();
}
