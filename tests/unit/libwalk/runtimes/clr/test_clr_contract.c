/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clr_contract.c and clr_layout.c. */
#include "runtimes/clr/published/layout.h"
#include "fake.h"
#include "test.h"

#include <snapwalk/error.h>

static const uint64_t pointers[] = {0, 0x7f0010, 0x7f0020};

#define HEAD "{\"version\":0,\"baseline\":\"empty\","
#define SMALL                                                                             \
	HEAD "\"types\":{\"A\":{\"!\":24,\"x\":8,\"y\":[16,\"pointer\"],\"z\":9999999},"  \
	     "\"B\":{\"s\":\"0x10\"}},"                                                   \
	     "\"globals\":{\"a\":[1],\"b\":[[2],\"pointer\"],\"c\":[\"0x1f\",\"uint8\"]," \
	     "\"d\":\"31\",\"e\":7,\"f\":[3],\"g\":[[3],\"pointer\"],\"h\":\"-1\","       \
	     "\"i\":[\"x64\",\"string\"],\"j\":\"0x\",\"k\":[],\"l\":[[]]},"              \
	     "\"contracts\":{\"ExecutionManager\":2,\"Loader\":\"1\"},\"subDescriptors\":{}}"

static struct sw_clr_contract parsed(const char *json)
{
	struct sw_clr_contract c;
	const char *why = NULL;
	assert_int_equal(sw_clr_contract_parse(json, strlen(json), pointers, 3, &c, &why), 0);
	return c;
}

static void refused(const char *json, const char *words)
{
	struct sw_clr_contract c;
	const char *why = "";
	assert_int_equal(sw_clr_contract_parse(json, strlen(json), pointers, 3, &c, &why),
			 -SW_E_FORMAT);
	assert_string_equal(why, words);
}

TEST(test_types)
{
	struct sw_clr_contract c = parsed(SMALL);
	uint32_t n = 77;
	assert_true(sw_clr_size(&c, "A", &n) && n == 24);
	assert_true(sw_clr_field(&c, "A", "x", &n) && n == 8);
	assert_true(sw_clr_field(&c, "A", "y", &n) && n == 16);
	assert_true(sw_clr_field(&c, "B", "s", &n) && n == 16);
	assert_false(sw_clr_field(&c, "A", "z", &n)); /* no structure is that large */
	assert_false(sw_clr_field(&c, "A", "!", &n));
	assert_false(sw_clr_field(&c, "A", "w", &n));
	assert_false(sw_clr_field(&c, "C", "x", &n));
	assert_false(sw_clr_size(&c, "B", &n));
	assert_int_equal(n, 16);
	sw_clr_contract_deinit(&c);
}

TEST(test_globals)
{
	struct sw_clr_contract c = parsed(SMALL);
	uint64_t n = 77;
	assert_true(sw_clr_global(&c, "a", &n) && n == 0x7f0010);
	assert_true(sw_clr_global(&c, "b", &n) && n == 0x7f0020);
	assert_true(sw_clr_global(&c, "c", &n) && n == 31);
	assert_true(sw_clr_global(&c, "d", &n) && n == 31);
	assert_true(sw_clr_global(&c, "e", &n) && n == 7);
	for (char name[2] = "f"; name[0] <= 'm'; name[0]++)
		assert_false(sw_clr_global(&c, name, &n));
	assert_int_equal(n, 7);
	sw_clr_contract_deinit(&c);
}

TEST(test_versions)
{
	struct sw_clr_contract c = parsed(SMALL);
	uint64_t n;
	assert_true(sw_clr_version(&c, "ExecutionManager", &n) && n == 2);
	assert_true(sw_clr_version(&c, "Loader", &n) && n == 1);
	assert_false(sw_clr_version(&c, "Thread", &n));
	sw_clr_contract_deinit(&c);
}

TEST(test_refused)
{
	refused("", "its descriptor is empty or too large");
	refused("[1]", "its descriptor is not the JSON that it should be");
	refused("{\"types\":", "its descriptor is not the JSON that it should be");
	refused("{\"types\":{\"A\":{},\"A\":{}},\"globals\":{},\"contracts\":{}}",
		"its descriptor is not the JSON that it should be");
	refused("{\"types\":[[[[[[[[[[1]]]]]]]]]]}",
		"its descriptor is not the JSON that it should be");
	refused("{\"baseline\":\"net9\",\"types\":{},\"globals\":{},\"contracts\":{}}",
		"its descriptor builds on a baseline that is not known");
	refused("{\"version\":1,\"types\":{},\"globals\":{},\"contracts\":{}}",
		"its descriptor has a format version that is not known");
	refused("{\"version\":\"1\",\"types\":{},\"globals\":{},\"contracts\":{}}",
		"its descriptor has a format version that is not known");
	refused("{\"version\":null,\"types\":{},\"globals\":{},\"contracts\":{}}",
		"its descriptor has a format version that is not known");
	refused("{\"types\":{},\"globals\":{}}",
		"its descriptor lacks types, globals or contracts");
	refused("{\"types\":[],\"globals\":{},\"contracts\":{}}",
		"its descriptor lacks types, globals or contracts");
}

/* ---- in memory ------------------------------------------------------------------------------ */

enum { AT = 0x1000, AT_JSON = 0x2000, AT_POINTERS = 0x3000 };

struct raw {
	uint64_t magic;
	uint32_t flags, json_bytes;
	uint64_t json;
	uint32_t n_pointers, pad;
	uint64_t pointers;
};

static const struct raw good = {
	UINT64_C(0x0043414443434e44), 1, sizeof(SMALL) - 1, AT_JSON, 3, 0, AT_POINTERS};

static int read_raw(struct raw raw, struct sw_clr_contract *ret, const char **why)
{
	struct fake_memory fake =
		FAKE_MEMORY({AT, &raw, sizeof(raw)}, {AT_JSON, SMALL, sizeof(SMALL) - 1},
			    {AT_POINTERS, pointers, sizeof(pointers)});
	return sw_clr_contract_read(fake_memory(&fake), AT, ret, why);
}

TEST(test_read)
{
	struct sw_clr_contract c;
	const char *why;
	uint64_t n;
	struct raw raw = good;
	assert_int_equal(read_raw(raw, &c, &why), 0);
	assert_true(sw_clr_global(&c, "b", &n) && n == 0x7f0020);
	sw_clr_contract_deinit(&c);

	raw.magic++;
	assert_int_equal(read_raw(raw, &c, &why), -SW_E_FORMAT);
	assert_string_equal(why, "its descriptor has another magic number");
	raw = good;
	raw.flags = 3; /* 32-bit pointers */
	assert_int_equal(read_raw(raw, &c, &why), -SW_E_FORMAT);
	assert_string_equal(why, "its descriptor has flags that are not known");
	raw = good;
	raw.json_bytes = SW_CLR_JSON_BYTES_MAX + 1;
	assert_int_equal(read_raw(raw, &c, &why), -SW_E_FORMAT);
	raw = good;
	raw.n_pointers = SW_CLR_POINTERS_MAX + 1;
	assert_int_equal(read_raw(raw, &c, &why), -SW_E_FORMAT);
	raw = good;
	raw.n_pointers = 4; /* one more than there are */
	assert_int_equal(read_raw(raw, &c, &why), -SW_E_MEMORY);
	raw = good;
	raw.json = 0;
	assert_int_equal(read_raw(raw, &c, &why), -SW_E_MEMORY);
	assert_string_equal(why, "its descriptor could not be read");
}

/* ---- the layout ----------------------------------------------------------------------------- */

/* "from", which is in it once, is as long as "to" that takes its place. */
static struct sw_clr_contract of_file_changed(const char *name, const char *from, const char *to)
{
	static char json[32768];
	char path[512];
	static uint64_t many[64];
	struct sw_clr_contract c;
	const char *why;
	for (size_t i = 0; i < 64; i++)
		many[i] = 0x1000 * i;
	(void) snprintf(path, sizeof(path), "%s/fuzz/corpus/fuzz_clr_contract/%s", SW_TESTS_DIR,
			name);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	memset(json, 0, sizeof(json));
	size_t n = fread(json, 1, sizeof(json) - 1, f);
	(void) fclose(f);
	char *at = strstr(json, from);
	assert_non_null(at);
	memcpy(at, to, strlen(to));
	assert_int_equal(sw_clr_contract_parse(json, n, many, 64, &c, &why), 0);
	return c;
}

static struct sw_clr_contract of_file(const char *name)
{
	return of_file_changed(name, "", "");
}

/* The contract of .NET 10.0.12. */
TEST(test_net10)
{
	struct sw_clr_contract c = of_file("net10.json");
	struct sw_clr_layout l;
	char why[192] = "";
	assert_true(sw_clr_layout_resolve(&c, &l, why, sizeof(why)));
	assert_string_equal(why, "");
	assert_int_equal(l.nibble_version, 2);
	assert_true(l.has_r2r_info);
	assert_int_equal(l.fragment_section, 24);
	assert_int_equal(l.section_deleted, 64);
	assert_int_equal(l.heap_map, 40);
	assert_int_equal(l.header_unwind, 36);
	assert_int_equal(l.function_bytes, 12);
	assert_int_equal(l.module_r2r, 704);
	assert_int_equal(l.r2r_methods, 360);
	assert_int_equal(l.bucket_bytes, 64);
	assert_int_equal(l.bucket_slots, 4);
	assert_int_equal(l.hash_value_mask, INT64_MAX);
	assert_int_equal(l.stub_last, 15);
	assert_int_equal(l.map_avma, 20 * 0x1000);
	assert_int_equal(l.store_avma, 3 * 0x1000);
	assert_int_equal(l.thread_next, 112);
	assert_int_equal(l.thread_osid, 296);
	sw_clr_contract_deinit(&c);
}

/* Threads are described in another way: code is found, threads are not. */
TEST(test_threads_unknown)
{
	struct sw_clr_contract c = of_file_changed("net10.json", "\"Thread\":1", "\"Thread\":2");
	struct sw_clr_layout l;
	char why[192] = "";
	assert_true(sw_clr_layout_resolve(&c, &l, why, sizeof(why)));
	assert_int_equal(l.store_avma, 0);
	assert_int_not_equal(l.map_avma, 0);
	sw_clr_contract_deinit(&c);
}

/* .NET 9 describes threads, but not how code is found. */
TEST(test_net9)
{
	struct sw_clr_contract c = of_file("net9.json");
	struct sw_clr_layout l = sw_clr_layout_fixed(0x5000, 0);
	char why[192];
	assert_false(sw_clr_layout_resolve(&c, &l, why, sizeof(why)));
	sw_clr_layout_threads(&c, &l);
	assert_int_not_equal(l.store_avma, 0);
	assert_int_equal(l.map_avma, 0x5000);
	assert_int_equal(l.nibble_version, 1);
	assert_false(l.has_r2r_info);
	sw_clr_contract_deinit(&c);
}

TEST(test_unknown)
{
	struct sw_clr_layout l;
	char why[192];
	struct sw_clr_contract c =
		parsed(HEAD "\"types\":{},\"globals\":{},\"contracts\":{\"ExecutionManager\":3}}");
	assert_false(sw_clr_layout_resolve(&c, &l, why, sizeof(why)));
	assert_string_equal(why,
			    "version 3 of its contract ExecutionManager is not known: it is newer "
			    "than this snapwalk");
	sw_clr_contract_deinit(&c);
	c = parsed(HEAD "\"types\":{},\"globals\":{},\"contracts\":{}}");
	assert_false(sw_clr_layout_resolve(&c, &l, why, sizeof(why)));
	assert_string_equal(why, "it does not describe how its code is found");
	sw_clr_contract_deinit(&c);
	c = parsed(SMALL);
	assert_false(sw_clr_layout_resolve(&c, &l, why, sizeof(why)));
	assert_string_equal(why, "its descriptor lacks RangeSectionMap.TopLevelData");
	sw_clr_contract_deinit(&c);
}
