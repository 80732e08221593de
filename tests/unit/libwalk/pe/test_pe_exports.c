/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The exports of an image in memory by name. */
#include "pe/exports.h"
#include "fake.h"
#include "pe_load.h"
#include "test.h"

enum {
	FUNCTION = 0x1010,
	N_FUNCTIONS = PE_MAKE_EDATA + 20,
	N_NAMES = PE_MAKE_EDATA + 24,
	ORDINALS = PE_MAKE_EDATA + 36,
};

#define BASE UINT64_C(0x6fffff000000)

struct loaded {
	uint8_t *image; /* owned */
	struct fake_region region;
	struct fake_memory fake;
};

static int setup(void **state)
{
	static const char *const names[] = {"CLRJitAttachState", "DotNetRuntimeContractDescriptor",
					    "a", "g_dacTable", "g_dacTable2"};
	static struct pe_make pe;
	struct loaded *l = calloc(1, sizeof(*l));
	assert_non_null(l);
	pe_make_init(&pe);
	pe_make_section(&pe, ".text", 0x1000, PE_MAKE_CODE, NULL, 0x1000);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		pe_make_export(&pe, names[i], FUNCTION + (uint32_t) i);
	pe_make_finish(&pe);
	l->image = pe_load(&pe);
	l->region = (struct fake_region){BASE, l->image, PE_LOAD_BYTES};
	l->fake = (struct fake_memory){&l->region, 1, 0};
	*state = l;
	return 0;
}

static int teardown(void **state)
{
	struct loaded *l = *state;
	free(l->image);
	free(l);
	return 0;
}

static bool opened(struct loaded *l, struct sw_pe_exports *ret)
{
	return sw_pe_exports_open(fake_memory(&l->fake), BASE, ret);
}

static void u32_put(struct loaded *l, uint32_t rva, uint32_t value)
{
	memcpy(l->image + rva, &value, sizeof(value));
}

TEST_WITH(test_found, setup, teardown)
{
	struct sw_pe_exports e;
	assert_true(opened(*state, &e));
	assert_int_equal(e.n_names, 5);
	assert_int_equal(sw_pe_export_find(&e, "CLRJitAttachState"), BASE + FUNCTION);
	assert_int_equal(sw_pe_export_find(&e, "DotNetRuntimeContractDescriptor"),
			 BASE + FUNCTION + 1);
	assert_int_equal(sw_pe_export_find(&e, "a"), BASE + FUNCTION + 2);
	assert_int_equal(sw_pe_export_find(&e, "g_dacTable"), BASE + FUNCTION + 3);
	assert_int_equal(sw_pe_export_find(&e, "g_dacTable2"), BASE + FUNCTION + 4);
}

TEST_WITH(test_not_found, setup, teardown)
{
	static const char *const names[] = {"", "A", "DotNetRuntime", "b", "g_dacTable3", "zz"};
	char longer[80];
	struct sw_pe_exports e;
	assert_true(opened(*state, &e));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(sw_pe_export_find(&e, names[i]), 0);
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(sw_pe_export_find(&e, longer), 0);
}

/* Numbers that lead out of the image, or of a table. */
TEST_OF(test_hostile, struct loaded *l)
{
	struct sw_pe_exports e;
	u32_put(l, N_FUNCTIONS, 3);
	assert_true(opened(l, &e));
	assert_int_equal(sw_pe_export_find(&e, "a"), BASE + FUNCTION + 2);
	assert_int_equal(sw_pe_export_find(&e, "g_dacTable"), 0);
	u32_put(l, ORDINALS, UINT32_MAX);
	assert_true(opened(l, &e));
	assert_int_equal(sw_pe_export_find(&e, "a"), 0);
	u32_put(l, N_NAMES, SW_PE_EXPORTS_MAX);
	assert_true(opened(l, &e));
	assert_int_equal(sw_pe_export_find(&e, "zz"), 0);
	u32_put(l, N_NAMES, SW_PE_EXPORTS_MAX + 1);
	assert_false(opened(l, &e));
	u32_put(l, N_NAMES, 5);
	assert_true(opened(l, &e));
	l->image[0] = 'X';
	assert_false(opened(l, &e));
}
