/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/beam: names, schedulers, processes and return addresses over made structures. */
#include "beam_world.h"
#include "runtimes/beam/flow.h"
#include "runtimes/beam/names.h"
#include "test.h"

static struct beam_world world;

static int setup(void **state)
{
	beam_world_init(&world);
	return 0;
}

static const char *name_at(uint64_t pc_avma)
{
	static struct sw_description d;
	struct sw_frame frame = {.pc_avma = pc_avma, .flags = SW_FRAME_EXACT_PC};
	memset(&d, 0, sizeof(d));
	assert_int_equal(sw_beam_names(&world.beam, &frame, &d), 1);
	return d.function;
}

TEST_WITH(test_names, setup, NULL)
{
	assert_string_equal(name_at(BEAM_F1), "chain:f1/1");
	assert_string_equal(name_at(BEAM_F2 - 1), "chain:f1/1");
	assert_string_equal(name_at(BEAM_MODULE_END - 1), "chain:f2/2");
	assert_string_equal(name_at(BEAM_MODULE + 8), "[Erlang function]"); /* before the first */
	assert_string_equal(name_at(BEAM_MODULE_END), "[shared code of the JIT]");
	beam_world_u64(&world, BEAM_F1 + 0x10, 0x47 << 6 | 0xb); /* no such atom */
	assert_string_equal(name_at(BEAM_F1), "[Erlang function]");
}

TEST_WITH(test_versions, setup, NULL)
{
	assert_non_null(sw_beam_layout_of("25", "13.1.5"));
	assert_null(sw_beam_layout_of("25", "13.2"));
	assert_null(sw_beam_layout_of("26", "14.0"));
	assert_non_null(sw_beam_layout_of("27", "15.2.7"));
	assert_null(sw_beam_layout_of("27", "15.1.3"));
	assert_null(sw_beam_layout_of("27", "13.1.5"));
}

static const char *pid_of(const char *release, const char *erts, uint64_t id)
{
	static char text[40];
	world.beam.found.layout = sw_beam_layout_of(release, erts);
	assert_non_null(world.beam.found.layout);
	sw_beam_ids_read(world.beam.memory, &world.beam.found, &world.beam.ids);
	sw_beam_pid_put(&world.beam, id, text, sizeof(text));
	return text;
}

/* As Debian's have them; of 27 with a table for 1048576 processes. */
TEST_WITH(test_ids, setup, NULL)
{
	static const uint64_t ids[] = {0xfffff, 0x1ffff, 7, UINT64_C(0x11) << 32 | 3};
	assert_string_equal(pid_of("25", "13.1.5", 0x28800000513), "<0.81.0>");
	assert_string_equal(pid_of("25", "13.1.5", UINT64_C(9) << 19 | 0x123), "<0.18.9>");
	beam_world_put(&world, BEAM_TABLE + 0xd8, ids, sizeof(ids));
	assert_string_equal(pid_of("27", "15.2.7", 0x2b83), "<0.87.0>");
	assert_string_equal(pid_of("27", "15.2.7", 0x940943), "<0.600082.0>");
	assert_string_equal(pid_of("27", "15.2.7", UINT64_C(5) << 32 | 0x1000003), "<0.1048576.5>");
	beam_world_u64(&world, BEAM_TABLE + 0xf0, UINT64_C(0x11) << 32 | 64);
	assert_string_equal(pid_of("27", "15.2.7", 0x2b83), "<0.?.?>");
	beam_world_u64(&world, BEAM_TABLE + 0xf0, ids[3]);
	world.beam.found.processes_svma = 0;
	assert_string_equal(pid_of("27", "15.2.7", 0x2b83), "<0.?.?>");
}

TEST_WITH(test_schedulers, setup, NULL)
{
	const struct sw_beam_layout *at = world.beam.found.layout;
	uint8_t bytes[SW_BEAM_SCHED_BYTES] = {0};
	uint64_t fs_base = 0x7000, number = 3, process = 0x8000;
	struct sw_beam_scheduler s;
	memcpy(bytes + at->sched_tid, &fs_base, 8);
	memcpy(bytes + at->sched_no, &number, 8);
	memcpy(bytes + at->sched_process, &process, 8);
	assert_true(sw_beam_scheduler_parse(at, SW_BEAM_NORMAL, bytes, fs_base, &s));
	assert_int_equal(s.number, 3);
	assert_int_equal(s.process_avma, 0x8000);
	assert_false(sw_beam_scheduler_parse(at, SW_BEAM_NORMAL, bytes, fs_base + 8, &s));
	assert_false(sw_beam_scheduler_parse(at, SW_BEAM_DIRTY_IO, bytes, fs_base, &s)); /* 0 */
}

TEST_WITH(test_processes, setup, NULL)
{
	const struct sw_beam_layout *at = world.beam.found.layout;
	uint8_t bytes[SW_BEAM_PROCESS_BYTES] = {0};
	uint64_t id = 0x93, htop = 0x10000, stop = 0x10800, hend = 0x11000;
	struct sw_beam_process p;
	memcpy(bytes, &id, 8);
	memcpy(bytes + at->process_htop, &htop, 8);
	memcpy(bytes + at->process_stop, &stop, 8);
	memcpy(bytes + at->process_hend, &hend, 8);
	assert_true(sw_beam_process_parse(at, bytes, &p));
	assert_int_equal(p.hend_avma, 0x11000);
	hend = 0x9000; /* of the heap before */
	memcpy(bytes + at->process_hend, &hend, 8);
	assert_true(sw_beam_process_parse(at, bytes, &p));
	assert_true(p.hend_avma > stop);
	id = 0x9b; /* no process */
	memcpy(bytes, &id, 8);
	assert_false(sw_beam_process_parse(at, bytes, &p));
}

/* In f2, whose frame has two words: what was not written yet looks like a return address. */
TEST_WITH(test_flow, setup, NULL)
{
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0},
			     code[] = {0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xe5, /* mov rbp, rsp */
				       0x48, 0x8d, 0x63, 0x80, 0x48, 0x89, 0xec, /* mov rsp, rbp */
				       0x48, 0x83, 0xc4, 0x10, 0xc3};
	uint64_t entry = BEAM_F2 + 0x28, back = BEAM_F1 + 0x40, slot = 0, sp = 0;
	beam_world_put(&world, entry, code, sizeof(code));
	beam_world_put(&world, back - sizeof(call), call, sizeof(call));
	for (unsigned i = 0; i < 4; i++)
		beam_world_u64(&world, BEAM_STACK + 8 * i, back);
	struct sw_beam_flow flow = {.beam = &world.beam,
				    .memory = world.beam.memory,
				    .header_avma = BEAM_MODULE,
				    .pc_avma = entry,
				    .sp_avma = BEAM_STACK};
	assert_true(sw_beam_flow_return(&flow, &slot, &sp));
	assert_int_equal(slot, BEAM_STACK);
	flow.pc_avma = entry + 4;
	assert_true(sw_beam_flow_return(&flow, &slot, &sp));
	assert_int_equal(slot, BEAM_STACK + 16);
	flow.pc_avma = entry + 11; /* in a C function's place: the process's stack is in rbp */
	flow.in_c = flow.saved_known = true;
	flow.saved_avma = BEAM_STACK + 8;
	assert_true(sw_beam_flow_return(&flow, &slot, &sp));
	assert_int_equal(sp, BEAM_STACK + 8);
	assert_int_equal(slot, BEAM_STACK + 24);
	flow.saved_known = false;
	assert_false(sw_beam_flow_return(&flow, &slot, &sp));
}
