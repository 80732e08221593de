/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/beam/lines, names: lines of calls, files, what dirty schedulers execute, over made structures. */
#include "beam_world.h"
#include "runtimes/beam/lines.h"
#include "runtimes/beam/names.h"
#include "test.h"

static struct beam_world world;
static struct sw_beam_line line;

static int setup(void **state)
{
	beam_world_init(&world);
	return 0;
}

static bool find(uint64_t number, uint64_t avma)
{
	memset(&line, 0, sizeof(line));
	return sw_beam_line_find(world.beam.memory, world.beam.found.layout, BEAM_MODULE, number,
				 avma, &line);
}

TEST_WITH(test_find, setup, NULL)
{
	assert_true(find(0, BEAM_F1 + 0x30));
	assert_int_equal(line.line, 10);
	assert_true(find(0, BEAM_F1 + 0x3f));
	assert_int_equal(line.line, 10);
	assert_true(find(0, BEAM_F1 + 0x40));
	assert_int_equal(line.line, 12);
	assert_false(find(0, BEAM_F1 + 0x2f)); /* before the first */
	assert_true(find(1, BEAM_F2 + 0x30));
	assert_int_equal(line.line, 0x12345);
	assert_false(find(1, BEAM_F2 + 0x50)); /* code that the compiler has made */
}

TEST_WITH(test_small, setup, NULL)
{
	uint16_t places[] = {7, 8, 9, 0};
	beam_world_u64(&world, BEAM_LINES + 8, 2);
	beam_world_put(&world, BEAM_PLACES, places, sizeof(places));
	assert_true(find(0, BEAM_F1 + 0x40));
	assert_int_equal(line.line, 8);
	assert_int_equal(line.file, BEAM_NAME | 1);
	beam_world_u64(&world, BEAM_LINES + 8, 3);
	assert_false(find(0, BEAM_F1 + 0x40));
}

TEST_WITH(test_limits, setup, NULL)
{
	beam_world_u64(&world, BEAM_LINES + 24 + 8, BEAM_ADDRESSES - 8); /* ends before it begins */
	assert_false(find(0, BEAM_F1 + 0x40));
	beam_world_u64(&world, BEAM_LINES + 24 + 8,
		       BEAM_ADDRESSES + 8 * (SW_BEAM_LINES_MAX + 1)); /* too many */
	assert_false(find(0, BEAM_F1 + 0x40));
	beam_world_u64(&world, BEAM_LINES + 24 + 8, BEAM_ADDRESSES + 4);
	assert_false(find(0, BEAM_F1 + 0x40));
	beam_world_u64(&world, BEAM_MODULE + world.beam.found.layout->header_lines, 0);
	assert_false(find(0, BEAM_F1 + 0x40)); /* compiled without */
}

TEST_WITH(test_text, setup, NULL)
{
	char text[SW_BEAM_FILE_MAX + 1];
	struct sw_memory m = world.beam.memory;
	assert_true(sw_beam_text_read(m, BEAM_NAME | 1, text));
	assert_string_equal(text, "c.erl");
	beam_world_u64(&world, BEAM_NAME, 0xe4 << 4 | 0xf);
	assert_true(sw_beam_text_read(m, BEAM_NAME | 1, text));
	assert_string_equal(text, "ä.erl");
	beam_world_u64(&world, BEAM_NAME, UINT64_C(0x110000) << 4 | 0xf);
	assert_false(sw_beam_text_read(m, BEAM_NAME | 1, text));
	beam_world_u64(&world, BEAM_NAME, 0xd801 << 4 | 0xf);
	assert_false(sw_beam_text_read(m, BEAM_NAME | 1, text));
	beam_world_u64(&world, BEAM_NAME, 0x0b); /* an atom */
	assert_false(sw_beam_text_read(m, BEAM_NAME | 1, text));
	beam_world_u64(&world, BEAM_NAME, 'c' << 4 | 0xf);
	beam_world_u64(&world, BEAM_NAME + 8, BEAM_NAME | 1); /* a circle */
	assert_false(sw_beam_text_read(m, BEAM_NAME | 1, text));
	assert_false(sw_beam_text_read(m, 0x3b, text)); /* "" */
	assert_false(sw_beam_text_read(m, BEAM_NAME, text));
	assert_false(sw_beam_text_read(m, 0x11, text)); /* nowhere */
}

/* A frame that waits for a function of Erlang only has a line: between calls the machine notes
 * none. */
TEST_WITH(test_names, setup, NULL)
{
	static struct sw_description d;
	struct sw_frame frame = {.pc_avma = BEAM_F1 + 0x41, .cookie = SW_BEAM_AT_CALL};
	assert_int_equal(sw_beam_names(&world.beam, &frame, &d), 1);
	assert_string_equal(d.function, "chain:f1/1");
	assert_string_equal(d.file, "c.erl");
	assert_int_equal(d.line, 12);
	memset(&d, 0, sizeof(d));
	frame.cookie = 0;
	assert_int_equal(sw_beam_names(&world.beam, &frame, &d), 1);
	assert_string_equal(d.function, "chain:f1/1");
	assert_string_equal(d.file, "");
	assert_int_equal(d.line, 0);
	frame.cookie = SW_BEAM_AT_CALL;
	beam_world_u64(&world, BEAM_NAME, 0);
	assert_int_equal(sw_beam_names(&world.beam, &frame, &d), 1);
	assert_string_equal(d.file, "");
	assert_int_equal(d.line, 0);
}

/* The function that a dirty scheduler executes. For others it is what their processes executed
 * before. */
TEST_WITH(test_dirty, setup, NULL)
{
	enum { PROCESS = BEAM_STACK };
	const struct sw_beam_layout *at = world.beam.found.layout;
	struct sw_thread thread = {.tid = 7};
	struct sw_thread_info info = {0};
	world.beam.thread = &thread; /* it was looked for */
	world.beam.scheduler = (struct sw_beam_scheduler){.known = true,
							  .kind = SW_BEAM_DIRTY_CPU,
							  .number = 2,
							  .process_avma = PROCESS,
							  .process = {.id = 79 << 4 | 3},
							  .process_known = true};
	beam_world_u64(&world, PROCESS + at->process_current, BEAM_F2 + at->info_mfa);
	assert_true(sw_beam_thread(&world.beam, &thread, &info));
	assert_string_equal(info.name, "dirty CPU scheduler 2, runs <0.79.0> in chain:f2/2");
	beam_world_u64(&world, BEAM_F2 + at->info_mfa + 16, 256); /* no arity */
	assert_true(sw_beam_thread(&world.beam, &thread, &info));
	assert_string_equal(info.name, "dirty CPU scheduler 2, runs <0.79.0>");
	beam_world_u64(&world, PROCESS + at->process_current, BEAM_F1 + at->info_mfa);
	world.beam.scheduler.kind = SW_BEAM_NORMAL;
	assert_true(sw_beam_thread(&world.beam, &thread, &info));
	assert_string_equal(info.name, "scheduler 2, runs <0.79.0>");
}
