/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pe_case.h"
#include "test.h"

static const struct sw_pe_function table[] = {
	{0x1000, 0x1010, 1 << 2}, {0x1010, 0x1011, 2 << 2}, {0x1020, 0x1030, 3 << 2},
	{0x1040, 0x1080, 4 << 2}, {0x2000, 0x2001, 5 << 2},
};

static uint32_t search(struct sw_memory memory, size_t n, uint32_t rva)
{
	struct sw_pe_function f;
	return sw_pe_table_search(memory, 0x5000, n, rva, &f) ? f.unwind_rva >> 2 : 0;
}

TEST(test_search)
{
	struct fake_memory fake = FAKE_MEMORY({0x5000, table, sizeof(table)});
	struct sw_memory memory = fake_memory(&fake);
	static const struct {
		uint32_t rva, found;
	} cases[] = {
		{0, 0},      {0xfff, 0},  {0x1000, 1}, {0x100f, 1},     {0x1010, 2}, {0x1011, 0},
		{0x101f, 0}, {0x1020, 3}, {0x102f, 3}, {0x1030, 0},     {0x1040, 4}, {0x107f, 4},
		{0x1080, 0}, {0x2000, 5}, {0x2001, 0}, {UINT32_MAX, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(search(memory, 5, cases[i].rva), cases[i].found);
	assert_int_equal(search(memory, 0, 0x1000), 0);
	assert_int_equal(search(memory, 1, 0x100f), 1);
	/* a table that ends early */
	assert_int_equal(search(memory, 6, 0x1048), 4);
	assert_int_equal(search(memory, 6, 0x2000), 0);
	assert_int_equal(search(memory, 1000, 0x3000), 0);
	assert_int_equal(search(memory, SIZE_MAX, 0x1000), 0);
}

TEST(test_resolve)
{
	struct pe_case c;
	pe_case_init(&c, NULL, 0, PE_BYTES(PE_ENTRY(0x10, 0x20, 0x30)));
	struct sw_pe_function f = {1, 2, PE_INFO + 1};
	assert_true(sw_pe_function_resolve(&c.env, &f));
	assert_int_equal(f.begin_rva, 0x10);
	assert_int_equal(f.end_rva, 0x20);
	assert_int_equal(f.unwind_rva, 0x30);
	f = (struct sw_pe_function){1, 2, PE_IMAGE_BYTES + 1};
	assert_false(sw_pe_function_resolve(&c.env, &f));
	assert_null(c.env.why);
	assert_int_equal(c.env.fault_avma, PE_BASE + PE_IMAGE_BYTES);
	f = (struct sw_pe_function){2, 2, 0};
	assert_false(sw_pe_function_resolve(&c.env, &f));
	assert_string_equal(c.env.why, "the function entry's range is empty");
}

/* Each rule is made once, for exact addresses and return addresses apart. */
TEST(test_cache)
{
	struct pe_case c;
	struct sw_pe_cache cache = {0};
	pe_case_init(&c, PE_BYTES(0x53, 0x5b, 0xc3), PE_BYTES(1, 1, 1, 0, PE_SLOT(1, 0, 3)));
	pe_case_stack(&c, PE_WORDS(0x10, 0x11));
	sw_regs_set(&c.regs, SW_ARCH_RA, PE_BASE + PE_CODE + 2);
	assert_null(sw_pe_cache_find(&cache, PE_CODE + 2, true));
	assert_int_equal(sw_pe_cache_step(&cache, &c.env, &c.function, &c.regs, &c.ret), SW_PE_OK);
	assert_int_equal(c.ret.pc_avma, 0x10);
	assert_null(sw_pe_cache_find(&cache, PE_CODE + 2, false));
	c.env.exact_pc = false;
	assert_int_equal(sw_pe_cache_step(&cache, &c.env, &c.function, &c.regs, &c.ret), SW_PE_OK);
	assert_int_equal(c.ret.pc_avma, 0x11);

	/* the tables are needed no more */
	c.regions[0].size = 0;
	const struct sw_pe_rule *rule = sw_pe_cache_find(&cache, PE_CODE + 2, false);
	assert_non_null(rule);
	assert_int_equal(sw_pe_rule_apply(rule, &c.env, &c.regs, &c.ret), SW_PE_OK);
	assert_int_equal(c.ret.pc_avma, 0x11);
	assert_int_equal(pe_case_reg(&c, SW_X86_64_RBX), 0x10);
	rule = sw_pe_cache_find(&cache, PE_CODE + 2, true);
	assert_non_null(rule);
	assert_int_equal(sw_pe_rule_apply(rule, &c.env, &c.regs, &c.ret), SW_PE_OK);
	assert_int_equal(c.ret.pc_avma, 0x10);

	/* a leaf; a failure, which is not kept */
	sw_regs_set(&c.regs, SW_ARCH_RA, PE_BASE + 7);
	assert_int_equal(sw_pe_cache_step(&cache, &c.env, NULL, &c.regs, &c.ret), SW_PE_OK);
	assert_int_equal(c.ret.pc_avma, 0x10);
	assert_non_null(sw_pe_cache_find(&cache, 7, false));
	sw_regs_set(&c.regs, SW_ARCH_RA, PE_BASE + 9);
	assert_int_equal(sw_pe_cache_step(&cache, &c.env, &c.function, &c.regs, &c.ret),
			 SW_PE_UNREADABLE);
	assert_null(sw_pe_cache_find(&cache, 9, false));
	sw_pe_cache_deinit(&cache);
}

/* A program with more places than are kept: all are dropped, none is wrong. */
TEST(test_cache_limit)
{
	struct pe_case c;
	struct sw_pe_cache cache = {0};
	pe_case_init(&c, NULL, 0, PE_BYTES(1, 0, 0, 0));
	pe_case_stack(&c, PE_WORDS(0x10));
	for (uint32_t rva = 0; rva < SW_PE_CACHE_MAX + 10; rva++) {
		sw_regs_set(&c.regs, SW_ARCH_RA, PE_BASE + rva);
		assert_int_equal(sw_pe_cache_step(&cache, &c.env, &c.function, &c.regs, &c.ret),
				 SW_PE_OK);
		assert_int_equal(c.ret.pc_avma, 0x10);
	}
	assert_int_equal(cache.by_pc.count, 10);
	assert_null(sw_pe_cache_find(&cache, 0, true));
	assert_non_null(sw_pe_cache_find(&cache, SW_PE_CACHE_MAX + 9, true));
	sw_pe_cache_deinit(&cache);
}
