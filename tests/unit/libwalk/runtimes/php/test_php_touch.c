/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * runtimes/php/touch: a walk over the words alone that it has read finds what a walk over all memory does.
 */
#include "runtimes/php/touch.h"
#include "arch/arch.h"
#include "php_world.h"
#include "runtimes/php/names.h"
#include "runtimes/php/request.h"
#include "test.h"

enum { FAR = PHP_WORLD + 0x5000 };

static struct php_world world;
static struct sw_memory all;
static struct sw_php_before before;
static bool was_read[PHP_WORLD_BYTES];
static size_t n_reads;

static bool note(void *arg, uint64_t avma, void *buffer, size_t length)
{
	n_reads++;
	if (!sw_memory_read(all, avma, buffer, length))
		return false;
	memset(was_read + (avma - PHP_WORLD), true, length);
	return true;
}

static bool read_noted(void *arg, uint64_t avma, void *buffer, size_t length)
{
	return sw_memory_read(all, avma, buffer, length) &&
	       memchr(was_read + (avma - PHP_WORLD), false, length) == NULL;
}

static void touch(void)
{
	static const struct sw_memory_ops ops = {.read = note};
	memset(was_read, 0, sizeof(was_read));
	n_reads = 0;
	sw_php_touch(&world.snap, &before, (struct sw_memory){&ops, NULL});
}

static int setup(void **state)
{
	php_world_init(&world);
	world.snap.threads = &world.thread;
	all = world.php.memory;
	before = (struct sw_php_before){.found = world.php.found};
	return 0;
}

static int teardown(void **state)
{
	php_world_deinit(&world);
	return 0;
}

static void only_noted(void)
{
	static const struct sw_memory_ops ops = {.read = read_noted};
	world.php.memory = (struct sw_memory){&ops, NULL};
}

static void said_is(const struct sw_frame *frame, const char *function, const char *file,
		    unsigned line)
{
	struct sw_description said = {0};
	(void) sw_php_names(&world.php, frame, &said);
	assert_string_equal(said.function, function);
	assert_string_equal(said.file, file);
	assert_int_equal(said.line, line);
}

/* leaf() is at an instruction that a register says: any of its four. */
TEST_WITH(test_frames, setup, teardown)
{
	struct php_sink sink;
	touch();
	only_noted();
	for (unsigned k = 0; k < 4; k++) {
		assert_true(php_world_frames(&world, 0, PHP_LEAF, PHP_OPCODES + k * SW_PHP_OP_BYTES,
					     &sink));
		assert_int_equal(sink.n, 2);
		said_is(&sink.frames[0], "leaf", "/srv/a.php", k);
		said_is(&sink.frames[1], "A::{closure}", "/srv/a.php", 12);
	}
	world.php.chain.tid = 0;
	assert_true(php_world_frames(&world, 0, PHP_LEAF, PHP_OPCODES, &sink));
	assert_true(php_world_frames(&world, 1, 0, 0, &sink));
	assert_int_equal(sink.n, 2);
	said_is(&sink.frames[0], "array_map", "", 0);
	said_is(&sink.frames[1], "{main}", "/srv/a.php", 32);
	assert_false(world.php.cut);
}

/* Without registers, as before the window. */
TEST_WITH(test_rehearsal, setup, teardown)
{
	world.thread.captured = false;
	world.snap.n_threads = 0;
	touch();
	size_t n = n_reads;
	world.thread.captured = true;
	world.snap.n_threads = 1;
	touch();
	assert_true(n > 20);
	assert_int_equal(n_reads, n);
}

TEST_WITH(test_request, setup, teardown)
{
	struct sw_served served = {0};
	touch();
	assert_false(was_read[PHP_SAPI - PHP_WORLD + SW_PHP_SAPI_STARTED]); /* nobody asks for it */
	before.requests = true;
	touch();
	only_noted();
	assert_true(sw_php_request(&world.php, &world.thread, &served));
	assert_string_equal(served.uri, "/cart/7?id=7");
	assert_string_equal(served.method, "GET");
	assert_string_equal(served.script, "/srv/a.php");
}

/* Two calls of which each has the other one as its caller: there is a limit, and each function is read once. */
TEST_WITH(test_circle, setup, teardown)
{
	php_world_u64(&world, PHP_LEAF + SW_PHP_ED_PREV, FAR);
	php_world_u64(&world, FAR + SW_PHP_ED_PREV, PHP_LEAF);
	touch();
	assert_in_range(n_reads, SW_PHP_CHAIN_MAX, 12 * SW_PHP_CHAIN_MAX);
}

/* A generator that is about to be resumed: its caller is in a register alone. */
TEST_WITH(test_resumed, setup, teardown)
{
	enum { CALL = FAR + 0x200 };
	struct php_sink sink;
	before.found.resume_svma = world.php.found.resume_svma = 0x7000;
	before.found.resume_end_svma = world.php.found.resume_end_svma = 0x7100;
	world.thread.regs.pc_avma = 0x7010;
	php_world_u64(&world, PHP_GLOBALS + world.php.found.layout->current_execute_data, CALL);
	php_world_u64(&world, CALL + SW_PHP_ED_FUNC, PHP_FUNCTIONS);
	php_world_u64(&world, CALL + SW_PHP_ED_OPLINE, PHP_OPCODES);
	php_world_u32(&world, CALL + SW_PHP_ED_INFO, SW_PHP_CALL_GENERATOR);
	sw_regs_set(&world.thread.regs, SW_X86_64_RBX, PHP_CLOSURE);
	world.thread.captured = false;
	touch();
	assert_false(was_read[PHP_MAIN - PHP_WORLD + SW_PHP_ED_FUNC]);
	world.thread.captured = true;
	touch();
	only_noted();
	assert_true(php_world_frames(&world, 0, CALL, PHP_OPCODES, &sink));
	assert_int_equal(world.php.chain.n, 4);
	assert_int_equal(world.php.chain.calls[3].avma, PHP_MAIN);
	assert_false(world.php.cut);
}
