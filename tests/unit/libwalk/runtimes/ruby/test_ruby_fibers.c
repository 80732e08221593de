/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/ruby/fibers: the stack of a fiber leads to it only where it leads back. */
#include "fake.h"
#include "runtimes/ruby/fibers.h"
#include "test.h"

enum {
	START = 0x700000, /* of the fiber's memory, behind the page of its guard */
	END = START + 0xa1000,
	VALUES = END - SW_RUBY_FIBER_VALUES_BYTES,
	MACHINE_BYTES = 512,
	FIBER = 0x300000,
	OTHER = 0x310000, /* the one that it has resumed */
	FIBER_BYTES = 768,
	EC = 80,
	RESUMING = 512,
	FRAMES = 3 * 64, /* of 3.1 */
};

static uint8_t machine[MACHINE_BYTES], fiber[FIBER_BYTES], other[64];
static struct fake_region regions[] = {
	{VALUES - MACHINE_BYTES, machine, sizeof(machine)},
	{FIBER, fiber, sizeof(fiber)},
	{OTHER, other, sizeof(other)},
};
static struct fake_memory fake;
static struct sw_ruby_found found;
static struct sw_ruby_vm vm;

static void put(uint8_t *at, size_t off, uint64_t value)
{
	memcpy(at + off, &value, sizeof(value));
}

static int setup(void **state)
{
	memset(machine, 0, sizeof(machine));
	memset(fiber, 0, sizeof(fiber));
	memset(other, 0, sizeof(other));
	fake = (struct fake_memory){.regions = regions, .n_regions = 3};
	found = (struct sw_ruby_found){.layout = sw_ruby_layout_of(3, 1)};
	vm = (struct sw_ruby_vm){.memory = fake_memory(&fake), .found = &found};
	put(machine, MACHINE_BYTES - 16, START + 0x100); /* its own memory: not followed */
	put(machine, MACHINE_BYTES - 24, OTHER + 3);     /* no pointer */
	put(machine, MACHINE_BYTES - 32, 0x12340000);    /* leads nowhere */
	put(machine, MACHINE_BYTES - 256, FIBER);
	put(fiber, 16, 0x7f00c0de); /* the Fiber */
	put(fiber, EC + SW_RUBY_EC_STACK, VALUES);
	put(fiber, EC + SW_RUBY_EC_STACK_SIZE, SW_RUBY_FIBER_VALUES_BYTES / 8);
	put(fiber, EC + SW_RUBY_EC_CFP, END - FRAMES);
	put(fiber, EC + SW_RUBY_EC_FIBER, FIBER);
	put(fiber, RESUMING, OTHER);
	put(fiber, RESUMING + 24, FIBER); /* behind its status and sp */
	put(fiber, RESUMING + 32, START);
	put(fiber, RESUMING + 48, END - START);
	put(other, 16, 0x7f00beef);
	return 0;
}

static bool there(struct sw_ruby_fiber *ret)
{
	return sw_ruby_fiber_at(&vm, START, END, ret);
}

TEST_WITH(test_found, setup, NULL)
{
	struct sw_ruby_fiber f = {0};
	assert_true(there(&f));
	assert_int_equal(f.avma, FIBER);
	assert_int_equal(f.object_avma, 0x7f00c0de);
	assert_int_equal(f.resuming_object_avma, 0x7f00beef);
	assert_int_equal(f.start_avma, START);
	assert_int_equal(f.stack.ec_avma, FIBER + EC);
	assert_int_equal(f.stack.values_avma, VALUES);
	assert_int_equal(f.stack.first_avma, END - FRAMES);
	assert_int_equal(f.stack.end_avma, END);
	put(fiber, RESUMING, 0);
	assert_true(there(&f));
	assert_int_equal(f.resuming_object_avma, 0);
	/* Another mapping, though the words on it are the same. */
	assert_false(sw_ruby_fiber_at(&vm, START + 0x1000, END, &f));
	assert_false(sw_ruby_fiber_at(&vm, START, END + 0x1000, &f));
	assert_false(sw_ruby_fiber_at(&vm, END - 0x1000, END, &f)); /* too small */
}

/* Each part of what leads back. */
TEST_WITH(test_leads_back, setup, NULL)
{
	static const size_t offs[] = {EC + SW_RUBY_EC_STACK, EC + SW_RUBY_EC_STACK_SIZE,
				      EC + SW_RUBY_EC_FIBER, RESUMING + 24,
				      RESUMING + 32,         RESUMING + 48};
	struct sw_ruby_fiber f;
	for (size_t i = 0; i < sizeof(offs) / sizeof(*offs); i++) {
		uint64_t kept;
		memcpy(&kept, fiber + offs[i], sizeof(kept));
		put(fiber, offs[i], kept + 8);
		assert_false(there(&f));
		put(fiber, offs[i], kept);
	}
	static const uint64_t cfps[] = {END, END - FRAMES + 8, VALUES - 64, UINT64_MAX, 0};
	for (size_t i = 0; i < sizeof(cfps) / sizeof(*cfps); i++) {
		put(fiber, EC + SW_RUBY_EC_CFP, cfps[i]);
		assert_false(there(&f));
	}
}

/* Only so many words are followed. */
TEST_WITH(test_limit, setup, NULL)
{
	struct sw_ruby_fiber f;
	for (uint64_t i = 0; i < 16; i++)
		put(machine, MACHINE_BYTES - 8 * (i + 5), 0x20000000 + i * 0x1000);
	assert_false(there(&f));
	for (uint64_t i = 0; i < 16; i++)
		put(machine, MACHINE_BYTES - 8 * (i + 5), 0x20000000); /* the same */
	assert_true(there(&f));
}

TEST_WITH(test_maps, setup, NULL)
{
	struct sw_map maps[] = {
		{.start_avma = START - 0x2000,
		 .end_avma = START - 0x1000,
		 .prot = SW_MAP_READ | SW_MAP_WRITE,
		 .path = ""},
		{.start_avma = START - 0x1000, .end_avma = START, .path = ""},
		{.start_avma = START,
		 .end_avma = END,
		 .prot = SW_MAP_READ | SW_MAP_WRITE,
		 .path = ""},
		{.start_avma = END,
		 .end_avma = END + 0xa1000,
		 .prot = SW_MAP_READ | SW_MAP_WRITE,
		 .path = ""},
	};
	const struct sw_snapshot snap = {.maps = maps, .n_maps = 4};
	uint64_t start = 0, end = 0;
	size_t at = 0;
	assert_true(sw_ruby_fiber_memory(&vm, &snap, &at, &start, &end));
	assert_int_equal(start, START);
	assert_int_equal(end, END);
	/* The last one has no guard. */
	assert_false(sw_ruby_fiber_memory(&vm, &snap, &at, &start, &end));
	maps[1].end_avma -= 0x800; /* neither has this one */
	at = 0;
	assert_false(sw_ruby_fiber_memory(&vm, &snap, &at, &start, &end));
	maps[1].end_avma = START;
	maps[2].prot |= SW_MAP_EXEC;
	at = 0;
	assert_false(sw_ruby_fiber_memory(&vm, &snap, &at, &start, &end));
	maps[2].prot &= ~(uint32_t) SW_MAP_EXEC;
	/* Ruby 3.4 gives it a name; that of another one is not a fiber's. */
	maps[2].path = "[anon:Ruby:fiber_pool]";
	at = 0;
	assert_true(sw_ruby_fiber_memory(&vm, &snap, &at, &start, &end));
	static const char *const others[] = {"[anon:Rubi:x]", "[anon:Ruby", "[heap]", "/Ruby"};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		maps[2].path = others[i];
		at = 0;
		assert_false(sw_ruby_fiber_memory(&vm, &snap, &at, &start, &end));
	}
	maps[2].path = "";
	/* How large each is says the pool. */
	vm.pool = (struct sw_ruby_pool){.avma = 8, .stack_bytes = END - START - 0x2000};
	at = 0;
	assert_true(sw_ruby_fiber_memory(&vm, &snap, &at, &start, &end));
	assert_int_equal(end, END - 0x2000);
	vm.pool.stack_bytes = END - START + 8;
	at = 0;
	assert_false(sw_ruby_fiber_memory(&vm, &snap, &at, &start, &end));
}

TEST_WITH(test_of_thread, setup, NULL)
{
	struct sw_map map = {.start_avma = START,
			     .end_avma = END,
			     .prot = SW_MAP_READ | SW_MAP_WRITE,
			     .path = ""};
	const struct sw_snapshot snap = {.maps = &map, .n_maps = 1};
	struct sw_ruby_stack stack = {FIBER + EC, VALUES, END - FRAMES, END};
	struct sw_ruby_fiber f = {0};
	assert_true(sw_ruby_fiber_of(&vm, &snap, &stack, &f));
	assert_int_equal(f.avma, FIBER);
	stack.ec_avma += 8; /* the thread's first fiber, which has no such stack */
	assert_false(sw_ruby_fiber_of(&vm, &snap, &stack, &f));
	stack.ec_avma -= 8;
	map.end_avma += 0x1000;
	assert_false(sw_ruby_fiber_of(&vm, &snap, &stack, &f));
	vm.pool = (struct sw_ruby_pool){.avma = 8,
					.stack_bytes = END - START,
					.values_bytes = SW_RUBY_FIBER_VALUES_BYTES};
	assert_true(sw_ruby_fiber_of(&vm, &snap, &stack, &f));
	assert_int_equal(f.start_avma, START);
	vm.pool.stack_bytes += 0x1000; /* it would begin below its mapping */
	assert_false(sw_ruby_fiber_of(&vm, &snap, &stack, &f));
	vm.pool.stack_bytes = UINT64_MAX - 4095;
	assert_false(sw_ruby_fiber_of(&vm, &snap, &stack, &f));
}
