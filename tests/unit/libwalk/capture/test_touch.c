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

#include <sys/syscall.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>

enum {
	THREADS = 2,
	MAX_STOP_MS = 200,
	LONG_MS = 20000,
	STOP_MS = 50, /* far below the limit: the longest wait for the reader is 10 ms */
	TRIES = 5,    /* on a loaded machine a stop may last longer */
	MS = 1000000,
	PAGE = 4096
};

/* The target, which is a child of this process, has it at the same address. */
static struct {
	uint64_t head;
	uint64_t words[4];
} list;

/* On a page of its own. */
static uint64_t elsewhere[512] __attribute__((aligned(PAGE)));

static void (*reads)(const struct sw_snapshot *snap, struct sw_memory memory);

static bool probe(const struct sw_snapshot *snap)
{
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
	return 0;
}

static const struct sw_runtime_ops list_runtime = {
	.name = "list", .probe = probe, .before = before, .touch = touch, .open = open_none};
static const struct sw_runtime_ops *const runtimes[] = {&list_runtime};
static const struct sw_tables tables = {.runtimes = runtimes, .n_runtimes = 1};

static struct sw_context *ctx;
static struct sw_snapshot *snap;
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
	assert_int_equal(sw_capture_take(ctx, target, &options, &tables, &snap, NULL), 0);
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
	list.head = (uint64_t) (uintptr_t) &list.words[2];
	list.words[2] = 0x1234567;
	elsewhere[3] = 33;
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
	/* Nothing else of their pages is kept. */
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

/* The shortest of some stops has a limit: what the reader does takes that long in each of them. */
static void take_short(void (*how)(const struct sw_snapshot *, struct sw_memory))
{
	for (int i = 0; i < TRIES; i++) {
		if (i > 0)
			done();
		take(how, SW_STOP_ALWAYS);
		if (snap->times.stopped_ns < STOP_MS * (int64_t) MS)
			return;
	}
	fail_msg("%d stops lasted %d ms or longer", TRIES, STOP_MS);
}

static void hang(const struct sw_snapshot *s, struct sw_memory memory)
{
	follow(s, memory);
	while (in_window(s))
		atomic_signal_fence(memory_order_seq_cst);
}

/* The kernel ends a reader that has real-time priority too long. */
static bool warns_of_the_reader(void)
{
	return warns("did not answer in time") || warns("data of runtimes ended");
}

TEST_WITH(test_hangs, setup, NULL)
{
	take_short(hang);
	assert_true(warns_of_the_reader());
	assert_false(warns("the limit of 200 ms"));
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	done();
}

static void make_call(const struct sw_snapshot *s, struct sw_memory memory)
{
	follow(s, memory);
	(void) open("/", O_RDONLY | O_CLOEXEC);
}

/* _exit() of a sanitizer makes calls that the filter does not permit. */
static void end_at_once(void)
{
	(void) syscall(SYS_exit_group, 0);
}

static void end(const struct sw_snapshot *s, struct sw_memory memory)
{
	follow(s, memory);
	end_at_once();
}

/* A reader that its filter ends is told from others: the command advises by these words. */
TEST_WITH(test_ended_by_filter, setup, NULL)
{
	(void) signal(
		SIGSYS,
		SIG_DFL); /* the test program has a handler, which knows nothing of the reader */
	take_short(make_call);
	assert_true(warns("the process that reads the data of runtimes was ended by the sandbox, "
			  "which does not permit system call 257: "));
	done();
	take_short(end);
	assert_true(warns("the process that reads the data of runtimes ended: "));
	done();
}

static void hang_in_window(const struct sw_snapshot *s, struct sw_memory memory)
{
	while (in_window(s))
		atomic_signal_fence(memory_order_seq_cst);
	follow(s, memory);
}

/* The snapshot has what the rehearsal has read, and nothing else of its pages. */
TEST_WITH(test_rehearsed, setup, NULL)
{
	take_short(hang_in_window);
	assert_true(warns_of_the_reader());
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	for (size_t i = 0; i < snap->n_ranges; i++)
		assert_true(snap->ranges[i].bytes <= 2 * SW_COPIER_GRANULE_BYTES);
	done();
}

static void hang_at_once(const struct sw_snapshot *s, struct sw_memory memory)
{
	for (;;)
		atomic_signal_fence(memory_order_seq_cst);
}

/* Is late in the window, reads what it has, and comes to its end after it. */
static void be_late(const struct sw_snapshot *s, struct sw_memory memory)
{
	const struct sw_copier_channel *c = ((struct sw_copier_pages *) memory.arg)->channel;
	while (in_window(s) && atomic_load(&c->over) == 0)
		atomic_signal_fence(memory_order_seq_cst);
	uint64_t word;
	for (size_t i = 0; i < 5; i++)
		(void) sw_memory_u64(memory, (uint64_t) (uintptr_t) &list + 8 * i, &word);
}

TEST_WITH(test_late, setup, NULL)
{
	take_short(be_late);
	assert_int_equal(snap->n_warnings, 0);
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	done();
}

static void be_late_for_more(const struct sw_snapshot *s, struct sw_memory memory)
{
	uint64_t word;
	be_late(s, memory);
	if (in_window(s))
		(void) sw_memory_u64(memory, (uint64_t) (uintptr_t) &elsewhere[3], &word);
}

/* A page that the reader asks for too late is missing, which is said; the others are there. */
TEST_WITH(test_late_for_more, setup, NULL)
{
	take_short(be_late_for_more);
	assert_true(warns("did not answer in time"));
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	assert_false(has_word((uint64_t) (uintptr_t) &elsewhere[3], 33));
	done();
}

static void read_elsewhere(const struct sw_snapshot *s, struct sw_memory memory)
{
	uint64_t word;
	(void) sw_memory_u64(memory, (uint64_t) (uintptr_t) &elsewhere[3], &word);
}

TEST_WITH(test_elsewhere, setup, NULL)
{
	take(read_elsewhere, SW_STOP_ALWAYS);
	assert_true(has_word((uint64_t) (uintptr_t) &elsewhere[3], 33));
	done();
}

/* Before the window: that one does not wait any more. */
TEST_WITH(test_hangs_before, setup, NULL)
{
	take_short(hang_at_once);
	/* Two seconds, or one second of CPU time. */
	assert_true(warns_of_the_reader());
	assert_false(warns("the limit of 200 ms"));
	done();
}

static void die(const struct sw_snapshot *s, struct sw_memory memory)
{
	follow(s, memory);
	if (in_window(s))
		end_at_once();
}

TEST_WITH(test_dies, setup, NULL)
{
	take_short(die);
	assert_true(warns("data of runtimes ended"));
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	done();
}

/* The reader asks for 10^9 ranges, each of them as large as can be said. */
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
	take_short(ask_for_all);
	assert_true(warns("not copied in whole") || warns("did not answer in time"));
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
	for (bool over = false; in_window(s) && !over;) {
		over = atomic_load(&c->over) != 0; /* and once more, when it is too late */
		c->ranges[0] = (struct sw_copier_range){.avma = 8, .bytes = 8};
		c->n_ranges = 1;
		pages->ask(pages->arg);
	}
}

TEST_WITH(test_asks_for_nothing, setup, NULL)
{
	max_stop_ms = LONG_MS; /* the turns are the limit, or the time that the reader has in all */
	take(ask_for_nothing, SW_STOP_ALWAYS);
	assert_true(warns("not copied in whole") || warns("did not answer in time"));
	assert_true(has_word((uint64_t) (uintptr_t) &list.words[2], 0x1234567));
	done();
}
