/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A sample that is handed from one process to another, and bytes that are none. */
#include "sample/handed.h"
#include "sample/borrowed.h"
#include "snapshot/snapshot.h"
#include "test.h"

static struct sw_snapshot *snapshot_create(void)
{
	static struct sw_context *ctx;
	struct sw_snapshot *snap = NULL;
	if (ctx == NULL)
		assert_int_equal(sw_context_create(&ctx, NULL), 0);
	assert_int_equal(sw_snapshot_create(ctx, &snap, NULL), 0);
	return snap;
}

static const uint8_t stack[] = {1, 2, 3, 4, 5}, data[] = {9, 8};

/* Two threads, one with a stack, a range, and three changes. */
static struct sw_sample sample_make(struct sw_snapshot *snap)
{
	static struct sw_thread threads[2];
	static struct sw_range range;
	static struct sw_sample_change changes[3];
	threads[0] = (struct sw_thread){.tid = 7, .comm = "seven", .reason = SW_E_RUNNING};
	threads[1] = (struct sw_thread){.tid = 8,
					.comm = "eight",
					.captured = true,
					.stack_avma = 0x1000,
					.stack_bytes = sizeof(stack),
					.stack = stack};
	range = (struct sw_range){.start_avma = 0x2000, .bytes = sizeof(data), .data = data};
	for (size_t i = 0; i < 3; i++)
		changes[i] = (struct sw_sample_change){.slot = (uint32_t) i, .tid = (pid_t) i + 6};
	snap->threads = threads;
	snap->n_threads = 2;
	snap->ranges = &range;
	snap->n_ranges = 1;
	snap->time_ns = 99;
	return (struct sw_sample){.number = 3,
				  .snap = snap,
				  .changes = changes,
				  .n_changes = 3,
				  .n_threads = 40,
				  .generation = 2,
				  .light = true};
}

static void forget(struct sw_snapshot *snap)
{
	snap->threads = NULL;
	snap->ranges = NULL;
	snap->n_threads = snap->n_ranges = 0;
	sw_snapshot_destroy(snap);
}

TEST(test_same)
{
	struct sw_snapshot *from = snapshot_create();
	struct sw_sample sample = sample_make(from), got;
	struct sw_handed out = {0}, in = {.snap = snapshot_create()};
	const void *bytes;
	size_t size;
	for (int i = 0; i < 2; i++) { /* with and without threads */
		assert_int_equal(sw_handed_pack(&out, &sample, &bytes, &size, NULL), 0);
		assert_int_equal(sw_handed_unpack(&in, bytes, size, &got, NULL), 0);
		assert_int_equal(got.number, 3);
		assert_int_equal(got.n_threads, 40);
		assert_int_equal(got.generation, 2);
		assert_true(got.light);
		assert_int_equal(got.n_changes, 3);
		assert_int_equal(got.changes[2].tid, 8);
		if (i == 1)
			break;
		assert_ptr_equal(got.snap, in.snap);
		assert_int_equal(got.snap->n_threads, 2);
		assert_string_equal(got.snap->threads[0].comm, "seven");
		assert_int_equal(got.snap->threads[0].reason, SW_E_RUNNING);
		assert_memory_equal(got.snap->threads[1].stack, stack, sizeof(stack));
		assert_ptr_not_equal(got.snap->threads[1].stack, stack);
		assert_int_equal(got.snap->n_ranges, 1);
		assert_memory_equal(got.snap->ranges[0].data, data, sizeof(data));
		assert_int_equal(got.snap->time_ns, 99);
		sample.snap = NULL;
	}
	assert_null(got.snap);
	sw_handed_deinit(&out);
	sw_handed_deinit(&in);
	forget(from);
}

/* Cut anywhere, or longer. */
TEST(test_cut)
{
	struct sw_snapshot *from = snapshot_create();
	const struct sw_sample sample = sample_make(from);
	struct sw_sample got;
	struct sw_handed out = {0}, in = {.snap = snapshot_create()};
	const void *bytes;
	size_t size;
	assert_int_equal(sw_handed_pack(&out, &sample, &bytes, &size, NULL), 0);
	for (size_t n = 0; n <= size + 1; n++) {
		uint8_t *copy = calloc(1, n + 1);
		assert_non_null(copy);
		memcpy(copy, bytes, n < size ? n : size);
		assert_int_equal(sw_handed_unpack(&in, copy, n, &got, NULL),
				 n == size ? 0 : -SW_E_FORMAT);
		/* The bytes to which it points are gone with the copy. */
		in.snap->n_threads = in.snap->n_ranges = 0;
		free(copy);
	}
	sw_handed_deinit(&out);
	sw_handed_deinit(&in);
	forget(from);
}
