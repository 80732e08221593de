/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/beam/processes_window.c: what of all processes is copied while nothing changes. */
#include "beam_world.h"
#include "runtimes/beam/processes_window.h"
#include "test.h"

enum {
	COPIES_MAX = 256,
	FULL_PLACES = 1000,
};

static struct beam_world world;
static const struct sw_beam_layout *at;
static struct sw_beam_window window;
static struct sw_capture capture;
static void *found = &window;
static uint64_t places[FULL_PLACES]; /* of a longer table, behind the world */

static struct {
	struct sw_range copies[COPIES_MAX];
	size_t n_copies, n_asked, n_batches;
	size_t late_after; /* copies; 0: never */
} seen;

static const uint8_t *bytes_at(uint64_t avma, size_t bytes)
{
	if (avma == BEAM_WORLD + BEAM_WORLD_BYTES && bytes <= sizeof(places))
		return (const uint8_t *) places;
	if (avma < BEAM_WORLD || bytes > BEAM_WORLD_BYTES ||
	    avma - BEAM_WORLD > BEAM_WORLD_BYTES - bytes)
		return NULL;
	return world.data + (avma - BEAM_WORLD);
}

static bool copy(struct sw_capture *c, uint64_t avma, size_t bytes, const uint8_t **ret_data)
{
	seen.n_asked++;
	const uint8_t *data = bytes_at(avma, bytes);
	if (data == NULL)
		return false;
	if (seen.n_copies < COPIES_MAX)
		seen.copies[seen.n_copies++] = (struct sw_range){avma, bytes, data};
	*ret_data = data;
	return true;
}

static void copy_many(struct sw_capture *c, struct sw_capture_read *reads, size_t n)
{
	assert_true(n <= SW_CAPTURE_READS);
	seen.n_batches++;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *data = NULL;
		reads[i].ok = copy(c, reads[i].avma, reads[i].bytes, &data);
		reads[i].buffer = (void *) data;
	}
}

static void read_many(struct sw_capture *c, struct sw_capture_read *reads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		reads[i].ok = sw_memory_read(world.beam.memory, reads[i].avma, reads[i].buffer,
					     reads[i].bytes);
}

static bool is_late(struct sw_capture *c)
{
	return seen.late_after > 0 && seen.n_asked > seen.late_after;
}

static bool was_copied(uint64_t avma, size_t bytes)
{
	for (size_t i = 0; i < seen.n_copies; i++)
		if (seen.copies[i].start_avma == avma && seen.copies[i].bytes == bytes)
			return true;
	return false;
}

/* As the window begins: nothing was copied yet. */
static void look(void)
{
	size_t late_after = seen.late_after;
	memset(&seen, 0, sizeof(seen));
	seen.late_after = late_after;
	window = (struct sw_beam_window){.found = world.beam.found,
					 .capture = &capture,
					 .pairs = world.data + (BEAM_PAIRS - BEAM_WORLD),
					 .list = {BEAM_PAIRS, 2}};
	sw_beam_processes_copy(&capture, &window);
}

static int setup(void **state)
{
	static const struct sw_capture_ops ops = {.copy = copy,
						  .copy_many = copy_many,
						  .read_many = read_many,
						  .is_late = is_late};
	beam_world_init(&world);
	at = world.beam.found.layout;
	memset(&seen, 0, sizeof(seen));
	capture = (struct sw_capture){.snap = &world.snap, .ops = &ops, .found = &found};
	return 0;
}

static void first_u64(uint64_t off, uint64_t value)
{
	beam_world_u64(&world, BEAM_PROCESSES + off, value);
}

TEST_WITH(test_all, setup, NULL)
{
	look();
	assert_false(window.processes_cut);
	assert_true(was_copied(BEAM_SLOTS, 8 * BEAM_N_SLOTS));
	for (unsigned i = 0; i < BEAM_N_PROCESSES; i++) {
		assert_true(
			was_copied(BEAM_PROCESSES + BEAM_PROCESS_STRIDE * i, SW_BEAM_FULL_BYTES));
		assert_true(was_copied(BEAM_STACKS + BEAM_STACK_STRIDE * i, 8 * BEAM_STACK_WORDS));
	}
	assert_true(was_copied(BEAM_REGISTERED, SW_BEAM_REGISTERED_BYTES));
	assert_true(was_copied(BEAM_F1, at->info_mfa + SW_BEAM_MFA_BYTES)); /* their names */
	assert_true(was_copied(BEAM_F2, at->info_mfa + SW_BEAM_MFA_BYTES));
	assert_int_equal(seen.n_batches, 3); /* processes, stacks, registered names */
}

/* Only what does not change is copied of processes that somebody executes. */
TEST_WITH(test_running, setup, NULL)
{
	beam_world_u32(&world, BEAM_PROCESSES + at->process_state, 0xa02a);
	look();
	assert_true(was_copied(BEAM_PROCESSES, SW_BEAM_FULL_BYTES));
	assert_true(was_copied(BEAM_REGISTERED, SW_BEAM_REGISTERED_BYTES));
	assert_false(was_copied(BEAM_STACKS, 8 * BEAM_STACK_WORDS));
}

/* A process that waits in C code. */
TEST_WITH(test_in_c, setup, NULL)
{
	first_u64(at->process_next, 0x66660000);
	first_u64(at->process_current, BEAM_MFA);
	look();
	assert_true(was_copied(BEAM_MFA, SW_BEAM_MFA_BYTES));
	first_u64(at->process_current, BEAM_MFA + 4);
	look();
	assert_false(was_copied(BEAM_MFA + 4, SW_BEAM_MFA_BYTES));
}

/* Lengths that are not so: of these stacks nothing is copied, and nothing else is missed. */
TEST_WITH(test_stacks, setup, NULL)
{
	static const struct {
		uint64_t stop, hend;
	} rows[] = {
		{BEAM_STACKS + 4, BEAM_STACKS + 44},
		{BEAM_STACKS, BEAM_STACKS},
		{BEAM_STACKS, BEAM_STACKS - 8},
		{BEAM_STACKS, BEAM_STACKS + SW_BEAM_OWN_STACK_MAX + 8},
		{BEAM_STACKS, UINT64_MAX},
		{UINT64_MAX - 7, 7},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		first_u64(at->process_stop, rows[i].stop);
		first_u64(at->process_hend, rows[i].hend);
		look();
		assert_false(window.processes_cut);
		for (size_t k = 0; k < seen.n_copies; k++)
			assert_int_not_equal(seen.copies[k].start_avma, rows[i].stop);
		assert_true(was_copied(BEAM_STACKS + BEAM_STACK_STRIDE, 8 * BEAM_STACK_WORDS));
	}
	first_u64(at->process_stop, BEAM_STACKS);
	first_u64(at->process_hend, BEAM_STACKS + 15); /* whole words of it */
	look();
	assert_true(was_copied(BEAM_STACKS, 8));
}

TEST_WITH(test_table, setup, NULL)
{
	beam_world_u32(&world, BEAM_TABLE + at->table_n, 0);
	look();
	assert_false(window.processes_cut);
	beam_world_u32(&world, BEAM_TABLE + at->table_n, UINT32_MAX); /* it is not all there */
	look();
	assert_true(window.processes_cut);
	assert_int_equal(seen.n_batches, 0);
	beam_world_u64(&world, BEAM_TABLE + at->table_places, BEAM_SLOTS + 4);
	look();
	assert_int_equal(seen.n_batches, 0);
	world.beam.found.processes_svma = 0;
	look();
	assert_int_equal(seen.n_asked, 0);
}

/* A table in which no place is free, and all are the same process: it is read by as many as one
 * call reads. */
TEST_WITH(test_full, setup, NULL)
{
	for (size_t i = 0; i < FULL_PLACES; i++)
		places[i] = BEAM_PROCESSES + BEAM_PROCESS_STRIDE;
	beam_world_u32(&world, BEAM_TABLE + at->table_n, FULL_PLACES);
	beam_world_u64(&world, BEAM_TABLE + at->table_places, BEAM_WORLD + BEAM_WORLD_BYTES);
	look();
	assert_false(window.processes_cut);
	assert_int_equal(seen.n_batches,
			 3 * ((FULL_PLACES + SW_CAPTURE_READS - 1) / SW_CAPTURE_READS));
	/* The window's limit is looked at after each of them. */
	seen.late_after = 10;
	look();
	assert_true(window.processes_cut);
	assert_int_equal(seen.n_batches, 3);
	/* Also where none of them has a stack that is copied. */
	beam_world_u32(&world, BEAM_PROCESSES + BEAM_PROCESS_STRIDE + at->process_state, 0xa02a);
	look();
	assert_true(window.processes_cut);
	assert_int_equal(seen.n_batches, 3);
	/* Places that are none are not asked for. */
	seen.late_after = 0;
	for (size_t i = 0; i < FULL_PLACES; i++)
		places[i] = BEAM_PROCESSES + 1;
	look();
	assert_false(window.processes_cut);
	assert_int_equal(seen.n_copies, 3); /* where the table is, how long it is, itself */
}

/* Nothing of it can be read: each is asked for once. */
TEST_WITH(test_nowhere, setup, NULL)
{
	for (unsigned i = 0; i < BEAM_N_SLOTS; i++)
		beam_world_u64(&world, BEAM_SLOTS + 8 * i, UINT64_MAX - 7 - 8 * i);
	look();
	assert_false(window.processes_cut);
	assert_int_equal(seen.n_asked, 3 + BEAM_N_SLOTS);
}
