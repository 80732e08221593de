/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/php/window: what is copied while a process is held, and when that ends. */
#include "arch/arch.h"
#include "php_world.h"
#include "runtimes/php/window.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { FAR = PHP_WORLD + 0x5000, OPCODES_BYTES = 4 * SW_PHP_OP_BYTES };

static struct php_world world;
static struct sw_php_window window;
static struct sw_capture capture;
static void *found;
static struct {
	size_t n, reads, n_opcodes, late_after;
	uint64_t copies[256];
} seen;

static bool copy(struct sw_capture *c, uint64_t avma, size_t bytes, const uint8_t **ret)
{
	static uint8_t data[64][4096];
	(void) c;
	if (seen.n >= 64 || bytes > 4096 ||
	    !sw_memory_read(world.php.memory, avma, data[seen.n], bytes))
		return false;
	seen.n_opcodes += bytes == OPCODES_BYTES;
	*ret = data[seen.n];
	seen.copies[seen.n++] = avma;
	return true;
}

static void read_many(struct sw_capture *c, struct sw_capture_read *reads, size_t n)
{
	(void) c;
	for (size_t i = 0; i < n; i++)
		reads[i].ok = sw_memory_read(world.php.memory, reads[i].avma, reads[i].buffer,
					     reads[i].bytes);
	seen.reads += n;
}

static bool wanted(struct sw_capture *c, uint64_t avma, void *buffer, size_t bytes)
{
	(void) c;
	return sw_memory_read(world.php.memory, avma, buffer, bytes);
}

static bool is_late(struct sw_capture *c)
{
	(void) c;
	return seen.late_after-- == 0;
}

static bool was_copied(uint64_t avma)
{
	for (size_t i = 0; i < seen.n; i++)
		if (seen.copies[i] == avma)
			return true;
	return false;
}

static void look(size_t late_after)
{
	memset(&seen, 0, sizeof(seen));
	seen.late_after = late_after;
	assert_int_equal(sw_php_in_window(&capture), 0);
}

/* The thread is in zend_generator_resume(), and has no call in a register. */
static int setup(void **state)
{
	(void) state;
	static const struct sw_capture_ops ops = {.copy = copy,
						  .read_many = read_many,
						  .wanted = wanted,
						  .is_late = is_late};
	php_world_init(&world);
	world.snap.threads = &world.thread;
	world.php.found.resume_svma = 0x7000;
	world.php.found.resume_end_svma = 0x7100;
	world.thread.regs.pc_avma = 0x7010;
	window.found = world.php.found;
	found = &window;
	capture = (struct sw_capture){.snap = &world.snap, .ops = &ops, .found = &found};
	return 0;
}

/* Two calls on two pages, each of which has the other one as its caller. */
static void circle_put(void)
{
	php_world_u64(&world, PHP_LEAF + SW_PHP_ED_PREV, FAR);
	php_world_u64(&world, FAR + SW_PHP_ED_PREV, PHP_LEAF);
}

TEST_WITH(test_late, setup, NULL)
{
	circle_put();
	look(1);
	assert_in_range(seen.reads, 8, 32);
}

/* Calls in registers: each is copied once, with the instruction it is at, and no others. */
TEST_WITH(test_registers, setup, NULL)
{
	static const unsigned regs[] = {SW_X86_64_RBX, SW_X86_64_RBP, SW_X86_64_R12,
					SW_X86_64_R13, SW_X86_64_R14, SW_X86_64_R15};
	php_world_u64(&world, PHP_GLOBALS + world.php.found.layout->current_execute_data, PHP_MAIN);
	circle_put();
	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		sw_regs_set(&world.thread.regs, regs[i], i % 2 ? PHP_LEAF : FAR);
	look(SIZE_MAX);
	assert_in_range(seen.reads, 1, 16);
	assert_true(was_copied(PHP_OPCODES + 2 * SW_PHP_OP_BYTES));
	assert_int_equal(seen.n_opcodes, 1); /* of {main}, which runs */
}

/* A call that lies on two pages is copied with both. */
TEST_WITH(test_two_pages, setup, NULL)
{
	enum { PAGE = 4096, CALL = PHP_WORLD + 0x5000 - 0x20 };
	php_world_u64(&world, PHP_GLOBALS + world.php.found.layout->current_execute_data, CALL);
	php_world_u64(&world, CALL + SW_PHP_ED_FUNC, PHP_FUNCTIONS);
	look(SIZE_MAX);
	assert_true(was_copied(CALL & -PAGE));
	assert_true(was_copied((CALL & -PAGE) + PAGE));
	assert_true(was_copied(PHP_FUNCTIONS));
}

/* A generator in a register, with the calls of those that it leads to. */
TEST_WITH(test_generators, setup, NULL)
{
	enum { OUTER = FAR, INNER = FAR + 0x200, CALL = FAR + 0x400 };
	php_world_u64(&world, PHP_GLOBALS + world.php.found.layout->current_execute_data, PHP_MAIN);
	php_world_u64(&world, OUTER + SW_PHP_GENERATOR_PARENT, INNER);
	php_world_u64(&world, OUTER + SW_PHP_GENERATOR_CALL, CALL);
	php_world_u64(&world, CALL + SW_PHP_ED_FUNC, PHP_FUNCTIONS);
	sw_regs_set(&world.thread.regs, SW_X86_64_RBP, OUTER);
	look(SIZE_MAX);
	assert_true(was_copied(OUTER + SW_PHP_GENERATOR_CALL));
	assert_true(was_copied(INNER + SW_PHP_GENERATOR_CALL));
	assert_true(was_copied(PHP_FUNCTIONS));
}
