/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fake.h"
#include "snapshot/snapshot.h"
#include "snapshot/read.h"
#include "test.h"

static int setup(void **state)
{
	*state = fake_snapshot_create();
	return 0;
}

static int teardown(void **state)
{
	fake_snapshot_destroy(*state);
	return 0;
}

TEST_OF(test_empty, struct sw_snapshot *snap)
{
	fake_snapshot_finish(snap);
	assert_null(sw_snapshot_map(snap, 0));
	assert_null(sw_snapshot_place(snap, 0));
	assert_null(sw_snapshot_thread(snap, 1));
	assert_string_equal(snap->process.exe, "");
	assert_string_equal(snap->process.cgroup, "");
	assert_int_equal(snap->process.uptime_ms, -1);
	sw_snapshot_destroy(NULL);
}

/* Ranges are [start, end), found in whatever order they were given. */
TEST_OF(test_maps, struct sw_snapshot *snap)
{
	(void) fake_snapshot_map(snap, 0x3000, 0x4000, "rw-p", "third");
	(void) fake_snapshot_map(snap, 0x1000, 0x2000, "r-xp", "first");
	(void) fake_snapshot_map(snap, 0x2000, 0x2800, "r--p", "second");
	fake_snapshot_finish(snap);
	assert_null(sw_snapshot_map(snap, 0xfff));
	assert_string_equal(sw_snapshot_map(snap, 0x1000)->path, "first");
	assert_string_equal(sw_snapshot_map(snap, 0x1fff)->path, "first");
	assert_string_equal(sw_snapshot_map(snap, 0x2000)->path, "second");
	assert_null(sw_snapshot_map(snap, 0x2800));
	assert_null(sw_snapshot_map(snap, 0x2fff));
	assert_string_equal(sw_snapshot_map(snap, 0x3fff)->path, "third");
	assert_null(sw_snapshot_map(snap, 0x4000));
	assert_null(sw_snapshot_map(snap, UINT64_MAX));
}

/* The first of overlapping maps by address stays; empty and reversed ones go. */
TEST_OF(test_overlapping_maps, struct sw_snapshot *snap)
{
	(void) fake_snapshot_map(snap, 0x1000, 0x3000, "r-xp", "a");
	(void) fake_snapshot_map(snap, 0x2000, 0x4000, "r-xp", "b");
	(void) fake_snapshot_map(snap, 0x5000, 0x5000, "r-xp", "c");
	(void) fake_snapshot_map(snap, 0x7000, 0x6000, "r-xp", "d");
	(void) fake_snapshot_map(snap, 0x3000, 0x3800, "r-xp", "e");
	fake_snapshot_finish(snap);
	assert_int_equal(snap->n_maps, 2);
	assert_string_equal(snap->maps[0].path, "a");
	assert_string_equal(snap->maps[1].path, "e");
}

TEST_OF(test_places, struct sw_snapshot *snap)
{
	const struct sw_place *place = fake_snapshot_module(snap, SW_MODULE_ELF, "/bin/x", 0x1000,
							    0x1000, 0x2000, NULL, 0);
	struct sw_map *map = fake_snapshot_map(snap, 0x2000, 0x3000, "r-xp", "/bin/y");
	map->place = 7; /* of a hostile fixture: there is no such place */
	(void) fake_snapshot_map(snap, 0x3000, 0x4000, "rw-p", "");
	fake_snapshot_finish(snap);
	assert_ptr_equal(sw_snapshot_place(snap, 0x1000), place);
	assert_ptr_equal(sw_snapshot_place(snap, 0x1fff), place);
	assert_null(sw_snapshot_place(snap, 0x2000));
	assert_null(sw_snapshot_place(snap, 0x3000));
	assert_null(sw_snapshot_place(snap, 0x9000));
}

TEST_OF(test_threads, struct sw_snapshot *snap)
{
	static const uint64_t word[] = {0};
	(void) fake_snapshot_stack(snap, 30, 1, word, 1);
	(void) fake_snapshot_stack(snap, 10, 2, word, 1);
	(void) fake_snapshot_stack(snap, 20, 3, word, 1);
	fake_snapshot_finish(snap);
	assert_int_equal(snap->threads[0].tid, 10);
	assert_int_equal(snap->threads[2].tid, 30);
	assert_int_equal(sw_snapshot_thread(snap, 20)->regs.pc_avma, 3);
	assert_null(sw_snapshot_thread(snap, 21));
	assert_null(sw_snapshot_thread(snap, -1));
}

TEST_OF(test_ranges, struct sw_snapshot *snap)
{
	fake_snapshot_range(snap, 0x2000, "bb", 2);
	fake_snapshot_range(snap, 0x1000, "aa", 2);
	fake_snapshot_finish(snap);
	assert_int_equal(snap->ranges[0].start_avma, 0x1000);
	assert_int_equal(snap->ranges[1].start_avma, 0x2000);
	struct sw_snapshot_memory m = {.snap = snap};
	char two[2];
	assert_true(sw_memory_read(sw_snapshot_memory(&m), 0x1000, two, 2));
	assert_memory_equal(two, "aa", 2);
	assert_true(sw_memory_read(sw_snapshot_memory(&m), 0x2001, two, 1));
	assert_int_equal(two[0], 'b');
	assert_false(sw_memory_read(sw_snapshot_memory(&m), 0x2001, two, 2));
	assert_int_equal(m.live_reads, 0);
}

TEST_OF(test_warnings, struct sw_snapshot *snap)
{
	sw_snapshot_warn(snap, SW_WARN_MODULE, 5, SW_E_NOT_FOUND, "%s is %d", "x", 7);
	assert_int_equal(snap->n_warnings, 1);
	assert_int_equal(snap->warnings[0].code, SW_WARN_MODULE);
	assert_int_equal(snap->warnings[0].tid, 5);
	assert_int_equal(snap->warnings[0].reason, SW_E_NOT_FOUND);
	assert_string_equal(snap->warnings[0].message, "x is 7");
	char text[2 * SW_ERROR_MESSAGE_MAX];
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	sw_snapshot_warn(snap, SW_WARN_MEMORY, 0, 0, "%s", text);
	assert_int_equal(strlen(snap->warnings[1].message), SW_ERROR_MESSAGE_MAX - 1);
	for (size_t i = 0; i < SW_WARNINGS_MAX; i++)
		sw_snapshot_warn(snap, SW_WARN_MEMORY, 0, 0, "again");
	assert_int_equal(snap->n_warnings, SW_WARNINGS_MAX);
}

/* Noted once for each place; what is a warning is not told a second time. */
TEST_OF(test_noted_limits, struct sw_snapshot *snap)
{
	static const char one[] = "one", two[] = "two";
	sw_snapshot_note_limit(snap, one);
	sw_snapshot_note_limit(snap, one);
	assert_string_equal(sw_snapshot_limit(snap, 0), "one");
	assert_null(sw_snapshot_limit(snap, 1));
	sw_snapshot_warn_limits(snap);
	assert_null(sw_snapshot_limit(snap, 0));
	assert_int_equal(snap->n_warnings, 1);
	assert_int_equal(snap->warnings[0].code, SW_WARN_LIMIT);
	assert_int_equal(snap->warnings[0].reason, SW_E_LIMIT);
	assert_string_equal(snap->warnings[0].message, "one");
	sw_snapshot_note_limit(snap, one);
	sw_snapshot_note_limit(snap, two);
	assert_string_equal(sw_snapshot_limit(snap, 0), "two");
	sw_snapshot_warn_limits(snap);
	assert_int_equal(snap->n_warnings, 2);
	static const char many[SW_LIMITS_NOTED_MAX + 1];
	for (size_t i = 0; i <= SW_LIMITS_NOTED_MAX; i++)
		sw_snapshot_note_limit(snap, &many[i]);
	assert_non_null(sw_snapshot_limit(snap, SW_LIMITS_NOTED_MAX - 3));
	assert_null(sw_snapshot_limit(snap, SW_LIMITS_NOTED_MAX - 2));
}

TEST(test_warning_names)
{
	static const char *const names[] = {
		"stop_timeout",      "thread_missing",  "interrupted_call", "stack_limit",
		"memory_unreadable", "module_unusable", "partial_input",    "capture_incomplete",
		"timeout",           "runtime",         "other_program",    "limit_reached",
	};
	for (unsigned i = 0; i <= SW_WARN_LIMIT; i++)
		assert_string_equal(sw_warning_name((enum sw_warning_code) i), names[i]);
	assert_string_equal(sw_warning_name((enum sw_warning_code)(SW_WARN_LIMIT + 1)), "unknown");
}
