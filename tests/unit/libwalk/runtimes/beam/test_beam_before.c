/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/beam/before: memory that the window asks for, of a machine that is where the test says. */
#include "fake.h"
#include "cleanup.h"
#include "errors.h"
#include "runtimes/beam/find.h"
#include "runtimes/beam/functions.h"
#include "runtimes/beam/processes.h"
#include "runtimes/beam/window.h"
#include "snapshot/snapshot.h"
#include "test.h"

enum {
	BIAS = 0x100000,
	RANGES_BYTES = SW_BEAM_LISTS * SW_BEAM_LIST_WORDS * 8,
	IDS = 0x40,
	WANTS_MAX = 16
};

static struct sw_place place = {.bias = BIAS};
static struct sw_beam_layout layout;
static struct sw_beam_found machine;
static bool is_there;

/* Stands for the product's. */
bool sw_beam_find(const struct sw_snapshot *snap, struct sw_beam_found *ret)
{
	*ret = machine;
	return is_there;
}

static struct want {
	uint64_t avma;
	size_t bytes;
} wants[WANTS_MAX];
static size_t n_wants, most_wants;

static int want(struct sw_capture *capture, uint64_t avma, size_t bytes)
{
	if (n_wants == most_wants)
		return -SW_E_LIMIT;
	wants[n_wants++] = (struct want){avma, bytes};
	return 0;
}

/* Calls sw_beam_before(); *ret is what it leaves for the window. */
static int before(struct sw_snapshot *snap, void **ret)
{
	static const struct sw_capture_ops ops = {.want = want};
	struct sw_capture capture = {.snap = snap, .ops = &ops, .found = ret};
	*ret = NULL;
	n_wants = 0;
	return sw_beam_before(&capture);
}

TEST(test_before)
{
	static const struct want all[] = {
		{BIAS + 0x10, 4},
		{BIAS + 0x20, 8},
		{BIAS + 0x30, RANGES_BYTES},
		{BIAS + 0x100 + IDS, SW_BEAM_IDS_BYTES},
		{BIAS + 0x50, 8},
		{BIAS + 0x70, 8},
		{BIAS + 0x58, 8},
		{BIAS + 0x78, 8},
		{BIAS + 0x60, 8},
		{BIAS + 0x80, 8},
	};
	enum { N = SW_ARRAY_SIZE(all), TABLE = 3 };
	struct sw_snapshot *snap = fake_snapshot_create();
	void *window;
	layout.table_ids = IDS;
	machine = (struct sw_beam_found){.place = &place,
					 .layout = &layout,
					 .active_svma = 0x10,
					 .exit_svma = 0x20,
					 .ranges_svma = 0x30,
					 .schedulers_svma = {0x50, 0x58, 0x60},
					 .counts_svma = {0x70, 0x78, 0x80},
					 .processes_svma = 0x100};
	most_wants = WANTS_MAX;
	assert_int_equal(before(snap, &window), 0);
	assert_null(window); /* no machine */
	is_there = true;
	assert_int_equal(before(snap, &window), 0);
	assert_int_equal(n_wants, N);
	assert_memory_equal(wants, all, sizeof(all));
	assert_int_equal(((struct sw_beam_window *) window)->found.ranges_svma, 0x30);
	/* A limit anywhere is said, and nothing is asked for behind it. */
	for (most_wants = 0; most_wants < N; most_wants++) {
		assert_int_equal(before(snap, &window), -SW_E_LIMIT);
		assert_int_equal(n_wants, most_wants);
	}
	/* The table of processes is not known. */
	machine.processes_svma = 0;
	assert_int_equal(before(snap, &window), 0);
	assert_int_equal(n_wants, N - 1);
	assert_int_equal(wants[TABLE].avma, BIAS + 0x50);
	machine.layout = NULL; /* it cannot be read */
	assert_int_equal(before(snap, &window), 0);
	assert_null(window);
	fake_snapshot_destroy(snap);
}
