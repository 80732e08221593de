/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runtimes/ruby/fiber_pool: a variable without a symbol is told by what it leads to. */
#include "fake.h"
#include "runtimes/ruby/fiber_pool.h"
#include "test.h"

#include <elf.h>

enum {
	BIAS = 0x40000000,
	VARIABLES = 0x3000, /* in the file */
	VARIABLES_BYTES = 0x2100,
	POOL = BIAS + VARIABLES + 0x1fc0, /* goes on in the last, short page */
	ALLOCATION = 0x300000,
	STACK_BYTES = 0xa1000,
	VALUES_BYTES = 0x10000,
	USED = 7,
};

static struct sw_snapshot *snap;
static struct sw_place *place;
static uint8_t variables[0x3000], allocation[SW_RUBY_ALLOCATION_BYTES];
static struct fake_region regions[2];
static struct fake_memory fake;
static struct sw_memory memory;
static struct sw_ruby_pool pool;

static void put(uint64_t avma, uint64_t value)
{
	uint8_t *to = avma >= BIAS ? variables + (avma - BIAS - VARIABLES)
				   : allocation + (avma - ALLOCATION);
	memcpy(to, &value, sizeof(value));
}

static void pool_put(uint64_t avma)
{
	put(avma, ALLOCATION);
	put(avma + 8, ALLOCATION + 8); /* vacancies: not looked at */
	put(avma + 16, STACK_BYTES);
	put(avma + 24, 32);
	put(avma + 48, USED);
	put(avma + 56, VALUES_BYTES);
	put(ALLOCATION, 0x700000);
	put(ALLOCATION + 8, STACK_BYTES);
	put(ALLOCATION + 16, STACK_BYTES + 0x1000);
	put(ALLOCATION + 24, 32);
	put(ALLOCATION + 32, avma);
}

static const Elf64_Ehdr header = {
	.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	.e_type = ET_DYN,
	.e_machine = EM_X86_64,
	.e_version = EV_CURRENT,
	.e_phoff = sizeof(Elf64_Ehdr),
	.e_ehsize = sizeof(Elf64_Ehdr),
	.e_phentsize = sizeof(Elf64_Phdr),
	.e_phnum = 2,
};

static int setup(void **state)
{
	static uint8_t image[0x1000];
	const Elf64_Phdr segments[] = {
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = 0x1000, .p_filesz = 0x1000},
		{.p_type = PT_LOAD,
		 .p_flags = PF_R | PF_W,
		 .p_offset = 0x800,
		 .p_vaddr = VARIABLES + 0x10,
		 .p_filesz = 0x100,
		 .p_memsz = VARIABLES_BYTES - 0x10},
	};
	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), segments, sizeof(segments));
	snap = fake_snapshot_create();
	place = fake_snapshot_module(snap, SW_MODULE_ELF, "/usr/lib/libruby.so.3.1", BIAS, BIAS,
				     BIAS + 0x6000, image, sizeof(image));
	memset(variables, 0, sizeof(variables));
	memset(allocation, 0, sizeof(allocation));
	regions[0] = (struct fake_region){BIAS + VARIABLES, variables, sizeof(variables)};
	regions[1] = (struct fake_region){ALLOCATION, allocation, sizeof(allocation)};
	fake = (struct fake_memory){.regions = regions, .n_regions = 2};
	memory = fake_memory(&fake);
	pool = (struct sw_ruby_pool){0};
	return 0;
}

static int teardown(void **state)
{
	fake_snapshot_destroy(snap);
	return 0;
}

TEST_WITH(test_find, setup, teardown)
{
	assert_false(sw_ruby_pool_find(memory, place, false, &pool));
	pool_put(POOL);
	assert_true(sw_ruby_pool_find(memory, place, false, &pool));
	assert_int_equal(pool.avma, POOL);
	assert_int_equal(pool.allocation_avma, ALLOCATION);
	assert_int_equal(pool.stack_bytes, STACK_BYTES);
	assert_int_equal(pool.values_bytes, VALUES_BYTES);
	assert_int_equal(pool.used, USED);
	/* From then on it is looked for there alone. */
	fake.reads = 0;
	assert_true(sw_ruby_pool_find(memory, place, false, &pool));
	assert_int_equal(fake.reads, 2);
}

/* The pool is the only thing that was kept of a record. */
TEST_WITH(test_by_words, setup, teardown)
{
	pool_put(POOL);
	regions[0] = (struct fake_region){POOL, variables + (POOL - BIAS - VARIABLES),
					  SW_RUBY_POOL_BYTES};
	assert_false(sw_ruby_pool_find(memory, place, false, &pool));
	assert_true(sw_ruby_pool_find(memory, place, true, &pool));
	assert_int_equal(pool.avma, POOL);
	assert_true(fake.reads < 3 * 512 + 16);
}

/* Each part of what leads there and back. */
TEST_WITH(test_leads_back, setup, teardown)
{
	static const struct {
		uint64_t avma, value;
	} rows[] = {
		{POOL, 0},
		{POOL, ALLOCATION + 4},
		{POOL, 0x66660000},
		{POOL, POOL}, /* itself */
		{POOL, UINT64_MAX - 7},
		{POOL + 16, 0},
		{POOL + 16, STACK_BYTES + 8},
		{POOL + 16, UINT64_MAX - 4095},
		{POOL + 24, USED - 1},
		{POOL + 48, UINT64_MAX},
		{POOL + 56, 0},
		{POOL + 56, VALUES_BYTES + 1},
		{POOL + 56, STACK_BYTES},
		{ALLOCATION, 0x700001},
		{ALLOCATION + 8, STACK_BYTES + 0x1000},
		{ALLOCATION + 16, STACK_BYTES},
		{ALLOCATION + 32, POOL + 8},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		pool_put(POOL);
		assert_true(sw_ruby_pool_read(memory, POOL, &pool));
		put(rows[i].avma, rows[i].value);
		assert_false(sw_ruby_pool_read(memory, POOL, &pool));
	}
	assert_false(sw_ruby_pool_read(memory, UINT64_MAX - 7, &pool));
}

/* Variables that say that they are without end, each of which leads to itself. */
TEST_WITH(test_hostile, setup, teardown)
{
	static uint8_t image[0x1000];
	const Elf64_Phdr segments[] = {
		{.p_type = PT_LOAD, .p_flags = PF_W, .p_vaddr = UINT64_MAX - 8, .p_memsz = 0x1000},
		{.p_type = PT_LOAD,
		 .p_flags = PF_W,
		 .p_vaddr = VARIABLES,
		 .p_memsz = INT64_MAX / 2},
	};
	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), segments, sizeof(segments));
	place = fake_snapshot_module(snap, SW_MODULE_ELF, "/usr/lib/libruby.so.3.3", BIAS, BIAS,
				     BIAS + 0x6000, image, sizeof(image));
	for (uint64_t off = 0; off < sizeof(variables); off += 8)
		put(BIAS + VARIABLES + off, BIAS + VARIABLES + off);
	assert_false(sw_ruby_pool_find(memory, place, false, &pool));
	assert_true(fake.reads < 2 * (1 << 20) / 4096 + 16);
	fake.reads = 0;
	assert_false(sw_ruby_pool_find(memory, place, true, &pool));
	assert_true(fake.reads < (1 << 20) / 8 + 2 * (1 << 20) / 4096 + 16);
}
