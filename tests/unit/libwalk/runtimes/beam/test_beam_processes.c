/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/beam/processes: the table of processes, and what is read of one. */
#include "fake.h"
#include "runtimes/beam/processes.h"
#include "test.h"

enum { TABLE = 0x300000, PLACES = 0x400000 };

static uint8_t process[SW_BEAM_FULL_BYTES];

static void put(uint8_t *at, size_t off, uint64_t value)
{
	memcpy(at + off, &value, sizeof(value));
}

static void put_state(uint32_t state)
{
	memcpy(process + 0x280, &state, sizeof(state));
}

/* As Debian's OTP 25.2.3 has them. */
TEST(test_process)
{
	const struct sw_beam_layout *at = sw_beam_layout_of("25", "13.1.5");
	struct sw_beam_full p;
	assert_non_null(at);
	memset(process, 0, sizeof(process));
	put(process, 0, 0x28800000513);
	put(process, 0x30, 0x7000);
	put(process, 0x58, 0x8000);
	put(process, 0x88, 0x8100);
	put(process, 0x100, 0x9000);
	put(process, 0x1c0, 0x2edcb);
	put(process, 0x1c8, 0x8230b);
	put(process, 0x1d0, 2);
	put(process, 0x1d8, 0xa000);
	put(process, 0x188, 5);
	put(process, 0x2a0, 3);
	put_state(0x1202a);
	assert_true(sw_beam_full_parse(at, process, &p));
	assert_int_equal(p.registered_avma, 0x7000);
	assert_int_equal(p.stop_avma, 0x8000);
	assert_int_equal(p.hend_avma, 0x8100);
	assert_int_equal(p.next_avma, 0x9000);
	assert_int_equal(p.current_avma, 0xa000);
	assert_int_equal(p.initial[1], 0x8230b);
	assert_int_equal(p.initial[2], 2);
	assert_int_equal(p.messages, 8); /* those that it has not fetched, too */
	assert_string_equal(sw_beam_state_name(p.state), "suspended");
	put_state(1 << 10); /* it is free */
	assert_false(sw_beam_full_parse(at, process, &p));
	put_state(0);
	put(process, 0, 0x8a00000062); /* what stands for none */
	assert_false(sw_beam_full_parse(at, process, &p));
}

TEST(test_states)
{
	static const struct {
		uint32_t state;
		const char *name;
		bool parked;
	} rows[] = {
		{0x100002a, "waiting", true},   {0x202a, "runnable", true},
		{0x10002a, "runnable", true},   {0xa02a, "running", false},
		{0x20002a, "running", false},   {0x2000002a, "running", false},
		{0x4000002a, "running", false}, {0x3002a, "garbage_collecting", false},
		{0x1002a, "suspended", true},   {0x1882a, "exiting", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_string_equal(sw_beam_state_name(rows[i].state), rows[i].name);
		assert_int_equal(sw_beam_is_parked(rows[i].state), rows[i].parked);
	}
}

TEST(test_table)
{
	uint8_t table[0x100] = {0};
	struct fake_region region = {TABLE, table, sizeof(table)};
	struct fake_memory fake = {.regions = &region, .n_regions = 1};
	struct sw_place place = {0};
	struct sw_beam_found found = {.place = &place,
				      .layout = sw_beam_layout_of("25", "13.1.5"),
				      .processes_svma = TABLE};
	uint64_t avma = 0, n = 0;
	put(table, 0xc0, PLACES);
	put(table, 0xd0, 0x3ffff00040000);
	assert_true(sw_beam_table_read(fake_memory(&fake), &found, &avma, &n));
	assert_int_equal(avma, PLACES);
	assert_int_equal(n, 0x40000);
	put(table, 0xc0, PLACES + 4);
	assert_false(sw_beam_table_read(fake_memory(&fake), &found, &avma, &n));
	put(table, 0xc0, 0);
	assert_false(sw_beam_table_read(fake_memory(&fake), &found, &avma, &n));
	found.processes_svma = 0;
	assert_false(sw_beam_table_read(fake_memory(&fake), &found, &avma, &n));
}
