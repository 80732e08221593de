/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* clr_ranges.c and clr_r2r.c. */
#include "runtimes/clr/code/r2r.h"
#include "clr_world.h"
#include "runtimes/clr/code/ranges.h"
#include "test.h"

static struct clr_world world;

static struct sw_clr_code found(uint64_t pc)
{
	struct sw_clr_code code;
	assert_true(sw_clr_range_find(&world.runtime, clr_world_memory(&world), pc, &code));
	assert_ptr_equal(code.runtime, &world.runtime);
	return code;
}

static void not_found(uint64_t pc)
{
	struct sw_clr_code code;
	assert_false(sw_clr_range_find(&world.runtime, clr_world_memory(&world), pc, &code));
}

/* Three methods: small ones in one word of the map, one over many words. */
static void methods_make(unsigned nibble_version)
{
	static const struct sw_pe_function a[] = {{0x40, 0x50, 0x900}};
	static const struct sw_pe_function b[] = {{0x88, 0x9c, 0x910}, {0x9c, 0xb0, 0x920}};
	static const struct sw_pe_function c[] = {{0x1c4, 0x900, 0x930}};
	clr_world_init(&world, nibble_version);
	clr_world_method(&world, 0x40, 0x10, 0xaa0, a, 1);
	clr_world_method(&world, 0x88, 0x28, 0xbb0, b, 2);
	clr_world_method(&world, 0x1c4, 0x73c, 0xcc0, c, 1);
}

static void check_methods(void)
{
	struct sw_clr_code code = found(WORLD_CODE + 0x40);
	assert_int_equal(code.kind, SW_CLR_CODE_JIT);
	assert_int_equal(code.method_avma, 0xaa0);
	assert_int_equal(code.start_avma, WORLD_CODE + 0x40);
	assert_int_equal(code.base_avma, WORLD_CODE);
	assert_int_equal(code.function.unwind_rva, 0x900);
	assert_int_equal(code.index, 0);
	assert_false(code.collectible);
	/* A return address may be the end of the function; behind it is nothing. */
	assert_int_equal(found(WORLD_CODE + 0x50).method_avma, 0xaa0);
	not_found(WORLD_CODE + 0x51);
	not_found(WORLD_CODE + 0x3f);

	assert_int_equal(found(WORLD_CODE + 0x8a).index, 0);
	code = found(WORLD_CODE + 0x9c);
	assert_int_equal(code.index, 1);
	assert_int_equal(code.method_avma, 0xbb0);
	assert_int_equal(code.start_avma, WORLD_CODE + 0x88);
	assert_int_equal(code.function.begin_rva, 0x9c);
	not_found(WORLD_CODE + 0x87); /* same bucket as the start, but before it */

	/* In the first word, in a whole one, in the last one. */
	static const uint32_t rvas[] = {0x1c4, 0x200, 0x2ff, 0x3fc, 0x7ff, 0x800, 0x8ff};
	for (size_t i = 0; i < sizeof(rvas) / sizeof(rvas[0]); i++) {
		code = found(WORLD_CODE + rvas[i]);
		assert_int_equal(code.method_avma, 0xcc0);
		assert_int_equal(code.start_avma, WORLD_CODE + 0x1c4);
	}
	not_found(WORLD_CODE + 0x1c0);
}

TEST(test_nibbles_1)
{
	methods_make(1);
	check_methods();
}

TEST(test_nibbles_2)
{
	methods_make(2);
	check_methods();
}

/* Version 2 never looks back further than one word: one without a start is empty. */
TEST(test_nibbles_empty)
{
	methods_make(2);
	not_found(WORLD_CODE + 0xb00);
	methods_make(1);
	not_found(WORLD_CODE + 0xb00); /* found, but its function has ended */
}

/* Two methods in one bucket of 32 bytes: which one it is depends on the second one's start. */
TEST(test_nibbles_bucket)
{
	static const struct sw_pe_function a[] = {{0x40, 0x88, 0x900}};
	static const struct sw_pe_function b[] = {{0x90, 0xa0, 0x910}};
	for (unsigned version = 1; version <= 2; version++) {
		clr_world_init(&world, version);
		clr_world_method(&world, 0x40, 0x48, 0xaa0, a, 1);
		clr_world_method(&world, 0x90, 0x10, 0xbb0, b, 1);
		assert_int_equal(found(WORLD_CODE + 0x84).method_avma, 0xaa0);
		assert_int_equal(found(WORLD_CODE + 0x90).method_avma, 0xbb0);
		not_found(WORLD_CODE + 0x8c);
	}
}

/* Entries that were set aside for a method and not used have nothing in them. */
TEST(test_unused)
{
	static const struct sw_pe_function one[] = {{0x40, 0x50, 0x900}, {0}, {0}};
	static const struct sw_pe_function two[] = {{0x80, 0x90, 0x900}, {0x90, 0xa0, 0x910}, {0}};
	static const struct sw_pe_function none[] = {{0}, {0}};
	clr_world_init(&world, 2);
	clr_world_method(&world, 0x40, 0x10, 0xaa0, one, 3);
	clr_world_method(&world, 0x80, 0x20, 0xbb0, two, 3);
	clr_world_method(&world, 0xc0, 0x20, 0xcc0, none, 2);
	assert_int_equal(found(WORLD_CODE + 0x44).function.unwind_rva, 0x900);
	assert_int_equal(found(WORLD_CODE + 0x88).index, 0);
	assert_int_equal(found(WORLD_CODE + 0x98).index, 1);
	not_found(WORLD_CODE + 0xc4);
	/* More than there can be. */
	clr_world_u32(&world, WORLD_DATA + WORLD_HEADERS + 32, UINT32_MAX);
	not_found(WORLD_CODE + 0x44);
}

/* Addresses outside of the heap are no code of it, whatever its map says. */
TEST(test_heap_bounds)
{
	methods_make(2);
	clr_world_u64(&world, WORLD_DATA + WORLD_HEAP + 24, WORLD_CODE + 0x100);
	assert_int_equal(found(WORLD_CODE + 0x40).method_avma, 0xaa0);
	not_found(WORLD_CODE + 0x200);
	methods_make(2);
	clr_world_u64(&world, WORLD_DATA + WORLD_HEAP + 16, WORLD_CODE + 0x100);
	not_found(WORLD_CODE + 0x40);
	assert_int_equal(found(WORLD_CODE + 0x200).method_avma, 0xcc0);
}

TEST(test_stubs)
{
	clr_world_init(&world, 2);
	clr_world_stub(&world, 0x200, 0x40, 7);
	clr_world_stub(&world, 0x300, 0x40, 15);
	struct sw_clr_code code = found(WORLD_CODE + 0x210);
	assert_int_equal(code.kind, SW_CLR_CODE_STUB);
	assert_string_equal(code.stub, "VSD resolve stub");
	assert_string_equal(found(WORLD_CODE + 0x300).stub, "stub");
	/* More than the last kind is the address of a code header. */
	clr_world_stub(&world, 0x400, 0x40, 16);
	not_found(WORLD_CODE + 0x400);
}

TEST(test_sections)
{
	methods_make(2);
	uint64_t section = WORLD_DATA + WORLD_JIT_SECTION;
	clr_world_u32(&world, section + 16, 3);
	assert_true(found(WORLD_CODE + 0x40).collectible);
	clr_world_u64(&world, section + 64, 0x1234); /* being deleted */
	not_found(WORLD_CODE + 0x40);
	clr_world_u64(&world, section + 64, 0);
	clr_world_u32(&world, section + 16, 4);
	assert_string_equal(found(WORLD_CODE + 0x40).stub, "stub");
	clr_world_u32(&world, section + 16, 0);
	not_found(WORLD_CODE + 0x40);
}

/* Several fragments in one chunk; their links are marked as pointers of the map are. */
TEST(test_fragments)
{
	methods_make(2);
	uint64_t first = WORLD_DATA + WORLD_JIT_FRAGMENT, second = WORLD_DATA + 0x3080;
	clr_world_u64(&world, second + 8, WORLD_CODE);
	clr_world_u64(&world, second + 16, WORLD_CODE + 0x20000);
	clr_world_u64(&world, second + 24, WORLD_DATA + WORLD_JIT_SECTION);
	clr_world_u64(&world, first + 16, WORLD_CODE + 0x20);
	clr_world_u64(&world, first, second | 1);
	assert_int_equal(found(WORLD_CODE + 0x40).method_avma, 0xaa0);
	clr_world_u64(&world, second, first); /* a circle */
	clr_world_u64(&world, second + 16, WORLD_CODE + 0x30);
	not_found(WORLD_CODE + 0x40);
}

TEST(test_nowhere)
{
	methods_make(2);
	not_found(0);
	not_found(UINT64_MAX);
	not_found(WORLD_CODE - 1);
	not_found(WORLD_DATA);
	world.runtime.usable = false;
	not_found(WORLD_CODE + 0x40);
}

/* ---- ReadyToRun ---------------------------------------------------------------------------- */

static const struct sw_pe_function image_functions[] = {
	{0x100, 0x140, 0x800}, {0x140, 0x150, 0x810}, {0x150, 0x160, 0x820},
	{0x200, 0x280, 0x830}, {0x300, 0x310, 0x840},
};

static void image_make(void)
{
	clr_world_init(&world, 2);
	clr_world_image(&world, image_functions, 5);
	clr_world_entry(&world, 0x100, 0xd00);
	clr_world_entry(&world, 0x200, 0xe00);
}

TEST(test_image)
{
	image_make();
	struct sw_clr_code code = found(WORLD_IMAGE + 0x120);
	assert_int_equal(code.kind, SW_CLR_CODE_R2R);
	assert_int_equal(code.method_avma, 0xd00);
	assert_int_equal(code.module_avma, WORLD_DATA + WORLD_MODULE);
	assert_int_equal(code.info_avma, WORLD_DATA + WORLD_INFO);
	assert_int_equal(code.start_avma, WORLD_IMAGE + 0x100);
	assert_int_equal(code.base_avma, WORLD_IMAGE);
	assert_int_equal(code.index, 0);
	/* Funclets follow their method; their own entry is what unwinds. */
	code = found(WORLD_IMAGE + 0x158);
	assert_int_equal(code.method_avma, 0xd00);
	assert_int_equal(code.start_avma, WORLD_IMAGE + 0x100);
	assert_int_equal(code.index, 2);
	assert_int_equal(code.function.unwind_rva, 0x820);
	assert_int_equal(found(WORLD_IMAGE + 0x280).method_avma, 0xe00);
	not_found(WORLD_IMAGE + 0x281);
	not_found(WORLD_IMAGE + 0xff);
}

TEST(test_thunks)
{
	image_make();
	clr_world_u64(&world, WORLD_DATA + WORLD_INFO + 112, WORLD_DATA + WORLD_THUNKS);
	clr_world_u32(&world, WORLD_DATA + WORLD_THUNKS, 0x400);
	clr_world_u32(&world, WORLD_DATA + WORLD_THUNKS + 4, 0x40);
	assert_string_equal(found(WORLD_IMAGE + 0x43f).stub, "delay-load thunk");
	not_found(WORLD_IMAGE + 0x440);
	assert_int_equal(found(WORLD_IMAGE + 0x100).kind, SW_CLR_CODE_R2R);
}

/* Function 4 is the cold part of function 3. */
TEST(test_hot_cold)
{
	image_make();
	clr_world_u64(&world, WORLD_DATA + WORLD_INFO + 96, WORLD_DATA + WORLD_HOT_COLD);
	clr_world_u32(&world, WORLD_DATA + WORLD_INFO + 104, 2);
	clr_world_u32(&world, WORLD_DATA + WORLD_HOT_COLD, 4);
	clr_world_u32(&world, WORLD_DATA + WORLD_HOT_COLD + 4, 3);
	struct sw_clr_code code = found(WORLD_IMAGE + 0x308);
	assert_int_equal(code.method_avma, 0xe00);
	assert_int_equal(code.start_avma, WORLD_IMAGE + 0x200);
	assert_int_equal(code.function.unwind_rva, 0x840);
}

/* More keys than a bucket holds: they go on to others, by the mark of a full one. */
TEST(test_hash_full)
{
	image_make();
	for (uint32_t i = 0; i < 12; i++)
		clr_world_entry(&world, 0x1000 + 20 * i * 4, 0x10000 + 0x10 * i);
	static const struct sw_pe_function functions[] = {{0x1000, 0x1010, 0},
							  {0x1000 + 20 * 44, 0x1800, 0}};
	clr_world_image(&world, functions, 2);
	assert_int_equal(found(WORLD_IMAGE + 0x1000).method_avma, 0x10000);
	assert_int_equal(found(WORLD_IMAGE + 0x1000 + 20 * 44).method_avma, 0x100b0);
}

/* Without the runtime's description the image itself says where its functions are. */
TEST(test_image_asked)
{
	image_make();
	world.runtime.at.has_r2r_info = false;
	not_found(WORLD_IMAGE + 0x120);
	clr_world_u32(&world, WORLD_IMAGE + 0x3c, 0x80);
	clr_world_u32(&world, WORLD_IMAGE + 0x80 + 24, 0x20b);
	clr_world_u32(&world, WORLD_IMAGE + 0x80 + 24 + 112 + 8 * 14, 0x600);
	clr_world_u32(&world, WORLD_IMAGE + 0x600 + 64, 0x700);
	clr_world_bytes(&world, WORLD_IMAGE + 0x700, "RTR", 4);
	clr_world_u32(&world, WORLD_IMAGE + 0x700 + 12, 2);
	clr_world_u32(&world, WORLD_IMAGE + 0x700 + 16, 106);
	clr_world_u32(&world, WORLD_IMAGE + 0x700 + 20, 0x400);
	clr_world_u32(&world, WORLD_IMAGE + 0x700 + 24, 0x10);
	clr_world_u32(&world, WORLD_IMAGE + 0x700 + 28, 102);
	clr_world_u32(&world, WORLD_IMAGE + 0x700 + 32, WORLD_TABLE);
	clr_world_u32(&world, WORLD_IMAGE + 0x700 + 36, 5 * 12);
	struct sw_clr_code code = found(WORLD_IMAGE + 0x158);
	assert_int_equal(code.kind, SW_CLR_CODE_R2R);
	assert_int_equal(code.function.unwind_rva, 0x820);
	assert_int_equal(code.method_avma, 0);
	assert_string_equal(found(WORLD_IMAGE + 0x408).stub, "delay-load thunk");
}

/* Reads do not grow with the map: each level and each step of the search is one. */
TEST(test_reads)
{
	image_make();
	world.fake.reads = 0;
	(void) found(WORLD_IMAGE + 0x120);
	assert_true(world.fake.reads < 50);
}

/* Nor with what a map of .NET 8 holds before the address: a long method, or nothing. */
TEST(test_reads_back)
{
	static const struct sw_pe_function function[] = {{0x40, 0x3f00, 0x900}};
	clr_world_init(&world, 1);
	world.fake.reads = 0;
	not_found(WORLD_CODE + 0x3e00);
	assert_true(world.fake.reads < 30);
	clr_world_method(&world, 0x40, 0x3ec0, 0xaa0, function, 1);
	world.fake.reads = 0;
	assert_int_equal(found(WORLD_CODE + 0x3e00).start_avma, WORLD_CODE + 0x40);
	assert_true(world.fake.reads < 30);
}

/* A hash map in which each bucket is said to be full, for a function behind many others. */
TEST(test_reads_hash)
{
	static struct sw_pe_function functions[100];
	for (uint32_t i = 0; i < 100; i++)
		functions[i] = (struct sw_pe_function){0x100 + 16 * i, 0x110 + 16 * i, 0};
	image_make();
	clr_world_image(&world, functions, 100);
	/* Buckets that overlap, so that there is space for many. */
	world.runtime.at.bucket_bytes = 1;
	for (uint64_t i = WORLD_BUCKETS; i < WORLD_HOT_COLD; i += 8)
		clr_world_u64(&world, WORLD_DATA + i, UINT64_MAX);
	clr_world_u32(&world, WORLD_DATA + WORLD_BUCKETS, 5000);
	world.fake.reads = 0;
	assert_int_equal(found(WORLD_IMAGE + 0x100 + 16 * 99).method_avma, 0);
	assert_true(world.fake.reads < 50000);
}
